//! Numbers, times and assignments as people write them.

use foretell::error::{Error, Result};
use foretell::study::{Shard, Time};
use serde_json::Value;

/// `6M`, `1.5G`, `300k` or plain digits.
pub fn number(text: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("'{text}' is not a number such as 6M, 1.5G, 300k or 5000000");
    let text = text.trim().replace(['_', ','], "");
    let unit = match text.chars().last() {
        Some('k' | 'K') => 1e3,
        Some('m' | 'M') => 1e6,
        Some('g' | 'G' | 'b' | 'B') => 1e9,
        Some('t' | 'T') => 1e12,
        _ => return text.parse().map_err(|_| wrong()),
    };
    let value = text[..text.len() - 1].parse::<f64>().map_err(|_| wrong())? * unit;
    if (0.0..1e19).contains(&value) { Ok(value.round() as u64) } else { Err(wrong()) }
}

/// A whole number from `LEAST` to `MOST`.
pub fn whole<const LEAST: usize, const MOST: usize>(text: &str) -> std::result::Result<usize, String> {
    let value = text.parse().ok().filter(|value| (LEAST..=MOST).contains(value));
    value.ok_or_else(|| format!("'{text}' is not a whole number from {LEAST} to {MOST}"))
}

/// A plausible number of seconds.
pub fn seconds(text: &str) -> std::result::Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (1e-3..=1e9).contains(value));
    value.ok_or_else(|| format!("'{text}' is not a number of seconds from 0.001 to 1000000000"))
}

/// `20ms`, `1.5s`, `300us`: seconds.
pub fn duration(text: &str) -> std::result::Result<f64, String> {
    let units = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("s", 1.0)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let value: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
        (value > 0.0 && value < 1e6).then_some(value * seconds)
    });
    parsed.ok_or_else(|| format!("'{text}' is not a time such as 20ms, 1.5s or 300us"))
}

/// `30m`, `2h`, `90s`, or `5000steps`.
pub fn time(text: &str) -> std::result::Result<Time, String> {
    let text = text.trim();
    let wrong =
        || format!("'{text}' is not a time such as 30m, 2h or 90s, or a number of steps such as 5000steps");
    if let Some(steps) = text.strip_suffix("steps") {
        return Ok(Time::Steps(number(steps).map_err(|_| wrong())?));
    }
    let units = [("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("m", 60.0), ("s", 1.0)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let value: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (value > 0.0 && value < 1e6).then_some(value * seconds)
    });
    parsed.map(Time::Seconds).ok_or_else(wrong)
}

/// `3/16`: the third of sixteen shards.
pub fn shard(text: &str) -> std::result::Result<Shard, String> {
    Shard::parse(text).map_err(|_| format!("'{text}' is not a shard such as 3/16, the third of sixteen"))
}

/// The two sides of `key=value`, the value as JSON where it is JSON, else as text.
pub fn assignment(text: &str) -> Result<(&str, Value)> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| Error::option(text, "is not of the form KEY=VALUE"))?;
    Ok((key, serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()))))
}
