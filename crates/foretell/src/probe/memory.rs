//! What a pass will need, found by running it over numbers without content.

use super::{Absolute, Pass, Setting, run};
use crate::engine::blank::Blank;
use crate::engine::buffer::Workspace;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{Layout, Weights};

/// The most bytes a pass over `S` will hold, weights and gradients included, found without allocating them.
pub fn peak_bytes<S: Scalar>(setting: &Setting, pass: &Pass) -> Result<u64> {
    let weights: Weights<Blank> = Weights::zeros(Layout::of(setting.architecture));
    let mut space = Workspace::new();
    run(setting, &weights, &Pass { absolute: Absolute::Nothing, ..pass.clone() }, &mut space)?;
    let copies = if pass.absolute == Absolute::Nothing { 1 } else { 2 };
    Ok(((space.peak_numbers() + copies * weights.layout.len()) * size_of::<S>()) as u64)
}

/// Refuses a pass whose peak exceeds `budget` bytes, before anything is allocated.
pub fn within<S: Scalar>(setting: &Setting, pass: &Pass, budget: u64) -> Result<()> {
    let needed = peak_bytes::<S>(setting, pass)?;
    if needed > budget { Err(Error::Memory { needed, budget }) } else { Ok(()) }
}
