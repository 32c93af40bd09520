//! foretell
pub mod architecture;
pub mod benchmark;
pub mod catalogue;
pub mod error;
pub mod proxy;
pub mod rank;
pub mod seed;
pub mod space;
