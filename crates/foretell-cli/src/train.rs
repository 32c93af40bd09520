//! `foretell train`: trains one network.

use crate::args::Train;
use crate::interrupt;
use crate::output::{self, grouped};
use crate::progress;
use foretell::architecture::Architecture;
use foretell::error::{Error, Result};
use foretell::train::{self, Outcome, Point, Recipe, Watch};
use indicatif::ProgressBar;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub fn run(args: &Train, json: bool) -> Result<()> {
    let (network, recipe) = (network(args)?, args.training.recipe()?);
    let data = args.training.open_for(network.family(), args.dry_run)?;
    let network = train::fit(&network, &data)?;
    let name = format!("trained-{}-{}", network.id(), recipe.seed);
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(name));
    // Before anything is trained.
    args.curve.as_deref().map(train::recorded).transpose()?;
    if args.dry_run {
        plan(&network, &recipe, &folder, args.curve.as_deref(), json);
        return Ok(());
    }
    let mut curve = Curve::new(&recipe);
    if !json {
        output::line(format!(
            "{} {}: {} parameters, {} steps of {} samples",
            network.family(),
            network.id(),
            grouped(network.params().total),
            recipe.steps,
            recipe.batch
        ));
    }
    let run = train::Run::new(&network, &data, &recipe)
        .precision(args.precision.into())
        .checkpoints(Some(&folder))
        .pause(Duration::from_secs_f64(args.save_every));
    let outcome = interrupt::patiently(|| run.watched(&mut curve));
    curve.finish();
    let outcome = outcome?;
    if let Some(path) = &args.curve {
        train::record(path, &network, &recipe, &outcome)?;
    }
    let weights = train::weights(&folder);
    if json {
        output::line(json!({
            "id": network.id(), "params": network.params().total, "steps": outcome.steps, "seen": outcome.seen,
            "valid_loss": outcome.valid.loss, "valid_ppl": outcome.valid.perplexity(),
            "valid_accuracy": outcome.valid.accuracy, "kept": outcome.kept, "early": outcome.early, "seconds": outcome.seconds, "curve": outcome.curve, "weights": weights,
        }));
        return Ok(());
    }
    report(&outcome);
    if let Some(weights) = weights {
        output::line(format!("weights         {}", weights.display()));
    }
    Ok(())
}

/// Prints what the run would do.
fn plan(network: &Architecture, recipe: &Recipe, folder: &Path, curve: Option<&Path>, json: bool) {
    let exists = folder.exists();
    if json {
        let writes: Vec<&Path> = std::iter::once(folder).chain(curve).collect();
        output::line(json!({
            "dry_run": true, "id": network.id(), "params": network.params().total, "steps": recipe.steps,
            "batch": recipe.batch, "writes": writes, "exists": exists,
        }));
        return;
    }
    output::line(format!(
        "dry run: train would train {} {} ({} parameters) for {} steps of {} samples",
        network.family(),
        network.id(),
        grouped(network.params().total),
        recipe.steps,
        recipe.batch
    ));
    let state = if exists { "exists; a run in it would be resumed" } else { "would be created" };
    output::line(format!("writes       {} ({state})", folder.display()));
    if let Some(curve) = curve {
        output::line(format!("and          {} (rows of other runs are kept)", curve.display()));
    }
}

/// The requested network, or that of the demonstration.
fn network(args: &Train) -> Result<Architecture> {
    let Some(source) = &args.architecture else {
        return Ok(train::demonstration());
    };
    let mut found = crate::count::read(source)?;
    match found.len() {
        1 => Ok(found.remove(0)),
        n => Err(Error::option(source.as_str(), format!("has {n} networks; train one at a time"))),
    }
}

fn report(outcome: &Outcome) {
    let Outcome { steps, seen, kept, valid, early, seconds, .. } = outcome;
    let accuracy = valid.accuracy.map_or(String::new(), |share| format!(", accuracy {:.2} %", 100.0 * share));
    output::line(format!(
        "validation      loss {:.4}, perplexity {:.3}{accuracy}",
        valid.loss,
        valid.perplexity()
    ));
    if *early {
        output::line("stopped early   validation stopped improving");
    }
    if kept != steps {
        output::line(format!("weights of      step {kept}, the best"));
    }
    output::line(format!(
        "work            {steps} steps, {} samples or tokens in {seconds:.1} s, {:.0} per second",
        grouped(*seen),
        *seen as f64 / seconds.max(1e-9)
    ));
}

/// The loss: a bar with a small curve on a terminal, one line per validation elsewhere.
struct Curve {
    bar: Option<ProgressBar>,
    losses: Vec<f64>,
    said: Instant,
}

impl Curve {
    fn new(recipe: &Recipe) -> Self {
        let bar = progress::drawn().then(|| ProgressBar::new(recipe.steps).with_style(progress::style()));
        Curve { bar, losses: Vec::new(), said: Instant::now() }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Curve {
    fn stop(&self) -> bool {
        interrupt::asked()
    }

    fn step(&mut self, step: u64, loss: f64) {
        self.losses.push(loss);
        if let Some(bar) = &self.bar {
            bar.set_position(step);
            if self.said.elapsed() >= Duration::from_millis(200) {
                bar.set_message(format!("loss {loss:.4} {}", spark(&self.losses)));
                self.said = Instant::now();
            }
        }
    }

    fn point(&mut self, point: &Point) {
        let Point { step, train, valid } = point;
        let accuracy =
            valid.accuracy.map_or(String::new(), |share| format!("  accuracy {:.2} %", 100.0 * share));
        let line = format!(
            "step {step:>7}  training {train:.4}  validation {:.4}  perplexity {:.3}{accuracy}",
            valid.loss,
            valid.perplexity()
        );
        match &self.bar {
            Some(bar) => bar.println(line),
            None => progress::plain(&line),
        }
    }
}

/// Forty means of a curve, as bars from its lowest to its highest.
fn spark(losses: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = losses.len().div_ceil(40).max(1);
    let means: Vec<f64> =
        losses.chunks(width).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    let (low, high) =
        means.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    let bar = |x: &f64| BARS[(7.0 * (x - low) / (high - low).max(1e-12)).round() as usize];
    means.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_at_most_forty_bars() {
        assert_eq!(spark(&[2.0, 1.0]), "█▁");
        assert_eq!(spark(&[1.0; 3]), "▁▁▁");
        assert_eq!(spark(&(0..1000).map(f64::from).collect::<Vec<_>>()).chars().count(), 40);
    }
}
