//! Many runs, each stored in a file of its own: a run that is killed loses only the time since its last checkpoint.
//!
//! A job that is done leaves `NAME.json`; while it runs its checkpoints lie in `NAME/`. Files of several machines may be
//! copied together. Networks are trained side by side, each by one thread: the bits are the same as with many.

use super::{Outcome, Recipe, Run, peak_bytes};
use crate::architecture::Architecture;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::file;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// One network to be trained.
#[derive(Debug, Clone)]
pub struct Job {
    /// The network, as the data wants it.
    pub architecture: Architecture,
    /// How, with the seed.
    pub recipe: Recipe,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// A hash of network, recipe and data.
    job: String,
    /// Validation loss in the end; absent if it diverged.
    pub valid_loss: Option<f64>,
    /// The share of targets met in the end, where the task has one.
    pub valid_accuracy: Option<f64>,
    /// Mean training loss between the last two validations.
    pub train_loss: Option<f64>,
    /// Why there is no loss.
    pub failure: Option<String>,
    /// Seconds that it took, on one thread.
    pub seconds: f64,
}

impl Job {
    /// A name that is the same for the same network and seed.
    pub fn name(&self) -> String {
        format!("{}-{}", self.architecture.id(), self.recipe.seed)
    }

    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.name()))
    }

    /// Whether a folder holds what became of it.
    pub fn done(&self, folder: &Path) -> bool {
        file::bytes(&self.file(folder)).is_ok_and(|bytes| file::unseal::<Finished>(&bytes).is_some())
    }

    fn hash(&self, data: &Data) -> String {
        let recipe = serde_json::to_string(&self.recipe).expect("a recipe is plain data");
        let text = format!("{} {recipe} {}", self.architecture.id(), data.digest());
        blake3::hash(text.as_bytes()).to_hex()[..20].to_owned()
    }

    /// What a file says of it, if it is done.
    fn known(&self, data: &Data, folder: &Path) -> Result<Option<Finished>> {
        let path = self.file(folder);
        if !path.exists() {
            return Ok(None);
        }
        let Some(found) = file::unseal::<Finished>(&file::bytes(&path)?) else {
            log::warn!("{} is damaged; the run is repeated", path.display());
            return Ok(None);
        };
        if found.job != self.hash(data) {
            let message =
                "was trained by another recipe or on other data: choose another folder, or remove it";
            return Err(Error::option(path.display().to_string(), message));
        }
        Ok(Some(found))
    }

    fn run(&self, data: &Data, folder: &Path) -> Result<Finished> {
        let work = folder.join(self.name());
        let said = Run::new(&self.architecture, data, &self.recipe)
            .checkpoints(Some(&work))
            .pause(PAUSE)
            .watched(&mut ());
        let mut finished = Finished {
            job: self.hash(data),
            valid_loss: None,
            valid_accuracy: None,
            train_loss: None,
            failure: None,
            seconds: 0.0,
        };
        match said {
            Ok(Outcome { valid, curve, seconds, .. }) => {
                (finished.valid_loss, finished.valid_accuracy) = (Some(valid.loss), valid.accuracy);
                finished.train_loss = curve.last().map(|point| point.train);
                finished.seconds = seconds;
            }
            Err(error @ Error::Diverged { .. }) => finished.failure = Some(error.to_string()),
            Err(error) => return Err(error),
        }
        file::replace(&self.file(folder), file::seal(&finished) + "\n")?;
        let _ = std::fs::remove_dir_all(&work);
        Ok(finished)
    }
}

/// Checkpoints of a job are at least so far apart.
const PAUSE: Duration = Duration::from_secs(10);

/// Trains whatever is not done; `each` is told of every job that gets done. What is wrong with one stops all.
pub fn jobs(
    jobs: &[Job],
    data: &Data,
    folder: &Path,
    each: &(dyn Fn(&Job, &Finished) + Sync),
) -> Result<Vec<Finished>> {
    std::fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))?;
    file::sweep(folder, false);
    let mut found = Vec::with_capacity(jobs.len());
    for job in jobs {
        found.push(job.known(data, folder)?);
    }
    let open: Vec<usize> = (0..jobs.len()).filter(|place| found[*place].is_none()).collect();
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
    let found = Mutex::new(found);
    let worker = || {
        // Threads of one pool would begin one job in the middle of another while they wait for its parts.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
        while let Some(place) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failure.lock().expect("no holder panics").is_some() {
                return;
            }
            match pool.install(|| jobs[*place].run(data, folder)) {
                Ok(finished) => {
                    each(&jobs[*place], &finished);
                    found.lock().expect("no holder panics")[*place] = Some(finished);
                }
                Err(error) => *failure.lock().expect("no holder panics") = Some(error),
            }
        }
    };
    std::thread::scope(|scope| {
        (0..side_by_side(jobs, &open, data)).for_each(|_| {
            scope.spawn(worker);
        });
    });
    if let Some(error) = failure.into_inner().expect("no holder panics") {
        return Err(error);
    }
    let found = found.into_inner().expect("no holder panics");
    Ok(found.into_iter().map(|finished| finished.expect("every job was run")).collect())
}

/// How many jobs run at a time: as many as there are threads, and as memory holds of the largest.
fn side_by_side(jobs: &[Job], open: &[usize], data: &Data) -> usize {
    let threads = rayon::current_num_threads().min(open.len());
    let largest = open.iter().map(|place| &jobs[*place]).max_by_key(|job| job.architecture.params().total);
    // A job that cannot be counted is refused by name when it runs.
    let needed = largest.and_then(|job| peak_bytes::<f32>(&job.architecture, data, &job.recipe, 1).ok());
    match (needed, crate::score::free_memory()) {
        (Some(needed), Some(free)) => threads.min((free / needed.max(1)) as usize).max(1).min(open.len()),
        _ => threads,
    }
}
