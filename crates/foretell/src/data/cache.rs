//! Tokens on disk, so that a text is cut once.
//!
//! `FORETELL-TOKENS 1`, a hash of text and tokeniser, the lengths of both parts, then ids of four bytes, little end
//! first. Read as a whole: a map would need `unsafe` outside the engine, and training reads from all over it anyhow.

use super::Tokeniser;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 20] = b"FORETELL-TOKENS 1\n\0\0";
const KEY: usize = 32;

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

/// Tokens of both parts; nothing if the file is missing, of another kind or cut short.
pub(super) fn read(folder: &Path, key: &[u8; KEY]) -> Option<(Vec<u32>, Vec<u32>)> {
    let bytes = std::fs::read(path(folder, key)).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(key)?;
    let (lengths, rest) = rest.split_at_checked(16)?;
    let length = |at: usize| u64::from_le_bytes(lengths[at..at + 8].try_into().expect("eight bytes"));
    let (train, valid) = (usize::try_from(length(0)).ok()?, usize::try_from(length(8)).ok()?);
    if train.checked_add(valid)?.checked_mul(4)? != rest.len() {
        return None;
    }
    let ids = rest.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let mut ids: Vec<u32> = ids.collect();
    let valid = ids.split_off(train);
    Some((ids, valid))
}

pub(super) fn write(folder: &Path, key: &[u8; KEY], train: &[u32], valid: &[u32]) -> Result<()> {
    let target = path(folder, key);
    let mut bytes = [&MAGIC[..], key].concat();
    for part in [train, valid] {
        bytes.extend((part.len() as u64).to_le_bytes());
    }
    bytes.extend(train.iter().chain(valid).flat_map(|id| id.to_le_bytes()));
    let draft = target.with_extension(format!("{}.part", std::process::id()));
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&draft, &bytes))
        .and_then(|()| std::fs::rename(&draft, &target));
    written.map_err(|source| Error::Write { path: target, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_and_damage_does_not() {
        let folder = std::env::temp_dir().join(format!("foretell-tokens-{}", std::process::id()));
        let key = key(b"text", None, Tokeniser::Bytes);
        assert_eq!(read(&folder, &key), None);
        write(&folder, &key, &[1, 2, 70_000], &[5]).unwrap();
        assert_eq!(read(&folder, &key), Some((vec![1, 2, 70_000], vec![5])));
        let path = path(&folder, &key);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(read(&folder, &key), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
