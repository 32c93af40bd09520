//! Agreement between two rankings of the same rows.
//!
//! Every function is pure. A statistic that is not defined for its data (a
//! constant column, too few rows, columns of unequal length, a NaN) is `None`.

mod bands;
mod bootstrap;
mod correlation;
mod hypervolume;
mod kendall;
mod order;
mod pairs;
mod pareto;
mod quantile;
mod tally;
mod top;
mod unit;

pub use bands::{Band, banded};
pub use bootstrap::{Interval, bootstrap, kendall_interval, spearman_interval};
pub use correlation::{pearson, spearman};
pub use hypervolume::hypervolume;
pub use kendall::{kendall_tau_a, kendall_tau_b, partial_kendall};
pub use order::{average_ranks, distinct};
pub use pairs::{PairAgreement, close_pair_agreement};
pub use pareto::pareto_front;
pub use quantile::quantile;
pub use top::{best_true_rank, top_k_overlap};
