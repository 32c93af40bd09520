//! Files that are there whole or not at all: written under a new name in the same folder, brought to the disk, renamed.
//!
//! Links are never followed: the new name is one that nobody can foresee, and a target that is no regular file is refused.

use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How the names of unfinished files and folders end.
const END: &str = ".foretell-part";

/// Unfinished files and folders that are older belong to a process that was killed.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// Puts a file of these bytes in the place of whatever regular file is there.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    replace_with(path, |file| file.write_all(bytes.as_ref()))
}

/// The same with bytes that are written piece by piece.
pub fn replace_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    refuse_special(path)?;
    let draft = draft(path);
    let write = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create_new(&draft)?);
        fill(&mut file)?;
        file.into_inner()?.sync_all()?;
        fs::rename(&draft, path)?;
        sync_folder(folder(path))
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&draft);
        Error::write(path, source)
    })
}

/// A link, device or pipe would be replaced by a file, or written to.
fn refuse_special(path: &Path) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let kind = match found.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "is a link, which is not followed: name the file itself",
        kind if kind.is_dir() => "is a folder: name a file",
        _ => "is no regular file: name another",
    };
    Err(Error::option(path.display().to_string(), kind))
}

/// The folder that a path lies in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new, hidden name beside `path`, for what is not finished.
pub fn draft(path: &Path) -> PathBuf {
    // Keys of hash maps are drawn from the operating system.
    let number = RandomState::new().build_hasher().finish();
    beside(path, &format!(".{number:016x}{END}"))
}

/// A hidden name beside `path`: a dot, its name, and `end`.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(end);
    path.with_file_name(name)
}

/// Whether a name is one of [`draft`].
pub fn is_draft(name: &OsStr) -> bool {
    let number = |name: &str| {
        let (_, number) = name.strip_prefix('.')?.strip_suffix(END)?.rsplit_once('.')?;
        (number.len() == 16 && number.bytes().all(|b| b.is_ascii_hexdigit())).then_some(())
    };
    name.to_str().and_then(number).is_some()
}

/// Brings the names of a folder to the disk, where the system can.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Folders cannot be opened everywhere, and not every file system knows the call.
    let Ok(opened) = File::open(folder) else { return Ok(()) };
    match opened.sync_all() {
        Err(error) if !matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::Other) => Ok(()),
        done => done,
    }
}

/// Removes what killed processes left unfinished in a folder; `all` also removes what may be in the making, and is for the
/// holder of the folder's lock.
pub fn sweep(folder: &Path, all: bool) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| is_draft(&entry.file_name())) {
        let Ok(found) = fs::symlink_metadata(entry.path()) else { continue };
        let age = found.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
        if all || age.is_some_and(|age| age > OLD) {
            let _ = match found.is_dir() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("foretell-file-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
        let home = fresh("whole");
        let path = home.join("a.json");
        replace(&path, "old").unwrap();
        let error = replace_with(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert!(matches!(error, Err(Error::Write { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
        fs::remove_dir_all(home).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_devices_and_folders_are_refused() {
        let home = fresh("special");
        let (kept, link) = (home.join("kept"), home.join("link"));
        fs::write(&kept, "kept").unwrap();
        std::os::unix::fs::symlink(&kept, &link).unwrap();
        for (path, part) in [(link.as_path(), "link"), (&home, "folder"), (Path::new("/dev/null"), "regular")]
        {
            assert!(replace(path, "new").unwrap_err().to_string().contains(part), "{}", path.display());
        }
        assert_eq!(fs::read(&kept).unwrap(), b"kept");
        fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn litter_of_killed_processes_goes_and_all_else_stays() {
        let home = fresh("litter");
        let (old, new, other) = (draft(&home.join("a")), draft(&home.join("b")), home.join(".c.part"));
        for path in [&old, &new, &other] {
            fs::write(path, "").unwrap();
        }
        let then = SystemTime::now() - 2 * OLD;
        for path in [&old, &other] {
            File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
        }
        sweep(&home, false);
        assert_eq!([&old, &new, &other].map(|path| path.exists()), [false, true, true]);
        sweep(&home, true);
        assert_eq!([&new, &other].map(|path| path.exists()), [false, true]);
        fs::remove_dir_all(home).unwrap();
    }
}
