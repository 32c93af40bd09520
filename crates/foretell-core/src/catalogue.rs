//! Look-up by name with "did you mean", shared by spaces, proxies, keys and benchmarks.

use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// The known name closest to `given`, if it is close enough to be a slip of the keyboard.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Two letters swapped in a short name look unlike to one measure, a missing ending to the other.
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(given, name), strsim::jaro_winkler(given, name), name))
        .filter(|(edits, similarity, name)| *similarity > 0.75 || (*edits <= 2 && *edits < name.len()))
        .min_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)))
        .map(|(.., name)| name)
}

/// The item called `given`, or an error that lists what exists.
pub fn find<'a, T: ?Sized>(
    what: &'static str,
    given: &str,
    items: &[&'a T],
    name: impl Fn(&'a T) -> &'a str,
) -> Result<&'a T> {
    items
        .iter()
        .copied()
        .find(|item| name(item) == given)
        .ok_or_else(|| unknown(what, given, items.iter().map(|item| name(item))))
}

/// The error for a name that is not among `known`.
pub fn unknown<'a>(what: &'static str, given: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.into_iter().collect();
    Error::Unknown {
        what,
        given: given.to_owned(),
        nearest: nearest(given, known.iter().copied()).map(str::to_owned),
        known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
    }
}

/// The two parts of `name` or `name[key=value,…]`: the name, and its options as JSON where they are JSON, else as text.
pub fn bracketed(text: &str) -> Result<(&str, Map<String, Value>)> {
    let text = text.trim();
    let (name, options) = match text.split_once('[') {
        None => (text, ""),
        Some((name, rest)) => match rest.strip_suffix(']') {
            Some(options) => (name, options),
            None => return Err(Error::parse(text, "has no closing bracket")),
        },
    };
    let pair = |option: &str| {
        let wrong = || Error::parse(text, format!("'{option}' is not of the form key=value"));
        let (key, value) = option.split_once('=').ok_or_else(wrong)?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok((key.trim().to_owned(), value))
    };
    let options = options.split(',').map(str::trim).filter(|option| !option.is_empty());
    Ok((name, options.map(pair).collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_named_and_a_stranger_is_not() {
        let known = ["embed_dim", "num_heads", "depth"];
        assert_eq!(nearest("num_head", known), Some("num_heads"));
        assert_eq!(nearest("dpeth", known), Some("depth"));
        assert_eq!(nearest("zebra", known), None);
    }
}
