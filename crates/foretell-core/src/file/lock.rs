//! A folder that one process writes at a time.

use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

/// The file whose lock is that of its folder. It stays: removing it would let two processes hold two files of one name.
const NAME: &str = ".foretell-lock";

/// The right to write a folder, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder, which is made if it is not there. A file system without locks gives one to anybody.
    pub fn of(folder: &Path) -> Result<Lock> {
        std::fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))?;
        let path = folder.join(NAME);
        let failed = |source| Error::write(&path, source);
        let options = || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options().map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.take(20).read_to_string(&mut holder);
                return Err(Error::Locked { path: folder.into(), pid: holder.trim().parse().ok() });
            }
            // Some network disks have none.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Lock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_told_of_the_first() {
        let folder = std::env::temp_dir().join(format!("foretell-lock-{}", std::process::id()));
        let lock = Lock::of(&folder).unwrap();
        let error = Lock::of(&folder).unwrap_err();
        assert!(
            matches!(error, Error::Locked { pid: Some(pid), .. } if pid == std::process::id()),
            "{error}"
        );
        drop(lock);
        Lock::of(&folder).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
