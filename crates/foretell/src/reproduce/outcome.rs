//! What a run came to, as JSON, CSV, Markdown and charts. Same run, same bytes.

use super::{Entry, Size};
use crate::report::Chart;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The figures of a run beside those of the paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The entry: `etas/table-3`.
    pub entry: String,
    /// How large the run was.
    pub size: Size,
    /// What was run, in words: networks, seeds, candidates.
    pub run: String,
    /// The paper's columns.
    pub columns: Vec<String>,
    /// Our columns.
    pub measured: Vec<String>,
    /// One row per published one, and what stands beside them.
    pub rows: Vec<Row>,
    /// What should be known of the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A row of an outcome.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Row {
    /// Its name in the paper.
    pub name: String,
    /// What was run for it; empty if nothing was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ours: String,
    /// A published figure per column.
    pub paper: Vec<Option<f64>>,
    /// A measured figure per column.
    pub measured: Vec<Figure>,
}

/// A measured figure.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Figure {
    /// The figure, the mean where there are several; none where it is not defined.
    pub value: Option<f64>,
    /// The standard deviation over seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// The 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl From<Option<f64>> for Figure {
    fn from(value: Option<f64>) -> Self {
        Figure { value: value.filter(|value| value.is_finite()), ..Figure::default() }
    }
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Some(value).into()
    }
}

impl Figure {
    /// Mean and deviation of several values.
    pub fn over(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (n > 1.0).then(|| (squares / (n - 1.0)).sqrt());
        Figure { deviation, ..Figure::from(mean) }
    }

    /// As text with its deviation.
    pub fn text(&self) -> String {
        let Some(value) = self.value else { return "–".to_owned() };
        let deviation = self.deviation.map(|deviation| match value.abs() {
            size if size >= 10.0 => format!(" ± {deviation:.2}"),
            _ => format!(" ± {deviation:.3}"),
        });
        format!("{}{}", number(value), deviation.unwrap_or_default())
    }
}

/// Four significant digits at most, three decimals at most, no zeros at the end of large ones.
fn number(x: f64) -> String {
    match x.abs() {
        size if size >= 1e7 => format!("{x:.3e}"),
        size if size >= 1000.0 => format!("{x:.0}"),
        size if size >= 10.0 => format!("{x:.2}"),
        0.0 => "0".to_owned(),
        size if size < 1e-3 => format!("{x:.1e}"),
        _ => format!("{x:.3}"),
    }
}

impl Outcome {
    /// The rows of an entry, in its order, each with what was measured of it.
    pub fn of(entry: &Entry, size: Size, run: String, measured: Vec<String>) -> Self {
        let row = |published: &super::Published| Row {
            name: published.name.clone(),
            ours: published.ours.clone(),
            paper: published.paper.iter().map(|figure| Some(*figure).filter(|x| x.is_finite())).collect(),
            measured: Vec::new(),
        };
        Outcome {
            entry: entry.id.clone(),
            size,
            run,
            columns: entry.columns.clone(),
            measured,
            rows: entry.rows.iter().map(row).collect(),
            notes: Vec::new(),
        }
    }

    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("an outcome is plain data") + "\n"
    }

    /// As comma-separated values: a line per row; a measured column is followed by its deviation and its interval.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut header = vec!["row".to_owned(), "run".to_owned()];
        header.extend(self.columns.iter().map(|column| format!("paper: {column}")));
        for column in &self.measured {
            header.push(column.clone());
            header.extend(["deviation", "low", "high"].map(|what| format!("{column}: {what}")));
        }
        let text = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let mut lines = vec![header];
        for row in &self.rows {
            let mut line = vec![row.name.clone(), row.ours.clone()];
            line.extend((0..self.columns.len()).map(|i| text(row.paper.get(i).copied().flatten())));
            for i in 0..self.measured.len() {
                let figure = row.measured.get(i).copied().unwrap_or_default();
                let [low, high] = [0, 1].map(|end| figure.interval.map(|interval| interval[end]));
                line.extend([figure.value, figure.deviation, low, high].map(text));
            }
            lines.push(line);
        }
        // Writing to memory cannot fail.
        lines.iter().for_each(|line| drop(writer.write_record(line)));
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    /// As a section of a page: the run, the figures, the notes.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n", self.run);
        if !self.rows.is_empty() {
            let paper = self.columns.iter().map(|column| format!("paper: {column}"));
            let ours = self.measured.iter().map(|column| format!("here: {column}"));
            let header: Vec<String> =
                std::iter::once(String::new()).chain(paper).chain(ours).map(|cell| plain(&cell)).collect();
            let _ = write!(text, "\n| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
            for row in &self.rows {
                let paper = (0..self.columns.len())
                    .map(|i| row.paper.get(i).copied().flatten().map_or("–".to_owned(), number));
                let ours = (0..self.measured.len())
                    .map(|i| row.measured.get(i).map_or("–".to_owned(), Figure::text));
                let name = match row.ours.as_str() {
                    "" => plain(&row.name),
                    ours if ours.starts_with('{') || ours == row.name => plain(&row.name),
                    ours => format!("{} (`{}`)", plain(&row.name), plain(ours)),
                };
                let cells: Vec<String> = std::iter::once(name).chain(paper).chain(ours).collect();
                let _ = writeln!(text, "| {} |", cells.join(" | "));
            }
        }
        self.notes.iter().fold(text, |text, note| text + &format!("\n{note}\n"))
    }
}

/// A cell of a Markdown table.
fn plain(cell: &str) -> String {
    cell.replace('|', "\\|")
}

/// An outcome and what is drawn of it: names of files without their ending.
pub struct Drawn {
    /// The figures.
    pub outcome: Outcome,
    /// Charts by name.
    pub charts: Vec<(String, Chart)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        Outcome {
            entry: "p/table-1".into(),
            size: Size::Quick,
            run: "Two networks.".into(),
            columns: vec!["tau".into()],
            measured: vec!["tau".into()],
            rows: vec![
                Row {
                    name: "a|b".into(),
                    ours: "nsc".into(),
                    paper: vec![None],
                    measured: vec![Figure::over(&[0.25, 0.75])],
                },
                Row { name: "c".into(), paper: vec![Some(0.5)], ..Row::default() },
            ],
            notes: vec!["A note.".into()],
        }
    }

    /// .25 and .75 have mean .5 and deviation .3536.
    #[test]
    fn one_outcome_in_three_forms() {
        let told = outcome();
        assert_eq!(
            told.markdown(),
            "Two networks.\n\n|  | paper: tau | here: tau |\n|---|---|---|\n\
             | a\\|b (`nsc`) | – | 0.500 ± 0.354 |\n| c | 0.500 | – |\n\nA note.\n"
        );
        let lines: Vec<String> = told.csv().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "row,run,paper: tau,tau,tau: deviation,tau: low,tau: high");
        assert!(lines[1].starts_with("a|b,nsc,,0.5,0.3535") && lines[2] == "c,,0.5,,,,");
        assert_eq!(serde_json::from_str::<Outcome>(&told.json()).unwrap(), told);
    }
}
