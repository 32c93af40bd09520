//! The part of YAML that the saved logs are written in: mappings in mappings, lists of scalars, scalars.
//!
//! Anchors, tags, flow collections and blocks of text are refused by name, so a hostile file can neither repeat itself without
//! end nor nest too deeply.

use super::text::number;
use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// The deepest mapping: a summary is a mapping of mappings.
const DEPTH: usize = 8;

struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

struct Reader<'a> {
    name: &'a str,
    lines: std::iter::Peekable<std::vec::IntoIter<Line<'a>>>,
}

/// The mapping that a file holds; `name` is what errors call it.
pub(super) fn mapping(name: &str, text: &str) -> Result<Map<String, Value>> {
    let line = |(i, line): (usize, &'_ str)| {
        let text = line.trim_end();
        let body = text.trim_start_matches(' ');
        (i + 1, text.len() - body.len(), body.len())
    };
    let mut lines = Vec::new();
    for (i, whole) in text.lines().enumerate() {
        let (number, indent, length) = line((i, whole));
        let text = &whole[indent..indent + length];
        if !text.is_empty() && !text.starts_with('#') && text != "---" {
            lines.push(Line { number, indent, text });
        }
    }
    let mut reader = Reader { name, lines: lines.into_iter().peekable() };
    let found = reader.mapping(0, 0)?;
    match reader.lines.next() {
        None if found.is_empty() => Err(Error::parse(name, "is empty")),
        None => Ok(found),
        Some(line) => Err(reader.wrong(line.number, "is not indented as the lines before it")),
    }
}

impl<'a> Reader<'a> {
    fn wrong(&self, line: usize, message: impl std::fmt::Display) -> Error {
        Error::parse(format!("{}:{line}", self.name), format!("{message}"))
    }

    /// The next line, if it is indented by this much.
    fn next_at(&mut self, indent: usize) -> Option<Line<'a>> {
        self.lines.next_if(|line| line.indent == indent)
    }

    fn mapping(&mut self, indent: usize, depth: usize) -> Result<Map<String, Value>> {
        let mut found = Map::new();
        while self.lines.peek().is_some_and(|line| line.indent == indent && !is_item(line.text)) {
            let Some(line) = self.next_at(indent) else { break };
            let (key, rest) = self.key(&line)?;
            let value = if rest.is_empty() { self.nested(&line, depth)? } else { self.scalar(&line, rest)? };
            if found.insert(key.clone(), value).is_some() {
                return Err(self.wrong(line.number, format!("the key '{key}' stands twice")));
            }
        }
        Ok(found)
    }

    /// Key and rest of a line `key: rest` or `key:`.
    fn key(&self, line: &Line<'a>) -> Result<(String, &'a str)> {
        let split = line.text.split_once(": ").or_else(|| Some((line.text.strip_suffix(':')?, "")));
        let Some((key, rest)) = split else {
            return Err(self.wrong(line.number, format!("'{}' is not of the form key: value", line.text)));
        };
        let key = self.scalar(line, key)?;
        Ok((key.as_str().map_or_else(|| key.to_string(), str::to_owned), rest.trim()))
    }

    /// What follows a key without a value: a list, a mapping, or nothing.
    fn nested(&mut self, key: &Line<'a>, depth: usize) -> Result<Value> {
        let Some(line) = self.lines.peek() else { return Ok(Value::Null) };
        let (indent, number) = (line.indent, line.number);
        if is_item(line.text) && indent >= key.indent {
            return self.list(indent);
        }
        if indent <= key.indent {
            return Ok(Value::Null);
        }
        if depth == DEPTH {
            return Err(self.wrong(number, format!("is nested deeper than {DEPTH} mappings")));
        }
        Ok(Value::Object(self.mapping(indent, depth + 1)?))
    }

    fn list(&mut self, indent: usize) -> Result<Value> {
        let mut found = Vec::new();
        while self.lines.peek().is_some_and(|line| line.indent == indent && is_item(line.text)) {
            let Some(line) = self.next_at(indent) else { break };
            found.push(self.scalar(&line, line.text[1..].trim())?);
        }
        Ok(Value::Array(found))
    }

    fn scalar(&self, line: &Line<'a>, text: &str) -> Result<Value> {
        let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
        if let Some(inside) = quoted('\'').or_else(|| quoted('"')) {
            if inside.contains(['\'', '"', '\\']) {
                return Err(
                    self.wrong(line.number, format!("{text} is quoted in a way that is not read here"))
                );
            }
            return Ok(inside.into());
        }
        let special = |c: char| "&*!|>{}[],%@`?'\"".contains(c);
        if text.starts_with(special) || text.contains(": ") || text.contains(" #") || text.starts_with("- ") {
            return Err(self.wrong(line.number, format!("'{text}' is not a plain value")));
        }
        Ok(match text {
            "" | "null" | "~" => Value::Null,
            "true" => true.into(),
            "false" => false.into(),
            _ => match number(text) {
                Value::Null => text.into(),
                number => number,
            },
        })
    }
}

/// Whether a line is an item of a list.
fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn logs_are_read() {
        let text = "adaptive: true\ncutoffs:\n- 19997\n- -1\nd_embed: -1\nname: 'a b'\ndtype: null\nM1:\n  total: 8505006.0\n  FFN: 2\n";
        let found = mapping("x.yaml", text).unwrap();
        let expected = json!({"adaptive": true, "cutoffs": [19997, -1], "d_embed": -1, "name": "a b", "dtype": null,
            "M1": {"total": 8505006.0, "FFN": 2}});
        assert_eq!(Value::Object(found), expected);
    }

    #[test]
    fn what_is_not_of_the_logs_is_refused_with_its_line() {
        for (text, line, message) in [
            ("a: 1\nb: &x [1]\n", 2, "not a plain value"),
            ("a: *x\n", 1, "not a plain value"),
            ("a: !!python/object/apply:os.system ['ls']\n", 1, "not a plain value"),
            ("a: [1, 2]\n", 1, "not a plain value"),
            ("a: 1\n   b: 2\n", 2, "not indented"),
            ("just text\n", 1, "not of the form"),
            ("a: 1\na: 2\n", 2, "stands twice"),
            ("a: 'it''s'\n", 1, "quoted"),
        ] {
            let error = mapping("x.yaml", text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("x.yaml:{line}: ")) && error.contains(message),
                "{text:?}: {error}"
            );
        }
        assert!(mapping("x.yaml", "\n# nothing\n").unwrap_err().to_string().contains("is empty"));
        let deep: String = (0..20).map(|i| format!("{}k:\n", " ".repeat(i))).collect();
        assert!(mapping("x.yaml", &deep).unwrap_err().to_string().contains("nested deeper"));
    }
}
