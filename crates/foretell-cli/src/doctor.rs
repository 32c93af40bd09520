//! `foretell doctor`: this machine and the paths in use.

use crate::config::Looked;
use crate::output::{self, short};
use crate::{places, studies};
use foretell::benchmark;
use foretell::error::Result;
use foretell::score::free_memory;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A path that commands use, and what it follows from.
struct Place {
    what: &'static str,
    variable: &'static str,
    path: Option<PathBuf>,
}

pub fn run(files: &[Looked], json: bool) -> Result<()> {
    let places = [
        Place { what: "cache", variable: "FORETELL_CACHE", path: places::cache(None) },
        Place { what: "store", variable: "FORETELL_STORE", path: Some(studies::path(None)) },
        Place {
            what: "benchmarks",
            variable: benchmark::FOLDER_VARIABLE,
            path: places::benchmark_path(None),
        },
    ];
    let tables = places::benchmarks(None).and_then(|folder| benchmark::names(&folder));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if json {
        output::line(json!({
            "version": env!("CARGO_PKG_VERSION"), "cores": cores, "threads": rayon::current_num_threads(),
            "vector": foretell::store::processor(), "cpu_features": features(), "memory_bytes": free_memory(),
            "spaces": foretell::space::PRESETS.len(), "proxies": foretell::proxy::CATALOGUE.len(),
            "benchmarks": tables.as_ref().ok(),
            "config": files.iter().map(Looked::object).collect::<Vec<_>>(),
            "paths": places.iter().map(Place::object).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    let line = |what: &str, text: String| output::prose(format!("{what:<14}{text}"));
    line("version", env!("CARGO_PKG_VERSION").to_owned());
    line("threads", format!("{} of {cores} cores", rayon::current_num_threads()));
    line(
        "memory",
        free_memory().map_or("unknown".to_owned(), |bytes| format!("{}B available", short(bytes))),
    );
    line("cpu", format!("{} ({})", foretell::store::processor(), features().join(", ")));
    line("spaces", foretell::space::PRESETS.len().to_string());
    line("proxies", foretell::proxy::CATALOGUE.len().to_string());
    for looked in files {
        let state = if looked.read {
            "read"
        } else if looked.path.is_file() {
            "not read"
        } else {
            "does not exist"
        };
        line("config", format!("{} ({state})", absolute(&looked.path).display()));
    }
    for place in &places {
        line(place.what, place.text());
    }
    match tables {
        Ok(names) => line("tables", names.join(", ")),
        Err(wrong) => line("tables", wrong.to_string()),
    }
    Ok(())
}

/// The absolute path, where the current folder is known.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

impl Looked {
    fn object(&self) -> Value {
        json!({"path": absolute(&self.path), "read": self.read, "exists": self.path.is_file()})
    }
}

impl Place {
    fn absolute(&self) -> Option<PathBuf> {
        self.path.as_deref().map(absolute)
    }

    fn source(&self) -> &'static str {
        if places::variable(self.variable).is_some() { self.variable } else { "default" }
    }

    fn text(&self) -> String {
        let Some(path) = self.absolute() else {
            return format!("no folder; set {}", self.variable);
        };
        let writable = if writable(&path) { "writable" } else { "not writable" };
        let state = match path.exists() {
            true => format!("exists, {writable}"),
            false => format!("does not exist, its folder is {writable}"),
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

/// Whether a path can be written, or created if it does not exist.
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
