//! What every part of [foretell](https://docs.rs/foretell) stands on: architectures, spaces of them, and rank statistics.
//! Nothing here builds a tensor or opens a database. Use the crate `foretell`, which re-exports these modules.

pub mod architecture;
pub mod cancel;
pub mod catalogue;
pub mod error;
pub mod file;
pub mod rank;
pub mod seed;
pub mod space;
pub mod units;
