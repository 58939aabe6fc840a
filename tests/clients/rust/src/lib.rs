// SPDX-License-Identifier: Apache-2.0
//! What the programs of this package share.

pub mod protocol;
/// Written when building.
pub mod tensorflow_ext;
pub mod tensors;
