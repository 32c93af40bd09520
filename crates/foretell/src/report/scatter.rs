//! A proxy's scores against the results of training, a point per network.

use super::chart::{Chart, Plot, Point, Scale};
use super::text::{grouped, number};
use crate::benchmark::{Agreement, Report, Scored};

/// The scatter plot of each proxy, in the order of [`Report::proxies`]; a proxy that scores no network has
/// none.
pub fn scatter(report: &Report) -> Vec<(&Agreement, Chart)> {
    let one = |(place, proxy)| Some((proxy, plot(report, place, proxy)?));
    report.proxies.iter().enumerate().filter_map(one).collect()
}

fn plot(report: &Report, place: usize, proxy: &Agreement) -> Option<Chart> {
    let scored: Vec<(&Scored, f64)> =
        report.networks.iter().filter_map(|network| Some((network, network.scores[place]?))).collect();
    let x = Scale::of(scored.iter().map(|(_, score)| *score))?;
    let y = Scale::of(scored.iter().map(|(network, _)| network.target))?;
    let better = if report.lower_is_better { "lower" } else { "higher" };
    let target = format!("{} ({better} is better)", report.target);
    let mut plot = Plot::new(x, y, [&proxy.name, &target]);
    let places: Vec<(f64, f64)> = scored.iter().map(|(network, score)| (*score, network.target)).collect();
    for kept in plot.thin(&places) {
        let (network, score) = scored[kept];
        let name = network.name.as_deref().unwrap_or(&network.id);
        let title = format!(
            "{name}: {} {}, {} {}, {} parameters",
            proxy.name,
            number(score),
            report.target,
            number(network.target),
            grouped(network.params)
        );
        plot.point(&Point { x: score, y: network.target, class: "", title });
    }
    plot.trend(&places, "b");
    let tau = proxy.kendall.map_or("not defined".to_owned(), |tau| format!("{tau:.3}"));
    plot.corner(&format!("tau {tau}"));
    let label = format!(
        "{}: {} against {} of {} networks, Kendall's tau {tau}",
        report.benchmark,
        proxy.name,
        report.target,
        scored.len()
    );
    Some(plot.chart(label))
}
