//! One part of a search that many jobs share.
//!
//! A shard is a study of its own: it takes its share of the budget and draws from streams of its own, while weights and
//! inputs come from the common seed, so that scores of different shards compare. Of all architectures each belongs to one
//! shard: `exhaustive` takes every `of`-th index, and what is drawn at random is drawn until it is the shard's own.
//! Children of evolution are not restricted; two shards may come upon the same one, and merging keeps it once.

use crate::error::{Error, Result};
use std::fmt;

/// The `index`-th of `of` parts of a search, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    of: u64,
}

impl Shard {
    /// Reads `3/16`.
    pub fn parse(text: &str) -> Result<Self> {
        let parts = text.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parts {
            Some((index, of)) if (1..=of).contains(&index) && of <= 100_000 => Ok(Shard { index, of }),
            _ => Err(Error::option(
                "shard",
                format!("'{text}' is not such as 3/16: the third of sixteen parts"),
            )),
        }
    }

    /// How many shards there are.
    pub fn of(self) -> u64 {
        self.of
    }

    /// Which one this is, from 1.
    pub fn index(self) -> u64 {
        self.index
    }

    /// Its share of a budget; shares add up to the whole.
    pub(super) fn share(self, total: u64) -> u64 {
        total / self.of + u64::from(self.index <= total % self.of)
    }

    /// The index in the whole space of its own `nth` point.
    pub(super) fn nth(self, nth: u64) -> Option<u64> {
        nth.checked_mul(self.of)?.checked_add(self.index - 1)
    }

    /// Whether an architecture is among those that it draws.
    pub(super) fn owns(self, id: &str) -> bool {
        let hash = blake3::hash(id.as_bytes());
        let (head, _) = hash.as_bytes().as_chunks::<8>();
        u64::from_le_bytes(head[0]) % self.of == self.index - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}of{}", self.index, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 in 4 parts: 3 + 3 + 2 + 2; indices 0 4 8, 1 5 9, 2 6, 3 7.
    #[test]
    fn shares_add_up_and_indices_are_split() {
        let shards: Vec<Shard> = (1..=4).map(|i| Shard::parse(&format!("{i}/4")).unwrap()).collect();
        assert_eq!(shards.iter().map(|shard| shard.share(10)).collect::<Vec<_>>(), [3, 3, 2, 2]);
        let mut all: Vec<u64> =
            shards.iter().flat_map(|shard| (0..shard.share(10)).map(|n| shard.nth(n).unwrap())).collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        for id in ["a", "b", "c"] {
            assert_eq!(shards.iter().filter(|shard| shard.owns(id)).count(), 1);
        }
        for wrong in ["0/4", "5/4", "3", "a/b", "1/0", ""] {
            assert!(Shard::parse(wrong).is_err(), "{wrong}");
        }
    }
}
