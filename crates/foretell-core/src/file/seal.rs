//! Records of JSON whose last field is a digest of all before it: an altered byte is found before anything is believed.

use serde::Serialize;
use serde::de::DeserializeOwned;

const FIELD: &str = "\"digest\":";
/// Hex digits of a digest.
const DIGITS: usize = 32;

/// A digest of some bytes, as text.
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..DIGITS].to_owned()
}

/// A record on one line, without the line's end. It must be written as a JSON object with at least one field.
pub fn seal<T: Serialize>(record: &T) -> String {
    sealed(serde_json::to_string(record), ",", "", "}")
}

/// A record as people read it, with the end of its last line.
pub fn seal_pretty<T: Serialize>(record: &T) -> String {
    sealed(serde_json::to_string_pretty(record), ",\n  ", " ", "\n}\n")
}

fn sealed(text: serde_json::Result<String>, before: &str, space: &str, end: &str) -> String {
    let text = text.expect("a record is plain data");
    let body = text.strip_suffix('}').expect("a record is an object").trim_end();
    let all = format!("{body}{before}");
    format!("{all}{FIELD}{space}\"{}\"{end}", digest(all.as_bytes()))
}

/// The record of a sealed text; nothing if the text is damaged, or was never sealed.
pub fn unseal<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    let end = text.windows(FIELD.len()).rposition(|window| window == FIELD.as_bytes())?;
    let (all, rest) = text.split_at(end);
    let rest = rest[FIELD.len()..].trim_ascii();
    let said = rest.strip_prefix(b"\"")?.strip_suffix(b"}")?.trim_ascii_end().strip_suffix(b"\"")?;
    (said == digest(all).as_bytes()).then(|| serde_json::from_slice(text).ok())?
}

/// How the last line of a text with comments begins that carries a digest of the lines before.
const REMARK: &str = "# digest ";

/// A text whose comments begin with `#`, with a digest as its last comment.
pub fn seal_text(text: &str) -> String {
    format!("{text}{REMARK}{}\n", digest(text.as_bytes()))
}

/// Whether a text is as [`seal_text`] wrote it. One without a digest is somebody's own.
pub fn is_intact(text: &str) -> bool {
    let Some((before, said)) = text.rsplit_once(REMARK) else { return true };
    said.trim_end() == digest(before.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_altered_byte_is_found() {
        let record = json!({"key": "a", "values": [0.1, -2.5e-300], "inner": {"b": {"c": 1}}});
        for text in [seal(&record), seal_pretty(&record)] {
            let mut back: Value = unseal(text.as_bytes()).unwrap();
            back.as_object_mut().unwrap().remove("digest").unwrap();
            assert_eq!(back, record, "{text}");
            for place in 0..text.len() {
                for bit in 0..8 {
                    let mut damaged = text.clone().into_bytes();
                    damaged[place] ^= 1 << bit;
                    if let Some(mut read) = unseal::<Value>(&damaged) {
                        read.as_object_mut().unwrap().remove("digest");
                        assert_eq!(read, record, "byte {place}, bit {bit}");
                    }
                }
            }
            let last = text.trim_end().len();
            assert!((0..last).all(|cut| unseal::<Value>(&text.as_bytes()[..cut]).is_none()), "cut off");
        }
        assert!(unseal::<Value>(b"{\"key\": 1}").is_none());
        assert!(unseal::<Value>(b"").is_none());
    }

    #[test]
    fn a_text_is_intact_or_somebodys_own() {
        let text = seal_text("# remark\nnsc\n");
        assert!(is_intact(&text) && is_intact("nsc\n"));
        assert!(!is_intact(&text.replace("nsc", "nsb")) && !is_intact(&(text + "more\n")));
    }
}
