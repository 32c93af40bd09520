//! What a pass will need, found by running it over numbers without content.

use super::run::run_on;
use super::{Derivative, Fold, Pass, Setting, WeightTransform, input};
use crate::engine::blank::Blank;
use crate::engine::buffer::Workspace;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{Input, Layout, Weights};

/// The most bytes a pass over `S` will hold, found without allocating them: weights and gradients, the input, what lies
/// between layers, what is kept. The products' packing buffers, a few MB at most, are not counted.
pub fn peak_bytes<S: Scalar>(setting: &Setting, pass: &Pass) -> Result<u64> {
    let weights: Weights<Blank> = Weights::zeros(Layout::of(setting.architecture));
    let (mut space, copies) = (Workspace::new(), if pass.weights == WeightTransform::Keep { 1 } else { 2 });
    let pass = Pass { weights: WeightTransform::Keep, ..pass.clone() };
    let fed = input(setting, &pass)?;
    let seen = run_on(setting, &weights, &pass, &fed, &mut space)?;
    let pixels = if let Input::Images { pixels, .. } = &fed { pixels.len() } else { 0 };
    let kept: usize = seen.gradients.iter().map(|(_, kept)| kept.data.len()).sum();
    let times = several(&pass, fed.batch());
    let numbers = times.0 * space.peak_numbers() + kept + pixels + (copies + times.1) * weights.layout.len();
    Ok((numbers * size_of::<S>()) as u64)
}

/// How often a derivative holds what one run does, and how many further copies of all weights: forward-mode numbers are
/// two, a Gram matrix needs the gradients of all samples, a Hessian product its direction.
fn several(pass: &Pass, batch: usize) -> (usize, usize) {
    match pass.derivative {
        Derivative::Samples(Fold::Gram, _) => (1, 1 + batch),
        Derivative::Samples(..) | Derivative::Trace(_) => (1, 2),
        Derivative::Hessian(_) => (2, 5),
        Derivative::Curve { .. } => (2, 2),
        Derivative::Values | Derivative::Weights => (1, 0),
    }
}

/// Bytes of the pixels or tokens that a pass is fed with, where it says how many samples it takes.
fn input_bytes<S: Scalar>(setting: &Setting, pass: &Pass) -> u64 {
    let get = |key| super::inputs::field(setting.architecture, key);
    let sample = match (get("image_size"), get("channels")) {
        (Some(side), Some(channels)) => channels * side * side * size_of::<S>() as u64,
        _ => pass.tokens.max(1) as u64 * size_of::<u32>() as u64,
    };
    sample.saturating_mul(pass.batch as u64)
}

/// The peak of a pass in bytes; one that exceeds `budget` is refused before anything is allocated.
pub fn within<S: Scalar>(setting: &Setting, pass: &Pass, budget: u64) -> Result<u64> {
    // The input of a huge batch alone takes long to draw.
    let needed = input_bytes::<S>(setting, pass);
    if needed > budget {
        return Err(Error::Memory { needed, budget });
    }
    let needed = peak_bytes::<S>(setting, pass)?;
    if needed > budget { Err(Error::Memory { needed, budget }) } else { Ok(needed) }
}
