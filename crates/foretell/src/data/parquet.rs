//! Parquet files of images, as data sets on hubs have them: a column of encoded pictures (bytes, or a group that holds
//! `bytes`) and a column of integer classes, `label` before others.
//!
//! Files whose names begin with `train` are for training, those with `val`, else those with `test`, for validation. If none
//! is for training, all are, and split.

use super::folder::decode;
use super::images::{Found, Pixels};
use crate::error::{Error, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::path::{Path, PathBuf};

/// The files of a path, if it is one or holds some.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let is = |path: &PathBuf| path.extension().is_some_and(|e| e == "parquet");
    Ok(match path.is_dir() {
        true => super::files(path)?.into_iter().filter(is).collect(),
        false => Some(path.to_owned()).filter(is).into_iter().collect(),
    })
}

/// Reads files, which are not none; pictures are brought to `side`, else to the smaller side of the first.
pub(super) fn read(files: &[PathBuf], mut side: Option<u32>) -> Result<Found> {
    let named = |start: &str| {
        let is =
            |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
        files.iter().filter(is).collect::<Vec<_>>()
    };
    let (train, rest) = match named("train") {
        none if none.is_empty() => (files.iter().collect(), None),
        train => (train, ["val", "test"].map(named).into_iter().find(|rest| !rest.is_empty())),
    };
    let mut part = |files: &[&PathBuf]| -> Result<Pixels> {
        let mut pixels = Pixels::default();
        for file in files {
            // The crate takes some damage for a mistake of its own and panics.
            let read = || append(file, &mut side, &mut pixels);
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
            let read = read.unwrap_or_else(|_| Err(Error::data("", "is damaged")));
            read.map_err(|e| e.at(file.display()))?;
        }
        Ok(pixels)
    };
    let (train, valid) = (part(&train)?, rest.map(|rest| part(&rest)).transpose()?);
    Ok(Found { channels: 3, side: side.unwrap_or(0), train, valid })
}

fn append(path: &Path, side: &mut Option<u32>, pixels: &mut Pixels) -> Result<()> {
    let wrong = |e: parquet::errors::ParquetError| {
        let cure =
            if e.to_string().contains("zstd") { "; build with the feature zstd to read it" } else { "" };
        Error::data("", format!("{e}{cure}"))
    };
    let file = std::fs::File::open(path).map_err(|source| Error::read(path, source))?;
    let reader = SerializedFileReader::new(file).map_err(wrong)?;
    let unpacked = reader.metadata().row_groups().iter();
    let unpacked = unpacked.map(|group| group.total_byte_size().max(0) as u64).fold(0, u64::saturating_add);
    super::room(unpacked).map_err(|e| Error::data("", e))?;
    for (number, row) in reader.get_row_iter(None).map_err(wrong)?.enumerate() {
        let row = row.map_err(wrong)?;
        let place = format!("row {number}");
        let columns = || row.get_column_iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let (Some(picture), Some(class)) = (picture(&row), class(&row)) else {
            let message = format!("has no picture and class from 0 on in its columns {}", columns());
            return Err(Error::data(place.as_str(), message));
        };
        let wrong = |e| Error::data(place.as_str(), e);
        let picture = decode(picture).map_err(wrong)?;
        let side = *side.get_or_insert(picture.width.min(picture.height) as u32);
        pixels.push(&picture.square(side as usize), class).map_err(wrong)?;
    }
    Ok(())
}

/// The first column that holds bytes.
fn picture(row: &Row) -> Option<&[u8]> {
    row.get_column_iter().find_map(|(_, field)| match field {
        Field::Bytes(bytes) => Some(bytes.data()),
        Field::Group(group) => picture(group),
        _ => None,
    })
}

/// The column `label`, else the first of integers.
fn class(row: &Row) -> Option<u32> {
    let wide = |field: &Field| {
        Some(match field {
            Field::Byte(x) => i64::from(*x),
            Field::UByte(x) => i64::from(*x),
            Field::Short(x) => i64::from(*x),
            Field::UShort(x) => i64::from(*x),
            Field::Int(x) => i64::from(*x),
            Field::UInt(x) => i64::from(*x),
            Field::Long(x) => *x,
            _ => return None,
        })
    };
    let named = row.get_column_iter().find(|(name, _)| *name == "label").and_then(|(_, field)| wide(field));
    let found = named.or_else(|| row.get_column_iter().find_map(|(_, field)| wide(field)))?;
    super::images::class(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files written by another program (PyArrow), in the layout of hub data sets: snappy and zstd, PNG and JPEG.
    fn fixture() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parquet")
    }

    #[test]
    fn hub_files_are_read_in_order() {
        let found = read(&files(&fixture()).unwrap(), None).unwrap();
        let valid = found.valid.unwrap();
        assert_eq!((found.channels, found.side), (3, 4));
        assert_eq!((found.train.labels, valid.labels), (vec![0, 1, 0, 1, 0, 1], vec![0, 1, 0]));
        let reds: Vec<u8> = found.train.bytes.iter().step_by(48).copied().collect();
        assert_eq!(reds[..4], [20, 200, 20, 200]);
        assert!(reds[4] < 30 && reds[5] > 190, "a JPEG is not exact: {reds:?}");
        let small =
            read(&files(&fixture().join("data/test-00000-of-00001.parquet")).unwrap(), Some(2)).unwrap();
        assert_eq!((small.side, small.train.bytes.len(), small.valid.is_none()), (2, 3 * 12, true));
        let data = crate::data::Data::open(&fixture(), crate::data::Tokeniser::Bytes, None, None).unwrap();
        assert!(
            matches!(data, crate::data::Data::Images(images) if images.classes() == 2 && images.side() == 4)
        );
    }

    #[test]
    fn damaged_files_are_refused() {
        let whole = super::super::read(&fixture().join("data/train-00000-of-00002.parquet")).unwrap();
        let path = std::env::temp_dir().join(format!("foretell-{}.parquet", std::process::id()));
        for length in (0..whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = read(std::slice::from_ref(&path), None).err().unwrap().to_string();
            assert!(error.contains(".parquet"), "{error}");
        }
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x55;
            std::fs::write(&path, bytes).unwrap();
            let _ = read(std::slice::from_ref(&path), None);
        }
        std::fs::remove_file(path).unwrap();
    }
}
