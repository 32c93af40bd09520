//! Several studies side by side: curves of the best so far, with bands over seeds, and winners by each other's proxies.

use super::MARK;
use super::chart::Chart;
use super::curves::{Curve, best_so_far, curves};
use super::markup::{Cell, Row, table};
use super::text::{escape, grouped, number, prose};
use crate::error::{Error, Result};
use crate::store::Ranks;
use crate::study::{Cross, Labels, Leaderboard, View};
use serde_json::Value;

/// A page, its charts and its figures.
pub struct Comparison {
    /// The page.
    pub html: String,
    /// The charts by name.
    pub charts: Vec<(&'static str, Chart)>,
    /// The columns of the winners.
    pub header: Vec<String>,
    /// The winner of each study.
    pub winners: Vec<Vec<String>>,
    /// All curves as comma-separated values.
    pub curves: String,
}

/// Values from left to right.
type Line = Vec<(f64, f64)>;

/// A study with its curves.
struct Side<'v> {
    view: &'v View<'v>,
    /// Studies of one group differ only in their seed.
    group: usize,
    labels: Option<Labels>,
}

/// Compares studies; `cross` holds their winners by each other's proxies.
pub fn compare(views: &[&View], cross: &Cross) -> Result<Comparison> {
    let mut groups: Vec<(Value, Vec<String>)> = Vec::new();
    let mut sides: Vec<Side> = Vec::new();
    for view in views {
        let mut config = view.study.config.clone();
        config.as_object_mut().and_then(|config| config.shift_remove("seed"));
        let known = groups.iter().position(|(other, _)| *other == config);
        let group = known.unwrap_or_else(|| {
            groups.push((config, Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(view.study.name.clone());
        sides.push(Side { view, group, labels: view.labels()? });
    }
    let names: Vec<String> = groups.iter().map(|(config, names)| name(config, names, &groups)).collect();
    let mut charts = Vec::new();
    let mut lines = vec![["curve", "study", "group", "count", "value"].map(str::to_owned).to_vec()];
    let mut draw = |file: &'static str, axes: [&str; 2], of: &dyn Fn(&Side) -> Option<Line>| {
        let mut drawn: Vec<Curve> =
            names.iter().map(|name| Curve { name: name.clone(), runs: Vec::new() }).collect();
        for side in &sides {
            for point in of(side).into_iter().flatten() {
                let study = side.view.study.name.clone();
                let numbers = [point.0.to_string(), point.1.to_string()];
                let [x, y] = numbers;
                lines.push(vec![file.to_owned(), study, names[side.group].clone(), x, y]);
            }
            drawn[side.group].runs.extend(of(side));
        }
        drawn.retain(|curve| !curve.runs.is_empty());
        let label = format!("{} against {}, {} searches", axes[1], axes[0], sides.len());
        charts.extend(curves(&drawn, axes, false, label).map(|chart| (file, chart)));
    };
    let evaluators: Vec<&str> = sides
        .iter()
        .filter_map(|side| side.labels.as_ref())
        .map(|labels| labels.evaluator.as_str())
        .collect();
    if let Some(first) = evaluators.first().filter(|first| evaluators.iter().all(|other| other == *first)) {
        let best = format!("best so far, {first}");
        draw("best-label", ["evaluations", &best], &|side| {
            side.labels.as_ref().map(|labels| labels.to_end(&labels.best))
        });
        if sides.iter().any(|side| side.labels.as_ref().is_some_and(|labels| !labels.leader.is_empty())) {
            let leader = format!("of the best by score, {first}");
            draw("leader-label", ["candidates", &leader], &|side| {
                let labels = side.labels.as_ref().filter(|labels| !labels.leader.is_empty())?;
                Some(labels.to_end(&labels.leader))
            });
        }
    }
    if let Some(scores) = scores(views)? {
        let axis = format!("best {} so far", views[0].objectives()[0]);
        let of = |side: &Side| {
            let place = views.iter().position(|view| std::ptr::eq(*view, side.view))?;
            Some(scores[place].clone())
        };
        draw("best-score", ["candidates", &axis], &of);
    }
    let (header, winners) = winners(&sides, &names, cross)?;
    let html = page(&header, &winners, &charts);
    Ok(Comparison { html, charts, header, winners, curves: csv(lines.iter()) })
}

impl Comparison {
    /// The winners as comma-separated values.
    pub fn winners_csv(&self) -> String {
        csv(std::iter::once(&self.header).chain(&self.winners))
    }
}

/// What tells a group from the others: its algorithm and objectives, or the name of its only study.
fn name(config: &Value, names: &[String], groups: &[(Value, Vec<String>)]) -> String {
    let text = |config: &Value| {
        let objective =
            |one: &Value| one["proxy"].as_str().or(one["least"].as_str()).unwrap_or("?").to_owned();
        let objectives = config["objectives"].as_array().map(Vec::as_slice).unwrap_or_default();
        let objectives: Vec<String> = objectives.iter().map(objective).collect();
        format!("{} {}", config["algorithm"].as_str().unwrap_or("?"), objectives.join(" + "))
    };
    let own = text(config);
    if groups.iter().filter(|(other, _)| text(other) == own).count() > 1 {
        return format!("{own}, {}", names[0]);
    }
    if names.len() > 1 { format!("{own} ({} seeds)", names.len()) } else { own }
}

/// The best score after each number of candidates, where all studies have the same single objective. Scores within a set are
/// ranked within all trials of all studies.
fn scores(views: &[&View]) -> Result<Option<Vec<Line>>> {
    let first = views[0].objectives();
    if views.iter().any(|view| view.objectives() != first || first.len() != 1) {
        return Ok(None);
    }
    let mut union = Ranks::default();
    for (place, view) in views.iter().enumerate() {
        match place {
            0 => union = view.ranks()?,
            _ => union
                .append(&view.ranks()?)
                .ok_or_else(|| Error::data("trials", "are not of studies of one kind"))?,
        }
    }
    let leaderboard = Leaderboard::new(first, &union)?;
    let mut from = 0;
    let curve = |view: &&View| {
        let place = from;
        from += view.trials;
        let values = (0..view.trials).map(|trial| {
            let value = leaderboard.values(place + trial).map_or(f64::NAN, |values| values[0]);
            ((trial + 1) as f64, first[0].shown(value))
        });
        let mut curve = best_so_far(values, first[0].is_cost());
        curve.extend(curve.last().map(|last| (view.trials as f64, last.1)));
        curve.dedup();
        curve
    };
    Ok(Some(views.iter().map(curve).collect()))
}

/// The winner of each study: its label, its size and its value by every proxy.
fn winners(sides: &[Side], names: &[String], cross: &Cross) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let mut header: Vec<String> =
        ["study", "group", "seed", "candidates", "parameters", "label of the winner", "best label seen"]
            .map(str::to_owned)
            .to_vec();
    header.extend(cross.proxies.iter().cloned());
    let mut rows = Vec::new();
    for (place, side) in sides.iter().enumerate() {
        let winner = side.view.winner();
        let network = winner.map(|trial| side.view.architecture(trial)).transpose()?;
        let label = winner.and_then(|trial| crate::study::given_value(side.view.evaluation(trial)?));
        let best = side.labels.as_ref().and_then(|labels| labels.best.last()).map(|stop| stop.1);
        let text = |value: Option<f64>| value.map_or(String::new(), number);
        let mut row = vec![
            side.view.study.name.clone(),
            names[side.group].clone(),
            side.view.settings.seed.to_string(),
            side.view.trials.to_string(),
            network.map_or(String::new(), |network| grouped(network.params().total)),
            text(label),
            text(best),
        ];
        row.extend(cross.values[place].iter().map(|value| text(*value)));
        rows.push(row);
    }
    Ok((header, rows))
}

fn csv<'l>(lines: impl Iterator<Item = &'l Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    lines.for_each(|line| drop(writer.write_record(line)));
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn page(header: &[String], rows: &[Vec<String>], charts: &[(&'static str, Chart)]) -> String {
    let cell = |text: &String| match text.replace(',', "").parse::<f64>() {
        Ok(value) => Cell::Number(text.clone(), value),
        Err(_) => Cell::Text(text.clone()),
    };
    let rows: Vec<Row> = rows.iter().map(|row| Row::plain(row.iter().map(cell).collect())).collect();
    let figure = |(_, chart): &(&'static str, Chart)| {
        format!("<figure>{}<figcaption>{}</figcaption></figure>", chart.inside(), prose(&chart.label))
    };
    let figures: String = charts.iter().map(figure).collect();
    let title = format!("{} studies compared", rows.len());
    super::page::document(
        &title,
        &format!(
            "<header><h1>{}</h1></header>\n<section><h2>Curves</h2><div class=\"pair\">{figures}</div></section>\n\
             <section class=\"long\"><h2>Winners by each other's proxies</h2>{}</section>",
            escape(&title),
            table("Winners", true, header, &rows)
        ),
        MARK,
    )
}
