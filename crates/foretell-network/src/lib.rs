//! Architecture → weights and passes through them. Use the crate `foretell`, which re-exports these modules.

#[cfg(test)]
use foretell_core::space;
use foretell_core::{architecture, cancel, error, file, seed};
use foretell_engine as engine;

pub mod network;
pub mod probe;
