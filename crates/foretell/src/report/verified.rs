//! The best networks of a search and random ones of their size, all trained.

use super::chart::{Chart, Mark, Plot, Point, Scale};
use super::text::{genes, grouped};
use crate::study::{Trials, Verification};

/// Each network by size and loss, and the verdict in words; nothing if nothing was trained.
pub(super) fn chart(verification: &Verification) -> Option<(Chart, String)> {
    let all = || verification.pairs.iter().flatten().filter_map(|trials| Some((trials, trials.mean()?)));
    let x = Scale::of(all().map(|(trials, _)| trials.params as f64))?;
    let y = Scale::of(all().map(|(_, loss)| loss))?;
    let mut plot = Plot::new(x, y, ["parameters", "validation loss"]);
    let title = |name: &str, trials: &Trials, loss: f64| {
        let seeds: Vec<String> = trials
            .losses
            .iter()
            .map(|loss| loss.map_or("diverged".into(), |loss| format!("{loss:.4}")))
            .collect();
        format!(
            "{name}  {} parameters\nloss {loss:.4} ({})\n{}",
            grouped(trials.params),
            seeds.join(", "),
            genes(&trials.architecture)
        )
    };
    for (name, class, place) in [("random", "low", 1), ("found", "on", 0)] {
        for trials in verification.pairs.iter().map(|pair| &pair[place]) {
            let Some(loss) = trials.mean() else { continue };
            plot.point(&Point { x: trials.params as f64, y: loss, class, title: title(name, trials, loss) });
        }
    }
    plot.legend(&[(Mark::Dot("on"), "found"), (Mark::Dot("low"), "random")]);
    let verdict = verification.verdict();
    let effect = verification.effect.map_or(String::new(), |effect| {
        format!(" The gain is {effect:.2} standard deviations of the random networks' losses.")
    });
    let caption = format!(
        "{verdict}{effect} Each point is the mean of {} seeds.",
        verification.pairs[0][0].losses.len()
    );
    Some((plot.chart(format!("Trained networks. {verdict}")), caption))
}
