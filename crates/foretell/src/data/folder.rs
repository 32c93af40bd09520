//! Image files in a folder per class: `train/CLASS/*.png`, `valid/CLASS/*.png`.

use super::LAYOUT;
use super::images::{Found, Pixels};
use crate::error::{Error, Result};
use std::io::Cursor;
use std::path::Path;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The side that files are brought to where nobody says: the smallest of the first one's.
pub(super) fn read(folder: &Path, side: Option<u32>) -> Result<Found> {
    let names = classes(&folder.join("train"))?;
    let mut side = side;
    let train = part(&folder.join("train"), &names, &mut side)?;
    let valid = folder.join("valid");
    let valid = if valid.is_dir() { Some(part(&valid, &names, &mut side)?) } else { None };
    Ok(Found { channels: 3, side: side.unwrap_or(0), train, valid })
}

/// The names of the classes, in order.
fn classes(folder: &Path) -> Result<Vec<String>> {
    let read = |source| Error::read(folder, source);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.is_dir() {
            names.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    names.sort();
    if names.len() < 2 {
        let message = format!("holds fewer than two folders of classes. {LAYOUT}");
        return Err(Error::data(folder.display().to_string(), message));
    }
    Ok(names)
}

fn part(folder: &Path, names: &[String], side: &mut Option<u32>) -> Result<Pixels> {
    let mut pixels = Pixels::default();
    for (class, name) in names.iter().enumerate() {
        let inside = folder.join(name);
        let files = if inside.is_dir() { super::files(&inside)? } else { Vec::new() };
        for file in files.into_iter().filter(|file| is_image(file)) {
            let wrong = |message: String| Error::data(file.display().to_string(), message);
            let image = decode(&super::read(&file)?).map_err(wrong)?;
            let side = *side.get_or_insert(image.width.min(image.height) as u32);
            pixels.push(&image.square(side as usize), class as u32).map_err(wrong)?;
        }
    }
    Ok(pixels)
}

fn is_image(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
    ["png", "jpg", "jpeg"].contains(&ending.as_str())
}

/// A picture of red, green and blue, pixel after pixel.
pub(super) struct Picture {
    pub width: usize,
    pub height: usize,
    pixels: Vec<[u8; 3]>,
}

/// More pixels than any picture to learn from has: a file of some bytes may unpack to gigabytes.
const MOST_PIXELS: usize = 1 << 26;

fn bounded(width: usize, height: usize) -> std::result::Result<(), String> {
    match width.checked_mul(height).is_some_and(|pixels| pixels <= MOST_PIXELS) {
        true => Ok(()),
        false => Err(format!("is a picture of {width} x {height} pixels; {MOST_PIXELS} pixels are the most")),
    }
}

/// A PNG or JPEG file.
pub(super) fn decode(bytes: &[u8]) -> std::result::Result<Picture, String> {
    if !bytes.starts_with(b"\x89PNG") {
        let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
        let mut decoder = zune_jpeg::JpegDecoder::new_with_options(Cursor::new(bytes), options);
        decoder.decode_headers().map_err(|e| e.to_string())?;
        let info = decoder.info().ok_or("has no size")?;
        bounded(info.width.into(), info.height.into())?;
        let pixels = decoder.decode().map_err(|e| e.to_string())?;
        let pixels = pixels.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
        return Ok(Picture { width: info.width.into(), height: info.height.into(), pixels });
    }
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let header = decoder.read_header_info().map_err(|e| e.to_string())?;
    bounded(header.width as usize, header.height as usize)?;
    let mut reader = decoder.read_info().map_err(|e| e.to_string())?;
    let mut buffer = vec![0; reader.output_buffer_size().ok_or("is too large")?];
    let info = reader.next_frame(&mut buffer).map_err(|e| e.to_string())?;
    let samples = info.color_type.samples();
    // Grey stands for all three colours; what shines through is left out.
    let pixel = |p: &[u8]| if samples < 3 { [p[0]; 3] } else { [p[0], p[1], p[2]] };
    let pixels = buffer[..info.buffer_size()].chunks_exact(samples).map(pixel).collect();
    Ok(Picture { width: info.width as usize, height: info.height as usize, pixels })
}

impl Picture {
    /// The largest square in the middle at `side` x `side` pixels, channel after channel. A pixel is the mean of those
    /// that it covers, or the one it lies in.
    pub fn square(&self, side: usize) -> Vec<u8> {
        let whole = self.width.min(self.height);
        let (left, top) = ((self.width - whole) / 2, (self.height - whole) / 2);
        let span = |at: usize| (at * whole / side, ((at + 1) * whole / side).max(at * whole / side + 1));
        let mean = |x: usize, y: usize, channel: usize| {
            let ((x0, x1), (y0, y1)) = (span(x), span(y));
            let rows = (y0..y1).map(|y| (top + y) * self.width + left);
            let sum: usize =
                rows.flat_map(|row| &self.pixels[row + x0..row + x1]).map(|p| usize::from(p[channel])).sum();
            let count = (x1 - x0) * (y1 - y0);
            ((sum + count / 2) / count) as u8
        };
        let mean = &mean;
        (0..3)
            .flat_map(|channel| (0..side * side).map(move |at| mean(at % side, at / side, channel)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, colour: png::ColorType, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(colour);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        bytes
    }

    /// Four grey pixels: the two columns in the middle of a 4 x 2 picture, and their mean.
    #[test]
    fn the_middle_is_cut_out_and_halved() {
        let picture = decode(&png(4, 2, png::ColorType::Grayscale, &[9, 10, 20, 9, 9, 30, 40, 9])).unwrap();
        assert_eq!((picture.width, picture.height), (4, 2));
        assert_eq!(picture.square(1), [25, 25, 25]);
        assert_eq!(picture.square(2)[..4], [10, 20, 30, 40]);
        assert!(decode(b"no picture").is_err());
    }

    /// The header of 50000 x 50000 pixels, in 33 bytes and a checksum.
    #[test]
    fn sizes_are_checked_before_memory_is_asked_for() {
        let mut bytes = png(1, 1, png::ColorType::Rgb, &[0; 3]);
        bytes[16..20].copy_from_slice(&50_000_u32.to_be_bytes());
        bytes[20..24].copy_from_slice(&50_000_u32.to_be_bytes());
        let mut crc = !0_u32;
        for byte in &bytes[12..29] {
            crc ^= u32::from(*byte);
            (0..8).for_each(|_| crc = (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)));
        }
        bytes[29..33].copy_from_slice(&(!crc).to_be_bytes());
        let error = decode(&bytes).err().unwrap();
        assert!(error.contains("50000 x 50000 pixels"), "{error}");
    }

    #[test]
    fn a_folder_is_a_class() {
        let folder = std::env::temp_dir().join(format!("foretell-classes-{}", std::process::id()));
        for (class, value) in [("cat", 10), ("dog", 200)] {
            let inside = folder.join("train").join(class);
            std::fs::create_dir_all(&inside).unwrap();
            for name in ["1.png", "2.png"] {
                std::fs::write(inside.join(name), png(2, 2, png::ColorType::Rgb, &[value; 12])).unwrap();
            }
        }
        let found = read(&folder, Some(2)).unwrap();
        assert_eq!((found.side, found.train.labels, found.train.bytes.len()), (2, vec![0, 0, 1, 1], 48));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
