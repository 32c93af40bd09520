//! Tables and numbers for people, JSON for programs; results on stdout, everything else on stderr.
//!
//! `--quiet` leaves out notes and progress, `--verbose` adds details.

use crate::fit;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use foretell::architecture::Architecture;
pub use foretell::report::text::{grouped, number, short};
use foretell::{report, space};
use serde_json::json;
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether errors are written as JSON.
static JSON: AtomicBool = AtomicBool::new(false);
static QUIET: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// What the command line asks for before it is parsed: it may be wrong, and so may a config file.
pub fn expect(words: &[OsString]) {
    let has = |flag: &str| words.iter().take_while(|word| *word != "--").any(|word| word == flag);
    set(has("--json"), has("--quiet"), has("--verbose"));
}

/// How much is written, and in which form.
pub fn set(json: bool, quiet: bool, verbose: bool) {
    JSON.store(json, Ordering::SeqCst);
    QUIET.store(quiet, Ordering::SeqCst);
    VERBOSE.store(verbose, Ordering::SeqCst);
}

pub fn is_json() -> bool {
    JSON.load(Ordering::SeqCst)
}

/// Whether progress and notes are left out.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::SeqCst)
}

/// Writes why a command failed to stderr, as one line of JSON if that is asked for.
pub fn failure(kind: &str, message: &str, code: u8) {
    said(match is_json() {
        true => json!({"error": {"kind": kind, "message": message, "exit": code}}).to_string(),
        false => format!("foretell: {message}"),
    });
}

/// Writes what is read, cached, skipped or decided to stderr, if that is asked for.
pub fn detail(text: impl std::fmt::Display) {
    if VERBOSE.load(Ordering::SeqCst) {
        said(text);
    }
}

/// Writes a line to stderr. A reader that has gone away is no error.
pub fn said(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", escaped(&text.to_string()));
}

/// What the library notes while it works: files that were found damaged, a cache that cannot be written.
struct Notes;

impl log::Log for Notes {
    fn enabled(&self, of: &log::Metadata) -> bool {
        of.level() <= log::Level::Warn && of.target().starts_with("foretell") && !is_quiet()
    }
    fn log(&self, record: &log::Record) {
        if self.enabled(record.metadata()) {
            said(format!("note: {}", record.args()));
        }
    }
    fn flush(&self) {}
}

/// Shows notes of the library from now on.
pub fn show_notes() {
    // Fails only if there is a logger already.
    let _ = log::set_logger(&Notes).map(|()| log::set_max_level(log::LevelFilter::Warn));
}

/// Text whose control characters, and those that reverse its direction, are written out: names and messages of others
/// must not steer the terminal. The form is that of JSON, where such characters stand in strings only.
pub fn escaped(text: &str) -> std::borrow::Cow<'_, str> {
    let steers = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(steers) {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match steers(c) {
            true => plain += &format!("\\u{:04x}", c as u32),
            false => plain.push(c),
        }
    }
    plain.into()
}

/// Writes an explanation of a result to stdout, unless only results are asked for.
pub fn note(text: impl std::fmt::Display) {
    if !is_quiet() {
        prose(text);
    }
}

/// Writes bytes to stdout as they are.
pub fn bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Writes a line to stdout.
pub fn line(text: impl std::fmt::Display) {
    let mut out = io::stdout().lock();
    written(writeln!(out, "{}", escaped(&text.to_string())).and_then(|()| out.flush()));
}

/// Ends the command if stdout cannot be written: quietly if its reader has gone away, else with a message.
pub fn written(result: io::Result<()>) {
    match result {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            failure("write", &format!("cannot write standard output: {error}"), 1);
            std::process::exit(1)
        }
    }
}

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Writes text to stdout, wrapped between words on a terminal.
pub fn prose(text: impl std::fmt::Display) {
    match fit::terminal() {
        Some(width) => line(fit::wrap(&text.to_string(), width)),
        None => line(text),
    }
}

/// A table in the style that papers use: a rule under the header, nothing else. Columns from the second on are
/// right-aligned if they hold numbers. On a terminal it is as wide as the terminal at most, elsewhere it is whole.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> Table {
    let rows = cells(rows);
    let (header, rows) = fit::table(header, rows, fit::terminal().unwrap_or(usize::MAX));
    styled(&header, rows)
}

/// Cells on one line each.
fn cells(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    for cell in rows.iter_mut().flatten() {
        if cell.contains(char::is_control) {
            *cell = escaped(cell).replace('\n', "\\n").replace('\t', "\\t");
        }
    }
    rows
}

/// A table of any width.
pub fn styled(header: &[String], rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter());
    let numeric = |text: &String| fit::numeric(text);
    for (i, column) in table.column_iter_mut().enumerate() {
        if i > 0 && rows.iter().all(|row| row.get(i).is_none_or(numeric)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.add_rows(rows);
    table
}

/// Three decimals without the leading zero, or a dash.
pub fn decimals(x: Option<f64>) -> String {
    x.map_or("–".to_owned(), |x| format!("{x:.3}").replacen("0.", ".", 1))
}

/// The genes of an architecture on one line.
pub fn genes(architecture: &Architecture) -> String {
    report::text::genes(&space::write_architecture(architecture))
}

/// A duration in the unit that suits it.
pub fn seconds(s: f64) -> String {
    match s {
        0.0 => "cached".to_owned(),
        s if s < 1e-3 => format!("{:.1} µs", 1e6 * s),
        s if s < 1.0 => format!("{:.1} ms", 1e3 * s),
        s => format!("{s:.1} s"),
    }
}

/// A pass in words.
pub fn pass(pass: &foretell::probe::Pass) -> String {
    use foretell::probe::{Derivative, Feed, Loss, WeightTransform};
    let feed = match pass.feed {
        Feed::Data => "data",
        Feed::Ones => "ones",
        Feed::Uniform => "uniform",
    };
    let mut words = vec![feed.to_owned()];
    if pass.part.1 > 1 {
        words.push(format!("part {} of {}", pass.part.0 + 1, pass.part.1));
    }
    if pass.noise > 0 {
        words.push(format!("noise {}", f64::from(pass.noise) / 10.0));
    }
    if pass.weights != WeightTransform::Keep {
        let redrawn = pass.weights == WeightTransform::Redrawn;
        words.push(if redrawn { "weights redrawn" } else { "magnitudes" }.to_owned());
    }
    for (set, word) in [(pass.train, "dropout"), (pass.unnormed, "norms off"), (pass.double, "f64")] {
        if set {
            words.push(word.to_owned());
        }
    }
    if pass.loss != Loss::None {
        words.push(format!("loss {:?}", pass.loss).to_lowercase());
    }
    words.push(match pass.derivative {
        Derivative::Values if pass.loss == Loss::None => "forward".to_owned(),
        Derivative::Values => "by values".to_owned(),
        Derivative::Weights => "by weights".to_owned(),
        Derivative::Samples(fold, _) => format!("by weights, each sample: {fold:?}").to_lowercase(),
        Derivative::Hessian(_) => "Hessian times gradient".to_owned(),
        Derivative::Trace(trace) => match trace.probes {
            Some(probes) => format!("kernel trace, {probes} probes"),
            None => "kernel trace, exact".to_owned(),
        },
        Derivative::Curve { points, circles } => format!("{circles} curves of {points} points"),
    });
    words.join(", ")
}
