//! Proxies as search points: formulas over six statistics of a network, found, ranked exhaustively, and tested on networks
//! that nobody looked at.
//!
//! 1. [`Statistics`]: what formulas look at, probed once per network and kept in a file.
//! 2. [`Bank`]: the value of every branch, computed once; a formula then costs a few additions.
//! 3. [`evolve()`]: LPZero's evolution with its pruning [`Rule`]s, over the searchers of [`search`](crate::search).
//! 4. [`exhaust()`]: every formula of a size, ranked exactly.
//! 5. [`run()`]: both over several [`Split`]s: networks to look at, to choose by, and to be judged by.
//! 6. [`alpha`]: how ZeroLM's balance is found. [`calibrate()`]: one ranking from a handful of labels.

pub mod alpha;
mod bank;
mod calibrate;
mod evolve;
mod exhaust;
mod fitness;
mod pruning;
mod run;
mod select;
mod statistics;

pub use bank::Bank;
pub use calibrate::{Calibration, Candidate, Step, calibrate};
pub use evolve::{Evolution, Found, Preset, evolve};
pub use exhaust::{Exhausted, count, exhaust};
pub use fitness::{Measure, Yardstick};
pub use pruning::{Census, Rule, canonical};
pub use run::{Leaderboard, Method, PUBLISHED, Part, Plan, Report, Spread, run};
pub use select::{Facts, Judged, Split, choose, judge};
pub use statistics::{Network, Settings, Statistics};
