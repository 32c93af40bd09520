//! The plain data of a torch archive: a zip with a pickle of lists, mappings, texts and numbers.
//!
//! A pickle is a program. This reader knows the few instructions that build plain data. Whatever imports or calls something is
//! refused by name, and nothing of it is executed.

use super::archive;
use crate::error::{Error, Result};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use std::path::Path;

/// The most values that a pickle may unfold to: a list can name another many times.
const VALUES: usize = 1 << 22;
/// The deepest nesting of lists and mappings.
const DEPTH: usize = 64;

/// The data of a torch archive.
pub(super) fn torch(path: &Path) -> Result<Value> {
    let wrong = |message: String| Error::data(path.display().to_string(), message);
    let pickles = archive::members(path, |name| name.rsplit('/').next() == Some("data.pkl"))?;
    let (name, bytes) = pickles.first().ok_or_else(|| wrong("holds no data.pkl".to_owned()))?;
    read_pickle(bytes).map_err(|message| wrong(format!("{name}: {message}")))
}

/// A value whose parts are named by their place, so that a value that is named twice is stored once.
enum Node {
    Plain(Value),
    List(Vec<usize>),
    Mapping(Vec<(usize, usize)>),
}

#[derive(Default)]
struct Machine {
    nodes: Vec<Node>,
    stack: Vec<usize>,
    /// Heights of the stack at which marks were set.
    marks: Vec<usize>,
    memo: HashMap<u32, usize>,
}

/// The data of a pickle, or what is wrong with it.
fn read_pickle(bytes: &[u8]) -> Result<Value, String> {
    let mut machine = Machine::default();
    let mut rest = Cursor { bytes, at: 0 };
    loop {
        let at = rest.at;
        let opcode = rest.take::<1>()?[0];
        if opcode == b'.' {
            let top = machine.pop()?;
            let mut values = VALUES;
            return machine.unfold(top, DEPTH, &mut values);
        }
        machine.step(opcode, &mut rest).map_err(|message| format!("byte {at}: {message}"))?;
    }
}

impl Machine {
    fn step(&mut self, opcode: u8, rest: &mut Cursor) -> Result<(), String> {
        match opcode {
            0x80 => rest.take::<1>().map(|_| ()),
            b']' => self.push(Node::List(Vec::new())),
            b'}' => self.push(Node::Mapping(Vec::new())),
            b'N' => self.plain(Value::Null),
            0x88 => self.plain(true),
            0x89 => self.plain(false),
            b'K' => self.plain(rest.take::<1>()?[0]),
            b'M' => self.plain(u16::from_le_bytes(rest.take()?)),
            b'J' => self.plain(i32::from_le_bytes(rest.take()?)),
            b'G' => {
                let value = f64::from_be_bytes(rest.take()?);
                self.plain(Number::from_f64(value).map_or(Value::Null, Value::Number))
            }
            b'X' => {
                let length = u32::from_le_bytes(rest.take()?);
                let text = std::str::from_utf8(rest.slice(length as usize)?).map_err(|e| e.to_string())?;
                self.plain(text)
            }
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'q' => self.remember(u32::from(rest.take::<1>()?[0])),
            b'r' => self.remember(u32::from_le_bytes(rest.take()?)),
            b'h' => self.recall(u32::from(rest.take::<1>()?[0])),
            b'j' => self.recall(u32::from_le_bytes(rest.take()?)),
            b'a' => {
                let item = self.pop()?;
                self.extend(vec![item])
            }
            b'e' => {
                let items = self.marked()?;
                self.extend(items)
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.insert(&[key, value])
            }
            b'u' => {
                let items = self.marked()?;
                self.insert(&items)
            }
            _ => Err(refused(opcode, rest)),
        }
    }

    fn push(&mut self, node: Node) -> Result<(), String> {
        if self.nodes.len() == VALUES {
            return Err(format!("holds more than {VALUES} values"));
        }
        self.stack.push(self.nodes.len());
        self.nodes.push(node);
        Ok(())
    }

    fn plain(&mut self, value: impl Into<Value>) -> Result<(), String> {
        self.push(Node::Plain(value.into()))
    }

    fn pop(&mut self) -> Result<usize, String> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err("takes a value where there is none".to_owned());
        }
        self.stack.pop().ok_or_else(|| "takes a value where there is none".to_owned())
    }

    /// Everything since the last mark.
    fn marked(&mut self) -> Result<Vec<usize>, String> {
        let mark = self.marks.pop().ok_or("takes values where no mark is set")?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&self) -> Result<usize, String> {
        self.stack.last().copied().ok_or_else(|| "has nothing to add to".to_owned())
    }

    fn remember(&mut self, place: u32) -> Result<(), String> {
        let top = self.top()?;
        self.memo.insert(place, top);
        Ok(())
    }

    fn recall(&mut self, place: u32) -> Result<(), String> {
        let node =
            *self.memo.get(&place).ok_or_else(|| format!("names value {place}, which is not there"))?;
        self.stack.push(node);
        if self.stack.len() > VALUES { Err(format!("holds more than {VALUES} values")) } else { Ok(()) }
    }

    fn extend(&mut self, items: Vec<usize>) -> Result<(), String> {
        let top = self.top()?;
        match &mut self.nodes[top] {
            Node::List(list) => list.extend(items),
            _ => return Err("appends to what is no list".to_owned()),
        }
        Ok(())
    }

    fn insert(&mut self, items: &[usize]) -> Result<(), String> {
        let top = self.top()?;
        match &mut self.nodes[top] {
            Node::Mapping(_) if !items.len().is_multiple_of(2) => {
                return Err("gives a key without a value".to_owned());
            }
            Node::Mapping(mapping) => mapping.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1]))),
            _ => return Err("sets a key of what is no mapping".to_owned()),
        }
        Ok(())
    }

    /// A node with all its parts; what names itself is too deep.
    fn unfold(&self, node: usize, depth: usize, values: &mut usize) -> Result<Value, String> {
        *values = values.checked_sub(1).ok_or_else(|| format!("unfolds to more than {VALUES} values"))?;
        let deeper = || depth.checked_sub(1).ok_or_else(|| format!("is nested deeper than {DEPTH}"));
        match &self.nodes[node] {
            Node::Plain(value) => Ok(value.clone()),
            Node::List(items) => {
                let depth = deeper()?;
                let item = |item: &usize| self.unfold(*item, depth, values);
                Ok(Value::Array(items.iter().map(item).collect::<Result<_, _>>()?))
            }
            Node::Mapping(pairs) => {
                let depth = deeper()?;
                let mut mapping = Map::new();
                for (key, value) in pairs {
                    let Node::Plain(Value::String(key)) = &self.nodes[*key] else {
                        return Err("has a key that is no text".to_owned());
                    };
                    mapping.insert(key.clone(), self.unfold(*value, depth, values)?);
                }
                Ok(Value::Object(mapping))
            }
        }
    }
}

/// Instructions that import, call or build objects.
const DANGEROUS: [(u8, &str); 13] = [
    (b'c', "GLOBAL"),
    (0x93, "STACK_GLOBAL"),
    (b'R', "REDUCE"),
    (b'b', "BUILD"),
    (b'i', "INST"),
    (b'o', "OBJ"),
    (0x81, "NEWOBJ"),
    (0x92, "NEWOBJ_EX"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (b'P', "PERSID"),
    (b'Q', "BINPERSID"),
];

/// Why an instruction is refused.
fn refused(opcode: u8, rest: &mut Cursor) -> String {
    let Some((_, name)) = DANGEROUS.iter().find(|(code, _)| *code == opcode) else {
        return format!("instruction 0x{opcode:02x} does not build plain data");
    };
    let what = if matches!(opcode, b'c' | b'i') { format!(" {}", rest.global()) } else { String::new() };
    format!("asks to run code ({name}{what}): refused, nothing was run")
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn slice(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| "ends in the middle".to_owned())?;
        let found = &self.bytes[self.at..end];
        self.at = end;
        Ok(found)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.slice(N)?.try_into().expect("the slice has this length"))
    }

    /// The two lines that name what would be imported.
    fn global(&self) -> String {
        let lines = String::from_utf8_lossy(&self.bytes[self.at..]);
        let named: Vec<&str> = lines.lines().take(2).collect();
        named.join(".").chars().filter(|c| c.is_ascii_graphic()).take(80).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_data_is_read_and_shared_values_are_named_once() {
        // [{'a': 3, 'b': [1.5, -2]}, {'a': 300, 'b': the same list}]
        let bytes = b"\x80\x02]q\x00(}q\x01(X\x01\x00\x00\x00aq\x02K\x03X\x01\x00\x00\x00bq\x03]q\x04(G?\xf8\x00\x00\x00\x00\x00\x00J\xfe\xff\xff\xffeu}q\x05(h\x02M\x2c\x01h\x03h\x04ue.";
        let expected = json!([{"a": 3, "b": [1.5, -2]}, {"a": 300, "b": [1.5, -2]}]);
        assert_eq!(read_pickle(bytes).unwrap(), expected);
    }

    #[test]
    fn what_would_run_code_is_refused_by_name() {
        let error =
            read_pickle(b"\x80\x02cos\nsystem\nq\x00X\x04\x00\x00\x00echoq\x01\x85q\x02Rq\x03.").unwrap_err();
        assert_eq!(error, "byte 2: asks to run code (GLOBAL os.system): refused, nothing was run");
        for (opcode, name) in DANGEROUS {
            let error = read_pickle(&[opcode, b'x', b'\n', b'y', b'\n', b'.']).unwrap_err();
            assert!(error.contains(name) && error.contains("refused"), "{error}");
        }
    }

    #[test]
    fn damaged_and_hostile_pickles_are_errors() {
        for (bytes, message) in [
            (&b"\x80\x02]q\x00(K"[..], "ends in the middle"),
            (b"X\xff\xff\xff\xffa.", "ends in the middle"),
            (b".", "none"),
            (b"e.", "no mark"),
            (b"K\x01K\x02a.", "no list"),
            (b"h\x07.", "value 7"),
            (b"}(K\x01u.", "without a value"),
            (b"}(K\x01K\x02u.", "no text"),
            (b"]q\x00h\x00a.", "deeper"),
            (b"(e.", "nothing to add"),
            (b"\x8c\x01a.", "plain data"),
        ] {
            let error = read_pickle(bytes).unwrap_err();
            assert!(error.contains(message), "{bytes:?}: {error}");
        }
        // Each list names the one before twice: 2^40 values.
        let mut bomb = b"]q\x00".to_vec();
        for place in 0..40 {
            bomb.extend([b']', b'(', b'h', place, b'h', place, b'e', b'q', place + 1]);
        }
        bomb.push(b'.');
        assert!(read_pickle(&bomb).unwrap_err().contains("unfolds"));
    }
}
