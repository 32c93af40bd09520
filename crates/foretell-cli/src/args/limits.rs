//! Limits on architectures.

use super::no_effect;
use super::value::number;
use clap::{Args, ValueEnum};
use foretell::architecture::Counter;
use foretell::error::Result;
use foretell::space::{Bound, Limits};

#[derive(Args)]
pub struct LimitArgs {
    /// Minimum number of parameters, e.g. 5M.
    #[arg(long, value_name = "N", value_parser = number)]
    pub min_params: Option<u64>,
    /// Maximum number of parameters, e.g. 6M or 1.5G.
    #[arg(long, value_name = "N", value_parser = number)]
    pub max_params: Option<u64>,
    /// Minimum number of multiply-adds per input, e.g. 1G.
    #[arg(long, value_name = "N", value_parser = number)]
    pub min_flops: Option<u64>,
    /// Maximum number of multiply-adds per input, e.g. 1.3G.
    #[arg(long, value_name = "N", value_parser = number)]
    pub max_flops: Option<u64>,
    /// How to count multiply-adds.
    #[arg(long, value_enum, default_value_t = FlopsCounter::Exact)]
    pub flops: FlopsCounter,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum FlopsCounter {
    /// Exactly what the network computes.
    Exact,
    /// As the released code of AutoFormer counts.
    Published,
}

impl LimitArgs {
    pub fn limits(&self) -> Limits {
        let bound = |min: Option<u64>, max: Option<u64>| Bound {
            min: min.unwrap_or(0),
            max: max.unwrap_or(u64::MAX),
        };
        Limits {
            params: bound(self.min_params, self.max_params),
            flops: bound(self.min_flops, self.max_flops),
            counter: match self.flops {
                FlopsCounter::Exact => Counter::Exact,
                FlopsCounter::Published => Counter::Published,
            },
        }
    }

    /// Refuses a counter where no multiply-adds are counted.
    pub fn check(&self) -> Result<()> {
        let counted = self.min_flops.is_some() || self.max_flops.is_some();
        match matches!(self.flops, FlopsCounter::Published) && !counted {
            true => no_effect("--flops", "has no effect without --min-flops or --max-flops"),
            false => Ok(()),
        }
    }

    pub fn given(&self) -> bool {
        [self.min_params, self.max_params, self.min_flops, self.max_flops].iter().any(Option::is_some)
    }
}
