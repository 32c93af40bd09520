//! Where the user's files are: config, cache, benchmarks.

use directories::BaseDirs;
use foretell::benchmark;
use foretell::error::Result;
use std::path::{Path, PathBuf};

/// A path from an environment variable, if it is set.
pub fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The user's config file, if the user has a config folder.
pub fn config() -> Option<PathBuf> {
    BaseDirs::new().map(|folders| folders.config_dir().join("foretell").join("config.toml"))
}

/// The cache folder: given, else `FORETELL_CACHE`, else in the user's cache folder, if there is one.
pub fn cache(given: Option<&Path>) -> Option<PathBuf> {
    let user = || BaseDirs::new().map(|folders| folders.cache_dir().join("foretell"));
    given.map(Path::to_owned).or_else(|| variable("FORETELL_CACHE")).or_else(user)
}

/// The benchmark folder, whether it exists or not: given, else `FORETELL_BENCHMARKS`, else in the user's data folder.
pub fn benchmark_path(given: Option<&Path>) -> Option<PathBuf> {
    let user = || BaseDirs::new().map(|folders| folders.data_dir().join("foretell").join("benchmarks"));
    given.map(Path::to_owned).or_else(|| variable(benchmark::FOLDER_VARIABLE)).or_else(user)
}

/// The benchmark folder. One that was named must exist; without the default one only included benchmarks are found.
pub fn benchmarks(given: Option<&Path>) -> Result<PathBuf> {
    let named = given.is_some() || variable(benchmark::FOLDER_VARIABLE).is_some();
    let folder = if named { benchmark::folder(given)? } else { benchmark_path(None).unwrap_or_default() };
    let state = if folder.is_dir() { "" } else { ", which does not exist: only included ones are found" };
    crate::output::detail(format!("benchmarks are read from {}{state}", folder.display()));
    Ok(folder)
}
