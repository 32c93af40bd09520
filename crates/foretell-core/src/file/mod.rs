//! Files: reading whatever lies there (no device, pipe or huge file fills the memory), writing so that a file is there whole
//! or not at all, records that carry their digest, and locks.

mod lock;
mod replace;
mod seal;

pub use lock::Lock;
pub use replace::{beside, draft, is_draft, replace, replace_with, sweep, sync_folder};
pub use seal::{digest, is_intact, seal, seal_pretty, seal_text, unseal};

use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

/// The most bytes that a text file may have. No architecture, space, recipe or configuration comes near it.
pub const TEXT_LIMIT: u64 = 64 << 20;

/// The text of a regular file, or of a pipe, of at most [`TEXT_LIMIT`] bytes.
pub fn text(path: &Path) -> Result<String> {
    let found = metadata(path)?;
    if !found.is_file() && !is_pipe(&found) {
        return Err(refused(path, &found));
    }
    let file = File::open(path).map_err(|source| Error::read(path, source))?;
    text_from(path, file)
}

/// The text of a reader of at most [`TEXT_LIMIT`] bytes, such as standard input; `name` is what errors call it.
pub fn text_from(name: &Path, reader: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    let failed = |source| Error::read(name, source);
    reader.take(TEXT_LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > TEXT_LIMIT {
        let message = format!("is larger than {} MiB, the limit of text files", TEXT_LIMIT >> 20);
        return Err(Error::data(name.display().to_string(), message));
    }
    decoded(name, bytes)
}

/// Bytes as text; `name` is what errors call them.
pub fn decoded(name: &Path, bytes: Vec<u8>) -> Result<String> {
    let invalid = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(bytes).map_err(|e| Error::read(name, invalid(e)))
}

/// The bytes of a regular file of any size: weights, inputs, tables and training data.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    regular(path)?;
    std::fs::read(path).map_err(|source| Error::read(path, source))
}

/// Refuses whatever is not a regular file.
pub fn regular(path: &Path) -> Result<()> {
    let found = metadata(path)?;
    if found.is_file() { Ok(()) } else { Err(refused(path, &found)) }
}

fn metadata(path: &Path) -> Result<Metadata> {
    std::fs::metadata(path).map_err(|source| Error::read(path, source))
}

fn refused(path: &Path, found: &Metadata) -> Error {
    let kind = match found {
        folder if folder.is_dir() => "a folder",
        pipe if is_pipe(pipe) => "a pipe",
        _ => "a device or socket",
    };
    Error::data(path.display().to_string(), format!("is {kind}, not a regular file"))
}

#[cfg(unix)]
fn is_pipe(found: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_reader_ends_at_the_limit() {
        let message = text_from(Path::new("endless"), std::io::repeat(b' ')).unwrap_err().to_string();
        assert_eq!(message, "endless: is larger than 64 MiB, the limit of text files");
        assert_eq!(text_from(Path::new("short"), &b"abc"[..]).unwrap(), "abc");
        assert!(text_from(Path::new("binary"), &b"\xff"[..]).unwrap_err().to_string().contains("UTF-8"));
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_folders_are_refused_at_once() {
        for (path, kind) in [("/dev/zero", "device"), ("/", "folder")] {
            for error in [text(Path::new(path)).unwrap_err(), bytes(Path::new(path)).unwrap_err()] {
                assert!(error.to_string().contains(kind), "{error}");
            }
        }
        assert!(matches!(text(Path::new("/nowhere")), Err(Error::Read { .. })));
    }
}
