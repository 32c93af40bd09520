//! What a proxy sees of a candidate: shape, weights, and what the passes it asked for have kept.

use super::{About, PassOverrides, Score, Term};
use crate::architecture::{Form, Init, NetworkKind, Role, Subject, Tensor};
use crate::engine::linalg::Unsolved;
use crate::error::{Error, Result};
use crate::network::{Layout, Mark, Param};
use crate::probe::{AnyWeights, Layers, Loss, Pass, PassResult, View, WeightTransform};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

/// What was input of one candidate; read-only.
#[derive(Clone, Copy)]
pub struct ProxyInput<'a> {
    /// The candidate.
    pub subject: &'a dyn Subject,
    /// Its weights in single precision, or what stands for it, and in double.
    pub weights: [Option<AnyWeights<'a>>; 2],
    /// Where tensors lie.
    pub layout: Option<&'a Arc<Layout>>,
    /// Passes run, with what each saw.
    pub passes: &'a [(Pass, Result<PassResult>)],
    /// How the proxy's passes were changed.
    pub pass_overrides: &'a PassOverrides,
    /// Whether the proxy asked which layers to look at.
    pub(crate) looked: &'a AtomicBool,
    /// Nuclear norms that candidates share.
    pub spectra: &'a Spectra,
}

/// One matrix of weights with its gradient.
#[derive(Clone, Copy)]
pub struct Layer<'a> {
    /// The tensor.
    pub tensor: &'a Tensor,
    /// Which one.
    pub param: Param,
    /// Its values, as stored, magnitudes where the pass took them.
    pub weight: View<'a>,
    /// Their gradients.
    pub gradient: View<'a>,
}

impl Layer<'_> {
    /// `Σ |g w|`
    pub fn saliency(&self) -> f64 {
        self.gradient.sum_with(&self.weight, |g, w| (g * w).abs())
    }
}

/// What one pass saw, beside the weights it ran on.
#[derive(Clone, Copy)]
pub struct PassView<'a> {
    /// What was kept.
    pub result: &'a PassResult,
    weights: AnyWeights<'a>,
    layout: &'a Arc<Layout>,
    pass: &'a Pass,
    input: ProxyInput<'a>,
}

/// Nuclear norms of weight slices, kept as long as the weights they belong to are the same for all candidates.
#[derive(Default)]
pub struct Spectra {
    norms: Mutex<FxHashMap<String, f64>>,
    shared: bool,
}

impl Spectra {
    /// Norms that are the same for all candidates: their weights are slices of one super-network.
    pub fn shared() -> Self {
        Spectra { shared: true, ..Spectra::default() }
    }

    /// The norm of a slice, computed once.
    fn get(
        &self,
        key: impl FnOnce() -> String,
        norm: impl FnOnce() -> Result<f64, Unsolved>,
    ) -> Result<f64, Unsolved> {
        if !self.shared {
            return norm();
        }
        let key = key();
        if let Some(known) = self.norms.lock().expect("no holder panics").get(&key) {
            return Ok(*known);
        }
        let found = norm()?;
        self.norms.lock().expect("no holder panics").insert(key, found);
        Ok(found)
    }
}

impl<'a> ProxyInput<'a> {
    /// The architecture alone, which is all that shape proxies look at.
    pub fn of(subject: &'a dyn Subject) -> Self {
        static PLAIN: LazyLock<(PassOverrides, AtomicBool, Spectra)> = LazyLock::new(Default::default);
        let (pass_overrides, looked, spectra) = &*PLAIN;
        ProxyInput {
            subject,
            weights: [None, None],
            layout: None,
            passes: &[],
            pass_overrides,
            looked,
            spectra,
        }
    }

    /// What a pass saw. It must be among the proxy's needs.
    pub fn pass(&self, pass: &Pass) -> Result<PassView<'a>> {
        let wanted = self.pass_overrides.apply(pass.clone(), self.subject);
        let found = self.passes.iter().find(|(run, _)| run.serves(&wanted));
        let (run, result) = found.expect("proxies look only at passes they need");
        let result = result.as_ref().map_err(Error::clone)?;
        let layout = self.layout.expect("a pass has weights");
        let weights = self.weights[usize::from(run.double)].or(self.weights[0]).expect("a pass has weights");
        Ok(PassView { result, weights, layout, pass: run, input: *self })
    }

    /// The layers looked at, where nothing else was asked for.
    pub fn layers(&self, usual: Layers) -> Vec<Param> {
        self.looked.store(true, Ordering::Relaxed);
        self.pass_overrides.layers(usual).select(self.layout.expect("weights were drawn"))
    }

    /// The error of an option that has no effect on this family.
    pub fn idle(&self, option: &str, reason: &str) -> Error {
        let family = self.subject.name();
        Error::option(option, format!("has no effect on {family}: {reason}"))
    }

    /// The weights as they were drawn or read, with their tensors.
    pub fn matrices(&self, usual: Layers) -> impl Iterator<Item = (&'a Tensor, View<'a>)> {
        let (layout, weights) =
            (self.layout.expect("weights were drawn"), self.weights[0].expect("weights were drawn"));
        self.layers(usual).into_iter().map(move |param| (layout.tensor(param), weights.stored(param)))
    }

    /// Why the gradient of a pass is rounding noise, if it is: a network that ends in a layer norm whose gain is
    /// constant passes no gradient of the sum of its outputs, and none of their square if its bias is zero.
    pub fn trap(&self, pass: &Pass) -> Option<String> {
        let loss = self.pass_overrides.apply(pass.clone(), self.subject).loss;
        if !matches!(loss, Loss::Sum | Loss::HalfSquare) || self.subject.kind() != NetworkKind::Encoder {
            return None;
        }
        let (layout, weights) = (self.layout?, self.weights[0]?);
        let gains =
            layout.tensors().filter(|(_, tensor)| tensor.role == Role::Norm && tensor.init == Init::Ones);
        let (gain, _) = gains.last()?;
        let gain = weights.stored(gain);
        let first = gain.at(0, 0).abs();
        (gain.sum(|g| (g.abs() - first).abs()) == 0.0).then(|| {
            "the network ends in a layer norm of constant gain, after which this loss has no gradient in exact \
             arithmetic: the value is rounding noise. loss=projection has one"
                .to_owned()
        })
    }

    /// Attention heads of a block.
    pub fn heads(&self, block: u32) -> usize {
        let (mut heads, mut index) = (1, 0);
        self.subject.blocks(&mut |b| {
            if index == block {
                heads = b.heads.unwrap_or(1) as usize;
            }
            index += 1;
        });
        heads
    }

    /// The error of a proxy that has no meaning here.
    pub fn undefined<T>(&self, about: &About, reason: impl Into<String>) -> Result<T> {
        Err(Error::NotDefined { proxy: about.name, reason: reason.into() })
    }
}

impl<'a> PassView<'a> {
    /// A tensor with its gradient.
    pub fn layer(&self, param: Param) -> Layer<'a> {
        let (rows, cols) = self.layout.stored(param);
        let gradients = self.result.gradients().expect("weight gradients were asked for");
        let gradient = gradients.matrix(self.layout.range(param), rows, cols);
        Layer { tensor: self.layout.tensor(param), param, weight: self.weights.stored(param), gradient }
    }

    /// The tensors looked at, where nothing else was asked for.
    pub fn layers(&self, usual: Layers) -> impl Iterator<Item = Layer<'a>> {
        let observed = *self;
        self.input.layers(usual).into_iter().map(move |param| observed.layer(param))
    }

    /// The tensor behind a handle.
    pub fn tensor(&self, param: Param) -> &'a Tensor {
        self.layout.tensor(param)
    }

    /// `Σ_layers f`, a term each; a gradient that is zero everywhere is an error.
    pub fn sum(&self, about: &About, usual: Layers, f: impl Fn(&Layer) -> Result<f64>) -> Result<Score> {
        let (mut terms, mut flat) = (Vec::new(), true);
        for layer in self.layers(usual) {
            flat = flat && layer.gradient.sum(|g| g.abs()) == 0.0;
            terms.push(Term::of(layer.tensor.name(), layer.tensor.block, f(&layer)?));
        }
        if terms.is_empty() {
            return self.input.undefined(about, "there is no layer of the kind it looks at");
        }
        if flat {
            let first = terms[0].name.clone();
            return Err(Error::Degenerate {
                proxy: about.name,
                place: format!("{first} to {}", terms[terms.len() - 1].name),
                reason: "every gradient is exactly zero".into(),
            });
        }
        Ok(Score::sum(terms).note(self.input.trap(self.pass)))
    }

    /// `‖W‖_*` as the pass saw W, or of the `part`-th of `parts` equal parts of its outputs.
    pub fn weight_nuclear(&self, about: &About, layer: &Layer, (part, parts): (usize, usize)) -> Result<f64> {
        let absolute = self.pass.weights == WeightTransform::Magnitudes;
        let tensor = layer.tensor;
        let key = || {
            format!(
                "{} {:?} {:?} {absolute} {part}/{parts} {}",
                tensor.name(),
                tensor.shape,
                tensor.init,
                self.pass.double
            )
        };
        let norm = || {
            let piece = outputs_of(tensor, layer.weight, part, parts);
            match absolute {
                false => piece.nuclear_norm(),
                true => {
                    let magnitudes: Vec<f64> = piece.to_vec().into_iter().map(f64::abs).collect();
                    crate::engine::linalg::nuclear_norm(crate::engine::matmul::Mat::new(
                        &magnitudes,
                        piece.rows(),
                        piece.cols(),
                    ))
                }
            }
        };
        self.input.spectra.get(key, norm).map_err(|e| unsolved(about, tensor, e))
    }

    /// `‖g‖_*`, or of a part of its outputs.
    pub fn gradient_nuclear(
        &self,
        about: &About,
        layer: &Layer,
        (part, parts): (usize, usize),
    ) -> Result<f64> {
        let key = (layer.param, part, parts);
        if let Some(known) = self.result.nuclear.lock().expect("no holder panics").get(&key) {
            return Ok(*known);
        }
        let piece = outputs_of(layer.tensor, layer.gradient, part, parts);
        let found = piece.nuclear_norm().map_err(|e| unsolved(about, layer.tensor, e))?;
        self.result.nuclear.lock().expect("no holder panics").insert(key, found);
        Ok(found)
    }

    /// Values kept under marks that `pick` accepts, with what it makes of the mark.
    pub fn kept<T>(&self, pick: impl Fn(Mark) -> Option<T>) -> Vec<(T, View<'a>)> {
        self.result.values.iter().filter_map(|(mark, kept)| Some((pick(*mark)?, kept.view()))).collect()
    }

    /// Gradients kept, likewise.
    pub fn kept_gradients<T>(&self, pick: impl Fn(Mark) -> Option<T>) -> Vec<(T, View<'a>)> {
        self.result
            .value_gradients
            .iter()
            .filter_map(|(mark, kept)| Some((pick(*mark)?, kept.view())))
            .collect()
    }
}

/// The error of a decomposition that failed.
pub(super) fn unsolved(about: &About, tensor: &Tensor, _: Unsolved) -> Error {
    Error::NonFinite { proxy: about.name, value: "a matrix that is not finite".into(), place: tensor.name() }
}

/// One of several equal parts of a linear map's outputs: rows of a matrix stored [out, in], columns of the other.
fn outputs_of<'a>(tensor: &Tensor, stored: View<'a>, part: usize, parts: usize) -> View<'a> {
    let oriented = if tensor.form == Form::LinearTransposed { stored.t() } else { stored };
    let rows = oriented.rows() / parts;
    oriented.part(part * rows, rows)
}

/// Whether a tensor is queries, keys and values side by side.
pub(super) fn is_fused(tensor: &Tensor) -> bool {
    tensor.role == Role::QueryKeyValue
}
