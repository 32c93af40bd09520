//! Scores known from before: one sealed line of JSON each, in a file that is only ever added to.

use crate::error::{Error, Result};
use crate::file;
use crate::proxy::Score;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Mutex;

/// A file of scores, and all it holds.
#[derive(Debug)]
pub struct Cache {
    known: FxHashMap<String, Line>,
    file: Mutex<File>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    key: String,
    value: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Cache {
    /// Opens a file, which is made if it is not there. Lines that are cut off or damaged are left out, with a note.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |source| Error::read(path, source);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = File::options().read(true).append(true).create(true).open(path).map_err(failed)?;
        file::regular(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let mut known = FxHashMap::default();
        let mut damaged = 0;
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match file::unseal::<Line>(line) {
                Some(line) => drop(known.insert(line.key.clone(), line)),
                None => damaged += 1,
            }
        }
        if damaged > 0 {
            log::warn!("{}: {damaged} damaged scores are computed again", path.display());
        }
        // A last line without its end must not swallow the next one.
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(Cache { known, file: Mutex::new(file) })
    }

    /// A score, without its terms.
    pub fn get(&self, key: &str) -> Option<Score> {
        let line = self.known.get(key)?;
        let Line { value, parts, error, notes, .. } = line;
        Some(Score {
            value: *value,
            parts: parts.clone(),
            error: *error,
            notes: notes.clone(),
            terms: Vec::new(),
        })
    }

    /// Remembers a score. What cannot be written is computed again next time.
    pub fn put(&self, key: String, score: &Score) {
        let Score { value, parts, error, notes, .. } = score.clone();
        let line = Line { key, value, parts, error, notes };
        let text = file::seal(&line) + "\n";
        // One write per line: two processes do not mix theirs.
        let _ = self.file.lock().expect("no holder panics").write_all(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever bit is flipped, a score is the one that was stored, or unknown.
    #[test]
    fn no_altered_byte_is_believed() {
        let folder = std::env::temp_dir().join(format!("foretell-cache-bits-{}", std::process::id()));
        let path = folder.join("scores.jsonl");
        let stored = Score { parts: vec![1.5], ..Score::from(0.1) };
        Cache::open(&path).unwrap().put("a".into(), &stored);
        let bytes = std::fs::read(&path).unwrap();
        let mut unknown = 0;
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << (place % 7);
            std::fs::write(&path, damaged).unwrap();
            match Cache::open(&path).unwrap().get("a") {
                Some(score) => assert_eq!(score, stored, "byte {place}"),
                None => unknown += 1,
            }
        }
        assert!(unknown > bytes.len() / 2);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Cut off anywhere, every whole line survives and the next one is read back.
    #[test]
    fn a_torn_file_loses_its_last_line_only() {
        let folder = std::env::temp_dir().join(format!("foretell-cache-{}", std::process::id()));
        let path = folder.join("scores.jsonl");
        let score = |value| Score { parts: vec![1.5], ..Score::from(value) };
        for cut in [1, 5, 20] {
            let _ = std::fs::remove_file(&path);
            let cache = Cache::open(&path).unwrap();
            cache.put("a".into(), &score(0.1));
            cache.put("b".into(), &score(2.0));
            let length = std::fs::metadata(&path).unwrap().len();
            File::options().write(true).open(&path).unwrap().set_len(length - cut).unwrap();
            Cache::open(&path).unwrap().put("c".into(), &score(3.0));
            let cache = Cache::open(&path).unwrap();
            assert_eq!(cache.get("a"), Some(score(0.1)), "cut {cut}");
            assert_eq!(cache.get("c"), Some(score(3.0)), "cut {cut}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
