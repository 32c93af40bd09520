//! What can happen to the file of a store.

use foretell::seed::Rng;
use rand::RngExt;
use rusqlite::Connection;
use std::path::Path;

/// Bytes of a page.
const PAGE: usize = 4096;

/// One way in which a file is damaged.
#[derive(Debug, Clone)]
pub enum Damage {
    /// Bits that are turned, by byte and bit.
    Flipped(Vec<(usize, u8)>),
    /// A page that stands in the place of another.
    Copied { from: usize, to: usize },
    /// The bytes that are left.
    Cut(usize),
    /// A statement that changes or deletes rows.
    Said(String),
}

/// The kind of a damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Flips,
    Pages,
    Cuts,
    Statements,
}

impl Damage {
    pub fn kind(&self) -> Kind {
        match self {
            Damage::Flipped(_) => Kind::Flips,
            Damage::Copied { .. } => Kind::Pages,
            Damage::Cut(_) => Kind::Cuts,
            Damage::Said(_) => Kind::Statements,
        }
    }

    /// Any damage of a file with these bytes.
    pub fn draw(round: u64, rng: &mut Rng, bytes: &[u8]) -> Self {
        let pages = bytes.len() / PAGE;
        match round % 6 {
            0..=2 => {
                let bits = 1 << rng.random_range(0..6);
                let bit = |_| (rng.random_range(0..bytes.len()), rng.random_range(0..8));
                Damage::Flipped((0..bits).map(bit).collect())
            }
            3 | 4 => Damage::Copied { from: rng.random_range(0..pages), to: rng.random_range(0..pages) },
            _ => Damage::Cut(rng.random_range(0..bytes.len())),
        }
    }

    /// The bytes of a file after the damage; a statement leaves them as they are.
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Damage::Flipped(bits) => bits.iter().for_each(|(at, bit)| bytes[*at] ^= 1 << bit),
            Damage::Copied { from, to } => bytes.copy_within(from * PAGE..(from + 1) * PAGE, to * PAGE),
            Damage::Cut(left) => bytes.truncate(*left),
            Damage::Said(_) => {}
        }
        bytes
    }
}

const TABLES: [&str; 7] =
    ["studies", "trials", "ranks", "evaluations", "measurements", "answers", "contents"];

/// Statements that change each column of each table in each way that its type allows, in one place or in all, and that delete
/// rows.
pub fn of_every_column(path: &Path, everywhere: bool) -> Vec<Damage> {
    let connection = Connection::open(path).unwrap();
    let mut said = Vec::new();
    for table in TABLES {
        let mut columns = connection.prepare(&format!("PRAGMA table_info({table})")).unwrap();
        let columns = columns.query_map([], |row| Ok((row.get(1)?, row.get(2)?))).unwrap();
        let columns: Vec<(String, String)> = columns.map(Result::unwrap).collect();
        let key = columns[..2].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        // One row in the middle, the last row, and all rows.
        let count: i64 =
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        let one = |offset: i64| {
            format!(
                "WHERE ({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {})",
                offset.clamp(0, count - 1)
            )
        };
        let places = [one(count / 2), one(count - 1), String::new()];
        for (column, kind) in &columns {
            for value in values(kind, column) {
                let place = said.len() % places.len();
                let places = if everywhere { &places[..] } else { &places[place..=place] };
                said.extend(
                    places.iter().map(|place| format!("UPDATE {table} SET {column} = {value} {place}")),
                );
            }
        }
        said.extend(places.iter().map(|place| format!("DELETE FROM {table} {place}")));
    }
    // The ends of chains with all that belongs to them, and rows that change their study.
    for study in 1..=6 {
        said.push(format!("DELETE FROM trials WHERE study = {study} AND number > 5"));
        said.push(format!("DELETE FROM evaluations WHERE study = {study} AND number > 1"));
        said.push(format!("DELETE FROM measurements WHERE study = {study} AND number > 0"));
        said.push(format!("UPDATE evaluations SET study = 99 WHERE study = {study} AND number = 2"));
        said.push(format!("DELETE FROM answers WHERE study = {study}"));
        let all = ["trials", "ranks", "evaluations", "measurements", "answers"];
        let all = all.map(|table| format!("DELETE FROM {table} WHERE study = {study};")).concat();
        said.push(format!("{all} DELETE FROM studies WHERE id = {study}"));
    }
    said.push("DROP TABLE answers".to_owned());
    said.push("DELETE FROM contents; INSERT INTO contents VALUES (1, 6, zeroblob(32))".to_owned());
    said.into_iter().map(Damage::Said).collect()
}

/// Other values of a column.
fn values(kind: &str, column: &str) -> Vec<String> {
    let texts: &[&str] = match kind {
        "INTEGER" => &["COLUMN + 1", "COLUMN - 1", "-1", "9223372036854775807", "-9223372036854775808"],
        "REAL" => &["COLUMN + 1.0", "-COLUMN - 1e300", "9e999"],
        "TEXT" => &["COLUMN || ' '", "substr(COLUMN, 2)", "''", "replace(COLUMN, '1', '2') || 'x'", "'null'"],
        _ => &["COLUMN || x'00'", "substr(COLUMN, 2)", "x''", "zeroblob(32)", "zeroblob(100000)"],
    };
    let nothing =
        ["NULL"].into_iter().filter(|_| column == "stopped" || column == "answer" || column == "trial");
    texts.iter().copied().chain(nothing).map(|text| text.replace("COLUMN", column)).collect()
}
