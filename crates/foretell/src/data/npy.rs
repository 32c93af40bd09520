//! NumPy arrays: `train_images`, `train_labels`, `valid_images` and `valid_labels` in an `.npz`, or as `.npy` in a folder.
//!
//! Images are unsigned bytes of N x H x W, N x H x W x C or N x C x H x W; labels are integers. Row-major.

use super::images::{Found, Pixels};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

struct Array {
    /// `|u1`, `<i8` and so on.
    kind: String,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

pub(super) fn read_zip(path: &Path) -> Result<Found> {
    let wrong = |message: String| Error::data(path.display().to_string(), message);
    let file = std::fs::File::open(path).map_err(|source| Error::read(path, source))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|e| wrong(e.to_string()))?;
    let (mut arrays, mut total) = (HashMap::new(), 0_u64);
    for place in 0..archive.len() {
        let mut member = archive.by_index(place).map_err(|e| wrong(e.to_string()))?;
        let name = member.name().map_err(|e| wrong(e.to_string()))?.trim_end_matches(".npy").to_owned();
        // What it unpacks to is said in advance, and may be a lie.
        let size = member.size();
        total = size.saturating_add(total);
        super::room(total).map_err(|e| wrong(format!("{name}: {e}")))?;
        let mut bytes = Vec::new();
        member
            .by_ref()
            .take(size.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| Error::read(path, source))?;
        if bytes.len() as u64 != size {
            return Err(wrong(format!("{name}: is damaged: it does not unpack to {size} bytes")));
        }
        arrays.insert(name.clone(), array(bytes).map_err(|e| wrong(format!("{name}: {e}")))?);
    }
    found(arrays).map_err(|e| e.at(path.display()))
}

pub(super) fn read_folder(folder: &Path) -> Result<Found> {
    let mut arrays = HashMap::new();
    for path in super::files(folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "npy"))
    {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let array = array(super::read(&path)?).map_err(|e| Error::data(path.display().to_string(), e))?;
        arrays.insert(name, array);
    }
    found(arrays).map_err(|e| e.at(folder.display()))
}

fn found(mut arrays: HashMap<String, Array>) -> Result<Found> {
    let mut size = (0, 0);
    let mut part = |images: Array, labels: Array| -> Result<Pixels> {
        let wrong = |message: String| Err(Error::data("", message));
        if images.kind != "|u1" {
            return wrong(format!("images are {}, not unsigned bytes (|u1)", images.kind));
        }
        let small = |n: usize| n == 1 || n == 3;
        let (channels, side, last) = match images.shape[..] {
            [_, h, w] if h == w => (1, h, false),
            [_, h, w, c] if h == w && small(c) => (c, h, true),
            [_, c, h, w] if h == w && small(c) => (c, h, false),
            _ => {
                return wrong(format!(
                    "images of shape {:?} are no square images of 1 or 3 channels",
                    images.shape
                ));
            }
        };
        let Ok(wide) = u32::try_from(side) else { return wrong(format!("images are {side} pixels wide")) };
        size = (channels as u32, wide);
        let bytes = match last {
            false => images.bytes,
            true => images
                .bytes
                .chunks_exact((channels * side * side).max(1))
                .flat_map(|image| planes(image, channels))
                .collect(),
        };
        Ok(Pixels { bytes, labels: integers(&labels)? })
    };
    let mut take = |name: &str| arrays.remove(name);
    let missing = || Error::data("", "has no train_images and train_labels");
    let train = part(take("train_images").ok_or_else(missing)?, take("train_labels").ok_or_else(missing)?)?;
    let valid = match (take("valid_images"), take("valid_labels")) {
        (Some(images), Some(labels)) => Some(part(images, labels)?),
        _ => None,
    };
    Ok(Found { channels: size.0, side: size.1, train, valid })
}

/// Channel after channel of an image whose pixels list their channels.
fn planes(image: &[u8], channels: usize) -> Vec<u8> {
    (0..channels).flat_map(|channel| image.iter().skip(channel).step_by(channels).copied()).collect()
}

fn integers(array: &Array) -> Result<Vec<u32>> {
    let wide: Option<Vec<i64>> = match array.kind.as_str() {
        "|u1" => Some(array.bytes.iter().map(|b| i64::from(*b)).collect()),
        "<i4" => Some(
            array
                .bytes
                .chunks_exact(4)
                .map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]).into())
                .collect(),
        ),
        "<i8" | "<u8" => Some(
            array
                .bytes
                .chunks_exact(8)
                .map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes")))
                .collect(),
        ),
        _ => None,
    };
    let labels: Option<Vec<u32>> = wide.and_then(|wide| wide.into_iter().map(super::images::class).collect());
    labels.ok_or_else(|| Error::data("", format!("labels ({}) are no classes from 0 on", array.kind)))
}

/// Reads the format of `numpy.lib.format`: a magic word, a version, a header that is a Python dictionary, the numbers.
fn array(bytes: Vec<u8>) -> std::result::Result<Array, String> {
    let wrong = || "is no NumPy array of row-major numbers".to_owned();
    let (length, start) = match bytes.get(..12) {
        Some([0x93, b'N', b'U', b'M', b'P', b'Y', 1, _, a, b, ..]) => {
            (u32::from(u16::from_le_bytes([*a, *b])), 10)
        }
        Some([0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _, a, b, c, d]) => {
            (u32::from_le_bytes([*a, *b, *c, *d]), 12)
        }
        _ => return Err(wrong()),
    };
    let end = start + length as usize;
    let header = bytes.get(start..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).ok_or_else(wrong)?;
    let value = |key: &str| header.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim_start());
    let kind =
        value("descr").and_then(|rest| rest.strip_prefix('\'')?.split('\'').next()).ok_or_else(wrong)?;
    if !value("fortran_order").is_some_and(|rest| rest.starts_with("False")) {
        return Err(wrong());
    }
    let shape =
        value("shape").and_then(|rest| rest.strip_prefix('(')?.split(')').next()).ok_or_else(wrong)?;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty()).map(|size| size.parse().ok());
    let shape: Vec<usize> = sizes.collect::<Option<_>>().ok_or_else(wrong)?;
    let width: usize = kind.get(2..).and_then(|width| width.parse().ok()).ok_or_else(wrong)?;
    let all = shape.iter().try_fold(width, |all, size| all.checked_mul(*size));
    if all != Some(bytes.len() - end) {
        return Err("is cut short, or longer than its shape says".to_owned());
    }
    Ok(Array { kind: kind.to_owned(), shape, bytes: bytes[end..].to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn channels_come_first_and_labels_are_integers() {
        let images = array(npy("|u1", "(2, 1, 1, 3)", &[1, 2, 3, 4, 5, 6])).unwrap();
        let labels =
            array(npy("<i8", "(2,)", &[[7, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]].concat()))
                .unwrap();
        let arrays = [("train_images".to_owned(), images), ("train_labels".to_owned(), labels)].into();
        let found = found(arrays).unwrap();
        assert_eq!((found.channels, found.side, found.train.labels), (3, 1, vec![7, 1]));
        assert_eq!(planes(&[1, 2, 3, 4], 2), [1, 3, 2, 4]);
        assert!(array(npy("|u1", "(2, 2)", &[1, 2, 3])).is_err(), "cut short");
        assert!(array(b"PK".to_vec()).is_err());
    }

    /// A member that unpacks to another size than it says is not read on.
    #[test]
    fn a_member_unpacks_to_what_it_says() {
        use std::io::Write;
        let path = std::env::temp_dir().join(format!("foretell-lie-{}.npz", std::process::id()));
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        archive.start_file("train_images.npy", zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&npy("|u1", "(1000, 8, 8)", &[7; 64_000])).unwrap();
        let mut bytes = archive.finish().unwrap().into_inner();
        let directory = bytes.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
        for said in [100_u32, 70_000] {
            bytes[directory + 24..directory + 28].copy_from_slice(&said.to_le_bytes());
            std::fs::write(&path, &bytes).unwrap();
            assert!(read_zip(&path).is_err(), "{said} bytes");
        }
        std::fs::remove_file(path).unwrap();
        assert!(crate::data::room(u64::MAX).is_err() && crate::data::room(0).is_ok());
    }
}
