//! Byte-level BPE (Sennrich et al., 2016; Radford et al., 2019): pairs of tokens that occur most often become tokens.
//!
//! A text is cut into pieces first, as GPT-2 does: contractions, words, numbers and signs, each with the space before
//! it; no token crosses a piece. The most frequent pair is merged until there are enough tokens; of equally frequent
//! pairs the one of the smaller ids. Ids: 0 is nothing, then every byte, then the merges in their order.

use crate::error::{Error, Result};
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

/// Pieces of a text side by side, as tokens that know their neighbours: a merge takes the time of its occurrences.
struct Chain {
    /// The tokens; [`GONE`] where one became part of its left neighbour.
    tokens: Vec<u32>,
    /// The place of the neighbour; [`GONE`] at the ends of a piece.
    next: Vec<u32>,
    before: Vec<u32>,
}

/// No token, no place.
const GONE: u32 = u32::MAX;

impl Chain {
    fn with_capacity(tokens: usize) -> Self {
        let empty = || Vec::with_capacity(tokens);
        Chain { tokens: empty(), next: empty(), before: empty() }
    }

    fn push(&mut self, piece: impl ExactSizeIterator<Item = u32>) {
        let (first, count) = (self.tokens.len() as u32, piece.len() as u32);
        self.tokens.extend(piece);
        self.next.extend((0..count).map(|i| if i + 1 < count { first + i + 1 } else { GONE }));
        self.before.extend((0..count).map(|i| if i > 0 { first + i - 1 } else { GONE }));
    }

    /// The pair that begins at a place.
    fn pair(&self, place: u32) -> Option<Pair> {
        let (left, next) = (self.tokens[place as usize], self.next[place as usize]);
        (left != GONE && next != GONE).then(|| (left, self.tokens[next as usize]))
    }

    /// The place before another.
    fn before(&self, place: u32) -> Option<u32> {
        Some(self.before[place as usize]).filter(|before| *before != GONE)
    }

    /// Puts one token in the place of the pair that begins there.
    fn merge(&mut self, place: u32, token: u32) {
        let gone = self.next[place as usize];
        let after = self.next[gone as usize];
        self.tokens[place as usize] = token;
        self.tokens[gone as usize] = GONE;
        self.next[place as usize] = after;
        if after != GONE {
            self.before[after as usize] = place;
        }
    }
}

/// How often each pair occurs, and where; places that are out of date are compared with the chain.
#[derive(Default)]
struct Pairs(FxHashMap<Pair, (i64, Vec<u32>)>);

impl Pairs {
    fn add(&mut self, pair: Pair, count: i64, place: u32) {
        let entry = self.0.entry(pair).or_default();
        entry.0 += count;
        entry.1.push(place);
    }

    fn remove(&mut self, pair: Pair, count: i64) {
        self.0.entry(pair).or_default().0 -= count;
    }

    fn total(&self, pair: Pair) -> i64 {
        self.0.get(&pair).map_or(0, |entry| entry.0)
    }
}

impl Bpe {
    /// Learns merges from the lines of a text until there are `tokens` tokens, or no pair is left. The text must have less
    /// than 4 GiB of different pieces.
    pub fn learn(text: &str, tokens: u32) -> Result<Self> {
        let bytes = byte_tokens();
        let mut counts: FxHashMap<&str, i64> = FxHashMap::default();
        for line in text.split_inclusive('\n') {
            pieces(line).for_each(|piece| *counts.entry(piece).or_default() += 1);
        }
        let size: usize = counts.keys().map(|piece| piece.len()).sum();
        if size >= GONE as usize {
            return Err(Error::data("", "has more than 4 GiB of different words: take a part of it"));
        }
        let (mut chain, mut often) = (Chain::with_capacity(size), Vec::with_capacity(size));
        for (piece, count) in counts {
            chain.push(piece.bytes().map(|b| bytes[usize::from(b)]));
            often.resize(chain.tokens.len(), count);
        }
        let mut pairs = Pairs::default();
        for place in 0..size as u32 {
            if let Some(pair) = chain.pair(place) {
                pairs.add(pair, often[place as usize], place);
            }
        }
        // Counts in the heap may be out of date; what is popped is compared with the true one.
        let entry = |pair: Pair, total: i64| (total, std::cmp::Reverse(pair));
        let mut heap: BinaryHeap<_> = pairs.0.iter().map(|(pair, (total, _))| entry(*pair, *total)).collect();
        let mut merges = FxHashMap::default();
        while FIRST_MERGE + (merges.len() as u32) < tokens {
            let Some((total, std::cmp::Reverse(pair))) = heap.pop() else { break };
            let now = pairs.total(pair);
            if total != now {
                heap.extend((now > 0).then(|| entry(pair, now)));
                continue;
            }
            if now < 1 {
                break;
            }
            let token = FIRST_MERGE + merges.len() as u32;
            merges.insert(pair, token);
            let grown = everywhere(&mut chain, &mut pairs, &often, pair, token);
            heap.extend(grown.into_iter().map(|pair| entry(pair, pairs.total(pair))));
        }
        Ok(Bpe { merges, bytes })
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

    /// The tokens of a piece: the earliest merge first, everywhere, from the left.
    fn merge(&self, piece: &str) -> Vec<u32> {
        let mut chain = Chain::with_capacity(piece.len());
        chain.push(piece.bytes().map(|b| self.bytes[usize::from(b)]));
        let due = |chain: &Chain, place: u32| {
            let token = self.merges.get(&chain.pair(place)?)?;
            Some(std::cmp::Reverse((*token, place)))
        };
        let mut heap: BinaryHeap<_> =
            (0..piece.len() as u32).filter_map(|place| due(&chain, place)).collect();
        while let Some(first) = heap.pop() {
            let std::cmp::Reverse((token, place)) = first;
            // A merge gives later ones only, so those of one pair come together.
            if due(&chain, place) == Some(first) {
                chain.merge(place, token);
                heap.extend(chain.before(place).and_then(|before| due(&chain, before)));
                heap.extend(due(&chain, place));
            }
        }
        chain.tokens.retain(|token| *token != GONE);
        chain.tokens
    }
}

/// Merges a pair wherever it is, from the left; the pairs that there are now with its token.
fn everywhere(
    chain: &mut Chain,
    pairs: &mut Pairs,
    often: &[i64],
    pair: Pair,
    token: u32,
) -> FxHashSet<Pair> {
    let places = pairs.0.get_mut(&pair).map(|entry| std::mem::take(&mut entry.1)).unwrap_or_default();
    let mut grown = FxHashSet::default();
    for place in places {
        if chain.pair(place) != Some(pair) {
            continue;
        }
        let count = often[place as usize];
        let around = |chain: &Chain| {
            let before = chain.before(place).and_then(|before| Some((chain.pair(before)?, before)));
            [before, chain.pair(place).map(|pair| (pair, place))]
        };
        let behind = chain.pair(chain.next[place as usize]);
        let former = around(chain).into_iter().flatten().map(|(pair, _)| pair).chain(behind);
        former.for_each(|pair| pairs.remove(pair, count));
        chain.merge(place, token);
        for (pair, place) in around(chain).into_iter().flatten() {
            pairs.add(pair, count, place);
            grown.insert(pair);
        }
    }
    grown.retain(|pair| pairs.total(*pair) > 0);
    grown
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
        let bpe = Bpe::learn("aab aab\nab\naab ab", 260).unwrap();
        let [a, b] = [b'a', b'b'].map(|byte| bpe.bytes[usize::from(byte)]);
        assert_eq!(bpe.merges[&(a, b)], 257);
        assert_eq!(bpe.merges[&(a, 257)], 258);
        assert_eq!(bpe.encode("aabb"), [258, b]);
    }

    /// Runs of one letter: "aaaa" has the pair three times, of which two are merged.
    #[test]
    fn overlapping_pairs_are_merged_from_the_left() {
        let bpe = Bpe::learn(&"aaaa\n".repeat(3), 259).unwrap();
        assert_eq!(bpe.encode("aaaaa").len(), 2);
    }

    /// As it is defined: every count taken again after every merge, every merge applied to the whole piece.
    fn by_definition(text: &str, tokens: u32) -> (FxHashMap<Pair, u32>, Vec<u32>) {
        let bytes = byte_tokens();
        let cut = || text.split_inclusive('\n').flat_map(pieces);
        let mut words: Vec<Vec<u32>> =
            cut().map(|piece| piece.bytes().map(|b| bytes[usize::from(b)]).collect()).collect();
        let mut merges = FxHashMap::default();
        while FIRST_MERGE + (merges.len() as u32) < tokens {
            let mut totals: FxHashMap<Pair, i64> = FxHashMap::default();
            for pair in words.iter().flat_map(|word| word.windows(2)) {
                *totals.entry((pair[0], pair[1])).or_default() += 1;
            }
            let most = totals.into_iter().map(|(pair, total)| (total, std::cmp::Reverse(pair))).max();
            let Some((_, std::cmp::Reverse(pair))) = most else { break };
            let token = FIRST_MERGE + merges.len() as u32;
            merges.insert(pair, token);
            for word in &mut words {
                let (mut read, mut new) = (0, Vec::new());
                while read < word.len() {
                    let merged = word.get(read..read + 2).is_some_and(|two| (two[0], two[1]) == pair);
                    new.push(if merged { token } else { word[read] });
                    read += 1 + usize::from(merged);
                }
                *word = new;
            }
        }
        (merges, words.concat())
    }

    #[test]
    fn merges_and_tokens_are_those_of_the_definition() {
        let mut state = 1_u32;
        let mut draw = |of: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % of
        };
        let runs: String = (0..300).map(|_| ["a", "aa", "ab", "b", " ", "ba\n"][draw(6) as usize]).collect();
        let prose = include_str!("demo/pentateuch.txt");
        for text in [&runs, &prose[..3000], &"ab".repeat(200), &"a".repeat(100)] {
            let (merges, tokens) = by_definition(text, 330);
            let bpe = Bpe::learn(text, 330).unwrap();
            assert_eq!(bpe.merges, merges);
            assert_eq!(bpe.encode(text), tokens);
        }
    }

    /// 400 kB without a space took 88 seconds when every merge went through the whole piece.
    #[test]
    fn a_text_without_spaces_takes_no_longer_than_others() {
        let text: String = (0..400_000_u64)
            .map(|i| char::from(b'a' + (i.wrapping_mul(6_364_136_223_846_793_005) >> 40) as u8 % 26))
            .collect();
        let start = std::time::Instant::now();
        let bpe = Bpe::learn(&text, 2000).unwrap();
        assert!(bpe.encode(&text).len() < text.len());
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
