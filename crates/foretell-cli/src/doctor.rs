//! `foretell doctor`: this machine and the paths in use.

use crate::output::{self, short};
use crate::{scoring, studies};
use foretell::benchmark;
use foretell::error::Result;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A path that commands use, and what decided on it.
struct Place {
    what: &'static str,
    variable: &'static str,
    path: Option<PathBuf>,
}

pub fn run(json: bool) -> Result<()> {
    let places = [
        Place { what: "cache", variable: "FORETELL_CACHE", path: scoring::cache_folder(None) },
        Place { what: "store", variable: "FORETELL_STORE", path: Some(studies::path(None)) },
        Place {
            what: "benchmarks",
            variable: "FORETELL_BENCHMARKS",
            // A folder that was named but is not there is shown as missing.
            path: benchmark::folder(None)
                .ok()
                .or_else(|| std::env::var_os("FORETELL_BENCHMARKS").map(PathBuf::from)),
        },
    ];
    let tables = benchmark::folder(None).and_then(|folder| benchmark::names(&folder));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if json {
        output::line(json!({
            "version": env!("CARGO_PKG_VERSION"), "cores": cores, "threads": rayon::current_num_threads(),
            "vector": foretell::store::processor(), "cpu_features": features(), "memory_bytes": memory(),
            "spaces": foretell::space::PRESETS.len(), "proxies": foretell::proxy::CATALOGUE.len(),
            "benchmarks": tables.as_ref().ok(),
            "paths": places.iter().map(Place::object).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    let line = |what: &str, text: String| output::prose(format!("{what:<14}{text}"));
    line("version", env!("CARGO_PKG_VERSION").to_owned());
    line("threads", format!("{} of {cores} cores", rayon::current_num_threads()));
    line("memory", memory().map_or("unknown".to_owned(), |bytes| format!("{}B available", short(bytes))));
    line("cpu", format!("{} ({})", foretell::store::processor(), features().join(", ")));
    line("spaces", foretell::space::PRESETS.len().to_string());
    line("proxies", foretell::proxy::CATALOGUE.len().to_string());
    for place in &places {
        line(place.what, place.text());
    }
    match tables {
        Ok(names) => line("tables", names.join(", ")),
        Err(wrong) => line("tables", wrong.to_string()),
    }
    Ok(())
}

impl Place {
    /// The absolute path, where the current folder is known.
    fn absolute(&self) -> Option<PathBuf> {
        self.path.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()))
    }

    fn source(&self) -> &'static str {
        match std::env::var_os(self.variable).is_some_and(|value| !value.is_empty()) {
            true => self.variable,
            false => "default",
        }
    }

    fn text(&self) -> String {
        let Some(path) = self.absolute() else {
            return format!("no folder; set {}", self.variable);
        };
        let writable = if writable(&path) { "writable" } else { "not writable" };
        let state = match path.exists() {
            true => format!("exists, {writable}"),
            false => format!("does not exist, its place is {writable}"),
        };
        format!("{} ({state}; {})", path.display(), self.source())
    }

    fn object(&self) -> Value {
        let path = self.absolute();
        json!({
            "what": self.what, "path": path, "source": self.source(), "variable": self.variable,
            "exists": path.as_ref().is_some_and(|path| path.exists()),
            "writable": path.as_ref().is_some_and(|path| writable(path)),
        })
    }
}

/// Whether a path can be written, or made where it does not exist yet.
fn writable(path: &Path) -> bool {
    let Some(existing) = path.ancestors().find(|path| path.exists()) else { return false };
    #[cfg(unix)]
    let allowed = nix::unistd::access(existing, nix::unistd::AccessFlags::W_OK).is_ok();
    #[cfg(not(unix))]
    let allowed = existing.metadata().is_ok_and(|found| !found.permissions().readonly());
    allowed
}

/// The vector features of this processor that the engine can use.
fn features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as detected;
        let all = [
            ("sse2", detected!("sse2")),
            ("avx", detected!("avx")),
            ("avx2", detected!("avx2")),
            ("fma", detected!("fma")),
            ("avx512f", detected!("avx512f")),
        ];
        all.into_iter().filter(|(_, found)| *found).map(|(name, _)| name).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

/// Free memory, or what a control group allows if that is less.
pub fn memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let free = line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    Some(group.map_or(free, |limit| limit.min(free)))
}
