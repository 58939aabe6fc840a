#![doc = include_str!("../README.md")]

// The same ops, with GradientTape in the first file.
#[cfg_attr(feature = "eager", path = "eager.rs")]
mod ops;
pub mod train;

pub use ops::*;
