//! What most programs that use the library name: `use foretell::prelude::*`.

pub use crate::architecture::{Architecture, Counter, Subject};
pub use crate::cancel::CancelToken;
pub use crate::error::{Error, Result};
pub use crate::proxy::{Proxy, ProxyInput, Request};
pub use crate::score::{Executor, Options, Scorer};
pub use crate::search::{SearchContext, Searcher};
pub use crate::seed::Seed;
pub use crate::space::{self, Bound, Limits, Space};
#[cfg(feature = "sqlite")]
pub use crate::study::{Candidate, Evaluator, Objective, Study};
