//! One candidate and what became of it, as it is stored.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A candidate and what became of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trial {
    /// Its place in the study, from 0.
    pub number: u64,
    /// The canonical id of the architecture.
    pub id: String,
    /// The architecture as JSON.
    pub genes: String,
    /// One number per objective, larger is better; NaN where it failed or has a value only within the set.
    pub objectives: Vec<f64>,
    /// What each proxy said.
    pub scores: Vec<Score>,
    /// Seconds that scoring took.
    pub seconds: f64,
}

/// What a proxy said of a candidate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Score {
    /// The proxy as it was asked for, options included.
    pub proxy: String,
    /// The version of the proxy.
    pub version: u32,
    /// The seed of weights and inputs.
    pub seed: u64,
    /// `ok`, or the kind of failure.
    pub status: String,
    /// The failure in words.
    pub message: String,
    /// The value; 0 for scores that have one only within a set, NaN if it failed.
    pub value: f64,
    /// What a set score ranks by.
    pub parts: Vec<f64>,
    /// For each block the numbers that rate it.
    pub blocks: Vec<Vec<f64>>,
}

/// The words of a score; its numbers stand apart, bit for bit.
#[derive(Serialize, Deserialize)]
struct Words {
    proxy: String,
    version: u32,
    seed: u64,
    status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    parts: usize,
    /// Blocks, and numbers of a block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<usize>,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// The columns that hold more than one value.
pub(super) struct Row {
    pub(super) objectives: Vec<u8>,
    pub(super) scores: String,
    pub(super) numbers: Vec<u8>,
}

impl Trial {
    /// Whether every proxy gave a number.
    pub fn ok(&self) -> bool {
        self.scores.iter().all(|score| score.status == "ok")
    }

    pub(super) fn row(&self) -> Row {
        let mut numbers = Vec::new();
        let words = |score: &Score| {
            numbers.push(score.value);
            numbers.extend(&score.parts);
            numbers.extend(score.blocks.iter().flatten());
            let Score { proxy, version, seed, status, message, parts, blocks, .. } = score.clone();
            let blocks = blocks.iter().map(Vec::len).collect();
            Words { proxy, version, seed, status, message, parts: parts.len(), blocks }
        };
        let words: Vec<Words> = self.scores.iter().map(words).collect();
        let scores = serde_json::to_string(&words).expect("words are plain data");
        Row { objectives: bytes(&self.objectives), scores, numbers: bytes(&numbers) }
    }

    /// What makes two trials the same, whatever came before them.
    pub(super) fn content(&self) -> [u8; 32] {
        self.digest(&[0; 32])
    }

    /// A hash of all but the seconds, which differ from run to run, and of `previous`.
    pub(super) fn digest(&self, previous: &[u8; 32]) -> [u8; 32] {
        let row = self.row();
        let mut hasher = blake3::Hasher::new();
        hasher.update(previous).update(&self.number.to_le_bytes());
        let texts =
            [self.id.as_bytes(), self.genes.as_bytes(), &row.objectives, row.scores.as_bytes(), &row.numbers];
        for text in texts {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text);
        }
        *hasher.finalize().as_bytes()
    }

    /// The columns that [`read`](Self::read) needs, in their order.
    pub(super) fn columns(layout: Layout) -> &'static str {
        match layout {
            Layout::Sealed => "number, id, genes, objectives, scores, numbers, seconds, digest, seal",
            Layout::Unsealed => "number, id, genes, objectives, scores, numbers, seconds, digest",
        }
    }

    /// The trial of a row and its stored digest; no trial if the columns contradict each other.
    pub(super) fn read(row: &rusqlite::Row, layout: Layout) -> rusqlite::Result<(Option<Self>, Vec<u8>)> {
        let number = row.get::<_, i64>(0)?;
        let (objectives, scores, numbers) =
            (row.get::<_, Vec<u8>>(3)?, row.get::<_, String>(4)?, row.get::<_, Vec<u8>>(5)?);
        let (id, genes, seconds) = (row.get(1)?, row.get(2)?, row.get(6)?);
        let parsed = parse(&scores, &numbers).zip(floats(&objectives)).zip(u64::try_from(number).ok());
        let trial = parsed.map(|((scores, objectives), number)| Trial {
            number,
            id,
            genes,
            objectives,
            scores,
            seconds,
        });
        let digest: Vec<u8> = row.get(7)?;
        let sealed = match layout {
            Layout::Sealed => row.get::<_, Vec<u8>>(8)? == seal(&digest, seconds, ""),
            Layout::Unsealed => true,
        };
        Ok((trial.filter(|_| sealed), digest))
    }
}

/// Whether rows carry a seal beside their digest, which they do from the fourth schema on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Sealed,
    Unsealed,
}

/// The seal of a row: a short hash of its digest and of what that leaves out.
pub(super) fn seal(digest: &[u8], seconds: f64, message: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    // SQLite stores minus zero as zero.
    hasher.update(digest).update(&(seconds + 0.0).to_le_bytes()).update(message.as_bytes());
    let mut seal = [0; 16];
    hasher.finalize_xof().fill(&mut seal);
    seal
}

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Option<Vec<f64>> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect())
}

fn parse(words: &str, numbers: &[u8]) -> Option<Vec<Score>> {
    let words: Vec<Words> = serde_json::from_str(words).ok()?;
    let numbers = floats(numbers)?;
    let mut at = 0;
    let mut take = |count: usize| -> Option<Vec<f64>> {
        let range: Range<usize> = at..at.checked_add(count)?;
        at = range.end;
        numbers.get(range).map(<[f64]>::to_vec)
    };
    let score = |words: Words| {
        let Words { proxy, version, seed, status, message, parts, blocks } = words;
        let value = take(1)?[0];
        let parts = take(parts)?;
        let blocks = blocks.into_iter().map(&mut take).collect::<Option<_>>()?;
        Some(Score { proxy, version, seed, status, message, value, parts, blocks })
    };
    words.into_iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What JSON would round or refuse comes back bit for bit.
    #[test]
    fn numbers_survive_to_the_bit() {
        let score = Score {
            proxy: "dss++".into(),
            status: "ok".into(),
            value: f64::NAN,
            parts: vec![0.1 + 0.2, -0.0],
            blocks: vec![vec![1e-310], vec![f64::INFINITY, 2.0], vec![]],
            ..Score::default()
        };
        let trial =
            Trial { scores: vec![score.clone(), Score { value: 3.0, ..score.clone() }], ..Trial::default() };
        let row = trial.row();
        let back = parse(&row.scores, &row.numbers).unwrap();
        let bits = |score: &Score| format!("{score:?} {:x}", score.value.to_bits());
        assert_eq!(
            back.iter().map(bits).collect::<Vec<_>>(),
            trial.scores.iter().map(bits).collect::<Vec<_>>()
        );
        assert!(back[0].parts[1].is_sign_negative());
        assert!(parse(&row.scores, &row.numbers[8..]).is_none());
    }
}
