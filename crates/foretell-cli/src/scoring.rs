//! From arguments to a scorer.

use crate::args::{PrecisionArg, ScoringArgs, no_effect};
use crate::{output, places};
use foretell::benchmark::COLUMN;
use foretell::error::{Error, Result};
use foretell::file;
use foretell::predict::listed;
use foretell::probe::Inputs;
use foretell::proxy::{self, Request};
use foretell::score::{Cache, Options, Source, pass_memory};
use std::path::{Path, PathBuf};

/// The weights of a model's folder.
const WEIGHTS: &str = "model.safetensors";

/// Writes a proxy to a file, with remarks.
pub fn write(path: &Path, proxy: &str, remarks: &[String]) -> Result<()> {
    let remarks: String =
        remarks.iter().map(|remark| format!("# {}\n", output::escaped(remark).replace('\n', " "))).collect();
    file::replace(path, file::seal_text(&format!("{remarks}{proxy}\n")))
}

impl ScoringArgs {
    /// The requested proxies, or the default ones of a command.
    pub fn requests(&self, usual: &str) -> Result<Vec<Request>> {
        let requests = Request::parse_list(&listed(self.proxies.as_deref().unwrap_or(usual))?)?;
        if requests.is_empty() {
            return Err(Error::option("--proxies", "names no proxy; see foretell proxies"));
        }
        self.refuse_idle(&requests)?;
        Ok(requests)
    }

    /// The requested proxies, and the columns of the table among them: `column:NAME`.
    pub fn requests_and_columns(&self, usual: &str) -> Result<(Vec<Request>, Vec<String>)> {
        let list = listed(self.proxies.as_deref().unwrap_or(usual))?;
        let (columns, others): (Vec<&str>, Vec<&str>) =
            proxy::split(&list).into_iter().partition(|entry| entry.starts_with(COLUMN));
        if columns.is_empty() {
            return Ok((self.requests(usual)?, Vec::new()));
        }
        let requests = Request::parse_list(&others.join(", "))?;
        self.refuse_idle(&requests)?;
        Ok((requests, columns.iter().map(|entry| entry[COLUMN.len()..].trim().to_owned()).collect()))
    }

    /// Refuses options that have no effect on any of the proxies.
    fn refuse_idle(&self, requests: &[Request]) -> Result<()> {
        let drawn = requests.iter().any(|request| request.about().drawn());
        let runs = requests.iter().any(|request| request.about().runs());
        let names = || requests.iter().map(Request::label).collect::<Vec<_>>().join(", ");
        let idle = |option: &'static str, why: &str| {
            no_effect(option, &format!("has no effect: {why} ({})", names()))
        };
        if self.inputs.is_some() && !runs {
            idle("--inputs", "none of the proxies runs the network")?;
        }
        if self.weights != "shared" && !drawn {
            idle("--weights", "none of the proxies uses weights")?;
        }
        if matches!(self.precision, PrecisionArg::F64) && !drawn {
            idle("--precision", "none of the proxies uses weights")?;
        }
        Ok(())
    }

    /// Whether scores are read from and written to the cache.
    pub fn cached(&self) -> bool {
        let drawn = ["shared", "standalone"].contains(&self.weights.as_str());
        drawn && self.inputs.is_none() && self.cache_file().is_some()
    }

    /// Whether proxies were requested by name, so that each must be shown.
    pub fn by_name(&self) -> bool {
        let groups = ["all", "shape", "weights", "forward", "backward", "passes", "samples", "hessian"];
        let group = |entry: &str| groups.contains(&entry);
        self.proxies.as_ref().is_some_and(|list| !proxy::split(list).into_iter().all(group))
    }

    pub fn seeds(&self) -> Vec<u64> {
        (0..self.seeds).map(|nth| self.seed.wrapping_add(nth)).collect()
    }

    /// The options of a scorer that neither reads nor writes the cache.
    pub fn dry_options(&self) -> Result<Options> {
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
                return Err(Error::option("--weights", message));
            }
        };
        Ok(Options {
            precision: self.precision.into(),
            weights,
            inputs: self.inputs.as_deref().map(Inputs::read).transpose()?,
            memory: pass_memory(),
            cache: None,
            ..Options::default()
        })
    }

    pub fn options(&self) -> Result<Options> {
        let options = self.dry_options()?;
        let cache = self.cache_file().and_then(|path| {
            let cache = Cache::open(&path).inspect_err(|e| log::warn!("scores are not cached: {e}")).ok()?;
            output::detail(format!("scores are cached in {}", path.display()));
            Some(cache)
        });
        if cache.is_none() {
            output::detail("scores are not cached");
        }
        Ok(Options { cache, ..options })
    }

    /// The file of cached scores; none if scores are not cached or the user has no cache folder.
    pub fn cache_file(&self) -> Option<PathBuf> {
        if self.no_cache { None } else { cache_file(self.cache.as_deref()) }
    }
}

/// The file that caches scores.
pub fn cache_file(folder: Option<&Path>) -> Option<PathBuf> {
    Some(places::cache(folder)?.join("scores.jsonl"))
}
