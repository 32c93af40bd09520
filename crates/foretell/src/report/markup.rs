//! Tables and lists of terms as markup.

use super::text::escape;
use std::fmt::Write;

/// A cell of a table.
pub(super) enum Cell {
    /// Plain text.
    Text(String),
    /// Text in a fixed-width font that may be broken anywhere, such as an id.
    Code(String),
    /// The genes of a network.
    Genes(String),
    /// A number as text, and what it is sorted by.
    Number(String, f64),
    /// A number with a mark behind it.
    Marked(u64, &'static str),
}

impl Cell {
    /// The number of a trial, marked if it is the winner.
    pub(super) fn trial(trial: usize, won: bool) -> Self {
        match won {
            true => Cell::Marked(trial as u64, "winner"),
            false => Cell::Number(trial.to_string(), trial as f64),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Cell::Number(..) | Cell::Marked(..))
    }

    fn write(&self, html: &mut String) {
        let _ = match self {
            Cell::Text(text) => write!(html, "<td>{}</td>", escape(text)),
            Cell::Code(text) => write!(html, "<td class=\"code id\">{}</td>", escape(text)),
            Cell::Genes(text) => {
                // A count stays on the line of its value.
                write!(html, "<td class=\"code genes\">{}</td>", escape(text).replace(" ×", "\u{a0}×"))
            }
            Cell::Number(text, value) => write!(html, "<td data-v=\"{value}\">{}</td>", escape(text)),
            Cell::Marked(number, mark) => {
                write!(html, "<td data-v=\"{number}\"><span class=\"mark\">{mark}</span> {number}</td>")
            }
        };
    }
}

/// A row of a table.
pub(super) struct Row {
    /// How it looks: words of `page.css`.
    pub(super) class: &'static str,
    pub(super) cells: Vec<Cell>,
}

impl Row {
    /// A row without a class.
    pub(super) fn plain(cells: Vec<Cell>) -> Self {
        Row { class: "", cells }
    }
}

/// A table; where its first column is sorted, every column's name sorts by it.
pub(super) fn table(label: &str, sortable: bool, names: &[String], rows: &[Row]) -> String {
    let mut html = format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table><thead><tr>",
        escape(label)
    );
    for (i, name) in names.iter().enumerate() {
        let sorted = if sortable && i == 0 { " aria-sort=\"ascending\"" } else { "" };
        let number = rows.iter().any(|row| row.cells.get(i).is_some_and(Cell::is_number));
        let class = if number { " class=\"count\"" } else { "" };
        let name = escape(name);
        let name = if sortable { format!("<button type=\"button\">{name}</button>") } else { name };
        let _ = write!(html, "<th scope=\"col\"{class}{sorted}>{name}</th>");
    }
    html += "</tr></thead><tbody>\n";
    for row in rows {
        let class = if row.class.is_empty() { String::new() } else { format!(" class=\"{}\"", row.class) };
        let _ = write!(html, "<tr{class}>");
        row.cells.iter().for_each(|cell| cell.write(&mut html));
        html += "</tr>\n";
    }
    html + "</tbody></table></div>"
}

/// Terms and what is said of them, which is markup if `raw`.
pub(super) fn terms(rows: &[(String, String)], raw: bool) -> String {
    let row = |(name, value): &(String, String)| {
        let (class, value) = if raw { ("", value.clone()) } else { (" class=\"code\"", escape(value)) };
        format!("<dt>{}</dt><dd{class}>{value}</dd>", escape(name))
    };
    format!("<dl>{}</dl>", rows.iter().map(row).collect::<String>())
}

/// A note under a table or a chart.
pub(super) fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>", super::text::prose(text))
}

/// A warning.
pub(super) fn warning(text: &str) -> String {
    format!("<p class=\"warning\"><b>Warning:</b> {}</p>", super::text::prose(text))
}
