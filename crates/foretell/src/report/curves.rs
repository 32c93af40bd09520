//! Curves of several runs: the best so far against candidates or evaluations, as mean and band.

use super::chart::{Chart, Plot, Scale};
use super::text::{grouped, number};

/// Runs that differ only in their seed.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// For each run its values from left to right; a value holds until the next one.
    pub runs: Vec<Vec<(f64, f64)>>,
}

/// Mean, least and most of all runs at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    /// The place.
    pub x: f64,
    /// The mean over runs.
    pub mean: f64,
    /// The least of them.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// Looks of curves, in order; more curves begin again.
const CLASSES: [&str; 8] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];
/// Places at which a title is kept.
const TITLES: usize = 24;

impl Curve {
    /// The runs together, wherever one of them changes and all have begun.
    pub fn spots(&self) -> Vec<Spot> {
        let runs = || self.runs.iter().filter(|run| !run.is_empty());
        let Some(begin) = runs().map(|run| run[0].0).reduce(f64::max) else { return Vec::new() };
        let mut places: Vec<f64> = runs().flatten().map(|point| point.0.max(begin)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let at = |x: f64| {
            let value = |run: &Vec<(f64, f64)>| run[run.partition_point(|point| point.0 <= x) - 1].1;
            let values: Vec<f64> = runs().map(value).collect();
            let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).unwrap_or(f64::NAN);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            Spot { x, mean, low: fold(f64::min), high: fold(f64::max) }
        };
        places.into_iter().map(at).collect()
    }
}

/// Curves with the band between the least and the most of their runs; the names of both axes; `log` for places by
/// logarithm. None where there is nothing to draw.
pub fn curves(curves: &[Curve], names: [&str; 2], log: bool, label: String) -> Option<Chart> {
    let spots: Vec<Vec<Spot>> = curves.iter().map(Curve::spots).collect();
    let y = Scale::of(spots.iter().flatten().flat_map(|spot| [spot.low, spot.high]))?;
    let most = spots.iter().flatten().map(|spot| spot.x).fold(1.0, f64::max);
    let least = spots.iter().flatten().map(|spot| spot.x).fold(most, f64::min);
    let x = if log { Scale::counting(most) } else { Scale::between(least, most) };
    let mut plot = Plot::new(x, y, names);
    for (place, spots) in spots.iter().enumerate() {
        let class = CLASSES[place % CLASSES.len()];
        if curves[place].runs.len() > 1 {
            let edge =
                |pick: fn(&Spot) -> f64| spots.iter().map(|spot| (spot.x, pick(spot))).collect::<Vec<_>>();
            plot.band(&edge(|spot| spot.low), &edge(|spot| spot.high), class);
        }
        plot.steps(&spots.iter().map(|spot| (spot.x, spot.mean)).collect::<Vec<_>>(), class, true);
        for spot in spots.iter().step_by(spots.len().div_ceil(TITLES).max(1)) {
            let band = match curves[place].runs.len() {
                1 => String::new(),
                runs => format!(" ({} to {} over {runs} seeds)", number(spot.low), number(spot.high)),
            };
            let title =
                format!("{}, {}: {}{band}", curves[place].name, grouped(spot.x as u64), number(spot.mean));
            plot.dot(spot.x, spot.mean, class, &title);
        }
    }
    let named: Vec<(&str, &str)> = curves
        .iter()
        .enumerate()
        .map(|(i, curve)| (CLASSES[i % CLASSES.len()], curve.name.as_str()))
        .collect();
    Some(plot.chart_with_key(&named, label))
}

/// Values from left to right, each kept while it is the best so far.
pub fn best_so_far(values: impl Iterator<Item = (f64, f64)>, lower: bool) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (x, value) in values.filter(|(_, value)| value.is_finite()) {
        let better = |best: &(f64, f64)| if lower { value < best.1 } else { value > best.1 };
        if kept.last().is_none_or(better) {
            kept.push((x, value));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs (1: 2, 3: 4) and (2: 6): both have begun at 2, where they are 2 and 6; at 3 they are 4 and 6.
    #[test]
    fn runs_are_joined_where_they_change() {
        let curve = Curve { name: "c".into(), runs: vec![vec![(1.0, 2.0), (3.0, 4.0)], vec![(2.0, 6.0)]] };
        let spot = |x, mean, low, high| Spot { x, mean, low, high };
        assert_eq!(curve.spots(), [spot(2.0, 4.0, 2.0, 6.0), spot(3.0, 5.0, 4.0, 6.0)]);
        let chart = curves(&[curve], ["a", "b"], false, String::new()).unwrap();
        assert!(chart.body.contains("class=\"band k0\"") && chart.body.contains("2 to 6 over 2 seeds"));
    }

    #[test]
    fn only_what_is_better_stays() {
        let values = [(1.0, 3.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, 5.0)];
        assert_eq!(best_so_far(values.into_iter(), false), [(1.0, 3.0), (4.0, 5.0)]);
        assert_eq!(best_so_far(values.into_iter(), true), [(1.0, 3.0), (3.0, 2.0)]);
    }
}
