//! Options from config files: `foretell.toml` in the current folder, then `foretell/config.toml` in the user's config folder.
//!
//! ```toml
//! [all]
//! threads = 2
//!
//! [search]
//! space = "gpt2"
//! max-params = "20M"
//! ```
//!
//! The values become the defaults of clap's options, so they are checked like typed ones. An option of the command line and
//! an environment variable replace them. A key that conflicts with an option of the command line, or with a key of higher
//! priority, is ignored.

use crate::args::Arguments;
use crate::{output, places};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};
use foretell::catalogue;
use foretell::error::{Error, Result};
use foretell::file;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use toml::{Table, Value};

/// The config file of a folder.
const HERE: &str = "foretell.toml";
/// The table whose keys hold for every command that has the option.
const ALL: &str = "all";
/// Commands that read no config file: shells run them at their start.
const WITHOUT: [&str; 2] = ["completions", "man"];
/// Options that a file cannot set.
const NEVER: [&str; 3] = ["no-config", "help", "version"];

/// Options that an environment variable sets as well; it has priority over a file.
const VARIABLES: [(&str, &str); 3] =
    [("cache", "FORETELL_CACHE"), ("data", "FORETELL_BENCHMARKS"), ("store", "FORETELL_STORE")];

/// The options that a config file sets.
static SET: OnceLock<BTreeSet<String>> = OnceLock::new();

/// Whether the value of an option, such as `--weights`, comes from a config file.
pub fn sets(option: &str) -> bool {
    SET.get().is_some_and(|set| set.contains(option.trim_start_matches('-')))
}

/// A config file that was looked for.
pub struct Looked {
    pub path: PathBuf,
    pub read: bool,
}

/// Why there are no arguments to work with.
pub enum Refused {
    /// The command line is wrong, or help was asked for.
    Usage(clap::Error),
    /// A config file is wrong.
    Config(Error),
}

/// The arguments with defaults from config files, and the files.
pub struct Parsed {
    pub arguments: Arguments,
    pub files: Vec<Looked>,
    /// Long names of the options that the command has.
    pub options: HashSet<String>,
}

/// Parses the command line.
pub fn parse(words: &[OsString]) -> Result<Parsed, Refused> {
    let mut command = Arguments::command();
    let mut built = command.clone();
    built.build();
    // Help ends here, whatever a config file holds. Mistakes are reported by the second pass.
    let typed = command.clone().ignore_errors(true).try_get_matches_from(words).map_err(Refused::Usage)?;
    let chosen = Chosen::of(&built, &typed);
    let mut files: Vec<Looked> =
        [Some(PathBuf::from(HERE)), places::config()].into_iter().flatten().map(Looked::at).collect();
    let skipped =
        typed.get_flag("no_config") || chosen.path.first().is_none_or(|name| WITHOUT.contains(name));
    if !skipped {
        let mut read = Vec::new();
        for looked in &mut files {
            let table = table(&looked.path, &built).map_err(Refused::Config)?;
            looked.read = table.is_some();
            read.extend(table.map(|table| (looked.path.clone(), table)));
        }
        let keys = chosen.keys(&read).map_err(Refused::Config)?;
        let _ = SET.set(keys.iter().map(|key| key.long.clone()).collect());
        for key in keys {
            command = key.apply(command);
        }
    }
    let options = chosen.options();
    let matches = command.try_get_matches_from(words).map_err(Refused::Usage)?;
    let arguments = Arguments::from_arg_matches(&matches).map_err(Refused::Usage)?;
    Ok(Parsed { arguments, files, options })
}

impl Looked {
    fn at(path: PathBuf) -> Self {
        Looked { path, read: false }
    }
}

/// The content of a config file, its names checked; none if there is no file.
fn table(path: &Path, command: &Command) -> Result<Option<Table>> {
    if !path.is_file() {
        return Ok(None);
    }
    let text = file::text(path)?;
    let table: Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Error::option(format!("{}:{line}", path.display()), e.message())
    })?;
    for (name, value) in &table {
        let Some(inner) = value.as_table() else {
            let message = format!(
                "key '{name}' is in no table: put it under [all] or under a command such as [search]"
            );
            return Err(Error::option(path.display().to_string(), message));
        };
        if name == ALL {
            let every: BTreeSet<&str> = command.get_subcommands().flat_map(all_options).collect();
            inner.keys().try_for_each(|key| known(path, "key", key, "[all]", &every))?;
            continue;
        }
        let names = command.get_subcommands().map(Command::get_name).filter(|name| *name != "help");
        let names: BTreeSet<&str> = names.chain([ALL]).collect();
        known(path, "table", name, "", &names)?;
        check(path, inner, command.find_subcommand(name).expect("the name is known"), name)?;
    }
    Ok(Some(table))
}

/// Checks the keys of a command's table.
fn check(path: &Path, table: &Table, command: &Command, name: &str) -> Result<()> {
    let names: BTreeSet<&str> = options(command).into_iter().collect();
    let inner: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    for (key, value) in table {
        match value.as_table().and_then(|value| Some((value, command.find_subcommand(key)?))) {
            Some((value, command)) => check(path, value, command, &format!("{name}.{key}"))?,
            None => {
                let known_names = names.iter().copied().chain(inner.iter().copied()).collect();
                known(path, "key", key, &format!("[{name}]"), &known_names)?;
            }
        }
    }
    Ok(())
}

fn known(path: &Path, what: &str, given: &str, place: &str, names: &BTreeSet<&str>) -> Result<()> {
    if names.contains(given) {
        return Ok(());
    }
    let nearest = catalogue::nearest(given, names.iter().copied());
    let nearest = nearest.map_or(String::new(), |name| format!(" (did you mean '{name}'?)"));
    let place = if place.is_empty() { String::new() } else { format!(" in {place}") };
    let known = names.iter().copied().collect::<Vec<_>>().join(", ");
    let message = format!("unknown {what} '{given}'{place}{nearest}; known: {known}");
    Err(Error::option(path.display().to_string(), message))
}

/// The long names of a command's options that a file may set.
fn options(command: &Command) -> Vec<&str> {
    let longs = command.get_arguments().filter_map(Arg::get_long);
    longs.filter(|long| !NEVER.contains(long)).collect()
}

/// The same with those of its sub-commands.
fn all_options(command: &Command) -> Vec<&str> {
    command.get_subcommands().flat_map(all_options).chain(options(command)).collect()
}

/// The command that was typed, level by level.
struct Chosen<'c> {
    path: Vec<&'c str>,
    /// The root and every sub-command on the path.
    levels: Vec<&'c Command>,
    /// Ids of what was typed.
    typed: HashSet<String>,
}

/// A key of a config file that is used.
struct Key {
    /// How deep the option's command is.
    level: usize,
    path: Vec<String>,
    id: String,
    long: String,
    values: Vec<String>,
}

impl<'c> Chosen<'c> {
    fn of(root: &'c Command, matches: &ArgMatches) -> Self {
        let mut chosen = Chosen { path: Vec::new(), levels: vec![root], typed: HashSet::new() };
        let mut matches = Some(matches);
        while let Some(here) = matches {
            let last = chosen.levels[chosen.levels.len() - 1];
            let ids = last.get_arguments().map(|arg| arg.get_id().as_str());
            let typed = ids.filter(|id| {
                // Ids that were not matched, such as that of a help option, are not asked for.
                here.ids().any(|found| found == id) && here.value_source(id) == Some(ValueSource::CommandLine)
            });
            chosen.typed.extend(typed.map(str::to_owned));
            let inner = here.subcommand();
            let found = inner.and_then(|(name, inner)| Some((last.find_subcommand(name)?, inner)));
            chosen.levels.extend(found.map(|(command, _)| command));
            chosen.path.extend(found.map(|(command, _)| command.get_name()));
            matches = found.map(|(_, inner)| inner);
        }
        chosen
    }

    fn options(&self) -> HashSet<String> {
        self.levels
            .iter()
            .flat_map(|level| level.get_arguments().filter_map(Arg::get_long))
            .map(str::to_owned)
            .collect()
    }

    /// The keys to use, of all files: the first file and the more specific table have priority.
    fn keys(&self, files: &[(PathBuf, Table)]) -> Result<Vec<Key>> {
        let mut keys: Vec<Key> = Vec::new();
        for (path, table) in files {
            for (name, table) in self.tables(table) {
                for (long, value) in table {
                    self.add(&mut keys, path, &name, long, value)?;
                }
            }
        }
        Ok(keys)
    }

    /// The tables for this command, the most specific first.
    fn tables<'t>(&self, file: &'t Table) -> Vec<(String, &'t Table)> {
        let mut tables = vec![(ALL.to_owned(), file.get(ALL).and_then(Value::as_table))];
        let (mut name, mut inner) = (Vec::new(), Some(file));
        for part in &self.path {
            name.push(*part);
            inner = inner.and_then(|table| table.get(*part)?.as_table());
            tables.push((name.join("."), inner));
        }
        tables.into_iter().rev().filter_map(|(name, table)| Some((name, table?))).collect()
    }

    fn add(&self, keys: &mut Vec<Key>, file: &Path, table: &str, long: &str, value: &Value) -> Result<()> {
        let place = format!("{}: {long} in [{table}]", file.display());
        // Options of the deepest command come first; a global one is the root's.
        let found = self.levels.iter().enumerate().rev().find_map(|(level, command)| {
            Some((level, command.get_arguments().find(|arg| arg.get_long() == Some(long))?))
        });
        let Some((level, arg)) = found.filter(|_| !NEVER.contains(&long)) else { return Ok(()) };
        let id = arg.get_id().as_str();
        let values = values(&place, arg, value)?;
        if self.typed.contains(id) || keys.iter().any(|key| key.id == id) {
            return Ok(());
        }
        let set = |(name, variable): &&(&str, &str)| *name == long && places::variable(variable).is_some();
        if let Some((_, variable)) = VARIABLES.iter().find(set) {
            output::detail(format!("{place} is ignored: {variable} is set"));
            return Ok(());
        }
        let taken = self.typed.iter().map(String::as_str).chain(keys.iter().map(|key| key.id.as_str()));
        if let Some(other) = taken.into_iter().find(|other| conflict(self.levels[level], id, other)) {
            output::detail(format!("{place} is ignored: it conflicts with {other}"));
            return Ok(());
        }
        output::detail(format!("{place} is used: {}", values.join(", ")));
        let global = arg.is_global_set();
        let level = if global { self.global_level(id) } else { level };
        let path = self.path[..level].iter().map(|name| (*name).to_owned()).collect();
        keys.push(Key { level, path, id: id.to_owned(), long: long.to_owned(), values });
        Ok(())
    }

    /// The level that a global option is declared at: the first one that has it.
    fn global_level(&self, id: &str) -> usize {
        let has = |command: &&Command| command.get_arguments().any(|arg| arg.get_id() == id);
        self.levels.iter().position(has).unwrap_or(0)
    }
}

/// Whether two options of a command exclude each other.
fn conflict(command: &Command, one: &str, other: &str) -> bool {
    let find = |id: &str| command.get_arguments().find(|arg| arg.get_id() == id);
    let excludes = |one: &str, other: &str| {
        find(one)
            .is_some_and(|arg| command.get_arg_conflicts_with(arg).iter().any(|arg| arg.get_id() == other))
    };
    let grouped = command.get_groups().any(|group| {
        let has = |id: &str| group.get_args().any(|member| member == id);
        !group.clone().is_multiple() && has(one) && has(other)
    });
    one != other && (excludes(one, other) || excludes(other, one) || grouped)
}

/// A value of a file as an option takes it.
fn values(place: &str, arg: &Arg, value: &Value) -> Result<Vec<String>> {
    let wrong = |message: &str| Error::option(place, message);
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(flag) => Ok(flag.to_string()),
        _ => Err(wrong("takes text, a number, true, false or a list of these")),
    };
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return match value {
            Value::Boolean(flag) => Ok(vec![flag.to_string()]),
            _ => Err(wrong("takes true or false")),
        };
    }
    let values = match value {
        Value::Array(list) if matches!(arg.get_action(), ArgAction::Append) => {
            list.iter().map(text).collect::<Result<Vec<_>>>()?
        }
        Value::Array(_) => return Err(wrong("takes one value, not a list")),
        one => vec![text(one)?],
    };
    // The same option alone, so that a mistake is reported with the file.
    let alone = Arg::new("value").long("value").action(arg.get_action().clone()).allow_hyphen_values(true);
    let alone = alone.value_parser(arg.get_value_parser().clone());
    let words = values.iter().map(|value| format!("--value={value}"));
    let parsed = Command::new("foretell").no_binary_name(true).arg(alone).try_get_matches_from(words);
    parsed.map_err(|e| {
        let said = e.render().to_string();
        let said = said.lines().next().unwrap_or_default().replace(" for '--value <value>'", "");
        wrong(said.trim_start_matches("error: "))
    })?;
    Ok(values)
}

impl Key {
    /// Makes the values the default of the option.
    fn apply(self, command: Command) -> Command {
        fn at(command: Command, path: &[String], id: String, values: Vec<String>) -> Command {
            match path {
                [] => command.mut_arg(id, |arg| arg.required(false).default_values(values)),
                [name, rest @ ..] => command.mut_subcommand(name, |inner| at(inner, rest, id, values)),
            }
        }
        debug_assert_eq!(self.level, self.path.len());
        at(command, &self.path, self.id, self.values)
    }
}
