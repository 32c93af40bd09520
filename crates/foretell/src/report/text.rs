//! Numbers and genes as people read them, and text that is safe inside markup.

pub use crate::units::grouped;

use serde_json::{Map, Value};

/// Text in which nothing is markup any more, and no character is forbidden in XML.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(character),
            other if other.is_control() || "\u{fffe}\u{ffff}".contains(other) => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// Safe text in which what stood between backticks is code.
pub(super) fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(i, part): (usize, &str)| {
        if i % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) }
    };
    parts.map(part).collect()
}

/// 5_300_000 → 5.30M.
pub fn short(n: u64) -> String {
    for (unit, name) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if n as f64 >= unit {
            return format!("{:.2}{name}", n as f64 / unit);
        }
    }
    n.to_string()
}

/// Six significant digits, without an exponent where that is short.
pub fn number(x: f64) -> String {
    significant(x, 6)
}

/// So many significant digits, without an exponent where that is short.
pub(super) fn significant(x: f64, digits: i32) -> String {
    let magnitude = x.abs();
    if x == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e7).contains(&magnitude) {
        let decimals = (digits - 1 - magnitude.log10().floor() as i32).max(0) as usize;
        let text = format!("{x:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{x:.decimals$e}", decimals = digits as usize - 1)
    }
}

/// 85_880_000 → 85.88 MB.
pub(super) fn bytes(n: u64) -> String {
    for (unit, name) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")] {
        if n as f64 >= unit {
            return format!("{:.2}\u{a0}{name}", n as f64 / unit);
        }
    }
    format!("{n}\u{a0}B")
}

/// Seconds in milliseconds, to four significant digits.
pub(super) fn milliseconds(seconds: f64) -> String {
    format!("{}\u{a0}ms", significant(1e3 * seconds, 4))
}

/// A share in percent, with so many decimals.
pub(super) fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$}\u{a0}%", 100.0 * share)
}

/// Text of at most so many characters, cut with an ellipsis.
pub(super) fn cut(text: &str, most: usize) -> String {
    let whole = text.chars().count() <= most;
    if whole { text.to_owned() } else { text.chars().take(most.saturating_sub(1)).chain(['…']).collect() }
}

/// A list with runs of equal values counted: 3 3 3 4 → 3 ×3, 4.
fn runs(list: &[Value]) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let run = |run: &[Value]| match run.len() {
        1 => word(&run[0]),
        length => format!("{} ×{length}", word(&run[0])),
    };
    list.chunk_by(|a, b| a == b).map(run).collect::<Vec<_>>().join(", ")
}

/// Each gene of an architecture with its value in words, and whether it is a list.
pub(super) fn gene_list(object: &Map<String, Value>) -> Vec<(&str, String, bool)> {
    let plain = object.iter().filter(|(key, _)| !["space", "family", "id"].contains(&key.as_str()));
    let text = |value: &Value| match value {
        Value::Array(list) if list.iter().all(|v| !v.is_object()) => runs(list),
        Value::Array(list) => format!("{} nodes", list.len()),
        Value::String(word) => word.clone(),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{key} {}", value.as_str().map_or(value.to_string(), str::to_owned))
            };
            entries.iter().map(entry).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    plain.map(|(key, value)| (key.as_str(), text(value), value.is_array())).collect()
}

/// The genes of an architecture on one line; runs of equal layers are counted.
pub fn genes(object: &Map<String, Value>) -> String {
    let words = gene_list(object).into_iter().map(|(key, value, _)| format!("{key} {value}"));
    words.collect::<Vec<_>>().join("  ")
}

/// The genes of an architecture: the plain ones on one line, each list on a line of its own.
pub(super) fn gene_lines(object: &Map<String, Value>) -> String {
    let (lists, plain): (Vec<_>, Vec<_>) = gene_list(object).into_iter().partition(|gene| gene.2);
    let line = |(key, value, _): (&str, String, bool)| format!("{key} {value}");
    let mut lines = vec![plain.into_iter().map(line).collect::<Vec<_>>().join("  ")];
    lines.extend(lists.into_iter().map(line));
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn markup_and_control_characters_lose_their_meaning() {
        assert_eq!(escape("<b onclick='x'>&\"\u{7}\n"), "&lt;b onclick=&#39;x&#39;&gt;&amp;&quot;\u{fffd}\n");
    }

    #[test]
    fn backticks_make_code_and_nothing_else_does() {
        assert_eq!(prose("run `a <b>` now"), "run <code>a &lt;b&gt;</code> now");
        assert_eq!(prose("<code>"), "&lt;code&gt;");
    }

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!((grouped(1_234_567), short(5_300_000)), ("1,234,567".into(), "5.30M".into()));
        assert_eq!([0.0, 8089.081, 1e-9, 100_000.0].map(number), ["0", "8089.08", "1.00000e-9", "100000"]);
    }

    #[test]
    fn units_as_people_read_them() {
        assert_eq!((bytes(85_880_000), bytes(512)), ("85.88\u{a0}MB".into(), "512\u{a0}B".into()));
        assert_eq!([0.020_213_4, 0.000_045].map(milliseconds), ["20.21\u{a0}ms", "0.045\u{a0}ms"]);
        assert_eq!((percent(0.0314, 1), significant(12_345.6, 4)), ("3.1\u{a0}%".into(), "12346".into()));
        assert_eq!((cut("abcdef", 6), cut("abcdef", 4)), ("abcdef".into(), "abc…".into()));
    }

    #[test]
    fn runs_are_counted_and_lists_stand_on_lines_of_their_own() {
        let object = json!({
            "space": "gpt2", "n_layer": 4, "n_head": [2, 2, 2, 4], "op": ["a", "b", "b", "a"], "tied": true, "ratio": [3.5],
        });
        let object = object.as_object().unwrap();
        assert_eq!(gene_lines(object), "n_layer 4  tied true\nn_head 2 ×3, 4\nop a, b ×2, a\nratio 3.5");
        assert_eq!(genes(object), "n_layer 4  n_head 2 ×3, 4  op a, b ×2, a  tied true  ratio 3.5");
    }
}
