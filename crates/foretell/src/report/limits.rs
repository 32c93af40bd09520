//! The limits, and how far the winner keeps them as counted, predicted and measured.

use super::Subject;
use super::markup::{Cell, Row, note, table, warning};
use super::text::{bytes, grouped, milliseconds, percent};
use crate::error::Result;
use crate::latency::Phase;
use crate::space::Bound;
use crate::store::Measurement;
use crate::study::LatencyModel;

/// Rows of the table of measured candidates.
const MEASURED: usize = 20;

/// What is timed, in words.
fn what(phase: &str) -> &'static str {
    if phase == Phase::Decode.name() { "latency of one further token" } else { "latency of one input" }
}

fn seconds(row: &Measurement) -> Option<f64> {
    row.latency["seconds"].as_f64()
}

fn predicted(row: &Measurement) -> String {
    row.latency["predicted"].as_f64().map_or("–".to_owned(), milliseconds)
}

/// The measured median, with the interval that holds it.
fn interval(row: &Measurement) -> String {
    let end = |end: usize| row.latency["interval"][end].as_f64().map(milliseconds);
    end(0).zip(end(1)).map_or("–".to_owned(), |(low, high)| format!("{low} to {high}"))
}

fn kept(keeps: bool) -> Cell {
    Cell::Text(if keeps { "kept" } else { "broken" }.to_owned())
}

impl Subject<'_> {
    /// Every limit, the latency models behind them and what was measured; nothing where nothing is limited or timed.
    pub(super) fn limits(&self) -> Result<Option<String>> {
        let rows = self.limit_rows()?;
        let models = &self.view.answer.latency;
        if rows.is_empty() && models.is_empty() {
            return Ok(None);
        }
        let mut html = String::new();
        if !rows.is_empty() {
            let timed = !self.view.settings.latency_limits().is_empty();
            let names: &[&str] = match timed {
                true => &["", "limit", "counted or predicted", "measured", "limit is"],
                false => &["", "limit", "counted", "limit is"],
            };
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            html += &table("Limits", false, &names, &rows);
            let who = if self.winner().is_some() { "winner" } else { "nearest candidate" };
            html += &note(&format!(
                "Values are those of the {who}. {} candidates were refused before scoring because they break a limit.",
                grouped(self.study.rejected)
            ));
        }
        models.iter().for_each(|model| html += &self.model(model));
        Ok(Some(html))
    }

    /// A row for each limit.
    fn limit_rows(&self) -> Result<Vec<Row>> {
        let settings = &self.view.settings;
        let own = self.presented().map(|trial| self.candidate(trial)).transpose()?;
        let own = own.as_ref().map(|own| &own.architecture);
        let timed = !settings.latency_limits().is_empty();
        let mut rows = Vec::new();
        let mut counted = |name: &str, bound: Bound, value: Option<u64>, text: &dyn Fn(u64) -> String| {
            for (side, limit, set) in
                [("≥", bound.min, bound.min > 0), ("≤", bound.max, bound.max < u64::MAX)]
            {
                let keeps = |value: u64| if side == "≥" { value >= limit } else { value <= limit };
                if set {
                    let mut cells = vec![
                        Cell::Text(name.to_owned()),
                        Cell::Text(format!("{side}\u{a0}{}", text(limit))),
                        Cell::Text(value.map_or("–".to_owned(), text)),
                    ];
                    cells.extend(timed.then(|| Cell::Text(String::new())));
                    cells.push(value.map_or(Cell::Text("–".to_owned()), |value| kept(keeps(value))));
                    rows.push(Row::plain(cells));
                }
            }
        };
        let most = |max: Option<u64>| Bound { min: 0, max: max.unwrap_or(u64::MAX) };
        let limits = &settings.limits;
        counted("parameters", limits.params, own.map(|own| own.params().total), &grouped);
        counted("multiply-adds", limits.flops, own.and_then(|own| own.flops(limits.counter)), &grouped);
        counted("memory", most(settings.memory), own.map(|own| own.memory().total()), &bytes);
        counted("cache", most(settings.cache), own.and_then(|own| own.cache_bytes()), &bytes);
        rows.extend(settings.latency_limits().into_iter().map(|(phase, limit)| {
            let measured = self
                .presented()
                .and_then(|trial| self.view.measured(trial).filter(|row| row.phase == phase.name()).last());
            let value = measured.and_then(seconds);
            Row::plain(vec![
                Cell::Text(what(phase.name()).to_owned()),
                Cell::Text(format!("≤\u{a0}{}", milliseconds(limit))),
                Cell::Text(measured.map_or("–".to_owned(), predicted)),
                Cell::Text(value.map_or("not measured".to_owned(), milliseconds)),
                value.map_or(Cell::Text("–".to_owned()), |value| kept(value <= limit)),
            ])
        }));
        Ok(rows)
    }

    /// How well a latency model predicts, and the candidates that were measured.
    fn model(&self, model: &LatencyModel) -> String {
        let on = match model.candidates {
            0 => "On networks left out of the fit".to_owned(),
            n => format!("On {n} candidates of this search"),
        };
        let guard = model.limit.map_or(String::new(), |limit| {
            format!(
                " The guard band is {}: to meet the limit of {}, candidates had to be predicted at {} or less.",
                percent(model.guard, 1),
                milliseconds(limit),
                milliseconds(limit / (1.0 + model.guard))
            )
        });
        let mut html = format!(
            "<h3>Predicted and measured {}</h3><p>The model is fitted to {} measured networks. {on} its median error is {}, \
             and nine in ten errors are below {}.{guard}</p>",
            what(&model.phase),
            model.measured,
            percent(model.error, 1),
            percent(model.error_90, 1)
        );
        if !model.quiet {
            html += &warning(
                "the machine was busy. Times are the quietest of many repeats and may still be too high.",
            );
        }
        let own: Vec<&Measurement> = self
            .view
            .measurements
            .iter()
            .filter(|row| row.phase == model.phase && row.trial.is_some())
            .collect();
        if own.is_empty() {
            return html;
        }
        let last = &own[own.len().saturating_sub(MEASURED)..];
        let rows: Vec<Row> = last.iter().filter_map(|row| self.measured_row(row, model.limit)).collect();
        let mut names = ["trial", "predicted", "measured", "interval"].map(str::to_owned).to_vec();
        names.extend(model.limit.map(|_| "limit is".to_owned()));
        html += &table("Measured candidates", false, &names, &rows);
        if last.len() < own.len() {
            html += &note(&format!("The last {} of {} measured candidates.", last.len(), own.len()));
        }
        html
    }

    fn measured_row(&self, row: &Measurement, limit: Option<f64>) -> Option<Row> {
        let (trial, time) = (row.trial?, seconds(row)?);
        let won = self.winner() == Some(trial as usize);
        let mut cells = vec![
            Cell::trial(trial as usize, won),
            Cell::Text(predicted(row)),
            Cell::Text(milliseconds(time)),
            Cell::Text(interval(row)),
        ];
        cells.extend(limit.map(|limit| kept(time <= limit)));
        Some(Row { class: if won { "won" } else { "" }, cells })
    }
}
