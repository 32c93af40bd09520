//! Proxies that are written in files: a list of them, or a predictor, which is a proxy too.

use super::Saved;
use crate::error::{Error, Result};
use crate::file;
use crate::proxy;
use std::path::Path;

/// A list of proxies in which every entry `@FILE` is replaced by the proxies in that file.
pub fn listed(list: &str) -> Result<String> {
    let entry = |entry: &str| match entry.strip_prefix('@') {
        Some(path) => in_file(Path::new(path)),
        None => Ok(entry.to_owned()),
    };
    Ok(proxy::split(list).into_iter().map(entry).collect::<Result<Vec<_>>>()?.join(", "))
}

/// The proxies in a file, one per line; the rest of a line from `#` on is a comment. A predictor is a proxy too.
fn in_file(path: &Path) -> Result<String> {
    let text = file::text(path)?;
    if text.trim_start().starts_with('{') {
        return Saved::of_json(&path.display().to_string(), &text)?.register();
    }
    if !file::is_intact(&text) {
        let message = "was altered since it was written: write it again, or remove the line '# digest' to use it as it is";
        return Err(Error::data(path.display().to_string(), message));
    }
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => Err(Error::option(path.display().to_string(), "names no proxy")),
        false => Ok(lines.join(", ")),
    }
}
