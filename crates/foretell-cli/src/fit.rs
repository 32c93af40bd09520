//! Tables and text that fit a terminal.

use std::io::IsTerminal;
use terminal_size::terminal_size_of;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a terminal that does not say how wide it is.
const USUAL: usize = 80;

/// Columns of the terminal that stdout is connected to; none if it is a file or a pipe.
pub fn terminal() -> Option<usize> {
    let out = std::io::stdout();
    out.is_terminal().then(|| terminal_size_of(&out).map_or(USUAL, |(width, _)| width.0.into()))
}

/// Columns of the terminal that stderr is connected to.
pub fn progress() -> usize {
    terminal_size_of(std::io::stderr()).map_or(USUAL, |(width, _)| width.0.into())
}

/// What stands for text or columns that are left out.
const MORE: &str = "…";
/// The last text column may shrink to this width, all others only to the width of an identifier.
const LAST: usize = 12;
const OTHERS: usize = 20;

/// The width of a rendered table: a space on both sides of each cell and one between columns.
pub fn rendered(widths: &[usize]) -> usize {
    (widths.iter().sum::<usize>() + 3 * widths.len()).saturating_sub(1)
}

/// Whether a cell holds a number, or nothing.
pub fn numeric(text: &str) -> bool {
    text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit() || "-–.≈".contains(c))
}

/// Header and rows of a table that is at most `width` columns wide. Text is cut first, the widest column first; numbers
/// are never cut. Columns that still do not fit are left out from the right, with `…` in their place.
pub fn table(header: &[&str], rows: Vec<Vec<String>>, width: usize) -> (Vec<String>, Vec<Vec<String>>) {
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    let mut widths: Vec<usize> = (0..header.len()).map(|column| natural(&header, &rows, column)).collect();
    let text = |column: usize| rows.iter().any(|row| row.get(column).is_some_and(|cell| !numeric(cell)));
    let mut kept = widths.len();
    loop {
        let shown = kept + usize::from(kept < header.len());
        let all = |widths: &[usize]| {
            let mut all = widths[..kept].to_vec();
            all.resize(shown, MORE.width());
            rendered(&all)
        };
        let texts: Vec<usize> = (0..kept).filter(|column| text(*column)).collect();
        let numbers = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).filter(|cell| numeric(cell));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let least = |column: usize| {
            let text = if texts.last() == Some(&column) { LAST } else { OTHERS };
            text.max(numbers(column))
        };
        while all(&widths) > width {
            let widest = texts.iter().filter(|column| widths[**column] > least(**column));
            let Some(widest) = widest.max_by_key(|column| widths[**column]) else { break };
            widths[*widest] -= 1;
        }
        if all(&widths) <= width || kept <= 1 {
            break;
        }
        kept -= 1;
        widths = (0..header.len()).map(|column| natural(&header, &rows, column)).collect();
    }
    let line = |cells: &[String]| {
        let mut line: Vec<String> =
            cells.iter().take(kept).zip(&widths).map(|(cell, width)| cut(cell, *width)).collect();
        line.extend((kept < header.len()).then(|| MORE.to_owned()));
        line
    };
    (line(&header), rows.iter().map(|row| line(row)).collect())
}

/// The width of the widest cell of a column.
fn natural(header: &[String], rows: &[Vec<String>], column: usize) -> usize {
    rows.iter()
        .filter_map(|row| row.get(column))
        .chain([&header[column]])
        .map(|cell| cell.width())
        .max()
        .unwrap_or(0)
}

/// Text of at most this width, ending in `…` if it is cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut cut, mut used) = (String::new(), MORE.width());
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        cut.push(character);
    }
    cut.truncate(cut.trim_end().len());
    cut + MORE
}

/// Text in lines of at most this width, broken between words; a word that is longer stays whole.
pub fn wrap(text: &str, width: usize) -> String {
    let wrapped = |line: &str| {
        let indent = &line[..line.len() - line.trim_start().len()];
        let (mut done, mut current) = (String::new(), String::new());
        for piece in line.split_inclusive(' ') {
            if !current.trim().is_empty() && current.width() + piece.trim_end().width() > width {
                done += current.trim_end();
                done.push('\n');
                current = indent.to_owned();
            }
            current += piece;
        }
        done + current.trim_end()
    };
    text.split('\n').map(wrapped).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output;

    fn rows() -> Vec<Vec<String>> {
        let genes = "embed_dim 192  depth 13  num_heads [3 3 4 3 3 4 3 3 4 3 3 4 3]  mlp_ratio [3.5 3.5 4]";
        let row = |id: &str, params: &str| [id, params, "1.34G", genes, "12.25"].map(str::to_owned).to_vec();
        vec![
            row("6a32811ff9ea0ed2ba16", "5,979,016"),
            row("02fe11b5c1bd3f02c1d0", "11,958,184"),
            row("x", "any"),
        ]
    }

    const HEADER: [&str; 5] = ["id", "parameters", "multiply-adds", "architecture", "nsc"];

    #[test]
    fn tables_fit_the_width_and_cut_text_before_they_leave_out_columns() {
        for width in [60, 80, 120] {
            let (header, rows) = table(&HEADER, rows(), width);
            let text = output::styled(&header, rows).to_string();
            let widest = text.lines().map(|line| line.width()).max().unwrap();
            assert!(widest <= width, "{widest} columns, {width} are there:\n{text}");
            assert!(text.contains("6a32811ff9ea0ed2ba16") && text.contains("11,958,184"), "{text}");
            assert_eq!(text.lines().count(), 5, "every row is one line:\n{text}");
            // Numbers are whole or absent, never cut.
            assert_eq!(text.contains("12.25"), width >= 80, "{width}:\n{text}");
            assert!(text.contains('…'), "{text}");
        }
        let (header, whole) = table(&HEADER, rows(), 400);
        assert_eq!((header, whole), (HEADER.map(str::to_owned).to_vec(), rows()));
    }

    #[test]
    fn the_width_is_that_of_the_rendered_table() {
        let (header, rows) = table(&HEADER, rows(), usize::MAX);
        let widths: Vec<usize> = (0..HEADER.len()).map(|column| natural(&header, &rows, column)).collect();
        let text = output::styled(&header, rows).to_string();
        assert_eq!(text.lines().map(|line| line.width()).max().unwrap(), rendered(&widths));
    }

    #[test]
    fn text_is_wrapped_between_words_and_keeps_its_indent() {
        assert_eq!(wrap("one two three\n  four five", 9), "one two\nthree\n  four\n  five");
        assert_eq!(wrap("unbreakable", 4), "unbreakable");
        assert_eq!(wrap("\nkey      value", 80), "\nkey      value");
        assert_eq!(
            (cut("abcdef", 4), cut("abc", 4), cut("ab cd", 4)),
            ("abc…".into(), "abc".into(), "ab…".into())
        );
    }
}
