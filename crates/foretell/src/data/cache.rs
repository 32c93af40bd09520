//! Tokens on disk, so that a text is cut once; mapped, so that they may be more than memory.
//!
//! `FORETELL-TOKENS 2`, a hash of text and tokeniser, the digest of the tokens, the lengths of both parts, then ids of four
//! bytes, little end first. A file is written under another name, renamed, and never changed again.

use super::Tokeniser;
use crate::error::{Error, Result};
use crate::file;
use memmap2::Mmap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 20] = b"FORETELL-TOKENS 2\n\0\0";
const KEY: usize = 32;
const DIGEST: usize = 20;
/// Bytes before the ids: a multiple of four, as maps begin at pages.
const HEAD: usize = MAGIC.len() + KEY + DIGEST + 16;

/// The tokens of both parts, those for training first.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    ids: Ids,
    train: usize,
    /// A hash of all of them.
    pub digest: String,
}

#[derive(Debug, Clone)]
enum Ids {
    Memory(Vec<u32>),
    File(Arc<Mmap>),
}

impl Tokens {
    pub fn new(mut train: Vec<u32>, valid: Vec<u32>) -> Self {
        let (digest, cut) = (digest(&train, &valid), train.len());
        train.extend(valid);
        Tokens { ids: Ids::Memory(train), train: cut, digest }
    }

    /// Tokens for training and for validation.
    pub fn parts(&self) -> (&[u32], &[u32]) {
        let ids = match &self.ids {
            Ids::Memory(ids) => ids,
            Ids::File(map) => bytemuck::cast_slice(&map[HEAD..]),
        };
        ids.split_at(self.train)
    }
}

/// A hash of both parts.
fn digest(train: &[u32], valid: &[u32]) -> String {
    let mut hasher = blake3::Hasher::new();
    for ids in [train, valid] {
        hasher.update(&(ids.len() as u64).to_le_bytes());
        for some in ids.chunks(1 << 14) {
            let bytes: Vec<u8> = some.iter().flat_map(|id| id.to_le_bytes()).collect();
            hasher.update(&bytes);
        }
    }
    hasher.finalize().to_hex()[..DIGEST].to_owned()
}

/// What text and tokeniser are called in the cache.
pub(super) fn key(train: &[u8], valid: Option<&[u8]>, tokeniser: Tokeniser) -> [u8; KEY] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(tokeniser.to_string().as_bytes()).update(&(train.len() as u64).to_le_bytes()).update(train);
    if let Some(valid) = valid {
        hasher.update(b"valid").update(valid);
    }
    *hasher.finalize().as_bytes()
}

fn path(folder: &Path, key: &[u8; KEY]) -> PathBuf {
    folder.join(format!("{}.tokens", &blake3::Hash::from_bytes(*key).to_hex()[..20]))
}

/// The tokens of a text; nothing if the file is missing or, with a note, damaged.
pub(super) fn open(folder: &Path, key: &[u8; KEY]) -> Option<Tokens> {
    let path = path(folder, key);
    let file = File::open(&path).ok()?;
    let tokens = mapped(&file, key).filter(|tokens| {
        let (train, valid) = tokens.parts();
        digest(train, valid) == tokens.digest
    });
    if tokens.is_none() && cfg!(target_endian = "little") {
        log::warn!("{} is damaged; the text is cut into tokens again", path.display());
    }
    tokens
}

fn mapped(file: &File, key: &[u8; KEY]) -> Option<Tokens> {
    let map = map(file)?;
    let (digest, rest) = map.strip_prefix(MAGIC)?.strip_prefix(key)?.split_at_checked(DIGEST)?;
    let (lengths, ids) = rest.split_at_checked(16)?;
    let length = |at: usize| usize::try_from(u64::from_le_bytes(lengths[at..at + 8].try_into().ok()?)).ok();
    let (train, valid) = (length(0)?, length(8)?);
    let digest = std::str::from_utf8(digest).ok()?.to_owned();
    let whole = train.checked_add(valid)?.checked_mul(4)? == ids.len();
    // Ids are used as they lie in the file.
    (whole && cfg!(target_endian = "little")).then(|| Tokens { ids: Ids::File(Arc::new(map)), train, digest })
}

#[allow(unsafe_code)]
fn map(file: &File) -> Option<Mmap> {
    // SAFETY: a map is sound as long as nobody shortens or overwrites its file. Files of the cache are written whole under
    // another name and renamed; a newer one of the same name is another file, and removing one leaves its map alone.
    unsafe { Mmap::map(file) }.ok()
}

pub(super) fn write(folder: &Path, key: &[u8; KEY], tokens: &Tokens) -> Result<()> {
    let target = path(folder, key);
    std::fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))?;
    file::sweep(folder, false);
    let (train, valid) = tokens.parts();
    file::replace_with(&target, |file| {
        for bytes in [&MAGIC[..], key, tokens.digest.as_bytes()] {
            file.write_all(bytes)?;
        }
        for part in [train, valid] {
            file.write_all(&(part.len() as u64).to_le_bytes())?;
        }
        train.iter().chain(valid).try_for_each(|id| file.write_all(&id.to_le_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_and_damage_does_not() {
        let folder = std::env::temp_dir().join(format!("foretell-tokens-{}", std::process::id()));
        let key = key(b"text", None, Tokeniser::Bytes);
        assert!(open(&folder, &key).is_none());
        let tokens = Tokens::new(vec![1, 2, 70_000], vec![5]);
        write(&folder, &key, &tokens).unwrap();
        let back = open(&folder, &key).unwrap();
        assert_eq!((back.parts(), &back.digest), ((&[1, 2, 70_000][..], &[5][..]), &tokens.digest));
        let path = path(&folder, &key);
        let bytes = std::fs::read(&path).unwrap();
        for damaged in [&bytes[..bytes.len() - 1], &bytes[..HEAD], &bytes[..30], &[], &bytes[4..]] {
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, damaged).unwrap();
            assert!(open(&folder, &key).is_none());
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 4;
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, damaged).unwrap();
            assert!(open(&folder, &key).is_none(), "byte {place}");
        }
        assert_eq!(back.parts().1, [5], "a map outlives its file");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
