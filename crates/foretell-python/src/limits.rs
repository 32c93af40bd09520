//! Limits on architectures as functions take them.

use foretell::architecture::Counter;
use foretell::error::{Error, Result};
use foretell::space::{Bound, Limits};
use serde::{Deserialize, Deserializer};

/// Limits, each as a number of Python: 20e6 is as good as 20_000_000.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
pub struct LimitOptions {
    #[serde(deserialize_with = "count")]
    min_params: Option<u64>,
    #[serde(deserialize_with = "count")]
    max_params: Option<u64>,
    #[serde(deserialize_with = "count")]
    min_flops: Option<u64>,
    #[serde(deserialize_with = "count")]
    max_flops: Option<u64>,
    flops: FlopsCounter,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum FlopsCounter {
    #[default]
    Exact,
    Published,
}

/// A whole number that may be written as a float.
pub fn count<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(from)? else { return Ok(None) };
    let whole = number.as_f64().filter(|x| *x >= 0.0 && *x < 1e19 && x.fract() == 0.0).map(|x| x as u64);
    let whole = number.as_u64().or(whole);
    whole
        .map(Some)
        .ok_or_else(|| serde::de::Error::custom(format!("{number} is not a whole number from 0 on")))
}

impl LimitOptions {
    /// Whether there is any.
    pub fn given(&self) -> bool {
        [self.min_params, self.max_params, self.min_flops, self.max_flops].iter().any(Option::is_some)
    }

    /// The limits.
    pub fn limits(&self) -> Result<Limits> {
        let published = self.flops == FlopsCounter::Published;
        if published && self.min_flops.is_none() && self.max_flops.is_none() {
            return Err(Error::option("flops", "has no effect without a limit on multiply-adds"));
        }
        let bound = |min: Option<u64>, max: Option<u64>| Bound {
            min: min.unwrap_or(0),
            max: max.unwrap_or(u64::MAX),
        };
        Ok(Limits {
            params: bound(self.min_params, self.max_params),
            flops: bound(self.min_flops, self.max_flops),
            counter: if published { Counter::Published } else { Counter::Exact },
        })
    }
}
