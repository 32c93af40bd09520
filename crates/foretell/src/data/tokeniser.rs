//! Text into tokens: bytes as they are, or byte pairs learned from the text.

use super::bpe::Bpe;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// How text becomes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokeniser {
    /// A byte a token: 256 ids and the mask. Byte 0 is id 0.
    Bytes,
    /// Byte-level BPE learned from the training part, with so many ids, nothing (0) and the mask (last) among them.
    Bpe(u32),
}

/// Nothing, the mask, and every byte.
const LEAST: u32 = 258;

impl Tokeniser {
    /// How many ids there are, with the mask.
    pub fn vocabulary(self) -> u32 {
        match self {
            Tokeniser::Bytes => 257,
            Tokeniser::Bpe(ids) => ids,
        }
    }

    /// The tokens of both parts.
    pub(super) fn cut(self, train: &[u8], valid: &[u8]) -> Result<[Vec<u32>; 2]> {
        let ids = match self {
            Tokeniser::Bytes => {
                return Ok([train, valid].map(|part| part.iter().map(|b| u32::from(*b)).collect()));
            }
            Tokeniser::Bpe(ids) => ids,
        };
        let [train, valid] = [train, valid].map(String::from_utf8_lossy);
        // The last id is the mask.
        let bpe = Bpe::learn(&train, ids - 1)?;
        Ok([bpe.encode(&train), bpe.encode(&valid)])
    }
}

impl fmt::Display for Tokeniser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tokeniser::Bytes => f.write_str("bytes"),
            Tokeniser::Bpe(ids) => write!(f, "bpe:{ids}"),
        }
    }
}

impl FromStr for Tokeniser {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let message = format!("is neither bytes nor bpe:N with N from {LEAST} on, such as bpe:2048");
            Error::data(format!("tokeniser '{text}'"), message)
        };
        match text.split_once(':') {
            None if text == "bytes" => Ok(Tokeniser::Bytes),
            Some(("bpe", ids)) => {
                let ids = ids.parse().ok().filter(|ids| (LEAST..1 << 24).contains(ids));
                Ok(Tokeniser::Bpe(ids.ok_or_else(wrong)?))
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word that returns is one token; no id reaches the mask; every byte can be said.
    #[test]
    fn pairs_are_learned_from_the_training_part() {
        let text = "wherefore the wherefore\n".repeat(50);
        let kind: Tokeniser = "bpe:270".parse().unwrap();
        let [train, valid] = kind.cut(text.as_bytes(), "wherefore é\n".as_bytes()).unwrap();
        assert!(train.len() < text.len() / 4, "{} tokens", train.len());
        assert!(train.iter().chain(&valid).all(|id| (1..269).contains(id)));
        assert_eq!(valid[0], train[0]);
        for _ in 0..5 {
            let again = kind.cut(text.as_bytes(), "wherefore é\n".as_bytes()).unwrap();
            assert_eq!(again, [train.clone(), valid.clone()], "learned the same way again");
        }
        for wrong in ["bpe", "bpe:12", "words"] {
            assert!(wrong.parse::<Tokeniser>().is_err());
        }
    }
}
