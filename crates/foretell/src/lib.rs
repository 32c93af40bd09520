//! foretell
pub mod architecture;
pub mod catalogue;
pub mod error;
pub mod rank;
pub mod seed;
pub mod space;
