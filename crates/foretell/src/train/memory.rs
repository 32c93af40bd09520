//! What a run will need, found before memory is asked for.

use super::batch::{Samples, Which};
use super::gradient::{Passes, Spaces, Training};
use super::member::Member;
use super::trainer::networks;
use super::{Recipe, Task};
use crate::architecture::Architecture;
use crate::data::Data;
use crate::engine::blank::Blank;
use crate::engine::buffer::Workspace;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{Layout, Weights};
use crate::seed::Seed;

/// Copies of all weights that a run holds: the weights, two moments, and while a checkpoint is written each of them twice.
const COPIES: u64 = 9;

/// The most bytes that a run over `S` holds on so many threads, found by a step over numbers without content.
pub fn peak_bytes<S: Scalar>(
    architecture: &Architecture,
    data: &Data,
    recipe: &Recipe,
    threads: usize,
) -> Result<u64> {
    let size = size_of::<S>() as u64;
    let least = at_least::<S>(architecture);
    if least > 1 << 50 {
        // No machine has it, and counting further takes long.
        return Ok(least);
    }
    let task = Task::of(recipe, architecture)?;
    let blank = |(architecture, head): (Architecture, Vec<_>)| {
        let weights = Weights::<Blank>::zeros(Layout::with(&architecture, &head));
        Member { architecture, weights, moments: [Vec::new(), Vec::new()] }
    };
    let members: Vec<Member<Blank>> = networks(task, recipe, architecture)?.into_iter().map(blank).collect();
    let samples = Samples::new(task, architecture, data, recipe)?;
    let passes = Passes {
        task,
        samples: &samples,
        network: &members[0],
        generator: members.get(1),
        spaces: &Spaces::new(),
    };
    let mut space = Workspace::new();
    let training = Training { dropout: recipe.dropout, smoothing: recipe.smoothing };
    let part: Vec<Which> = (0..recipe.part as u64).map(Which::Train).collect();
    passes.part(&part, Some((training, Seed(0).stream("memory", 0))), &mut space);
    let weights: u64 = members.iter().map(|member| member.weights.layout.len() as u64).sum();
    let at_once = threads.min(recipe.parts()).max(1) as u64;
    let numbers = (at_once.saturating_mul(space.peak_numbers() as u64)).saturating_add(COPIES * weights);
    Ok(numbers.saturating_mul(size))
}

/// What the weights alone take.
fn at_least<S: Scalar>(architecture: &Architecture) -> u64 {
    architecture.params().total.saturating_mul(COPIES * size_of::<S>() as u64)
}

/// Refuses a run that free memory cannot hold.
pub(super) fn within<S: Scalar>(architecture: &Architecture, data: &Data, recipe: &Recipe) -> Result<()> {
    let Some(budget) = crate::score::free_memory() else { return Ok(()) };
    let refuse = |needed: u64| match needed > budget {
        true => Err(Error::Memory { needed, budget }),
        false => Ok(()),
    };
    refuse(at_least::<S>(architecture))?;
    refuse(peak_bytes::<S>(architecture, data, recipe, rayon::current_num_threads())?)
}
