//! What networks are trained on: text as tokens, images as pixels, each with a part for training and one for validation.
//!
//! Nothing is downloaded. What is missing is an error that says which layout was expected.

mod bpe;
mod cache;
mod drawn;
mod folder;
mod idx;
mod images;
mod npy;
mod parquet;
mod text;
mod tokeniser;

pub use images::Images;
pub use text::Text;
pub use tokeniser::Tokeniser;

use crate::error::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// Which samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Those that are learned from.
    Train,
    /// Those that are only looked at.
    Valid,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Part::Train { "training" } else { "validation" })
    }
}

/// Text or images.
#[derive(Debug, Clone)]
pub enum Data {
    /// Tokens.
    Text(Text),
    /// Pixels with classes.
    Images(Images),
}

/// What may lie where data is looked for.
const LAYOUT: &str = "Text: a file, a folder with train.txt and valid.txt, or a folder of text files. Images: a folder with \
    train/CLASS/*.png and valid/CLASS/*.png (jpeg too), a folder with train-images-idx3-ubyte, \
    train-labels-idx1-ubyte and the same of t10k, or an .npz with train_images, train_labels, valid_images, valid_labels \
    (or a folder of these as .npy), or .parquet files of pictures and labels, named train*, and valid* or test*. Without a validation part the last tenth is taken";

impl Data {
    /// Opens whatever lies at a path; see the error of one that holds nothing for the layouts. Text is cut into tokens by
    /// the tokeniser, and the tokens are remembered in `cache` if there is one; images get `side` x `side` pixels, or keep
    /// their size.
    pub fn open(path: &Path, tokeniser: Tokeniser, cache: Option<&Path>, side: Option<u32>) -> Result<Self> {
        if !path.exists() {
            return Err(Error::data(path.display().to_string(), format!("is not there. {LAYOUT}")));
        }
        if let Some(images) = images::open(path, side)? {
            return Ok(Data::Images(images));
        }
        Ok(Data::Text(Text::open(path, tokeniser, cache)?))
    }

    /// The text that ships with the project.
    pub fn demo(tokeniser: Tokeniser) -> Result<Self> {
        Ok(Data::Text(Text::of("demo", include_str!("demo/pentateuch.txt").as_bytes(), None, tokeniser)?))
    }

    /// Pictures of eight kinds of figures, drawn here: a small set for machines without one. Another seed draws others.
    pub fn pictures(seed: u64) -> Result<Self> {
        Ok(Data::Images(drawn::draw(seed)?))
    }

    /// A hash of all samples: same digest, same data.
    pub fn digest(&self) -> &str {
        match self {
            Data::Text(text) => text.digest(),
            Data::Images(images) => images.digest(),
        }
    }
}

/// All files below a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = |source| Error::read(folder, source);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    room(size).map_err(|e| Error::data(path.display().to_string(), e))?;
    crate::file::bytes(path)
}

/// Refuses data that half of the free memory cannot hold, before memory is asked for: it is held twice while it is read.
fn room(bytes: u64) -> std::result::Result<(), String> {
    let free = crate::score::free_memory().unwrap_or(u64::MAX) / 2;
    match bytes > free {
        true => Err(format!("holds {bytes} bytes once unpacked; half of the free memory is {free}")),
        false => Ok(()),
    }
}

/// How many of `all` are for training where nobody says.
fn nine_tenths(all: usize) -> usize {
    all - all.div_ceil(10)
}
