//! The loop: steps, validations, checkpoints, and when to stop.

use super::{Metrics, Recipe, Trainer, checkpoint, memory};
use crate::architecture::Architecture;
use crate::data::Data;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::file::{self, Lock};
use crate::score::Precision;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// A point of the loss curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Steps done.
    pub step: u64,
    /// Mean training loss since the point before.
    pub train: f64,
    /// The validation then.
    pub valid: Metrics,
}

/// What is remembered from step to step beside the weights.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    curve: Vec<Point>,
    /// Sum and number of training losses since the last point.
    sum: f64,
    count: u64,
    stopped: bool,
    seconds: f64,
}

impl Progress {
    /// The point with the lowest validation loss, of equals the first.
    fn best(&self) -> Option<&Point> {
        self.curve.iter().reduce(|best, point| if point.valid.loss < best.valid.loss { point } else { best })
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Steps done.
    pub steps: u64,
    /// Tokens, or images, seen.
    pub seen: u64,
    /// The loss curve.
    pub curve: Vec<Point>,
    /// The step whose weights are kept: the last, or that of the best validation where `patience` stops early.
    pub kept: u64,
    /// How good they are.
    pub valid: Metrics,
    /// Whether it stopped before its time, since validation no longer improved.
    pub early: bool,
    /// Seconds of all that was done, also before it was interrupted.
    pub seconds: f64,
}

/// Who looks on, and may stop the run.
pub trait Watch {
    /// A step is done: its number from 1, the loss before the weights moved.
    fn step(&mut self, _step: u64, _loss: f64) {}
    /// A validation is done.
    fn point(&mut self, _point: &Point) {}
    /// Whether to stop now. It is asked after every step: the run then writes a checkpoint and ends with
    /// [`Error::Interrupted`].
    fn stop(&self) -> bool {
        false
    }
}

/// Nobody looks on.
impl Watch for () {}

/// Checkpoints are written at least this far apart, and in the end.
const PAUSE: Duration = Duration::from_secs(20);

/// Trains a network from its start to its end in single precision, with no checkpoints.
pub fn run(architecture: &Architecture, data: &Data, recipe: &Recipe) -> Result<Outcome> {
    Run::new(architecture, data, recipe).watched(&mut ())
}

/// What is trained, on what, and where checkpoints go.
pub struct Run<'r> {
    architecture: &'r Architecture,
    data: &'r Data,
    recipe: &'r Recipe,
    precision: Precision,
    folder: Option<&'r Path>,
    pause: Duration,
}

impl<'r> Run<'r> {
    /// A run in single precision, with no checkpoints.
    pub fn new(architecture: &'r Architecture, data: &'r Data, recipe: &'r Recipe) -> Self {
        Run { architecture, data, recipe, precision: Precision::F32, folder: None, pause: PAUSE }
    }

    /// The same in another precision.
    pub fn precision(self, precision: Precision) -> Self {
        Run { precision, ..self }
    }

    /// The same with a folder for checkpoints, which one process writes at a time: a run resumes from the one that it holds.
    pub fn checkpoints(self, folder: Option<&'r Path>) -> Self {
        Run { folder, ..self }
    }

    /// Checkpoints are written at least this far apart, and when the run is stopped.
    pub fn pause(self, pause: Duration) -> Self {
        Run { pause, ..self }
    }

    /// Trains, and tells `watch` of each step.
    pub fn watched(self, watch: &mut dyn Watch) -> Result<Outcome> {
        match self.precision {
            Precision::F32 => train::<f32>(self, watch),
            Precision::F64 => train::<f64>(self, watch),
        }
    }
}

fn train<S: Scalar>(run: Run, watch: &mut dyn Watch) -> Result<Outcome> {
    let Run { architecture, data, recipe, folder, pause, .. } = run;
    recipe.check()?;
    memory::within::<S>(architecture, data, recipe)?;
    let mut trainer = Trainer::<S>::new(architecture, data, recipe)?;
    let _lock = folder.map(Lock::of).transpose()?;
    let digest = data.digest();
    let mut progress = match folder {
        Some(folder) => {
            file::sweep(folder, true);
            checkpoint::load(&mut trainer, digest, folder)?.unwrap_or_default()
        }
        None => Progress::default(),
    };
    progress.curve.iter().for_each(|point| watch.point(point));
    let (before, start, mut saved) = (progress.seconds, Instant::now(), Instant::now());
    while trainer.step < recipe.steps && !progress.stopped {
        let loss = match trainer.step() {
            // The step that was left has changed nothing, so the run can resume before it.
            Err(Error::Cancelled) => {
                progress.seconds = before + start.elapsed().as_secs_f64();
                folder.map_or(Ok(()), |folder| checkpoint::save(&trainer, &progress, digest, folder))?;
                let checkpoint = folder.map(Path::to_owned);
                return Err(Error::Interrupted { step: trainer.step, steps: recipe.steps, checkpoint });
            }
            loss => loss?,
        };
        watch.step(trainer.step, loss);
        progress.sum += loss;
        progress.count += 1;
        let due = recipe.validate_every > 0 && trainer.step.is_multiple_of(recipe.validate_every);
        if due || trainer.step == recipe.steps {
            let train = progress.sum / progress.count as f64;
            let point = Point { step: trainer.step, train, valid: trainer.validate()? };
            watch.point(&point);
            progress.curve.push(point);
            (progress.sum, progress.count) = (0.0, 0);
            let best = progress.best().map_or(0, |best| best.step);
            if let Some(folder) = folder.filter(|_| recipe.patience > 0 && best == trainer.step) {
                checkpoint::save_best(&trainer, folder)?;
            }
            let since = progress.curve.iter().filter(|point| point.step > best).count() as u64;
            progress.stopped = recipe.patience > 0 && since >= recipe.patience;
        }
        progress.seconds = before + start.elapsed().as_secs_f64();
        let over = trainer.step == recipe.steps || progress.stopped;
        let stop = !over && watch.stop();
        if let Some(folder) = folder.filter(|_| over || stop || saved.elapsed() >= pause) {
            checkpoint::save(&trainer, &progress, digest, folder)?;
            saved = Instant::now();
        }
        if stop {
            let checkpoint = folder.map(Path::to_owned);
            return Err(Error::Interrupted { step: trainer.step, steps: recipe.steps, checkpoint });
        }
    }
    let kept = if recipe.patience > 0 { progress.best() } else { progress.curve.last() };
    let kept = *kept.expect("the last step validates");
    Ok(Outcome {
        steps: trainer.step,
        seen: trainer.step * trainer.work(),
        kept: kept.step,
        valid: kept.valid,
        early: progress.stopped && trainer.step < recipe.steps,
        seconds: progress.seconds,
        curve: progress.curve,
    })
}
