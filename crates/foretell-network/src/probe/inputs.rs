//! What a network is fed: tensors from a file, text, or draws of a seed.

use super::{Feed, Loss, Pass, Setting};
use crate::architecture::Architecture;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{Input, steps_first};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Given inputs, in no precision yet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inputs {
    /// Pixels of images, channels x height x width each.
    pub pixels: Vec<f64>,
    /// Token ids, sample after sample.
    pub ids: Vec<u32>,
    /// Segment types of encoders; empty: all zero.
    pub types: Vec<u32>,
    /// Class of each image, or the id to predict at each position; empty: drawn.
    pub labels: Vec<u32>,
    /// How many samples.
    pub batch: usize,
    /// What [`Loss::Projection`] projects onto; empty: random signs.
    pub cotangent: Vec<f64>,
    /// Standard normal noise for the embedded input; empty: drawn.
    pub noise: Vec<f64>,
    /// Two orthonormal directions of the input, side by side; empty: drawn.
    pub basis: Vec<f64>,
}

impl Inputs {
    /// Reads a safetensors file: `images` of N x C x H x W with `targets`, or `input_ids` of N x T (`tokens` of T x N,
    /// steps first) with `labels` and `token_type_ids`; and, if wanted, `cotangent`, `noise` and `curve_basis`.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = crate::file::bytes(path)?;
        let wrong = |message: String| Error::data(path.display().to_string(), message);
        let file = crate::network::unsealed(&bytes, path)?;
        let floats = |name: &str| match file.tensor(name) {
            Err(_) => Ok(Vec::new()),
            Ok(view) => crate::network::numbers(&view)
                .ok_or_else(|| wrong(format!("{name} holds {:?}, not floating-point numbers", view.dtype()))),
        };
        let ids = |name: &str| match file.tensor(name) {
            Err(_) => Ok(Vec::new()),
            Ok(view) => integers(&view).ok_or_else(|| {
                wrong(format!("{name} holds {:?}, not ids from 0 to 4294967295", view.dtype()))
            }),
        };
        let shape = |name: &str| file.tensor(name).map(|view| view.shape().to_vec()).unwrap_or_default();
        let mut inputs = Inputs {
            pixels: floats("images")?,
            ids: ids("input_ids")?,
            types: ids("token_type_ids")?,
            labels: ids("labels")?,
            batch: shape("images").first().or(shape("input_ids").first()).copied().unwrap_or(0),
            cotangent: floats("cotangent")?,
            noise: floats("noise")?,
            basis: floats("curve_basis")?,
        };
        if inputs.labels.is_empty() {
            inputs.labels = ids("targets")?;
        }
        if let [steps, batch] = shape("tokens")[..] {
            let tokens = ids("tokens")?;
            inputs.ids = (0..batch)
                .flat_map(|b| (0..steps).map(move |t| (t, b)))
                .map(|(t, b)| tokens[t * batch + b])
                .collect();
            inputs.batch = batch;
        }
        if inputs.batch == 0 {
            return Err(wrong("holds neither images nor input_ids nor tokens".into()));
        }
        if inputs.batch > inputs.ids.len().max(inputs.pixels.len()) {
            return Err(wrong(format!("holds {} samples of no size", inputs.batch)));
        }
        Ok(inputs)
    }

    /// A batch cut from text at random places, a byte a token; each label is the byte that follows.
    pub fn text(setting: &Setting, text: &[u8], batch: usize) -> Result<Self> {
        let (tokens, words) =
            (setting.architecture.tokens() as usize, field(setting.architecture, "vocab_size").unwrap_or(0));
        if words < 256 || text.len() <= tokens {
            let message = format!(
                "bytes need a vocabulary of 256 and more than {tokens} of them; there are {words} words and {} bytes",
                text.len()
            );
            return Err(Error::data("text", message));
        }
        let mut rng = setting.seed.stream("text", 0);
        let starts: Vec<usize> = (0..batch).map(|_| rng.random_range(0..text.len() - tokens)).collect();
        let read = |shift: usize| -> Vec<u32> {
            starts.iter().flat_map(|start| &text[start + shift..][..tokens]).map(|b| u32::from(*b)).collect()
        };
        Ok(Inputs { ids: read(0), labels: read(1), batch, ..Inputs::default() })
    }
}

fn integers(view: &safetensors::tensor::TensorView) -> Option<Vec<u32>> {
    let data = view.data();
    match view.dtype() {
        safetensors::Dtype::I64 => {
            let wide = data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes")));
            wide.map(|id| u32::try_from(id).ok()).collect()
        }
        safetensors::Dtype::I32 => {
            let wide = data.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().expect("four bytes")));
            wide.map(|id| u32::try_from(id).ok()).collect()
        }
        _ => None,
    }
}

/// A field of an architecture, if its family has it.
pub(super) fn field(architecture: &Architecture, key: &str) -> Option<u64> {
    architecture.to_json().get(key).and_then(serde_json::Value::as_u64)
}

/// The input of a pass, labels only where the loss reads them.
pub fn input<S: Scalar>(setting: &Setting, pass: &Pass) -> Result<Input<S>> {
    let most = setting.architecture.tokens() as usize;
    if pass.tokens > most && field(setting.architecture, "vocab_size").is_some() {
        return Err(Error::option(
            "tokens",
            format!("{} are more than the network reads: {most}", pass.tokens),
        ));
    }
    let whole = match setting.inputs {
        Some(given) if pass.feed == Feed::Data => self::given(setting.architecture, given, pass)?,
        _ => drawn(setting, pass),
    };
    let mut input = match pass.part {
        (_, 1) => whole,
        (_, parts) if parts > whole.batch() => {
            let message = format!("{} samples cannot be cut into {parts} parts", whole.batch());
            return Err(Error::option("batch", message));
        }
        (part, parts) => whole.part(part, parts, steps_first(setting.architecture)),
    };
    let (Input::Images { labels, .. } | Input::Tokens { labels, .. }) = &mut input;
    if !matches!(super::natural(pass.loss, setting.architecture), Loss::CrossEntropy | Loss::Target) {
        labels.clear();
    }
    Ok(input)
}

fn drawn<S: Scalar>(setting: &Setting, pass: &Pass) -> Input<S> {
    let architecture = setting.architecture;
    let given = setting.inputs.map_or(0, |inputs| inputs.batch);
    let batch =
        [pass.batch, given, architecture.family().usual_batch()].into_iter().find(|n| *n > 0).unwrap_or(1);
    let mut rng = setting.seed.stream("input", 0);
    let get = |key| field(architecture, key);
    if let (Some(side), Some(channels), Some(classes)) =
        (get("image_size"), get("channels"), get("num_classes"))
    {
        let count = batch * (channels * side * side) as usize;
        let pixel = |_| match pass.feed {
            Feed::Ones => 1.0,
            Feed::Uniform => rng.random(),
            Feed::Data => StandardNormal.sample(&mut rng),
        };
        let pixels = (0..count).map(pixel).map(S::from_f64).collect();
        let labels = (0..batch).map(|_| rng.random_range(0..classes as u32)).collect();
        return Input::Images { pixels, labels, batch };
    }
    let words = get("vocab_size").expect("every family reads images or words") as u32;
    let tokens = match (setting.inputs, pass.feed, pass.tokens) {
        (Some(inputs), Feed::Ones, _) if inputs.batch > 0 => inputs.ids.len() / inputs.batch,
        (_, _, 0) => architecture.family().usual_tokens().min(architecture.tokens()) as usize,
        (_, _, tokens) => tokens,
    };
    let mut draw = || (0..batch * tokens).map(|_| rng.random_range(0..words)).collect();
    Input::Tokens { ids: draw(), types: Vec::new(), labels: draw(), batch }
}

fn given<S: Scalar>(architecture: &Architecture, given: &Inputs, pass: &Pass) -> Result<Input<S>> {
    let wrong = |message: String| Err(Error::data("inputs", message));
    if pass.batch > given.batch {
        let message = format!("{} samples were requested; the given inputs hold {}", pass.batch, given.batch);
        return Err(Error::option("batch", message));
    }
    if pass.tokens > 0 {
        return Err(Error::option("tokens", "has no effect: the given inputs have a length of their own"));
    }
    let batch = if pass.batch == 0 { given.batch } else { pass.batch };
    let get = |key| field(architecture, key);
    if let (Some(side), Some(channels), Some(classes)) =
        (get("image_size"), get("channels"), get("num_classes"))
    {
        let size = (channels * side * side) as usize;
        if given.pixels.len() != given.batch * size {
            return wrong(format!(
                "a {} of {channels} x {side} x {side} pixels reads {} numbers for {} images; there are {}",
                architecture.family(),
                given.batch * size,
                given.batch,
                given.pixels.len()
            ));
        }
        if let Some(label) = given.labels.iter().find(|label| u64::from(**label) >= classes) {
            return wrong(format!("class {label} is beyond the network's {classes}"));
        }
        let labels = given.labels.iter().take(batch).copied().collect();
        return Ok(Input::Images {
            pixels: given.pixels[..batch * size].iter().map(|x| S::from_f64(*x)).collect(),
            labels,
            batch,
        });
    }
    let (words, tokens) = (get("vocab_size").unwrap_or(0), given.ids.len() / given.batch);
    if tokens == 0 || tokens as u64 > architecture.tokens() {
        return wrong(format!("{tokens} tokens a sample; the network reads 1 to {}", architecture.tokens()));
    }
    if let Some(id) = given.ids.iter().chain(&given.labels).find(|id| u64::from(**id) >= words) {
        return wrong(format!("id {id} is beyond the vocabulary of {words}"));
    }
    let order = |all: &[u32]| -> Vec<u32> {
        let all = &all[..all.len() / given.batch * batch];
        if !steps_first(architecture) || all.is_empty() {
            return all.to_vec();
        }
        (0..tokens).flat_map(|t| (0..batch).map(move |b| b * tokens + t)).map(|place| all[place]).collect()
    };
    Ok(Input::Tokens {
        ids: order(&given.ids),
        types: order(&given.types),
        labels: order(&given.labels),
        batch,
    })
}
