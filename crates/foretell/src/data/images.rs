//! Images with classes.

use super::{LAYOUT, Part, folder, idx, npy, parquet};
use crate::error::{Error, Result};
use crate::seed::Rng;
use rand::RngExt;
use std::path::Path;

/// Square images with classes, a byte a value, channel after channel.
#[derive(Debug, Clone)]
pub struct Images {
    channels: u32,
    side: u32,
    classes: u32,
    train: Pixels,
    valid: Pixels,
    /// Mean and inverse deviation of each channel of the training part.
    spread: Vec<(f64, f64)>,
    digest: String,
}

/// Some images.
#[derive(Debug, Clone, Default)]
pub(super) struct Pixels {
    pub bytes: Vec<u8>,
    pub labels: Vec<u32>,
}

impl Pixels {
    /// Adds an image, unless all of them would be more than memory can hold.
    pub fn push(&mut self, image: &[u8], label: u32) -> std::result::Result<(), String> {
        // Asking the system takes long; what doubles is asked for rarely.
        if self.bytes.capacity() < self.bytes.len() + image.len() {
            super::room(2 * (self.bytes.len() + image.len()) as u64)?;
        }
        self.bytes.extend_from_slice(image);
        self.labels.push(label);
        Ok(())
    }
}

/// What a reader found: channels, side, both parts; no validation where there is none.
pub(super) struct Found {
    pub channels: u32,
    pub side: u32,
    pub train: Pixels,
    pub valid: Option<Pixels>,
}

/// No image that a network reads is larger.
const MOST_SIDE: u32 = 8192;

/// The images at a path, if images lie there.
pub(super) fn open(path: &Path, side: Option<u32>) -> Result<Option<Images>> {
    let found = match path {
        path if path.extension().is_some_and(|e| e == "npz") => Some(npy::read_zip(path)?),
        path if path.join("train_images.npy").is_file() => Some(npy::read_folder(path)?),
        path if path.join("train-images-idx3-ubyte").is_file() => Some(idx::read(path)?),
        path if path.join("train").is_dir() => Some(folder::read(path, side)?),
        path => match &parquet::files(path)?[..] {
            [] => None,
            files => Some(parquet::read(files, side)?),
        },
    };
    let name = path.display().to_string();
    let Some(found) = found else { return Ok(None) };
    if side.is_some_and(|side| side != found.side) {
        let message = format!(
            "holds images of {0} x {0} pixels; only image files are brought to another size",
            found.side
        );
        return Err(Error::data(name, message));
    }
    Images::new(found).map(Some).map_err(|e| e.at(name))
}

/// A class from 0 on; one beyond a million is a mistake, not a class.
pub(super) fn class(number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|class| *class < 1 << 20)
}

impl Images {
    pub(super) fn new(found: Found) -> Result<Self> {
        let Found { channels, side, mut train, valid } = found;
        if side > MOST_SIDE {
            let message = format!("holds images of {side} x {side} pixels; {MOST_SIDE} is the longest side");
            return Err(Error::data("", message));
        }
        let size = (channels * side * side) as usize;
        if size == 0 || train.labels.len() < 2 {
            return Err(Error::data("", format!("holds fewer than two images. {LAYOUT}")));
        }
        for part in std::iter::once(&train).chain(&valid) {
            if Some(part.bytes.len()) != size.checked_mul(part.labels.len()) {
                let message = format!("has {} labels and {} values", part.labels.len(), part.bytes.len());
                return Err(Error::data("", message));
            }
        }
        let valid = valid.unwrap_or_else(|| {
            // Every tenth: files are often sorted by class.
            let is_valid = |place: usize| place % 10 == 9 || place == train.labels.len() - 1;
            let (mut kept, mut rest) = (Pixels::default(), Pixels::default());
            for (place, (image, label)) in train.bytes.chunks_exact(size).zip(&train.labels).enumerate() {
                let to = if is_valid(place) { &mut rest } else { &mut kept };
                to.bytes.extend_from_slice(image);
                to.labels.push(*label);
            }
            train = kept;
            rest
        });
        let classes = train.labels.iter().chain(&valid.labels).max().map_or(0, |most| most + 1);
        let spread =
            (0..channels as usize).map(|channel| spread(&train, channel, channels as usize)).collect();
        let mut hasher = blake3::Hasher::new();
        for part in [&train, &valid] {
            hasher.update(&(part.labels.len() as u64).to_le_bytes()).update(&part.bytes);
            part.labels.iter().for_each(|label| {
                hasher.update(&label.to_le_bytes());
            });
        }
        let digest = hasher.finalize().to_hex()[..20].to_owned();
        Ok(Images { channels, side, classes, train, valid, spread, digest })
    }

    fn part(&self, part: Part) -> &Pixels {
        if part == Part::Train { &self.train } else { &self.valid }
    }

    /// How many images a part has.
    pub fn len(&self, part: Part) -> usize {
        self.part(part).labels.len()
    }

    /// Classes.
    pub fn classes(&self) -> u32 {
        self.classes
    }

    /// Channels.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Pixels of a side.
    pub fn side(&self) -> u32 {
        self.side
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// Appends an image, each channel with the mean 0 and the deviation 1 of the training part, and gives its class. With
    /// a generator it is padded by an eighth of its side, cut at random and mirrored by chance.
    pub fn read(&self, part: Part, place: usize, augment: Option<&mut Rng>, to: &mut Vec<f64>) -> u32 {
        let (side, pad) = (self.side as i64, i64::from(self.side / 8));
        let (mut shift, mut mirrored) = ((0, 0), false);
        if let Some(rng) = augment {
            shift = (rng.random_range(-pad..=pad), rng.random_range(-pad..=pad));
            mirrored = rng.random();
        }
        let pixels = self.part(part);
        let size = pixels.bytes.len() / pixels.labels.len();
        let image = &pixels.bytes[place * size..][..size];
        for (plane, (mean, inverse)) in image.chunks_exact((side * side) as usize).zip(&self.spread) {
            for y in 0..side {
                for x in 0..side {
                    let x = if mirrored { side - 1 - x } else { x };
                    let (y, x) = (y + shift.0, x + shift.1);
                    let inside = (0..side).contains(&y) && (0..side).contains(&x);
                    // Padding has the mean's value, like nothing at all.
                    let value = if inside { f64::from(plane[(y * side + x) as usize]) } else { *mean };
                    to.push((value - mean) * inverse);
                }
            }
        }
        pixels.labels[place]
    }
}

fn spread(pixels: &Pixels, channel: usize, channels: usize) -> (f64, f64) {
    let plane = pixels.bytes.len() / pixels.labels.len() / channels;
    let planes = pixels.bytes.chunks_exact(plane).skip(channel).step_by(channels);
    let (mut sum, mut squares, mut count) = (0_u64, 0_u64, 0_u64);
    for value in planes.flatten().map(|byte| u64::from(*byte)) {
        sum += value;
        squares += value * value;
        count += 1;
    }
    let mean = sum as f64 / count as f64;
    let variance = (squares as f64 / count as f64 - mean * mean).max(0.0);
    (mean, if variance > 0.0 { variance.sqrt().recip() } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn four() -> Images {
        // Two classes of 2 x 2 pixels: all 0, all 10. Mean 5, deviation 5.
        let part = || Pixels { bytes: vec![0, 0, 0, 0, 10, 10, 10, 10], labels: vec![0, 1] };
        Images::new(Found { channels: 1, side: 2, train: part(), valid: Some(part()) }).unwrap()
    }

    #[test]
    fn pixels_have_mean_nought_and_deviation_one() {
        let (images, mut pixels) = (four(), Vec::new());
        assert_eq!(images.read(Part::Valid, 1, None, &mut pixels), 1);
        assert_eq!(images.read(Part::Train, 0, None, &mut pixels), 0);
        assert_eq!(pixels, [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]);
        assert_eq!((images.classes(), images.side(), images.channels()), (2, 2, 1));
    }

    /// 16 pixels a side, pad 2: a shifted image keeps at least 14 x 14 of its 256 values, a mirrored one all.
    #[test]
    fn crops_and_mirrors_stay_inside() {
        let bytes: Vec<u8> = (0..512).map(|i| (i % 256) as u8).collect();
        let part = Pixels { bytes, labels: vec![0, 1] };
        let images =
            Images::new(Found { channels: 1, side: 16, train: part.clone(), valid: Some(part) }).unwrap();
        let mut seen = std::collections::HashSet::new();
        for index in 0..50 {
            let mut pixels = Vec::new();
            images.read(Part::Train, 0, Some(&mut Seed(1).stream("crop", index)), &mut pixels);
            let values: std::collections::HashSet<u64> = pixels.iter().map(|x| x.to_bits()).collect();
            assert!(values.len() >= 196, "{}", values.len());
            seen.insert(pixels.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        }
        assert!(seen.len() > 20, "5 x 5 cuts, each mirrored or not");
    }
}
