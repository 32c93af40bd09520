//! What formulas look at, probed once per network and kept in a file.
//!
//! The file begins with a line that names its version and its settings. Each network follows as a sealed line of JSON (id,
//! the shape of every tensor, a digest of the numbers) and its numbers in single precision, so that a file cut short by a kill goes on where
//! its last whole network ends. It is read from beginning to end: a memory map would need `unsafe` and save nothing.

use crate::architecture::{Architecture, Subject};
use crate::error::{Error, Result};
use crate::file;
use crate::proxy::{About, Cost, Proxy, ProxyInput, Request, Score, Sheet, Statistic};
use crate::score::{Options, Scorer};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

const MAGIC: &str = "foretell-statistics 2 ";
/// Networks probed between two writes.
const CHUNK: usize = 8;

/// How statistics are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Entries kept of each tensor, whole columns, evenly spread.
    pub entries: usize,
    /// Seed of weights and inputs.
    pub seed: u64,
    /// Options common to all proxies: `batch=4,tokens=64`.
    pub options: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { entries: 4096, seed: 0, options: String::new() }
    }
}

/// One tensor of a list, as kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    lead: usize,
    data: Vec<f32>,
}

impl Kept {
    /// The entries in double precision.
    pub fn sheet(&self) -> Sheet {
        Sheet { data: self.data.iter().map(|x| f64::from(*x)).collect(), lead: self.lead }
    }
}

/// The statistics of one network, in the order of [`Statistic::ALL`]; a list is empty where it is not defined.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Network {
    /// The id of its architecture.
    pub id: String,
    /// The lists.
    pub lists: Vec<Vec<Kept>>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    id: String,
    shapes: Vec<Vec<(usize, usize)>>,
    numbers: String,
}

/// Statistics of many networks.
#[derive(Debug, Default)]
pub struct Statistics {
    /// One entry per architecture asked for, in that order.
    pub networks: Vec<Network>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Networks that were probed now, as opposed to known from before.
    pub probed: usize,
}

impl Statistics {
    /// The statistics of some architectures: read where the file has them, else probed and added to it. `done` is told
    /// after each network.
    pub fn of(
        architectures: &[Architecture],
        settings: &Settings,
        options: Options,
        kept: Option<&Path>,
        done: &(dyn Fn() + Sync),
    ) -> Result<Self> {
        let mut known = FxHashMap::default();
        let mut end = 0;
        if let Some(path) = kept.filter(|path| path.exists()) {
            (known, end) = read(path, settings)?;
        }
        let ids: Vec<String> = architectures.iter().map(Architecture::id).collect();
        let (mut due, mut seen): (Vec<Architecture>, FxHashSet<&String>) = Default::default();
        for (architecture, id) in architectures.iter().zip(&ids) {
            if known.contains_key(id) || !seen.insert(id) {
                done();
            } else {
                due.push(architecture.clone());
            }
        }
        let mut writer = match kept {
            Some(path) if !due.is_empty() || end == 0 => Some((open(path, end, settings)?, path)),
            _ => None,
        };
        let sink = Arc::new(Mutex::new(FxHashMap::default()));
        let recorder = Recorder { entries: settings.entries, sink: sink.clone() };
        let request = Request::own(ABOUT, Box::new(recorder), &settings.options)?;
        let scorer = Scorer::new(vec![request], options);
        for chunk in due.chunks(CHUNK) {
            let rows = scorer.table(chunk, &[settings.seed], done)?;
            for (architecture, row) in chunk.iter().zip(rows) {
                row.cells.into_iter().flat_map(|cell| cell.scores).collect::<Result<Vec<_>>>()?;
                let id = architecture.id();
                let lists = sink.lock().expect("no holder panics").remove(&id);
                let network =
                    Network { lists: lists.expect("every network scored was seen"), id: id.clone() };
                if let Some((writer, path)) = &mut writer {
                    let bytes = encoded(&network);
                    writer.write_all(&bytes).map_err(|source| Error::write(path.to_path_buf(), source))?;
                }
                known.insert(id, network);
            }
        }
        drop(writer);
        let bytes = kept.and_then(|path| path.metadata().ok()).map_or(0, |meta| meta.len());
        let networks = ids.iter().map(|id| known[id].clone()).collect();
        Ok(Statistics { networks, bytes, probed: due.len() })
    }
}

fn first_line(settings: &Settings) -> String {
    format!("{MAGIC}{}\n", serde_json::to_string(settings).expect("settings are plain data"))
}

/// The file, cut behind its last whole network, or a new one.
fn open(path: &Path, end: u64, settings: &Settings) -> Result<File> {
    let wrong = |source| Error::write(path.to_path_buf(), source);
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(wrong)?;
    // Until it is closed; two processes would cut off what the other adds.
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(Error::Locked { path: path.into(), pid: None });
    }
    file.set_len(end).map_err(wrong)?;
    if end == 0 {
        file.write_all(first_line(settings).as_bytes()).map_err(wrong)?;
    }
    Ok(file)
}

fn encoded(network: &Network) -> Vec<u8> {
    let numbers: Vec<u8> =
        network.lists.iter().flatten().flat_map(|kept| &kept.data).flat_map(|x| x.to_le_bytes()).collect();
    let shapes = |list: &Vec<Kept>| list.iter().map(|kept| (kept.lead, kept.data.len())).collect();
    let head = Head {
        id: network.id.clone(),
        shapes: network.lists.iter().map(shapes).collect(),
        numbers: file::digest(&numbers),
    };
    let mut bytes = (file::seal(&head) + "\n").into_bytes();
    bytes.extend(numbers);
    bytes
}

/// Every whole network of a file, and where the last one ends.
fn read(path: &Path, settings: &Settings) -> Result<(FxHashMap<String, Network>, u64)> {
    let failed = |source| Error::read(path.to_path_buf(), source);
    file::regular(path)?;
    let whole = path.metadata().map_err(failed)?.len();
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let mut line = Vec::new();
    let first = first_line(settings);
    reader.by_ref().take(first.len() as u64).read_until(b'\n', &mut line).map_err(failed)?;
    if line.is_empty() {
        return Ok((FxHashMap::default(), 0));
    }
    if line != first.as_bytes() {
        let message =
            "was written with other settings or by another version: name another file, or remove it";
        return Err(Error::option(path.display().to_string(), message));
    }
    let (mut known, mut end) = (FxHashMap::default(), line.len() as u64);
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).map_err(failed)?;
        let Some(head) = file::unseal::<Head>(&line) else { break };
        let lengths = head.shapes.iter().flatten().map(|(_, length)| *length as u64);
        let length = lengths.fold(0, u64::saturating_add);
        let mut numbers = Vec::new();
        reader.by_ref().take(length.saturating_mul(4)).read_to_end(&mut numbers).map_err(failed)?;
        let sound = head.shapes.len() == Statistic::ALL.len()
            && head.shapes.iter().flatten().all(|(lead, length)| *lead > 0 && length % lead == 0)
            && file::digest(&numbers) == head.numbers;
        if !sound {
            break;
        }
        end += (line.len() + numbers.len()) as u64;
        let mut entries = numbers.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]));
        let mut kept = |(lead, length): &(usize, usize)| Kept {
            lead: *lead,
            data: entries.by_ref().take(*length).collect(),
        };
        let lists = head.shapes.iter().map(|list| list.iter().map(&mut kept).collect()).collect();
        known.insert(head.id.clone(), Network { id: head.id, lists });
    }
    if end < whole {
        log::warn!(
            "{}: {} bytes behind network {} are cut off or damaged; their networks are probed again",
            path.display(),
            whole - end,
            known.len()
        );
    }
    Ok((known, end))
}

const ABOUT: &About = &About {
    name: "statistics",
    sentence: "Keeps what formulas look at.",
    cost: Cost::Backward,
    ..About::SHAPE
};

/// A proxy that scores nothing and keeps what it sees.
struct Recorder {
    entries: usize,
    sink: Arc<Mutex<FxHashMap<String, Vec<Vec<Kept>>>>>,
}

impl Proxy for Recorder {
    fn needs(&self, _: &dyn Subject) -> Vec<crate::probe::Pass> {
        Statistic::ALL.iter().filter_map(|statistic| statistic.pass()).collect()
    }
    fn score(&self, seen: &ProxyInput) -> Result<Score> {
        let list = |statistic: &Statistic| match statistic.elements(seen) {
            Ok(elements) => {
                let kept = elements.iter().map(|element| {
                    let sheet = element.sample(self.entries);
                    Kept { lead: sheet.lead, data: sheet.data.iter().map(|x| *x as f32).collect() }
                });
                Ok(kept.collect())
            }
            Err(Error::NotDefined { .. } | Error::Degenerate { .. }) => Ok(Vec::new()),
            Err(other) => Err(other),
        };
        let lists = Statistic::ALL.iter().map(list).collect::<Result<Vec<_>>>()?;
        self.sink.lock().expect("no holder panics").insert(seen.subject.id(), lists);
        Ok(Score::default())
    }
}
