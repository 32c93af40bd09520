//! Pictures that are drawn: a small labelled set for machines without one.
//!
//! Eight classes of figures, 16 x 16 grey pixels: a bar in four directions, a cross, a ring, a disc and a chequered square. Place,
//! size, brightness of figure and ground, and noise are drawn, so that no single pixel tells the class.

use super::images::{Found, Images, Pixels};
use crate::error::Result;
use crate::seed::{Rng, Seed};
use rand::RngExt;

const SIDE: usize = 16;
const CLASSES: u32 = 8;
/// Pictures to learn from, and to look at only.
const PARTS: [usize; 2] = [2048, 512];

/// The set; another seed draws another one.
pub(super) fn draw(seed: u64) -> Result<Images> {
    let part = |name: &str, count: usize| {
        let mut pixels = Pixels::default();
        for number in 0..count as u64 {
            let class = (number % u64::from(CLASSES)) as u32;
            pixels.bytes.extend(picture(class, &mut Seed(seed).stream(name, number)));
            pixels.labels.push(class);
        }
        pixels
    };
    let [train, valid] = [part("training pictures", PARTS[0]), part("validation pictures", PARTS[1])];
    Images::new(Found { channels: 1, side: SIDE as u32, train, valid: Some(valid) })
}

fn picture(class: u32, rng: &mut Rng) -> Vec<u8> {
    let (x, y) = (rng.random_range(5.5..9.5), rng.random_range(5.5..9.5));
    let size = rng.random_range(3.0..5.0);
    let thin = size / 2.8;
    let [ground, figure] = [rng.random_range(40.0..215.0), rng.random_range(-60.0f64..60.0)];
    let contrast = figure + 60.0 * figure.signum();
    let inside = |dx: f64, dy: f64| {
        let near = dx.abs() <= size && dy.abs() <= size;
        let far = (dx * dx + dy * dy).sqrt();
        match class {
            0 => near && dy.abs() <= thin / 1.5,
            1 => near && dx.abs() <= thin / 1.5,
            2 => near && (dx - dy).abs() <= thin,
            3 => near && (dx + dy).abs() <= thin,
            4 => near && (dx.abs() <= thin / 2.0 || dy.abs() <= thin / 2.0),
            5 => far <= size && far >= size - thin,
            6 => far <= size * 0.85,
            _ => near && ((dx + 16.0) as i64 / 2 + (dy + 16.0) as i64 / 2) % 2 == 0,
        }
    };
    let mut pixels = Vec::with_capacity(SIDE * SIDE);
    for row in 0..SIDE {
        for column in 0..SIDE {
            let (dx, dy) = (column as f64 - x, row as f64 - y);
            let value = ground + if inside(dx, dy) { contrast } else { 0.0 };
            let noise: f64 = rng.random_range(-20.0..20.0);
            pixels.push((value + noise).clamp(0.0, 255.0) as u8);
        }
    }
    pixels
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;

    /// Same seed, same pictures; classes are equally many, and no brightness gives them away.
    #[test]
    fn pictures_are_drawn_alike_and_balanced() {
        let images = draw(0).unwrap();
        assert_eq!((images.side(), images.channels(), images.classes()), (16, 1, 8));
        assert_eq!(images.digest(), draw(0).unwrap().digest());
        assert_ne!(images.digest(), draw(1).unwrap().digest());
        let (mut sums, mut counts) = ([0.0; 8], [0; 8]);
        for place in 0..images.len(Part::Valid) {
            let mut pixels = Vec::new();
            let class = images.read(Part::Valid, place, None, &mut pixels) as usize;
            sums[class] += pixels.iter().sum::<f64>() / pixels.len() as f64;
            counts[class] += 1;
        }
        assert_eq!(counts, [64; 8]);
        assert!(sums.iter().all(|sum| (sum / 64.0).abs() < 0.4), "{sums:?}");
    }
}
