//! The values that numeric options may take, checked when a request is read.

use crate::error::{Error, Result};
use serde_json::Value;
use std::fmt;

/// The values that one numeric option may take, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The option's name.
    pub option: &'static str,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
    /// Whether only whole numbers are allowed.
    pub whole: bool,
}

impl Range {
    /// Whole numbers from `least` to `most`.
    pub const fn whole(option: &'static str, least: u32, most: u32) -> Self {
        Range { option, least: least as f64, most: most as f64, whole: true }
    }

    /// Numbers from `least` to `most`.
    pub const fn real(option: &'static str, least: f64, most: f64) -> Self {
        Range { option, least, most, whole: false }
    }

    /// Refuses a value outside the range, and anything that is not a number.
    pub fn check(&self, value: &Value) -> Result<()> {
        let number = match self.whole {
            true => value.as_u64().map(|n| n as f64),
            false => value.as_f64(),
        };
        if number.is_some_and(|number| (self.least..=self.most).contains(&number)) {
            return Ok(());
        }
        let given = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Err(Error::option("", format!("{} is {given}; it must be {self}", self.option)))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.whole { "a whole number" } else { "a number" };
        write!(f, "{kind} from {} to {}", self.least, self.most)
    }
}

/// Checks every option that has a range.
pub(super) fn check<'v>(
    ranges: &[Range],
    options: impl IntoIterator<Item = (&'v String, &'v Value)>,
) -> Result<()> {
    let of = |name: &str| ranges.iter().find(|range| range.option == name);
    options.into_iter().try_for_each(|(name, value)| of(name).map_or(Ok(()), |range| range.check(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_ends_are_inside_and_nothing_else_passes() {
        let batch = Range::whole("batch", 1, 64);
        for good in [json!(1), json!(64)] {
            batch.check(&good).unwrap();
        }
        for bad in [json!(0), json!(65), json!(-1), json!(1.5), json!(1e18), json!(u64::MAX), json!("NaN")] {
            assert!(batch.check(&bad).is_err(), "{bad}");
        }
        let message = batch.check(&json!(0)).unwrap_err().to_string();
        assert!(message.contains("batch is 0; it must be a whole number from 1 to 64"), "{message}");
        let share = Range::real("share", 0.5, 1.0);
        assert!(share.check(&json!(0.75)).is_ok() && share.check(&json!(1)).is_ok());
        assert!(share.check(&json!(0.4)).is_err() && share.check(&json!("0.75x")).is_err());
    }
}
