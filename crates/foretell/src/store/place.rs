//! The file of a store and the disk that it lies on: what kind they are, and whether they can be written.

use crate::error::{Error, Result};
use crate::file;
use std::io::Read;
use std::path::Path;

/// The kind of file system that a folder lies on, where the system tells.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn filesystem(folder: &Path) -> Option<i64> {
    Some(nix::sys::statfs::statfs(folder).ok()?.filesystem_type().0)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn filesystem(_: &Path) -> Option<i64> {
    None
}

/// Whether a kind of file system is shared between machines: NFS, SMB (three kinds), AFS, Ceph, Lustre, GPFS, BeeGFS, OCFS2,
/// GFS2, Coda, 9P.
pub(super) fn remote(kind: i64) -> bool {
    let known = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x5346_414f,
        0x00c3_6400,
        0x0bd0_0bd0,
        0x4750_4653,
        0x1983_0326,
        0x7461_636f,
        0x0116_1970,
        0x7375_7245,
        0x0102_1997,
    ];
    known.contains(&kind)
}

/// Whether both the file and its folder can be written, tried out since permissions do not say it all.
pub(super) fn writable(path: &Path) -> bool {
    let trial = beside(path, &format!("-try-{}", std::process::id()));
    let made = std::fs::File::create_new(&trial).is_ok();
    if made {
        let _ = std::fs::remove_file(&trial);
    }
    made && std::fs::File::options().append(true).open(path).is_ok()
}

/// The file of the same name with something added.
pub(super) fn beside(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// What tells one file from all others, on local disks of systems that have it.
pub(super) type FileId = (u64, u64);

#[cfg(unix)]
pub(super) fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    // File systems of users may number a file differently from one moment to the next.
    const FUSE: i64 = 0x6573_5546;
    if filesystem(path).is_some_and(|kind| kind == FUSE || remote(kind)) {
        return None;
    }
    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

#[cfg(not(unix))]
pub(super) fn file_id(_: &Path) -> Option<FileId> {
    None
}

/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

pub(super) fn refuse_devices(path: &Path) -> Result<()> {
    if path.exists() { file::regular(path).map(drop) } else { Ok(()) }
}

/// Refuses a file that never was a store, because its beginning is that of something else. Only where SQLite cannot read it:
/// closing a file gives up every lock that this process has on it.
pub(super) fn refuse_foreign(path: &Path) -> Result<()> {
    let mut beginning = Vec::new();
    let opened = std::fs::File::open(path).and_then(|file| {
        file.take(512).read_to_end(&mut beginning)?;
        Ok(path.metadata()?.len())
    });
    let size = opened.map_err(|source| Error::read(path, source))?;
    let start = &beginning[..beginning.len().min(MAGIC.len())];
    // Whole pages with another beginning may be a store whose first page is damaged.
    let kind = match kind(&beginning) {
        _ if MAGIC.starts_with(start) => return Ok(()),
        None if size.is_multiple_of(4096) => return Ok(()),
        kind => kind.unwrap_or("a file of an unknown kind"),
    };
    let reason = format!("this is not a foretell store but {kind}; check the name of the file");
    Err(Error::Store { path: path.into(), reason })
}

/// The kind of a file by its beginning, where it is a common one.
fn kind(beginning: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 7] = [
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip file"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"%PDF", "a PDF document"),
        (b"\x7fELF", "a program"),
        (b"PAR1", "a Parquet file"),
    ];
    let by_magic = known.iter().find(|(magic, _)| beginning.starts_with(magic)).map(|(_, kind)| *kind);
    let plain = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    let text = || match beginning.iter().all(plain) {
        true if beginning.trim_ascii_start().starts_with(b"{") => Some("a JSON file"),
        true => Some("a text file"),
        false => None,
    };
    by_magic.or_else(text)
}
