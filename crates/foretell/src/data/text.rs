//! Text as tokens.

use super::cache::{self, Tokens};
use super::{LAYOUT, Part, Tokeniser, files, nine_tenths, read};
use crate::error::{Error, Result};
use std::path::Path;

/// Tokens of a text: ids from 1 on. Id 0 is never text (encoders do not learn it), and the last id of the vocabulary is the
/// mask.
#[derive(Debug, Clone)]
pub struct Text {
    tokens: Tokens,
    vocabulary: u32,
}

impl Text {
    /// Reads a file, `train.txt` and `valid.txt` of a folder, or all files of a folder as one text.
    pub fn open(path: &Path, tokeniser: Tokeniser, cache: Option<&Path>) -> Result<Self> {
        let (train, valid) = if path.is_file() {
            (read(path)?, None)
        } else if path.join("train.txt").is_file() {
            let valid = path.join("valid.txt");
            let valid = if valid.is_file() { Some(read(&valid)?) } else { None };
            (read(&path.join("train.txt"))?, valid)
        } else {
            let mut all = Vec::new();
            for file in files(path)? {
                let bytes = read(&file)?;
                super::room((all.len() + bytes.len()) as u64)
                    .map_err(|e| Error::data(path.display().to_string(), e))?;
                all.extend(bytes);
            }
            (all, None)
        };
        let name = path.display().to_string();
        if train.is_empty() {
            return Err(Error::data(name, format!("holds no text. {LAYOUT}")));
        }
        let key = cache::key(&train, valid.as_deref(), tokeniser);
        if let Some(tokens) = cache.and_then(|cache| cache::open(cache, &key)) {
            return Ok(Text { tokens, vocabulary: tokeniser.vocabulary() });
        }
        let text = Self::of(&name, &train, valid.as_deref(), tokeniser)?;
        if let Some(Err(error)) = cache.map(|cache| cache::write(cache, &key, &text.tokens)) {
            log::warn!("tokens are not cached: {error}");
        }
        Ok(text)
    }

    /// Cuts bytes into tokens; without a validation text the last tenth is taken, from a line's beginning on. A
    /// tokeniser learns from the training part alone.
    pub fn of(name: &str, train: &[u8], valid: Option<&[u8]>, tokeniser: Tokeniser) -> Result<Self> {
        let (train, valid) = valid.map_or_else(
            || {
                let cut = nine_tenths(train.len());
                let before = cut.saturating_sub(1);
                let line = train[before..].iter().position(|byte| *byte == b'\n').unwrap_or(0);
                train.split_at(cut + line)
            },
            |valid| (train, valid),
        );
        let [train, valid] = tokeniser.cut(train, valid).map_err(|e| e.at(name))?;
        Ok(Text { tokens: Tokens::new(train, valid), vocabulary: tokeniser.vocabulary() })
    }

    /// The tokens of a part.
    pub fn ids(&self, part: Part) -> &[u32] {
        let (train, valid) = self.tokens.parts();
        if part == Part::Train { train } else { valid }
    }

    /// How many ids there are, with that of nothing and the mask.
    pub fn vocabulary(&self) -> u32 {
        self.vocabulary
    }

    /// The id that hides a token.
    pub fn mask(&self) -> u32 {
        self.vocabulary - 1
    }

    pub(super) fn digest(&self) -> &str {
        &self.tokens.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_split_at_a_line() {
        let text = "a line of ten\n".repeat(40);
        let data = Text::of("test", text.as_bytes(), None, Tokeniser::Bytes).unwrap();
        assert_eq!((data.vocabulary(), data.mask()), (257, 256));
        assert_eq!(data.ids(Part::Train).len() + data.ids(Part::Valid).len(), text.len());
        assert_eq!(data.ids(Part::Valid)[..2], [97, 32], "validation begins a line");
        assert_eq!(data.ids(Part::Valid).len(), 56, "four lines of forty");
    }

    #[test]
    fn nothing_is_an_error_that_says_what_is_expected() {
        let missing = super::super::Data::open(Path::new("no such folder"), Tokeniser::Bytes, None, None);
        let message = missing.unwrap_err().to_string();
        assert!(message.contains("is not there") && message.contains("train.txt and valid.txt"), "{message}");
    }
}
