//! A folder that appears whole or not at all.

use super::{ARCHITECTURE, File, NAMES};
use crate::error::{Error, Result};
use crate::file;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Refuses what must not be replaced: links, files, and folders that hold anything but an export.
pub fn check(to: &Path, force: bool) -> Result<()> {
    let refuse = |message: &str| Err(Error::option(to.display().to_string(), message));
    if to.file_name().is_none() {
        return refuse("names no folder of its own");
    }
    recover(to).map_err(|source| Error::write(to, source))?;
    // The link itself is looked at, not what it points to.
    let Ok(found) = fs::symlink_metadata(to) else { return Ok(()) };
    if found.is_symlink() {
        return refuse("is a link, which is not followed: name a folder");
    }
    if !found.is_dir() {
        return refuse("exists and is no folder");
    }
    let read = |source| Error::read(to, source);
    let (mut mark, mut foreign, mut empty) = (false, None, true);
    for entry in fs::read_dir(to).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (name, kind) = (entry.file_name(), entry.file_type().map_err(read)?);
        mark |= name == ARCHITECTURE;
        empty = false;
        if !(kind.is_file() && ours(&name) || kind.is_dir() && name == "__pycache__") {
            foreign = Some(name);
        }
    }
    match (empty, mark, foreign) {
        (true, ..) => Ok(()),
        (_, true, None) if force => Ok(()),
        (_, true, None) => Err(Error::Exists { path: to.into() }),
        (_, _, Some(name)) => {
            let message = format!("holds {}, which no export wrote: choose another folder", name.display());
            refuse(&message)
        }
        (..) => refuse("holds files but no export: choose another folder"),
    }
}

fn ours(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let code = |start: &str| name.strip_prefix(start).is_some_and(|rest| rest.ends_with(".py"));
    NAMES.contains(&name) || code("modeling_foretell_") || code("configuration_foretell_")
}

/// Writes all files into a new folder beside the target and puts it in its place.
pub fn write(to: &Path, files: &[File], force: bool) -> Result<()> {
    write_by(to, files, force, exchange)
}

fn write_by(to: &Path, files: &[File], force: bool, exchange: Exchange) -> Result<()> {
    let failed = |source| Error::write(to, source);
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    file::sweep(parent, false);
    let part = file::draft(to);
    fs::create_dir(&part).map_err(failed)?;
    let written = fill(&part, files).and_then(|()| {
        // Looked at again: it may have appeared meanwhile.
        check(to, force).map_err(io::Error::other)?;
        swap(&part, to, exchange)?;
        file::sync_folder(parent)
    });
    written.map_err(|source| {
        let _ = fs::remove_dir_all(&part);
        failed(source)
    })
}

/// Where an export lies while a new one takes its place.
fn former(to: &Path) -> PathBuf {
    file::beside(to, ".foretell-former")
}

/// Finishes what a killed process began: the former export is put back, or removed if the new one is there.
fn recover(to: &Path) -> io::Result<()> {
    let former = former(to);
    match (fs::symlink_metadata(&former).is_ok_and(|found| found.is_dir()), to.exists()) {
        (false, _) => Ok(()),
        (true, false) => fs::rename(former, to),
        (true, true) => fs::remove_dir_all(former),
    }
}

fn fill(folder: &Path, files: &[File]) -> io::Result<()> {
    for (name, content) in files {
        let mut file = fs::File::create_new(folder.join(name))?;
        file.write_all(content)?;
        file.sync_all()?;
    }
    file::sync_folder(folder)
}

/// Exchanges two folders at once; false where the system cannot.
type Exchange = fn(&Path, &Path) -> bool;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn exchange(a: &Path, b: &Path) -> bool {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    renameat2(AT_FDCWD, a, AT_FDCWD, b, RenameFlags::RENAME_EXCHANGE).is_ok()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn exchange(_: &Path, _: &Path) -> bool {
    false
}

/// Puts a folder in the place of another, which is lost only when the new one is there.
fn swap(part: &Path, to: &Path, exchange: Exchange) -> io::Result<()> {
    if !to.exists() {
        return fs::rename(part, to);
    }
    if exchange(part, to) {
        return fs::remove_dir_all(part);
    }
    // Killed between the two, `recover` puts the former back.
    let former = former(to);
    fs::rename(to, &former)?;
    match fs::rename(part, to) {
        Ok(()) => fs::remove_dir_all(&former),
        Err(error) => {
            fs::rename(&former, to)?;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("foretell-export-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn files(text: &str) -> Vec<File> {
        vec![(ARCHITECTURE.to_owned(), text.into()), ("config.json".to_owned(), b"{}".to_vec())]
    }

    #[test]
    fn an_export_is_replaced_only_by_force_and_nothing_else_ever() {
        let home = fresh("force");
        let to = home.join("deep/er/model");
        write(&to, &files("1"), false).unwrap();
        assert!(write(&to, &files("2"), false).unwrap_err().to_string().contains("allow it to be replaced"));
        write(&to, &files("2"), true).unwrap();
        assert_eq!(fs::read(to.join(ARCHITECTURE)).unwrap(), b"2");
        fs::write(to.join("thesis.tex"), "years").unwrap();
        assert!(write(&to, &files("3"), true).unwrap_err().to_string().contains("thesis.tex"));
        assert_eq!(fs::read(to.join("thesis.tex")).unwrap(), b"years");
        assert_eq!(fs::read_dir(to.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&home).unwrap();
    }

    /// A kill between the two renames leaves the former export under a hidden name: the next export puts it back first.
    #[test]
    fn a_kill_between_two_renames_loses_nothing() {
        let home = fresh("killed");
        let to = home.join("model");
        let by_renames: Exchange = |_, _| false;
        write_by(&to, &files("1"), false, by_renames).unwrap();
        write_by(&to, &files("2"), true, by_renames).unwrap();
        assert_eq!(fs::read(to.join(ARCHITECTURE)).unwrap(), b"2");
        fs::rename(&to, former(&to)).unwrap();
        assert!(matches!(write(&to, &files("3"), false), Err(Error::Write { .. } | Error::Exists { .. })));
        assert_eq!(fs::read(to.join(ARCHITECTURE)).unwrap(), b"2", "put back");
        fs::create_dir(former(&to)).unwrap();
        write(&to, &files("3"), true).unwrap();
        assert_eq!(fs::read(to.join(ARCHITECTURE)).unwrap(), b"3");
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&home).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let home = fresh("links");
        let (to, outside) = (home.join("model"), home.join("outside"));
        fs::create_dir(&outside).unwrap();
        symlink(&outside, &to).unwrap();
        assert!(write(&to, &files("1"), true).unwrap_err().to_string().contains("link"));
        fs::remove_file(&to).unwrap();
        // A link inside an export is no file that an export wrote.
        write(&to, &files("1"), false).unwrap();
        fs::remove_file(to.join("config.json")).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        symlink(outside.join("kept"), to.join("config.json")).unwrap();
        assert!(write(&to, &files("2"), true).is_err());
        assert_eq!(fs::read(outside.join("kept")).unwrap(), b"kept");
        fs::remove_dir_all(&home).unwrap();
    }
}
