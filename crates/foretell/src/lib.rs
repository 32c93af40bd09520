//! Ranks Transformer and recurrent architectures before training them.
//!
//! The modules are the stages of the work, in the order the data flows:
//!
//! 1. [`space`]: which architectures exist; sample, mutate, cross, enumerate, stay inside a budget.
//! 2. [`architecture`]: one candidate as plain data; exact parameters, multiply-adds, memory and weights.
//! 3. [`network`]: architecture → weights and a pass through them, over the layers of [`engine`].
//! 4. [`probe`]: what to run and what to keep of it.
//! 5. [`proxy`]: a candidate's training-free scores.
//! 6. [`score`]: many candidates by many proxies: shared weights, shared passes, a cache.
//! 7. [`rank`]: scores → order and agreement; Kendall, Spearman, intervals, Pareto fronts.
//! 8. [`search`]: what to try next; [`study`]: from a space to the winner, [`Study::builder`](study::Study::builder);
//!    [`store`]: what was tried; [`remote`]: scores by other processes and machines.
//! 9. [`data`]: text and images; [`train`]: networks trained on them for real.
//! 10. [`benchmark`]: published tables of really trained networks, and how well proxies rank them.
//! 11. [`discover`]: proxies as search points: formulas found and ranked, calibration from a few labels.
//! 12. [`report`]: a study as one page, its charts as drawings.
//! 13. [`reproduce`]: the tables and figures of the papers, each by one call.
//! 14. [`export`]: a network as a folder that trains today; [`hub`]: networks of others as architectures.
//!
//! [`prelude`] names what most programs need. [`seed`] makes every random generator, [`cancel`] stops work from any thread, [`catalogue`] finds things by name, [`mod@file`] reads files up to a limit, [`units`]
//! writes counts, [`error`] says what went wrong and what to do about it.
//!
//! ```
#![doc = include_str!("../examples/pipeline.rs")]
//! ```

pub use foretell_core::{architecture, cancel, catalogue, error, file, rank, seed, space, units};
pub use foretell_engine as engine;
pub use foretell_network::{network, probe};
pub use foretell_proxy::{proxy, score};

pub mod benchmark;
#[cfg(feature = "train")]
pub mod data;
pub mod discover;
pub mod export;
pub mod hub;
pub mod latency;
pub mod predict;
pub mod prelude;
#[cfg(feature = "sqlite")]
pub mod remote;
#[cfg(feature = "report")]
pub mod report;
#[cfg(all(feature = "import", feature = "report", feature = "train"))]
pub mod reproduce;
pub mod search;
#[cfg(feature = "sqlite")]
pub mod store;
#[cfg(feature = "sqlite")]
pub mod study;
#[cfg(feature = "train")]
pub mod train;

/// The README's snippets are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// And so are those of the page about the library.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Library;
