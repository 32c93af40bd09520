//! Units and what comes back, as plain data. Numbers travel as bits, because text would lose NaN.

use crate::error::{Error, Result};
use crate::probe::Inputs;
use crate::proxy::{Score, Term};
use crate::score::{Cell, Precision, Row};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is done with every candidate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Task {
    /// It is scored.
    Score {
        /// Labels of the proxies.
        proxies: Vec<String>,
        /// The seeds of each score.
        seeds: Vec<u64>,
        /// Whether passes compute in double precision.
        double: bool,
        /// Whether every candidate has a draw of weights of its own.
        standalone: bool,
        /// What networks are fed; drawn if absent.
        inputs: Option<Inputs>,
    },
}

impl Task {
    /// The task as it travels, and its digest.
    pub fn written(&self) -> (Vec<u8>, String) {
        let bytes = serde_json::to_vec(self).expect("a task is plain data");
        let digest = blake3::hash(&bytes).to_hex()[..20].to_owned();
        (bytes, digest)
    }

    /// The numbers that passes compute with.
    pub(super) fn precision(double: bool) -> Precision {
        if double { Precision::F64 } else { Precision::F32 }
    }
}

/// A candidate of a unit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Item {
    /// Its place among all that the study asked for.
    pub index: usize,
    /// The candidate.
    pub architecture: Map<String, Value>,
}

/// Candidates that one worker computes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unit {
    /// The release that asks.
    pub version: String,
    /// The digest of the task.
    pub task: String,
    /// Its number.
    pub number: u64,
    /// The candidates.
    pub items: Vec<Item>,
}

/// What a worker says of a unit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reply {
    /// The release that answers.
    pub version: String,
    /// The vector instructions that it computed with.
    pub processor: String,
    /// The machine.
    pub host: String,
    /// Seconds that all candidates took together.
    pub seconds: f64,
    /// What came of each.
    pub rows: Vec<Answer>,
}

/// What came of one candidate, known by index and id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    /// Its place among all that the study asked for.
    pub index: usize,
    /// Its id.
    pub id: String,
    /// One entry per proxy.
    pub cells: Vec<CellData>,
}

/// A number that keeps its bits.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
struct Bits(f64);

impl From<u64> for Bits {
    fn from(bits: u64) -> Self {
        Bits(f64::from_bits(bits))
    }
}

impl From<Bits> for u64 {
    fn from(bits: Bits) -> u64 {
        bits.0.to_bits()
    }
}

/// A [`Cell`] on its way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellData {
    scores: Vec<std::result::Result<ScoreData, FailureData>>,
    seconds: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ScoreData {
    value: Bits,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    terms: Vec<(String, Option<u32>, Bits)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Bits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Bits>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FailureData {
    kind: String,
    of_machine: bool,
    message: String,
}

impl From<&Error> for FailureData {
    fn from(error: &Error) -> Self {
        FailureData {
            kind: error.kind().to_owned(),
            of_machine: error.is_of_machine(),
            message: error.to_string(),
        }
    }
}

/// The kinds of errors that a worker can have with a candidate.
const KINDS: [&str; 13] = [
    "read",
    "write",
    "unknown-name",
    "parse",
    "option",
    "data",
    "invalid-architecture",
    "memory",
    "not-evaluated",
    "crashed",
    "not-defined",
    "degenerate",
    "non-finite",
];

impl From<FailureData> for Error {
    fn from(FailureData { kind, of_machine, message }: FailureData) -> Self {
        let kind = KINDS.into_iter().find(|known| *known == kind).unwrap_or("data");
        Error::Remote { kind, of_machine, message }
    }
}

impl From<&Score> for ScoreData {
    fn from(score: &Score) -> Self {
        ScoreData {
            value: Bits(score.value),
            terms: score.terms.iter().map(|term| (term.name.clone(), term.block, Bits(term.value))).collect(),
            parts: score.parts.iter().copied().map(Bits).collect(),
            error: score.error.map(Bits),
            notes: score.notes.clone(),
        }
    }
}

impl From<ScoreData> for Score {
    fn from(data: ScoreData) -> Self {
        let term = |(name, block, value): (String, Option<u32>, Bits)| Term { name, block, value: value.0 };
        Score {
            value: data.value.0,
            terms: data.terms.into_iter().map(term).collect(),
            parts: data.parts.into_iter().map(|part| part.0).collect(),
            error: data.error.map(|error| error.0),
            notes: data.notes,
        }
    }
}

impl From<&Cell> for CellData {
    fn from(cell: &Cell) -> Self {
        let score = |score: &Result<Score>| match score {
            Ok(score) => Ok(ScoreData::from(score)),
            Err(error) => Err(FailureData::from(error)),
        };
        CellData { scores: cell.scores.iter().map(score).collect(), seconds: cell.seconds }
    }
}

impl CellData {
    /// A cell that failed.
    pub(super) fn failed(error: &Error) -> Self {
        CellData { scores: vec![Err(error.into())], seconds: 0.0 }
    }

    /// What the machine did to it.
    fn fault(&self) -> Option<&str> {
        let failures = self.scores.iter().filter_map(|score| score.as_ref().err());
        failures.into_iter().find(|failure| failure.of_machine).map(|failure| failure.message.as_str())
    }
}

impl From<CellData> for Cell {
    fn from(data: CellData) -> Self {
        let scores = data.scores.into_iter().map(|score| score.map(Score::from).map_err(Error::from));
        Cell { scores: scores.collect(), seconds: data.seconds }
    }
}

impl Answer {
    /// What the machine did to the candidate, which another machine may not do.
    pub fn fault(&self) -> Option<&str> {
        self.cells.iter().find_map(CellData::fault)
    }

    /// Whether the candidate failed because it crashes every process.
    pub(super) fn is_crash(&self) -> bool {
        let failures =
            self.cells.iter().flat_map(|cell| &cell.scores).filter_map(|score| score.as_ref().err());
        failures.into_iter().any(|failure| failure.kind == "crashed")
    }

    /// The row of the candidate. It does not say which passes were run.
    pub fn row(self) -> Row {
        Row { cells: self.cells.into_iter().map(Cell::from).collect(), passes: Vec::new() }
    }
}
