//! A score that takes passes: memetic against ten times as many random draws.
pub fn run() {}
