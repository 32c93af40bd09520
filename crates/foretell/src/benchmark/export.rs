//! Reports as data for other programs: a line per proxy, or a line per network with its scores.

use super::Report;
use serde_json::{Map, Value, json};

/// The figures of all proxies of some reports as comma-separated values, a line per proxy; an empty cell is a figure that
/// is not defined.
pub fn figures(reports: &[&Report]) -> String {
    let header = [
        "benchmark",
        "family",
        "target",
        "networks",
        "proxy",
        "baseline",
        "tau",
        "tau_low",
        "tau_high",
        "rho",
        "rho_low",
        "rho_high",
        "r",
        "tau_given_params",
        "tau_given_depth",
        "close_pairs",
        "top_10",
        "best_true_rank",
        "distinct",
        "failed",
        "tau_seeds_mean",
        "tau_seeds_deviation",
        "seconds",
    ];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for report in reports {
        for p in &report.proxies {
            let [tau_low, tau_high] = p.kendall_ci.map_or([None; 2], |ci| ci.map(Some));
            let [rho_low, rho_high] = p.spearman_ci.map_or([None; 2], |ci| ci.map(Some));
            let seeds = p.over_seeds();
            let texts = [&report.benchmark, &report.family, &report.target].map(String::clone);
            let mut line: Vec<String> = texts.into();
            line.extend([report.n.to_string(), p.name.clone(), p.trivial.to_string()]);
            let figures = [
                p.kendall,
                tau_low,
                tau_high,
                p.spearman,
                rho_low,
                rho_high,
                p.pearson,
                p.kendall_given_params,
                p.kendall_given_depth,
                p.close_pairs.map(|pairs| pairs.agreement),
                p.top_overlap[0],
                p.best_true_rank,
            ];
            line.extend(figures.map(cell));
            line.extend([p.distinct.to_string(), p.failed.to_string()]);
            line.extend([seeds.map(|(mean, _)| mean), seeds.map(|(_, sd)| sd)].map(cell));
            line.push(p.seconds_per_architecture.to_string());
            lines.push(line);
        }
    }
    comma_separated(&lines)
}

/// Every labelled network of some reports with its scores as comma-separated values: a line per network, a column per
/// proxy of any of the reports.
pub fn scores_csv(reports: &[&Report]) -> String {
    let mut proxies: Vec<&str> = Vec::new();
    for proxy in reports.iter().flat_map(|report| &report.proxies) {
        if !proxies.contains(&proxy.name.as_str()) {
            proxies.push(&proxy.name);
        }
    }
    let header = ["benchmark", "family", "name", "id", "params", "target", "value"];
    let mut lines = vec![header.into_iter().chain(proxies.iter().copied()).map(str::to_owned).collect()];
    for report in reports {
        let place = |proxy: &&str| report.proxies.iter().position(|known| known.name == **proxy);
        let places: Vec<Option<usize>> = proxies.iter().map(place).collect();
        for network in &report.networks {
            let name = network.name.clone().unwrap_or_default();
            let mut line = vec![report.benchmark.clone(), report.family.clone(), name, network.id.clone()];
            line.extend([network.params.to_string(), report.target.clone(), network.target.to_string()]);
            line.extend(places.iter().map(|place| cell(place.and_then(|place| network.scores[place]))));
            lines.push(line);
        }
    }
    comma_separated(&lines)
}

/// The same as a JSON array, an object per network.
pub fn scores_json(reports: &[&Report]) -> String {
    let mut all = Vec::new();
    for report in reports {
        for network in &report.networks {
            let named = report.proxies.iter().zip(&network.scores);
            let scores: Map<String, Value> =
                named.map(|(proxy, score)| (proxy.name.clone(), json!(score))).collect();
            all.push(json!({
                "benchmark": report.benchmark, "family": report.family, "name": network.name, "id": network.id,
                "params": network.params, "target": report.target, "value": network.target, "scores": scores,
            }));
        }
    }
    format!("{:#}\n", Value::Array(all))
}

fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn comma_separated(lines: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    lines.iter().for_each(|line| writer.write_record(line).expect("memory takes every line of equal length"));
    let bytes = writer.into_inner().expect("memory takes what is left");
    String::from_utf8(bytes).expect("texts stay texts")
}
