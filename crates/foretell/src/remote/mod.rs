//! Work for other processes and machines: candidates in units, as plain data, to whoever computes them.
//!
//! A [`Unit`] names candidates, a [`Task`] says what to do with every one; [`work`] is a pure function of both that any process
//! with the same release computes. The [`Dispatcher`] hands units to a [`Carrier`] (processes, Dask, Ray) and takes
//! what comes back, in any order, once or twice. The study asks, orders and stores, as it does with threads, so its trials
//! have the same bits whoever works.
//!
//! ```text
//! units         as many candidates as take some seconds, by the cost of those before; twice as many as there are workers
//! a worker dies all candidates of its unit are tried again, each alone and in a process of its own under the worker
//! it dies again by a fault of that process the candidate fails as `crashed`; by anything else it is tried elsewhere
//! a worker hangs its unit is stopped and its candidates are tried elsewhere; one that hangs twice alone ends the run
//! ```

mod carrier;
mod cost;
mod desk;
mod dispatcher;
mod processors;
mod scoring;
mod task;
mod worker;

pub use carrier::{Carrier, Outcome, Parcel};
pub use cost::Cost;
pub use desk::{Desk, Handed, Limits, Lost};
pub use dispatcher::{Dispatcher, Status};
pub use task::{Item, Reply, Task, Unit};
pub use worker::{crashed, work};

#[cfg(test)]
mod tests;

/// The release, which driver and workers must share.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
