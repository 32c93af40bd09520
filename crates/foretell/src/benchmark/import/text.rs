//! Text as the sources and our tables write it: comma-separated files, and numbers as Python prints them.

use crate::error::{Error, Result};
use crate::file;
use serde_json::{Map, Number, Value};
use std::fmt::Write;
use std::path::Path;

/// A comma-separated file as text.
pub(super) struct Sheet {
    name: String,
    header: Vec<String>,
    /// Line and cells of every record.
    pub records: Vec<(u64, Vec<String>)>,
}

impl Sheet {
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let text = file::decoded(path, file::bytes(path)?)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        // Some files hold headers of other lengths between their rows.
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let wrong = |e: csv::Error| Error::data(name.as_str(), e.to_string());
        let header = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
        let mut records = Vec::new();
        for record in reader.records() {
            let record = record.map_err(wrong)?;
            let line = record.position().map_or(0, csv::Position::line);
            records.push((line, record.iter().map(str::to_owned).collect()));
        }
        Ok(Sheet { name, header, records })
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.header
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| Error::data(self.name.as_str(), format!("has no column '{name}'")))
    }

    /// The places of several columns.
    pub fn columns<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Vec<usize>> {
        names.into_iter().map(|name| self.column(name)).collect()
    }

    /// One cell of a record.
    pub fn cell<'r>(&self, record: &'r (u64, Vec<String>), column: usize) -> Result<&'r str> {
        let (line, cells) = record;
        let short = || Error::data(format!("{}:{line}", self.name), "the line is shorter than the header");
        cells.get(column).map(String::as_str).ok_or_else(short)
    }

    /// Several cells of a record.
    pub fn cells<'r>(&self, record: &'r (u64, Vec<String>), columns: &[usize]) -> Result<Vec<&'r str>> {
        columns.iter().map(|column| self.cell(record, *column)).collect()
    }

    /// Whether a record repeats the header, as files do that were appended to.
    pub fn is_header(&self, record: &(u64, Vec<String>)) -> bool {
        record.1.first() == self.header.first()
    }
}

/// A number of a text file with the kind that its digits have; what is not finite is no value.
pub(super) fn number(cell: &str) -> Value {
    match serde_json::from_str::<Number>(cell) {
        Ok(number) => Value::Number(number),
        Err(_) => cell.parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number),
    }
}

/// One row of a table: a JSON object with a space after every separator, and none inside of lists.
pub(super) fn json_line(values: &Map<String, Value>) -> String {
    let mut line = String::from("{");
    for (i, (key, value)) in values.iter().enumerate() {
        let _ = write!(line, "{}{}: ", if i == 0 { "" } else { ", " }, Value::from(key.as_str()));
        put(&mut line, value);
    }
    line.push('}');
    line
}

fn put(line: &mut String, value: &Value) {
    let comma = |i: usize| if i == 0 { "" } else { "," };
    match value {
        Value::Number(number) => line.push_str(&digits(number)),
        Value::Array(values) => {
            line.push('[');
            for (i, value) in values.iter().enumerate() {
                line.push_str(comma(i));
                put(line, value);
            }
            line.push(']');
        }
        Value::Object(values) => {
            line.push('{');
            for (i, (key, value)) in values.iter().enumerate() {
                let _ = write!(line, "{}{}:", comma(i), Value::from(key.as_str()));
                put(line, value);
            }
            line.push('}');
        }
        plain => {
            let _ = write!(line, "{plain}");
        }
    }
}

/// A number as Python prints it: the shortest digits that are read back as the same, with an exponent of at least two digits
/// below 0.0001 and from 10^16.
fn digits(number: &Number) -> String {
    let text = number.to_string();
    if !number.is_f64() || number.as_f64() == Some(0.0) {
        return text;
    }
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let zeros = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0');
    // The value is 0.DIGITS times 10 to this.
    let point = whole.len() as i64 - zeros as i64 + exponent.parse::<i64>().unwrap_or(0);
    let length = digits.len() as i64;
    match point {
        ..=-4 | 17.. => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let (direction, size) = (if point > 1 { '+' } else { '-' }, (point - 1).abs());
            format!("{sign}{first}{dot}{rest}e{direction}{size:02}")
        }
        ..=0 => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
        _ if point >= length => format!("{sign}{digits}{}.0", "0".repeat((point - length) as usize)),
        _ => format!("{sign}{}.{}", &digits[..point as usize], &digits[point as usize..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_printed_as_python_prints_them() {
        for (value, text) in [
            (json!(46013841408.0), "46013841408.0"),
            (json!(6.112347182352096e-5), "6.112347182352096e-05"),
            (json!(0.0001), "0.0001"),
            (json!(1e16), "1e+16"),
            (json!(1e-100), "1e-100"),
            (json!(7), "7"),
            (json!(-1.63), "-1.63"),
            (json!(0.0), "0.0"),
            (json!(0.5), "0.5"),
            (json!(123.0), "123.0"),
            (json!(0.00012), "0.00012"),
            (json!(-9.9e-5), "-9.9e-05"),
            (json!(9007199254740993.0), "9007199254740992.0"),
            (json!(1.5e300), "1.5e+300"),
            // Halfway between two texts of sixteen digits: the even one.
            (json!(8.123_367_309_570_313), "8.123367309570312"),
        ] {
            assert_eq!(digits(value.as_number().unwrap()), text);
        }
    }

    #[test]
    fn a_line_has_spaces_between_columns_and_none_in_lists() {
        let row = json!({"id": "a\"b", "list": [1, 2.0, null], "nodes": [{"op": "x", "inputs": ["h"]}]});
        let line = json_line(row.as_object().unwrap());
        assert_eq!(line, r#"{"id": "a\"b", "list": [1,2.0,null], "nodes": [{"op":"x","inputs":["h"]}]}"#);
    }

    #[test]
    fn what_is_not_finite_is_no_value() {
        assert_eq!(number("nan"), Value::Null);
        assert_eq!(number("inf"), Value::Null);
        assert_eq!(number("1.02E+19"), json!(1.02e19));
        assert_eq!(number("13330176"), json!(13330176));
    }
}
