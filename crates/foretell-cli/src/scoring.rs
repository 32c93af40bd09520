//! From what was typed to a scorer.

use crate::args::{PrecisionArg, ScoringArgs};
use foretell::error::{Error, Result};
use foretell::probe::Inputs;
use foretell::proxy::Request;
use foretell::score::{Cache, Options, Precision, Source};
use std::path::{Path, PathBuf};

/// The weights of a model's folder.
const WEIGHTS: &str = "model.safetensors";

/// A list of proxies with what stands in files, one a line, in place of `@FILE`; lines from `#` on are remarks.
pub fn written(list: &str) -> Result<String> {
    let Some(path) = list.trim().strip_prefix('@') else { return Ok(list.to_owned()) };
    let path = PathBuf::from(path);
    let text = std::fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => Err(Error::input(path.display().to_string(), "names no proxy")),
        false => Ok(lines.join(", ")),
    }
}

/// Writes a proxy to a file, with remarks.
pub fn write(path: &Path, proxy: &str, remarks: &[String]) -> Result<()> {
    let remarks: String = remarks.iter().map(|remark| format!("# {remark}\n")).collect();
    let wrong = |source| Error::Write { path: path.to_path_buf(), source };
    std::fs::write(path, format!("{remarks}{proxy}\n")).map_err(wrong)
}

impl ScoringArgs {
    /// The proxies asked for, or the usual ones of a command.
    pub fn requests(&self, usual: &str) -> Result<Vec<Request>> {
        let requests = Request::parse_list(&written(self.proxies.as_deref().unwrap_or(usual))?)?;
        match requests.is_empty() {
            true => Err(Error::input("--proxies", "names no proxy; see foretell proxies")),
            false => Ok(requests),
        }
    }

    /// Whether proxies were asked for one by one, so that each must show up.
    pub fn by_name(&self) -> bool {
        let groups = ["all", "shape", "weights", "forward", "backward", "passes", "samples", "hessian"];
        self.proxies.as_ref().is_some_and(|list| !list.split(',').all(|word| groups.contains(&word.trim())))
    }

    pub fn seeds(&self) -> Vec<u64> {
        (self.seed..self.seed + self.seeds).collect()
    }

    pub fn options(&self) -> Result<Options> {
        let weights = match self.weights.as_str() {
            "shared" => Source::Shared,
            "standalone" => Source::Standalone,
            file if Path::new(file).is_file() => Source::File(file.into()),
            folder if Path::new(folder).join(WEIGHTS).is_file() => {
                Source::File(Path::new(folder).join(WEIGHTS))
            }
            other => {
                let message = format!(
                    "'{other}' is neither shared nor standalone nor a file, nor a folder with {WEIGHTS}"
                );
                return Err(Error::input("--weights", message));
            }
        };
        Ok(Options {
            precision: match self.precision {
                PrecisionArg::F32 => Precision::F32,
                PrecisionArg::F64 => Precision::F64,
            },
            weights,
            inputs: self.inputs.as_deref().map(Inputs::read).transpose()?,
            memory: memory(),
            cache: self.cache_file().map(|path| Cache::open(&path)).transpose()?,
        })
    }

    /// A folder that cannot be found is no reason to fail: scores are then not cached.
    fn cache_file(&self) -> Option<PathBuf> {
        if self.no_cache { None } else { cache_file(self.cache.as_deref()) }
    }
}

/// The file that caches scores.
pub fn cache_file(folder: Option<&Path>) -> Option<PathBuf> {
    Some(cache_folder(folder)?.join("scores.jsonl"))
}

/// What one pass may take: an equal share of free memory for each thread.
pub fn memory() -> Option<u64> {
    crate::doctor::memory().map(|bytes| bytes / rayon::current_num_threads() as u64)
}

/// Where things are remembered: given, else `FORETELL_CACHE`, else the user's cache folder, if one is known.
pub fn cache_folder(given: Option<&Path>) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user =
        || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache"))).map(|c| c.join("foretell"));
    given.map(Path::to_owned).or_else(|| set("FORETELL_CACHE")).or_else(user)
}
