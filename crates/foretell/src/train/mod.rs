//! Training for real: one network, one recipe, on the cores there are.
//!
//! ```text
//! for step in 0..steps:
//!     batch = parts of samples, drawn from (seed, step · batch + sample)
//!     g = Σ over parts, in their order, of the gradient of the part's mean loss / parts        one thread a part
//!     g = g · min(1, clip / ‖g‖);  weights = optimiser(weights, g, rate · schedule(step))
//!     now and then: loss on fixed samples of the validation part; stop when it no longer falls
//! ```
//!
//! What a batch is cut into is a part of the recipe and not of the machine, so a run has the same bits on any number of
//! threads. Nothing is drawn from a generator that lives longer than a sample, so a run that was killed goes on from its
//! last [checkpoint](mod@checkpoint) as if nothing had happened.

mod batch;
mod checkpoint;
mod curve;
mod gradient;
mod head;
mod jobs;
mod member;
mod memory;
mod optimiser;
mod recipe;
mod run;
mod schedule;
mod task;
mod trainer;

pub use checkpoint::weights;
pub use curve::{record, recorded};
pub use head::Generator;
pub use jobs::{Finished, Job, jobs};
pub use memory::peak_bytes;
pub use optimiser::Optimiser;
pub use recipe::Recipe;
pub use run::{Outcome, Point, Run, Watch, run};
pub use schedule::Schedule;
pub use task::{Task, demonstration, fit, fit_space};
pub use trainer::{Metrics, Trainer};
