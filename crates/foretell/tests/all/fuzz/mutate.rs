//! Mutants of bytes, each a function of its number.

use foretell::seed::{Rng, Seed};
use rand::RngExt;

/// Numbers at the edges of types, and words that parsers may stumble over.
const NUMBERS: [&str; 17] = [
    "0",
    "-1",
    "1",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e-320",
    "1e999",
    "NaN",
];

const TEXTS: [&[u8]; 12] = [
    b"\0",
    b"\x1b[2J\x1b]0;title\x07",
    b"\xff\xfe",
    "\u{202e}\u{9b}31m".as_bytes(),
    b"\"",
    b"\\u0000",
    b"[",
    b"}",
    b",",
    b"null",
    b"\r\n",
    b"../../",
];

/// The `number`-th mutant of some seeds.
pub fn mutant(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut rng = Seed(number).stream("fuzz", 0);
    let mut bytes = seeds[rng.random_range(0..seeds.len())].clone();
    for _ in 0..[1, 1, 2, 3][rng.random_range(0..4)] {
        bytes = step(bytes, seeds, &mut rng);
    }
    bytes
}

fn place(bytes: &[u8], rng: &mut Rng) -> usize {
    rng.random_range(0..=bytes.len())
}

/// Two places, the smaller first, not far apart.
fn span(bytes: &[u8], rng: &mut Rng) -> std::ops::Range<usize> {
    let start = place(bytes, rng);
    start..(start + rng.random_range(0..40)).min(bytes.len())
}

fn step(mut bytes: Vec<u8>, seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    match rng.random_range(0..14) {
        0 | 1 if !bytes.is_empty() => {
            let at = rng.random_range(0..bytes.len());
            bytes[at] ^= 1 << rng.random_range(0..8);
        }
        2 => bytes.truncate(place(&bytes, rng)),
        3 => {
            let (from, at) = (span(&bytes, rng), place(&bytes, rng));
            let copy = bytes[from].to_vec();
            bytes.splice(at..at, copy);
        }
        4 => {
            let gone = span(&bytes, rng);
            bytes.drain(gone);
        }
        5 | 6 | 12 | 13 => number(&mut bytes, rng),
        7 => {
            let (at, text) = (place(&bytes, rng), TEXTS[rng.random_range(0..TEXTS.len())]);
            bytes.splice(at..at, text.iter().copied());
        }
        8 => nest(&mut bytes, rng),
        9 => {
            let other = &seeds[rng.random_range(0..seeds.len())];
            let (from, at) = (span(other, rng), span(&bytes, rng));
            bytes.splice(at, other[from].iter().copied());
        }
        10 => {
            // A length or a size of a binary format.
            let at = rng.random_range(0..=bytes.len().saturating_sub(4));
            let value = [0, 1, 0x7fff_ffff, 0xffff_ffff, 0x8000_0000, 50_000][rng.random_range(0..6)];
            let value: u32 = if rng.random() { value } else { value.swap_bytes() };
            bytes.iter_mut().skip(at).zip(value.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        }
        _ => {
            let at = place(&bytes, rng);
            let many = [64, 5000][rng.random_range(0..2)];
            bytes.splice(at..at, std::iter::repeat_n(b'a', many));
        }
    }
    bytes
}

/// Puts an extreme number in the place of a number.
fn number(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|i| bytes[*i].is_ascii_digit() && (*i == 0 || !bytes[*i - 1].is_ascii_digit()))
        .collect();
    let text = NUMBERS[rng.random_range(0..NUMBERS.len())].bytes();
    match starts.is_empty() {
        true => bytes.extend(text),
        false => {
            let start = starts[rng.random_range(0..starts.len())];
            let length = bytes[start..].iter().take_while(|b| b.is_ascii_digit()).count();
            bytes.splice(start..start + length, text);
        }
    }
}

/// Wraps a span in many brackets.
fn nest(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let pairs: [(&[u8], &[u8]); 4] = [(b"[", b"]"), (b"{\"a\":", b"}"), (b"(", b")"), (b"abs(", b")")];
    let (open, close) = pairs[rng.random_range(0..pairs.len())];
    let (depth, within) = ([20, 200, 20_000][rng.random_range(0..3)], span(bytes, rng));
    let end = within.end;
    bytes.splice(end..end, close.repeat(depth));
    bytes.splice(within.start..within.start, open.repeat(depth));
}
