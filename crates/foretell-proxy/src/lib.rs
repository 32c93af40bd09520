//! Training-free scores of networks. Use the crate `foretell`, which re-exports these modules.

#[cfg(test)]
use foretell_core::space;
use foretell_core::{architecture, cancel, catalogue, error, file, rank, seed};
use foretell_engine as engine;
use foretell_network::{network, probe};

pub mod proxy;
pub mod score;
