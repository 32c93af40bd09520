//! The best value after each number of candidates, compared with random search.

use super::Subject;
use super::chart::{Chart, Mark, Plot, Point, Scale};
use super::text::grouped;
use crate::error::{Error, Result};
use crate::rank;
use crate::study::{Baseline, Leaderboard};

/// Points along the curve of a front at which its volume is computed.
const STOPS: usize = 60;

/// A point of a curve: the number of candidates, the value, and the candidate that reached it.
type Stop = (u64, f64, Option<usize>);

/// The chart and its caption.
pub(super) fn chart(subject: &Subject) -> Result<Option<(Chart, String)>> {
    // Scores that rank within a set must be ranked within one set: that of both searches.
    let mut union = subject.view.ranks()?;
    let count = union.len();
    if let Some(draws) = subject.random.draws() {
        union.append(&draws.ranks()?).ok_or_else(|| Error::data("trials", "are not of one study"))?;
    }
    let leaderboard = Leaderboard::new(subject.objectives, &union)?;
    let values: Vec<Option<Vec<f64>>> = (0..union.len()).map(|trial| leaderboard.values(trial)).collect();
    let (own, random) = values.split_at(count);
    let several = subject.objectives.len() > 1;
    let curve = |some: &[Option<Vec<f64>>]| if several { volumes(some, &values) } else { bests(some) };
    let sign = if several { 1.0 } else { subject.sign(0) / subject.unit(0) };
    let curves = [curve(own), curve(random)].map(|curve| {
        curve.into_iter().map(|(count, value, trial)| (count, sign * value, trial)).collect::<Vec<Stop>>()
    });
    let Some(y) = Scale::of(curves.iter().flatten().map(|stop| stop.1)) else { return Ok(None) };
    let name = if several {
        "share of the box covered".to_owned()
    } else {
        format!("best {} so far", subject.axis(0))
    };
    let most = count.max(random.len()) as f64;
    let mut plot = Plot::new(Scale::counting(most), y, ["candidates scored (log scale)", &name]);
    let words = |of: &str, stop: &Stop, own: bool| {
        let Some(trial) = stop.2 else {
            return Ok(format!(
                "{of}, after {} candidates\ncovers {:.3} of the box",
                grouped(stop.0),
                stop.1
            ));
        };
        let trial = match subject.random.draws() {
            Some(draws) if !own => draws.trial(trial)?,
            _ => subject.view.trial(trial)?,
        };
        Ok::<_, Error>(format!("{of}, new best\n{}", subject.title_of(&trial, stop.1)))
    };
    let kinds = [("b", "low", "random search", random.len(), false), ("a", "on", "this search", count, true)];
    for ((line, class, of, trials, own), curve) in kinds.into_iter().zip(curves.iter().rev()) {
        plot.steps(
            &curve.iter().map(|stop| (stop.0 as f64, stop.1)).collect::<Vec<_>>(),
            line,
            trials as f64 == most,
        );
        for stop in curve {
            plot.point(&Point { x: stop.0 as f64, y: stop.1, class, title: words(of, stop, own)? });
        }
    }
    plot.legend(if random.is_empty() {
        &[(Mark::Line("a"), "this search")]
    } else {
        &[(Mark::Line("a"), "this search"), (Mark::Line("b"), "random search")]
    });
    let end = |value: f64| if several { format!("{value:.3}") } else { subject.value_text(0, value) };
    let ends = [&curves[0], &curves[1]].map(|curve| curve.last().map(|stop| end(stop.1)));
    let caption = caption(subject, ends);
    let label =
        format!("{name} against candidates scored. {caption} Arrow keys move along the highlighted points.");
    Ok(Some((plot.chart(label), caption)))
}

/// The last values of both curves, and where the random one comes from or how to get it.
fn caption(subject: &Subject, [own, random]: [Option<String>; 2]) -> String {
    let ended = match (own, random) {
        (Some(own), Some(random)) => {
            let of = if subject.objectives.len() > 1 { " of the box that both searches span" } else { "" };
            format!("The search ended at {own}, random search at {random}{of}. ")
        }
        _ => String::new(),
    };
    ended
        + &match subject.random {
            Baseline::Itself => "This study is a random search itself.".to_owned(),
            Baseline::Drawn(draws) => format!(
                "Random search: {} candidates drawn for this report inside the same limits, with the same seed.",
                grouped(draws.len() as u64)
            ),
            Baseline::Stored { name, draws } => format!(
                "Random search: the first {} candidates of study '{name}' in the same store.",
                grouped(draws.len() as u64)
            ),
            Baseline::Absent => format!(
                "Scoring a candidate takes a pass through a network, so no random search was made for this report. To add one, \
                 run this command with the same store and write the report again: `{}`",
                super::reproduce::command(subject, "random")
            ),
        }
}

/// Every candidate that is better than all before it.
fn bests(values: &[Option<Vec<f64>>]) -> Vec<Stop> {
    let mut stops: Vec<Stop> = Vec::new();
    for (trial, value) in values.iter().enumerate() {
        let Some(value) = value.as_ref().map(|value| value[0]).filter(|value| value.is_finite()) else {
            continue;
        };
        if stops.last().is_none_or(|best| value > best.1) {
            stops.push((trial as u64 + 1, value, Some(trial)));
        }
    }
    stops
}

/// The share of the box spanned by all values that the front covers, at stops evenly spaced by logarithm.
fn volumes(values: &[Option<Vec<f64>>], all: &[Option<Vec<f64>>]) -> Vec<Stop> {
    let axes = all.iter().flatten().next().map_or(0, Vec::len);
    let end = |axis: usize, pick: fn(f64, f64) -> f64, from: f64| {
        all.iter().flatten().map(|v| v[axis]).fold(from, pick)
    };
    let box_: Vec<(f64, f64)> = (0..axes)
        .map(|axis| (end(axis, f64::min, f64::INFINITY), end(axis, f64::max, f64::NEG_INFINITY)))
        .collect();
    // Without the small addition a point that is worst in one objective would cover nothing.
    let unit = |value: &Vec<f64>| -> Vec<f64> {
        let share =
            |(x, (low, high)): (&f64, &(f64, f64))| if high > low { (x - low) / (high - low) } else { 1.0 };
        value.iter().zip(&box_).map(|pair| share(pair) + 1e-9).collect()
    };
    let count = values.len();
    let mut ends: Vec<usize> =
        (0..=STOPS).map(|i| (count as f64).powf(i as f64 / STOPS as f64).round() as usize).collect();
    ends.dedup();
    let (mut front, mut from, mut stops) = (Vec::new(), 0, Vec::new());
    for end in ends.into_iter().filter(|end| *end <= count) {
        front.extend(values[from..end].iter().flatten().map(&unit));
        front = rank::pareto_front(&front).into_iter().map(|i| front[i].clone()).collect();
        if !front.is_empty() {
            stops.push((end as u64, rank::hypervolume(&front, &vec![0.0; axes]).min(1.0), None));
        }
        from = end;
    }
    stops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_beats_all_before_is_a_stop() {
        let values =
            [Some(vec![1.0]), None, Some(vec![3.0]), Some(vec![2.0]), Some(vec![3.0]), Some(vec![4.0])];
        assert_eq!(bests(&values), [(1, 1.0, Some(0)), (3, 3.0, Some(2)), (6, 4.0, Some(5))]);
    }

    /// In the box from (0, 0) to (4, 4): (2, 2) covers 1/4, with (4, 1) beside it 1/4 + 1/8, with (4, 4) all.
    #[test]
    fn the_front_covers_more_and_more() {
        let values: Vec<_> =
            [[0.0, 0.0], [2.0, 2.0], [4.0, 1.0], [4.0, 4.0]].map(|value| Some(value.to_vec())).to_vec();
        let stops = volumes(&values, &values);
        let counts: Vec<u64> = stops.iter().map(|stop| stop.0).collect();
        assert_eq!(counts, [1, 2, 3, 4]);
        for (stop, share) in stops.iter().zip([0.0, 0.25, 0.375, 1.0]) {
            assert!((stop.1 - share).abs() < 1e-6, "{stop:?}");
        }
    }
}
