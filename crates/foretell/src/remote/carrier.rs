//! Who carries units to workers.

use crate::error::Result;
use std::time::Duration;

/// A unit on its way.
#[derive(Debug, Clone)]
pub struct Parcel {
    /// Its number, which no other unit of the process has.
    pub number: u64,
    /// The [`Unit`](super::Unit), as [`work`](super::work) reads it.
    pub unit: Vec<u8>,
    /// How many candidates it holds.
    pub candidates: usize,
    /// Bytes that scoring the largest of them takes.
    pub memory: u64,
    /// Whether it is computed in a process of its own, whose end the worker sees.
    pub guarded: bool,
}

/// What became of a unit.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// What [`work`](super::work) gave.
    Reply(Vec<u8>),
    /// Its worker is gone, for this reason; it says nothing about the candidates.
    Lost(String),
    /// It cannot be computed by workers such as these: another release, a missing package. The run ends.
    Refused(String),
}

/// Carries units to workers and brings back what they say. All its methods are called by one thread at a time.
pub trait Carrier: Send + Sync {
    /// How many units can be computed at a time, as of now.
    fn slots(&self) -> Result<usize>;

    /// Hands over what all units of a task need, known by its digest; once, before the first of them.
    fn share(&self, digest: &str, task: &[u8]) -> Result<()>;

    /// Hands out units, stops those that are no longer wanted, and waits at most so long for something to come back.
    fn exchange(&self, units: Vec<Parcel>, dropped: &[u64], wait: Duration) -> Result<Vec<(u64, Outcome)>>;
}
