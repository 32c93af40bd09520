//! Architecture → a folder that trains today: Hugging Face, plain PyTorch, timm, JSON. One file per format.
//!
//! The layers of each family are one Python file under `python/`, the same in every format. It is never filled in: sizes
//! come from `config.json` or from one table of numbers, so no name that a user gave can reach code.

mod card;
mod family;
mod folder;
mod huggingface;
mod json;
mod python;
mod pytorch;
mod sizes;
mod stock;
mod timm;

pub use family::{ExportedFamily, register};
pub use python::Source;
pub use sizes::Sizes;
pub use stock::Stock;

use crate::architecture::Architecture;
use crate::catalogue;
use crate::error::{Error, Result};
use crate::network::{Naming, Weights};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::Value;
use std::path::Path;

/// What becomes of a network, and where it comes from.
pub struct Export<'a> {
    /// The network.
    pub architecture: &'a Architecture,
    /// Its weights; none: they are left out.
    pub weights: Option<&'a Weights<f32>>,
    /// Where it comes from, line by line: what, and which.
    pub origin: &'a [(&'static str, String)],
}

/// A file of a folder: its name, and what it holds.
pub type File = (String, Vec<u8>);

/// A kind of folder.
pub trait Format: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;
    /// One sentence for people.
    fn about(&self) -> &'static str;
    /// Its files, but for the architecture's.
    fn files(&self, export: &Export) -> Result<Vec<File>>;
}

/// Every format, in the order they are listed.
pub const FORMATS: &[&dyn Format] = &[&huggingface::HuggingFace, &pytorch::PyTorch, &timm::Timm, &json::Json];

/// The format of this name.
pub fn format(name: &str) -> Result<&'static dyn Format> {
    catalogue::find("format", name, FORMATS, |format| format.name())
}

/// Files that an export may have, beside those of Python.
const NAMES: [&str; 7] =
    [ARCHITECTURE, WEIGHTS, "config.json", "README.md", "model.py", "train.py", "generation_config.json"];
const ARCHITECTURE: &str = "architecture.json";
const WEIGHTS: &str = "model.safetensors";

/// Writes a network as a folder, whole or not at all. What is there already is replaced only if `force` says so, and only
/// if it is an export and nothing else.
pub fn write(export: &Export, format: &dyn Format, to: &Path, force: bool) -> Result<Vec<(String, u64)>> {
    // Refused before any weight is drawn into a file.
    folder::check(to, force)?;
    let mut files = format.files(export)?;
    let object = Value::Object(export.architecture.to_json());
    files.push((ARCHITECTURE.to_owned(), pretty(&object)));
    files.sort();
    folder::write(to, &files, force)?;
    Ok(files.into_iter().map(|(name, content)| (name, content.len() as u64)).collect())
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(value).expect("plain values serialise");
    text.push('\n');
    text.into_bytes()
}

/// The weights as a safetensors file.
fn tensors(export: &Export, naming: Naming) -> Result<Option<File>> {
    let Some(weights) = export.weights else { return Ok(None) };
    let mut entries: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for (param, tensor) in weights.layout.tensors() {
        let names = naming.parts(export.architecture, tensor);
        let numbers = weights.get(param);
        let mut shape: Vec<usize> =
            tensor.shape.iter().take_while(|size| **size > 0).map(|size| *size as usize).collect();
        shape[0] /= names.len();
        for (name, part) in names.iter().zip(numbers.chunks_exact(numbers.len() / names.len())) {
            let bytes = part.iter().flat_map(|x| x.to_le_bytes()).collect();
            entries.push((name.clone(), Dtype::F32, shape.clone(), bytes));
        }
        // Norms over the batch have statistics, which are no weights of ours: those of a network that saw nothing.
        if let Some(stem) = names[0].strip_suffix(".bias").filter(|name| name.contains(".stem.")) {
            let width = numbers.len();
            let filled = |x: f32| (0..width).flat_map(|_| x.to_le_bytes()).collect();
            entries.push((format!("{stem}.running_mean"), Dtype::F32, vec![width], filled(0.0)));
            entries.push((format!("{stem}.running_var"), Dtype::F32, vec![width], filled(1.0)));
            entries.push((format!("{stem}.num_batches_tracked"), Dtype::I64, vec![], vec![0; 8]));
        }
    }
    let wrong = |e: safetensors::SafeTensorError| Error::option(WEIGHTS, e.to_string());
    let views = entries.iter().map(|(name, dtype, shape, bytes)| {
        Ok((name.clone(), TensorView::new(*dtype, shape.clone(), bytes).map_err(wrong)?))
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    let bytes = crate::network::sealed(&views, Some("pt")).map_err(wrong)?;
    Ok(Some((WEIGHTS.to_owned(), bytes)))
}
