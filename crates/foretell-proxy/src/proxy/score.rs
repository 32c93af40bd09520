//! What a proxy says of one candidate.

/// A score, and what it is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Score {
    /// The number that is ranked by: higher predicts the better network.
    pub value: f64,
    /// The addends, for scores that are sums over layers.
    pub terms: Vec<Term>,
    /// What a set score ranks by.
    pub parts: Vec<f64>,
    /// The standard error, for scores that are estimates.
    pub error: Option<f64>,
    /// What one should know before trusting the value.
    pub notes: Vec<String>,
}

/// One addend.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The tensor or layer it belongs to.
    pub name: String,
    /// Its block, counted over the whole network.
    pub block: Option<u32>,
    /// What it adds.
    pub value: f64,
}

impl Term {
    /// A term of a block without a tensor of its own.
    pub fn of(name: impl Into<String>, block: impl Into<Option<u32>>, value: f64) -> Self {
        Term { name: name.into(), block: block.into(), value }
    }
}

impl From<f64> for Score {
    fn from(value: f64) -> Self {
        Score { value, ..Score::default() }
    }
}

impl Score {
    /// The sum of terms.
    pub fn sum(terms: Vec<Term>) -> Self {
        Score { value: terms.iter().map(|term| term.value).sum(), terms, ..Score::default() }
    }

    /// A set score: it has parts, and a value only within a set.
    pub fn set(parts: Vec<f64>, terms: Vec<Term>) -> Self {
        Score { value: 0.0, parts, terms, ..Score::default() }
    }

    /// The same with something to know.
    pub fn note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }

    /// The same with the sign turned, for originals that are lower-is-better.
    pub fn turned(mut self) -> Self {
        self.value = -self.value;
        self.terms.iter_mut().for_each(|term| term.value = -term.value);
        self
    }
}
