//! Checkpoints: whatever is needed to go on as if nothing had happened.
//!
//! A folder `checkpoint-STEP` holds `weights.safetensors` (the network alone, as `foretell score --weights` reads it),
//! `training.safetensors` (moments, heads, generator) and `state.json` with the digests of all. It is written under
//! another name, brought to the disk and then renamed, so that it is there whole or not at all; only then is the one before
//! removed. One that is damaged is put aside as `damaged-checkpoint-STEP`, and the run starts again. No generator has a state: what is drawn follows from the seed and the number of the step. Beside it, where a run may stop early,
//! `best.safetensors` holds the network as it was at the best validation; a run that goes on from before that validation
//! writes the same again.

use super::Trainer;
use super::run::Progress;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::file;
use crate::network::{numbers, sealed, unsealed};
use crate::space;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The layout of checkpoints.
const VERSION: u64 = 2;

#[derive(Serialize, Deserialize)]
struct State {
    version: u64,
    /// Network, recipe, data and precision, which must be the same to go on.
    run: Value,
    step: u64,
    progress: Progress,
    /// Digests of the other files.
    files: [String; 2],
}

/// The weights that a run keeps: those of its best validation if it may stop early, else the newest.
pub fn weights(folder: &Path) -> Option<PathBuf> {
    let best = folder.join(BEST);
    if best.is_file() { Some(best) } else { Some(latest(folder)?.join(WEIGHTS)) }
}

const WEIGHTS: &str = "weights.safetensors";
const TRAINING: &str = "training.safetensors";
const STATE: &str = "state.json";
const BEST: &str = "best.safetensors";

/// The newest checkpoint of a run's folder.
fn latest(folder: &Path) -> Option<PathBuf> {
    let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix("checkpoint-")?.parse::<u64>().ok();
    let found = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    found.filter_map(|path| Some((number(&path)?, path))).max().map(|(_, path)| path)
}

/// What must be the same to go on.
fn identity<S: Scalar>(trainer: &Trainer<'_, S>, data: &str) -> Value {
    let architecture = Value::Object(space::write_architecture(&trainer.members[0].architecture));
    json!({"architecture": architecture, "recipe": trainer.recipe(), "data": data, "bits": 8 * size_of::<S>()})
}

/// Writes a checkpoint and removes older ones.
pub(super) fn save<S: Scalar>(
    trainer: &Trainer<'_, S>,
    progress: &Progress,
    data: &str,
    folder: &Path,
) -> Result<()> {
    let target = folder.join(format!("checkpoint-{:010}", trainer.step));
    if target.is_dir() {
        return Ok(());
    }
    let draft = file::draft(&target);
    fs::create_dir(&draft).map_err(failed(&draft))?;
    let (network, training): (Vec<_>, Vec<_>) = tensors(trainer).into_iter().partition(|entry| entry.own);
    let write = |name: &str, bytes: &[u8]| file::replace(&draft.join(name), bytes);
    let (network, training) = (serialised(&network)?, serialised(&training)?);
    let state = State {
        version: VERSION,
        run: identity(trainer, data),
        step: trainer.step,
        progress: progress.clone(),
        files: [&network, &training].map(|bytes| file::digest(bytes)),
    };
    let written = write(WEIGHTS, &network)
        .and_then(|()| write(TRAINING, &training))
        .and_then(|()| write(STATE, file::seal_pretty(&state).as_bytes()));
    if let Err(error) = written {
        let _ = fs::remove_dir_all(&draft);
        return Err(error);
    }
    let before = latest(folder);
    fs::rename(&draft, &target).map_err(failed(&target))?;
    file::sync_folder(folder).map_err(failed(folder))?;
    if let Some(before) = before.filter(|before| *before != target) {
        fs::remove_dir_all(&before).map_err(failed(&before))?;
    }
    Ok(())
}

/// Writes the weights of the best validation so far.
pub(super) fn save_best<S: Scalar>(trainer: &Trainer<'_, S>, folder: &Path) -> Result<()> {
    let own: Vec<Entry> = tensors(trainer).into_iter().filter(|entry| entry.own).collect();
    file::replace(&folder.join(BEST), serialised(&own)?)
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::write(path, source)
}

fn serialised(entries: &[Entry]) -> Result<Vec<u8>> {
    let views: Vec<_> = entries.iter().map(|entry| (entry.name.clone(), entry.view())).collect();
    sealed(&views, None).map_err(|e| Error::option("checkpoint", e.to_string()))
}

/// Brings a trainer to the newest checkpoint of a folder, if there is one that is not damaged.
pub(super) fn load<S: Scalar>(
    trainer: &mut Trainer<'_, S>,
    data: &str,
    folder: &Path,
) -> Result<Option<Progress>> {
    let Some(path) = latest(folder) else { return Ok(None) };
    let Some((state, files)) = intact(folder, &path)? else {
        let aside = folder.join(format!("damaged-{}", path.file_name().unwrap_or_default().display()));
        log::warn!(
            "{} is damaged: it is kept as {}, and the run starts again",
            path.display(),
            aside.display()
        );
        let _ = fs::remove_dir_all(&aside);
        fs::rename(&path, &aside).map_err(failed(&aside))?;
        return Ok(None);
    };
    let place = path.display().to_string();
    let wrong = |message: String| Error::option(place.as_str(), message);
    let run = identity(trainer, data);
    if state.version != VERSION || state.run != run {
        let differs = |key: &&str| state.run.get(*key) != run.get(*key);
        let keys: Vec<&str> =
            ["architecture", "recipe", "data", "bits"].into_iter().filter(differs).collect();
        let message = format!(
            "belongs to another run ({} differ): choose another folder, or remove it",
            if keys.is_empty() { "releases".to_owned() } else { keys.join(", ") }
        );
        return Err(wrong(message));
    }
    let [own, other] = files.each_ref().map(|bytes| SafeTensors::deserialize(bytes));
    let (own, other) = (own.map_err(|e| wrong(e.to_string()))?, other.map_err(|e| wrong(e.to_string()))?);
    let get = |entry: &Entry| -> Result<Vec<f64>> {
        let file = if entry.own { &own } else { &other };
        let view = file.tensor(&entry.name).map_err(|e| wrong(e.to_string()))?;
        let values = numbers(&view).filter(|values| values.len() == entry.len);
        values.ok_or_else(|| wrong(format!("{} has another size or type", entry.name)))
    };
    for entry in tensors(trainer) {
        let values = get(&entry)?;
        let member = &mut trainer.members[entry.member];
        let all = match entry.moment {
            None => &mut member.weights.data,
            Some(moment) => &mut member.moments[moment],
        };
        let to = &mut all[entry.start..entry.start + entry.len];
        to.iter_mut().zip(values).for_each(|(x, value)| *x = S::from_f64(value));
    }
    trainer.step = state.step;
    Ok(Some(state.progress))
}

/// The state and the files of a checkpoint; nothing if any byte of them, or of the best weights beside it, was altered.
fn intact(folder: &Path, path: &Path) -> Result<Option<(State, [Vec<u8>; 2])>> {
    let read = |path: PathBuf| match file::bytes(&path) {
        Err(Error::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        bytes => bytes,
    };
    let Some(state) = file::unseal::<State>(&read(path.join(STATE))?) else { return Ok(None) };
    let files = [read(path.join(WEIGHTS))?, read(path.join(TRAINING))?];
    let best = folder.join(BEST);
    let whole = files.iter().zip(&state.files).all(|(bytes, said)| file::digest(bytes) == *said)
        && (!best.is_file() || unsealed(&file::bytes(&best)?, &best).is_ok());
    Ok(whole.then_some((state, files)))
}

/// One tensor of a checkpoint.
struct Entry {
    name: String,
    /// Whether it belongs to the network alone.
    own: bool,
    member: usize,
    moment: Option<usize>,
    start: usize,
    len: usize,
    shape: Vec<usize>,
    bytes: Vec<u8>,
    dtype: Dtype,
}

impl Entry {
    fn view(&self) -> TensorView<'_> {
        TensorView::new(self.dtype, self.shape.clone(), &self.bytes).expect("sizes and bytes agree")
    }
}

/// Every tensor of a run, with its numbers.
fn tensors<S: Scalar>(trainer: &Trainer<'_, S>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (number, member) in trainer.members.iter().enumerate() {
        let own = member.architecture.tensors().len();
        let of = ["", "generator."][number];
        for (param, tensor) in member.weights.layout.tensors() {
            let range = member.weights.layout.range(param);
            let sources = [None, Some(0), Some(1)];
            for moment in sources {
                let data = moment.map_or(&member.weights.data, |moment: usize| &member.moments[moment]);
                let kind = moment.map_or("", |moment| ["first.", "second."][moment]);
                let (bytes, dtype) = bytes(&data[range.clone()]);
                entries.push(Entry {
                    name: format!("{kind}{of}{}", tensor.name()),
                    own: number == 0 && moment.is_none() && param.index() < own,
                    member: number,
                    moment,
                    start: range.start,
                    len: range.len(),
                    shape: tensor.shape.iter().take_while(|n| **n > 0).map(|n| *n as usize).collect(),
                    bytes,
                    dtype,
                });
            }
        }
    }
    entries
}

fn bytes<S: Scalar>(data: &[S]) -> (Vec<u8>, Dtype) {
    match size_of::<S>() {
        4 => (data.iter().flat_map(|x| (x.to_f64() as f32).to_le_bytes()).collect(), Dtype::F32),
        _ => (data.iter().flat_map(|x| x.to_f64().to_le_bytes()).collect(), Dtype::F64),
    }
}
