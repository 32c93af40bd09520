//! Byte-level BPE (Sennrich et al., 2016; Radford et al., 2019): pairs of tokens that occur most often become tokens.
//!
//! A text is cut into pieces first, as GPT-2 does: contractions, words, numbers and signs, each with the space before
//! it; no token crosses a piece. The most frequent pair is merged until there are enough tokens; of equally frequent
//! pairs the one of the smaller ids. Ids: 0 is nothing, then every byte, then the merges in their order.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BinaryHeap;

/// Two neighbouring tokens.
type Pair = (u32, u32);

/// Merges that were learned, each with its id. An earlier merge has the smaller id.
pub struct Bpe {
    merges: FxHashMap<Pair, u32>,
    /// The token of each byte.
    bytes: [u32; 256],
}

/// Nothing and every byte.
pub const FIRST_MERGE: u32 = 257;

/// The token of each byte: printable ones first, as GPT-2 orders them.
fn byte_tokens() -> [u32; 256] {
    let printable = |b: &u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let order = (0..=255).filter(printable).chain((0..=255).filter(|b| !printable(b)));
    let mut tokens = [0; 256];
    (1..).zip(order).for_each(|(token, byte)| tokens[usize::from(byte)] = token);
    tokens
}

/// A word of the text: its tokens, and how often it occurs.
struct Word {
    tokens: Vec<u32>,
    count: i64,
}

impl Word {
    fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        self.tokens.windows(2).map(|pair| (pair[0], pair[1]))
    }
}

impl Bpe {
    /// Learns merges from the lines of a text until there are `tokens` tokens, or no pair occurs twice in a word.
    pub fn learn(text: &str, tokens: u32) -> Self {
        let bytes = byte_tokens();
        let mut counts: FxHashMap<&str, i64> = FxHashMap::default();
        for line in text.split_inclusive('\n') {
            pieces(line).for_each(|piece| *counts.entry(piece).or_default() += 1);
        }
        let word = |(piece, count): (&str, i64)| Word {
            tokens: piece.bytes().map(|b| bytes[usize::from(b)]).collect(),
            count,
        };
        let mut words: Vec<Word> = counts.into_iter().map(word).collect();
        let mut totals: FxHashMap<Pair, i64> = FxHashMap::default();
        let mut places: FxHashMap<Pair, FxHashSet<usize>> = FxHashMap::default();
        for (place, word) in words.iter().enumerate() {
            for pair in word.pairs() {
                *totals.entry(pair).or_default() += word.count;
                places.entry(pair).or_default().insert(place);
            }
        }
        // Counts in the heap may be out of date; what is popped is compared with the true one.
        let entry = |pair: Pair, total: i64| (total, std::cmp::Reverse(pair));
        let mut heap: BinaryHeap<_> = totals.iter().map(|(pair, total)| entry(*pair, *total)).collect();
        let mut merges = FxHashMap::default();
        while FIRST_MERGE + (merges.len() as u32) < tokens {
            let Some((total, std::cmp::Reverse(pair))) = heap.pop() else { break };
            let now = totals[&pair];
            if total != now {
                heap.extend((now > 0).then(|| entry(pair, now)));
                continue;
            }
            if now < 1 {
                break;
            }
            let token = FIRST_MERGE + merges.len() as u32;
            merges.insert(pair, token);
            let mut grown: FxHashSet<Pair> = FxHashSet::default();
            for place in places.remove(&pair).unwrap_or_default() {
                let word = &mut words[place];
                word.pairs().for_each(|pair| *totals.entry(pair).or_default() -= word.count);
                replace(&mut word.tokens, pair, token);
                for pair in word.pairs() {
                    *totals.entry(pair).or_default() += word.count;
                    if pair.0 == token || pair.1 == token {
                        places.entry(pair).or_default().insert(place);
                        grown.insert(pair);
                    }
                }
            }
            heap.extend(grown.into_iter().map(|pair| entry(pair, totals[&pair])));
        }
        Bpe { merges, bytes }
    }

    /// The tokens of a text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut known: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
        let mut all = Vec::with_capacity(text.len() / 3);
        for line in text.split_inclusive('\n') {
            for piece in pieces(line) {
                all.extend_from_slice(known.entry(piece).or_insert_with(|| self.merge(piece)));
            }
        }
        all
    }

    /// The tokens of a piece: the earliest merge first, everywhere.
    fn merge(&self, piece: &str) -> Vec<u32> {
        let mut tokens: Vec<u32> = piece.bytes().map(|b| self.bytes[usize::from(b)]).collect();
        loop {
            let known = tokens
                .windows(2)
                .filter_map(|pair| Some((*self.merges.get(&(pair[0], pair[1]))?, (pair[0], pair[1]))));
            let Some((token, pair)) = known.min() else { return tokens };
            replace(&mut tokens, pair, token);
        }
    }
}

/// Puts one token in the place of a pair, from the left.
fn replace(tokens: &mut Vec<u32>, pair: Pair, token: u32) {
    let (mut read, mut write) = (0, 0);
    while read < tokens.len() {
        let merged = read + 1 < tokens.len() && (tokens[read], tokens[read + 1]) == pair;
        tokens[write] = if merged { token } else { tokens[read] };
        read += 1 + usize::from(merged);
        write += 1;
    }
    tokens.truncate(write);
}

/// The pieces of a line: contractions, then runs of letters, numbers or signs with one space before them, then spaces.
fn pieces(mut rest: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(first_piece(rest));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The length of the first piece in bytes.
fn first_piece(text: &str) -> usize {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Letter,
        Number,
        Space,
        Sign,
    }
    let kind = |c: char| match c {
        c if c.is_alphabetic() => Kind::Letter,
        c if c.is_numeric() => Kind::Number,
        c if c.is_whitespace() => Kind::Space,
        _ => Kind::Sign,
    };
    const CONTRACTIONS: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];
    if let Some(found) = CONTRACTIONS.iter().find(|end| text.starts_with(**end)) {
        return found.len();
    }
    let run = |start: usize, of: Kind| {
        let rest = &text[start..];
        start + rest.find(|c| kind(c) != of).unwrap_or(rest.len())
    };
    let start = usize::from(text.starts_with(' '));
    match text[start..].chars().next().map(kind) {
        None => start,
        Some(Kind::Space) if start == 1 => spaces(text, run(0, Kind::Space)),
        Some(Kind::Space) => spaces(text, run(0, Kind::Space)),
        Some(of) => run(start, of),
    }
}

/// A run of spaces leaves its last one to the word behind it.
fn spaces(text: &str, end: usize) -> usize {
    let last = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    if end < text.len() && last > 0 { last } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_those_of_gpt2() {
        let cut = |text| pieces(text).collect::<Vec<_>>();
        assert_eq!(cut("It's  2 x3,\n"), ["It", "'s", " ", " 2", " x", "3", ",", "\n"]);
        assert_eq!(cut("a \n"), ["a", " \n"]);
        assert_eq!(cut("\t\tb"), ["\t", "\t", "b"]);
        assert_eq!(cut("'tis éß 'll"), ["'t", "is", " éß", " '", "ll"]);
        assert_eq!(cut(" "), [" "]);
    }

    /// "aab" three times, "ab" twice: ab occurs 5 times and is merged first, then a·ab, 3 times.
    #[test]
    fn merges_by_hand() {
        let bpe = Bpe::learn("aab aab\nab\naab ab", 260);
        let [a, b] = [b'a', b'b'].map(|byte| bpe.bytes[usize::from(byte)]);
        assert_eq!(bpe.merges[&(a, b)], 257);
        assert_eq!(bpe.merges[&(a, 257)], 258);
        assert_eq!(bpe.encode("aabb"), [258, b]);
    }

    /// Runs of one letter: "aaaa" has the pair three times, of which two are merged.
    #[test]
    fn overlapping_pairs_are_merged_from_the_left() {
        let bpe = Bpe::learn(&"aaaa\n".repeat(3), 259);
        assert_eq!(bpe.encode("aaaaa").len(), 2);
    }
}
