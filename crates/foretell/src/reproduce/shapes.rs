//! Pictures to train on where none ship: eight kinds of shapes at random places, with noise, drawn the same everywhere.

use crate::data::{Data, Tokeniser};
use crate::error::{Error, Result};
use crate::file;
use crate::seed::Seed;
use rand::RngExt;
use std::path::Path;

/// Pixels of a side.
const SIDE: i32 = 16;
/// Pictures to train on, and to validate on.
const PARTS: [(&str, u64); 2] = [("train", 4096), ("t10k", 1024)];
/// Kinds of shapes.
const KINDS: u8 = 8;

/// Writes the pictures into a folder unless they are there, and opens them.
pub(super) fn open(folder: &Path) -> Result<Data> {
    std::fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))?;
    for (part, count) in PARTS {
        let images = folder.join(format!("{part}-images-idx3-ubyte"));
        let labels = folder.join(format!("{part}-labels-idx1-ubyte"));
        if images.exists() && labels.exists() {
            continue;
        }
        let head = |sizes: &[u32]| {
            let mut head = vec![0, 0, 8, sizes.len() as u8];
            head.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
            head
        };
        let mut pixels = head(&[count as u32, SIDE as u32, SIDE as u32]);
        let mut kinds = head(&[count as u32]);
        for index in 0..count {
            let kind = (index % u64::from(KINDS)) as u8;
            pixels.extend(picture(kind, part, index));
            kinds.push(kind);
        }
        file::replace(&images, pixels)?;
        file::replace(&labels, kinds)?;
    }
    Data::open(folder, Tokeniser::Bytes, None, None)
}

/// A picture of a kind: a shape of random place, size and brightness on noise.
fn picture(kind: u8, part: &str, index: u64) -> Vec<u8> {
    let mut rng = Seed(0).stream(&format!("shapes {part}"), index);
    let (radius, ink) = (rng.random_range(3..6), rng.random_range(100..200_i32));
    let (x, y) = (rng.random_range(radius..SIDE - radius), rng.random_range(radius..SIDE - radius));
    let mut pixel = |row: i32, column: i32| {
        let (a, b) = (row - y, column - x);
        let (inside, edge) = (a.abs() <= radius && b.abs() <= radius, a.abs().max(b.abs()) == radius);
        let on = match kind {
            0 => inside,
            1 => edge,
            2 => a * a + b * b <= radius * radius,
            3 => (a * a + b * b - radius * radius).abs() <= radius,
            4 => inside && (a == 0 || b == 0),
            5 => inside && (a == b || a == -b),
            6 => inside && a.rem_euclid(2) == 0,
            _ => inside && b.rem_euclid(2) == 0,
        };
        (rng.random_range(0..90) + if on { ink } else { 0 }).min(255) as u8
    };
    (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (row, column))).map(|(r, c)| pixel(r, c)).collect()
}
