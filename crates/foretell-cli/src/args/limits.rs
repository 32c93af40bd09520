//! Hard limits.

use super::value::number;
use clap::{Args, ValueEnum};
use foretell::architecture::Counter;
use foretell::space::{Bound, Limits};

#[derive(Args)]
pub struct LimitArgs {
    /// At least so many parameters, e.g. 5M.
    #[arg(long, value_name = "N", value_parser = number)]
    pub min_params: Option<u64>,
    /// At most so many parameters, e.g. 6M or 1.5G.
    #[arg(long, value_name = "N", value_parser = number)]
    pub max_params: Option<u64>,
    /// At least so many multiply-adds per input.
    #[arg(long, value_name = "N", value_parser = number)]
    pub min_flops: Option<u64>,
    /// At most so many multiply-adds per input, e.g. 1.3G.
    #[arg(long, value_name = "N", value_parser = number)]
    pub max_flops: Option<u64>,
    /// How multiply-adds are counted.
    #[arg(long, value_enum, default_value_t = FlopsCounter::Exact)]
    pub flops: FlopsCounter,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum FlopsCounter {
    /// What the network really does.
    Exact,
    /// As AutoFormer's released code counts.
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

    pub fn given(&self) -> bool {
        [self.min_params, self.max_params, self.min_flops, self.max_flops].iter().any(Option::is_some)
    }
}
