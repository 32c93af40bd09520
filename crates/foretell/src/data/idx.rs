//! IDX files, as MNIST and its kin are published: `train-images-idx3-ubyte` and so on, unpacked.

use super::images::{Found, Pixels};
use crate::error::{Error, Result};
use std::path::Path;

pub(super) fn read(folder: &Path) -> Result<Found> {
    let mut side = 0;
    let mut part = |name: &str| -> Result<Pixels> {
        let (shape, bytes) = file(&folder.join(format!("{name}-images-idx3-ubyte")), 3)?;
        let (_, labels) = file(&folder.join(format!("{name}-labels-idx1-ubyte")), 1)?;
        if shape[1] != shape[2] {
            let message = format!("images are {} x {}, not square", shape[1], shape[2]);
            return Err(Error::data(folder.display().to_string(), message));
        }
        side = shape[1];
        Ok(Pixels { bytes, labels: labels.into_iter().map(u32::from).collect() })
    };
    let train = part("train")?;
    let valid = if folder.join("t10k-images-idx3-ubyte").is_file() { Some(part("t10k")?) } else { None };
    Ok(Found { channels: 1, side, train, valid })
}

/// Sizes and bytes of a file of unsigned bytes with so many dimensions.
fn file(path: &Path, dimensions: usize) -> Result<(Vec<u32>, Vec<u8>)> {
    let bytes = super::read(path)?;
    let wrong = |message: &str| Error::data(path.display().to_string(), message);
    let start = 4 + 4 * dimensions;
    if bytes.len() < start || bytes[..4] != [0, 0, 8, dimensions as u8] {
        return Err(wrong(
            "is no IDX file of unsigned bytes with the dimensions that its name says (unpack .gz first)",
        ));
    }
    let sizes = bytes[4..start].chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let sizes: Vec<u32> = sizes.collect();
    let all = sizes.iter().try_fold(1_usize, |all, size| all.checked_mul(*size as usize));
    if all != Some(bytes.len() - start) {
        return Err(wrong("is cut short, or longer than its sizes say"));
    }
    Ok((sizes, bytes[start..].to_vec()))
}
