//! The modules that `python -m tensorflow_ext wrappers --rust` writes, for all programs here.

/// `python -m tensorflow_ext wrappers --rust --write src/tensorflow_ext.rs`
pub mod tensorflow_ext;
/// `python -m tensorflow_ext wrappers --rust --train --write src/train.rs`
pub mod train;
