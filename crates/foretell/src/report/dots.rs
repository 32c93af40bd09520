//! Points of several groups, such as accuracy against size, with a trend where one is asked for.

use super::chart::{Chart, Plot, Scale};

/// A point with what is said of it.
#[derive(Debug, Clone)]
pub struct Dot {
    /// Where it lies across.
    pub x: f64,
    /// Where it lies upwards.
    pub y: f64,
    /// What is said of it.
    pub title: String,
}

/// Looks of groups, in order; more groups begin again.
const CLASSES: [&str; 8] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];

/// Groups of points with their names; the names of both axes. None where there is no point.
pub fn dots(groups: &[(String, Vec<Dot>)], names: [&str; 2], trend: bool, label: String) -> Option<Chart> {
    let all = || groups.iter().flat_map(|(_, dots)| dots);
    let (x, y) = (Scale::of(all().map(|dot| dot.x))?, Scale::of(all().map(|dot| dot.y))?);
    let mut plot = Plot::new(x, y, names);
    for (place, (_, dots)) in groups.iter().enumerate() {
        let class = CLASSES[place % CLASSES.len()];
        let places: Vec<(f64, f64)> = dots.iter().map(|dot| (dot.x, dot.y)).collect();
        for kept in plot.thin(&places) {
            plot.dot(dots[kept].x, dots[kept].y, class, &dots[kept].title);
        }
        if trend {
            plot.trend(&places, class);
        }
    }
    let named: Vec<(&str, &str)> = groups
        .iter()
        .enumerate()
        .map(|(place, (name, _))| (CLASSES[place % CLASSES.len()], name.as_str()))
        .filter(|(_, name)| !name.is_empty())
        .collect();
    Some(plot.chart_with_key(&named, label))
}
