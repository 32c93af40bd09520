//! The weights of one network: the architecture's tensors, one after the other in one buffer.
//!
//! Gradients have the same layout, so the gradient of a tensor is the same range of another buffer.

use super::{Initialisation, Naming, unsealed};
use crate::architecture::{Architecture, Form, Init, Role, Tensor};
use crate::cancel::checkpoint;
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::seed::{Rng, Seed};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, RwLock};

/// Which tensor; as data, its place in the list of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Param(pub(super) usize);

impl Param {
    /// Its place in the list of tensors.
    pub fn index(self) -> usize {
        self.0
    }
}

/// Where each tensor lies; shared by weights, gradients and every precision of them.
#[derive(Debug)]
pub struct Layout {
    tensors: Vec<Tensor>,
    starts: Vec<usize>,
    places: FxHashMap<(&'static str, [u32; 2]), usize>,
}

impl Layout {
    /// The layout of an architecture's tensors, in the order it lists them.
    pub fn of(architecture: &Architecture) -> Arc<Self> {
        Self::with(architecture, &[])
    }

    /// The same followed by further tensors, such as those of a head that is trained with the network.
    pub fn with(architecture: &Architecture, further: &[Tensor]) -> Arc<Self> {
        let mut tensors = architecture.tensors();
        tensors.extend(further);
        Self::new(tensors)
    }

    /// The layout of any tensors, in this order: of a network that no family describes.
    pub fn new(tensors: Vec<Tensor>) -> Arc<Self> {
        let mut starts = vec![0];
        for tensor in &tensors {
            starts.push(starts[starts.len() - 1] + tensor.len() as usize);
        }
        let places = tensors.iter().enumerate().map(|(i, t)| ((t.pattern, t.indices), i)).collect();
        Arc::new(Layout { tensors, starts, places })
    }

    /// All tensors with their handles.
    pub fn tensors(&self) -> impl Iterator<Item = (Param, &Tensor)> {
        self.tensors.iter().enumerate().map(|(i, tensor)| (Param(i), tensor))
    }

    /// The tensor behind a handle.
    pub fn tensor(&self, param: Param) -> &Tensor {
        &self.tensors[param.0]
    }

    /// The handle of a tensor by its pattern and indices, if there is one.
    pub fn find(&self, pattern: &'static str, indices: [usize; 2]) -> Option<Param> {
        self.places.get(&(pattern, indices.map(|i| i as u32))).map(|i| Param(*i))
    }

    /// Numbers in all.
    pub fn len(&self) -> usize {
        self.starts[self.tensors.len()]
    }

    /// Whether there is no weight at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a tensor lies.
    pub fn range(&self, param: Param) -> std::ops::Range<usize> {
        self.starts[param.0]..self.starts[param.0 + 1]
    }

    /// Rows and columns of the stored matrix: the first size, and all others together.
    pub fn stored(&self, param: Param) -> (usize, usize) {
        let rows = self.tensor(param).shape[0] as usize;
        (rows, self.range(param).len() / rows)
    }
}

/// The weights of a network, or their gradients.
#[derive(Debug, Clone)]
pub struct Weights<S> {
    /// Where each tensor lies.
    pub layout: Arc<Layout>,
    /// All numbers.
    pub data: Vec<S>,
}

impl<S: Scalar> Weights<S> {
    /// Weights from their numbers, tensor after tensor in the order of the layout, each row by row.
    pub fn new(layout: Arc<Layout>, data: Vec<S>) -> Result<Self> {
        if data.len() != layout.len() {
            let message = format!("{} numbers were given, the tensors have {}", data.len(), layout.len());
            return Err(Error::data("weights", message));
        }
        Ok(Weights { layout, data })
    }

    /// All zero.
    pub fn zeros(layout: Arc<Layout>) -> Self {
        Weights { data: vec![S::ZERO; layout.len()], layout }
    }

    /// The numbers of a tensor.
    pub fn get(&self, param: Param) -> &[S] {
        &self.data[self.layout.range(param)]
    }

    /// The numbers of a tensor, to be changed.
    pub fn get_mut(&mut self, param: Param) -> &mut [S] {
        &mut self.data[self.layout.range(param)]
    }

    /// A tensor as it is stored: first size x all others.
    pub fn matrix(&self, param: Param) -> Mat<'_, S> {
        let (rows, cols) = self.layout.stored(param);
        Mat::new(self.get(param), rows, cols)
    }

    /// A tensor as it is stored, to be changed.
    pub fn matrix_mut(&mut self, param: Param) -> MatMut<'_, S> {
        let (rows, cols) = self.layout.stored(param);
        MatMut::new(self.get_mut(param), rows, cols)
    }

    /// Every number replaced by its magnitude: the linearised network of synflow and DSS.
    pub fn abs(&self) -> Self {
        Weights { layout: self.layout.clone(), data: self.data.iter().map(|x| x.abs()).collect() }
    }

    /// The same weights in another precision.
    pub fn cast<R: Scalar>(&self) -> Weights<R> {
        let data = self.data.iter().map(|x| R::from_f64(x.to_f64())).collect();
        Weights { layout: self.layout.clone(), data }
    }

    /// Weights that slice one endless super-network drawn from `seed`: a tensor of the same name in a narrower network
    /// is the leading part of the wider one's, so similar networks get similar weights.
    pub fn shared(architecture: &Architecture, seed: Seed) -> Self {
        Supernet::new(seed).weights(architecture)
    }

    /// Weights of its own for every architecture and seed.
    pub fn standalone(architecture: &Architecture, seed: Seed) -> Self {
        Supernet::new(seed).standalone(architecture)
    }

    /// Weights from a safetensors file, named in any way of [`Naming`]. Tensors it has beyond these are refused.
    pub fn read(architecture: &Architecture, path: &Path) -> Result<Self> {
        let bytes = crate::file::bytes(path)?;
        let file = unsealed(&bytes, path)?;
        let first = &architecture.tensors()[0];
        let holds = |naming: &&Naming| held(&file, &naming.parts(architecture, first)[0]).is_some();
        let naming = *Naming::ALL.iter().find(holds).unwrap_or(&Naming::Own);
        Self::take(architecture, &file, path, &|tensor| naming.parts(architecture, tensor), &|name| {
            naming.allows(name)
        })
    }

    /// [`Weights::read`] from a file with names of its own; `rename` gives the file's name for each of ours.
    pub fn read_named(
        architecture: &Architecture,
        path: &Path,
        rename: &dyn Fn(&str) -> String,
    ) -> Result<Self> {
        let bytes = crate::file::bytes(path)?;
        let names = |tensor: &Tensor| vec![rename(&tensor.name())];
        Self::take(architecture, &unsealed(&bytes, path)?, path, &names, &|_| false)
    }

    /// Every tensor from its parts in a file, which must be all there is but for what `allowed` says.
    fn take(
        architecture: &Architecture,
        file: &safetensors::SafeTensors,
        path: &Path,
        names: &dyn Fn(&Tensor) -> Vec<String>,
        allowed: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        let wrong = |message: String| Error::data(path.display().to_string(), message);
        let layout = Layout::of(architecture);
        // Before memory is asked for: a number takes two bytes at least.
        let (needed, there) =
            (architecture.params().total, file.tensors().iter().map(|(_, v)| v.data().len()).sum::<usize>());
        if needed.saturating_mul(2) > there as u64 {
            let message = format!("holds {there} bytes of numbers, too few for {needed} parameters");
            return Err(wrong(message));
        }
        let mut weights = Self::zeros(layout.clone());
        let mut known = FxHashSet::default();
        for (param, tensor) in layout.tensors() {
            let (mut values, mut shapes) = (Vec::with_capacity(tensor.len() as usize), Vec::new());
            let names = names(tensor);
            for name in &names {
                let (name, view) = held(file, name).ok_or_else(|| wrong(format!("has no tensor {name}")))?;
                let part = numbers(&view).ok_or_else(|| {
                    wrong(format!("{name} is of {:?}: f32, f64, f16 and bf16 are read", view.dtype()))
                })?;
                values.extend(part);
                shapes.push(view.shape().to_vec());
                known.insert(name);
            }
            if values.len() as u64 != tensor.len() {
                let names = names.join(", ");
                return Err(wrong(format!("{names} has shape {shapes:?}, the architecture's is {tensor}")));
            }
            weights.get_mut(param).iter_mut().zip(values).for_each(|(x, value)| *x = S::from_f64(value));
        }
        match file.names().into_iter().find(|name| !known.contains(*name) && !allowed(name)) {
            Some(name) => Err(wrong(format!("holds {name}, which the architecture has not"))),
            None => Ok(weights),
        }
    }
}

/// A tensor under its name, or under the one it had when norms had gains called gamma.
fn held<'f>(
    file: &'f safetensors::SafeTensors,
    name: &str,
) -> Option<(String, safetensors::tensor::TensorView<'f>)> {
    let former =
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
    [name.to_owned(), former].into_iter().find_map(|name| file.tensor(&name).ok().map(|view| (name, view)))
}

/// The values of a floating-point tensor file entry.
pub fn numbers(view: &safetensors::tensor::TensorView) -> Option<Vec<f64>> {
    let data = view.data();
    match view.dtype() {
        safetensors::Dtype::F32 => Some(
            data.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect(),
        ),
        safetensors::Dtype::F64 => Some(
            data.chunks_exact(8)
                .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
                .collect(),
        ),
        safetensors::Dtype::BF16 => Some(
            data.chunks_exact(2)
                .map(|b| f64::from(f32::from_bits(u32::from(u16::from_le_bytes([b[0], b[1]])) << 16)))
                .collect(),
        ),
        safetensors::Dtype::F16 => {
            Some(data.chunks_exact(2).map(|b| half(u16::from_le_bytes([b[0], b[1]]))).collect())
        }
        _ => None,
    }
}

/// A number of sixteen bits: sign, five bits of exponent, ten of mantissa.
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// A super-network without end: what was drawn once is kept, and candidates are slices of it.
#[derive(Debug)]
pub struct Supernet<S> {
    seed: Seed,
    initialisation: Option<Initialisation>,
    slabs: RwLock<FxHashMap<SlabKey, Arc<Slab<S>>>>,
}

/// Which tensor, and the bits of its variance: some depend on depth.
type SlabKey = (&'static str, [u32; 2], u64);

/// The rows drawn so far of one tensor, each from a stream of its own, so that narrower rows are prefixes of wider ones.
#[derive(Debug)]
struct Slab<S> {
    cols: usize,
    data: Vec<S>,
}

/// Tensors above this many entries, the largest word tables, are redrawn each time.
const KEPT: u64 = 1 << 26;

impl<S: Scalar> Supernet<S> {
    /// Nothing is drawn yet.
    pub fn new(seed: Seed) -> Self {
        Supernet { seed, initialisation: None, slabs: RwLock::default() }
    }

    /// The same with maps filled in another way than their family says, if in any.
    pub fn initialised(self, initialisation: Option<Initialisation>) -> Self {
        Supernet { initialisation, slabs: RwLock::default(), ..self }
    }

    /// Weights that no other architecture shares.
    pub fn standalone(&self, architecture: &Architecture) -> Weights<S> {
        let own = self.seed.stream(&architecture.id(), 0).random();
        Supernet::new(Seed(own)).initialised(self.initialisation).weights(architecture)
    }

    /// The slice that belongs to an architecture.
    pub fn weights(&self, architecture: &Architecture) -> Weights<S> {
        self.laid_out(Layout::of(architecture))
    }

    /// The slice that fills a layout.
    pub fn laid_out(&self, layout: Arc<Layout>) -> Weights<S> {
        let mut weights = Weights::zeros(layout.clone());
        for (param, tensor) in layout.tensors() {
            self.slice(tensor, weights.get_mut(param));
        }
        weights
    }

    /// Joint projections of queries, keys and values are interleaved in the super-network, as AutoFormer stores them: the
    /// first queries, keys and values of a narrower network are the first of the wider one's.
    fn slice(&self, tensor: &Tensor, data: &mut [S]) {
        match tensor.init {
            Init::Zeros => return data.fill(S::ZERO),
            Init::Ones => return data.fill(S::ONE),
            _ => {}
        }
        let vector = tensor.form == Form::Vector && tensor.shape[1] == 0;
        let rows = if vector { 1 } else { tensor.shape[0] as usize };
        let cols = data.len() / rows;
        let joint = tensor.role == Role::QueryKeyValue && !vector;
        let spread = |i: usize, n: usize| 3 * (i % (n / 3)) + i / (n / 3);
        let initialisation = self.initialisation.filter(|initialisation| initialisation.fills(tensor));
        let slab = self.slab(tensor, initialisation, rows, cols);
        for (i, row) in data.chunks_exact_mut(cols).enumerate() {
            let from = if joint && tensor.form == Form::Linear { spread(i, rows) } else { i };
            let line = &slab.data[from * slab.cols..][..cols];
            match joint && tensor.form == Form::LinearTransposed {
                true => row.iter_mut().enumerate().for_each(|(j, x)| *x = line[spread(j, cols)]),
                false => row.copy_from_slice(line),
            }
        }
        if let Some(initialisation) = initialisation {
            initialisation.finish(data, rows);
        }
    }

    /// At least so many rows and columns of a tensor.
    fn slab(
        &self,
        tensor: &Tensor,
        initialisation: Option<Initialisation>,
        rows: usize,
        cols: usize,
    ) -> Arc<Slab<S>> {
        let init = initialisation.map_or(tensor.init, |initialisation| initialisation.distribution(tensor));
        let key = (tensor.pattern, tensor.indices, init.variance().to_bits());
        let known = self.slabs.read().expect("no holder panics").get(&key).cloned();
        let size = |slab: &Slab<S>| (slab.data.len() / slab.cols, slab.cols);
        let (high, wide) = known.as_deref().map_or((0, 0), size);
        if let Some(slab) = known.filter(|_| high >= rows && wide >= cols) {
            return slab;
        }
        let (rows, cols) = (rows.max(high), cols.max(wide));
        let mut rng = self.seed.stream(&tensor.name(), 0);
        let mut data = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            checkpoint();
            rng.set_stream(i as u64);
            rng.set_word_pos(0);
            let entry = |_| match initialisation {
                None => one(init, &mut rng),
                Some(initialisation) => initialisation.one(init, &mut rng, one),
            };
            data.extend((0..cols).map(entry).map(S::from_f64));
        }
        let slab = Arc::new(Slab { cols, data });
        if (rows * cols) as u64 <= KEPT {
            self.slabs.write().expect("no holder panics").insert(key, slab.clone());
        }
        slab
    }
}

/// One draw of an initial distribution.
fn one(init: Init, rng: &mut Rng) -> f64 {
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    match init {
        Init::Zeros => 0.0,
        Init::Ones => 1.0,
        Init::Normal(std) => std * normal(),
        // Cut at ±2 absolute: a hundred standard deviations at 0.02, so this hardly ever redraws.
        Init::TruncatedNormal(std) => loop {
            let x = std * normal();
            if x.abs() <= 2.0 {
                break x;
            }
        },
        Init::Uniform(bound) => bound * (2.0 * rng.random::<f64>() - 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn vit(width: u32, heads: u32) -> Architecture {
        let value = json!({"space": "autoformer-tiny", "embed_dim": width, "depth": 12, "num_heads": heads, "mlp_ratio": 4});
        crate::space::read_architecture(&value).unwrap()
    }

    /// Feed-forward rows and columns are leading slices; queries, keys and values each keep their first rows.
    #[test]
    fn narrower_networks_slice_wider_ones() {
        let (small, large) = (vit(192, 3), vit(240, 4));
        let (a, b): (Weights<f64>, Weights<f64>) =
            (Weights::shared(&small, Seed(5)), Weights::shared(&large, Seed(5)));
        let matrix = |weights: &'static str| {
            let find = |w: &Weights<f64>| w.layout.find(weights, [3, 0]).unwrap();
            (find(&a), find(&b))
        };
        let (x, y) = matrix("blocks.{}.fc1.weight");
        let (x, y) = (a.matrix(x), b.matrix(y));
        assert!((0..x.rows()).all(|i| x.row(i) == &y.row(i)[..x.cols()]));
        let (x, y) = matrix("blocks.{}.attn.qkv.weight");
        let (x, y) = (a.matrix(x), b.matrix(y));
        for part in 0..3 {
            assert!((0..192).all(|i| x.row(part * 192 + i) == &y.row(part * 256 + i)[..192]));
        }
        assert_ne!(Weights::<f64>::standalone(&small, Seed(5)).data, a.data);
        assert_eq!(Weights::<f64>::shared(&small, Seed(5)).data, a.data);
    }

    /// Mean and deviation of 147,456 entries: 0.02 within one per cent.
    #[test]
    fn draws_have_the_stated_spread() {
        let weights: Weights<f64> = Weights::shared(&vit(192, 3), Seed(0));
        let fc1 = weights.get(weights.layout.find("blocks.{}.fc1.weight", [0, 0]).unwrap());
        let variance = fc1.iter().map(|w| w * w).sum::<f64>() / fc1.len() as f64;
        assert!((variance.sqrt() / 0.02 - 1.0).abs() < 0.01, "{variance}");
    }
}
