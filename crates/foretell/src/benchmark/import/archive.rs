//! Members of zip archives, none of them larger than a text may be.

use crate::error::{Error, Result};
use crate::file::{self, TEXT_LIMIT};
use std::io::Read;
use std::path::Path;

/// Names and bytes of the members whose names are wanted.
pub(super) fn members(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<(String, Vec<u8>)>> {
    let wrong = |message: String| Error::data(path.display().to_string(), message);
    file::regular(path)?;
    let opened = std::fs::File::open(path).map_err(|source| Error::read(path, source))?;
    let broken = |e: zip::result::ZipError| wrong(format!("is not a whole zip archive: {e}"));
    let mut archive = zip::ZipArchive::new(opened).map_err(broken)?;
    let mut found = Vec::new();
    for place in 0..archive.len() {
        let member = archive.by_index(place).map_err(broken)?;
        let name = member.name().map_err(broken)?.into_owned();
        if !wanted(&name) {
            continue;
        }
        let mut bytes = Vec::new();
        let read = member.take(TEXT_LIMIT + 1).read_to_end(&mut bytes);
        read.map_err(|e| wrong(format!("{name} cannot be unpacked: {e}")))?;
        if bytes.len() as u64 > TEXT_LIMIT {
            return Err(wrong(format!("{name} unpacks to more than {TEXT_LIMIT} bytes")));
        }
        found.push((name, bytes));
    }
    Ok(found)
}
