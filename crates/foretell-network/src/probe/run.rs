//! One run through a network in one precision.

use super::inputs::input;
use super::{Derivative, Feed, Loss, Pass, Setting, Signal, WeightTransform};
use crate::architecture::{Form, NetworkKind, Role, Subject};
use crate::engine::buffer::Workspace;
use crate::engine::cross_entropy::cross_entropy;
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{
    DROPOUT, Input, Mark, Output, Tape, Value, Weights, forward, outputs, outputs_need_scores, steps_first,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// What was seen in one precision.
pub struct TypedResult<S> {
    /// The loss, if there was one.
    pub loss: Option<S>,
    /// The gradients of all weights, if they were asked for.
    pub weight_gradients: Option<Weights<S>>,
    /// Values kept, with what they are.
    pub kept: Vec<(Mark, Matrix<S>)>,
    /// Gradients kept, with the value they belong to.
    pub gradients: Vec<(Mark, Matrix<S>)>,
    /// Samples that were fed.
    pub batch: usize,
}

/// A matrix of one's own.
#[derive(Debug, Clone)]
pub struct Matrix<S> {
    pub(super) data: Vec<S>,
    pub(super) rows: usize,
    pub(super) cols: usize,
}

impl<S: Scalar> Matrix<S> {
    fn copy(x: Mat<'_, S>, mut data: Vec<S>) -> Self {
        data.clear();
        (0..x.rows()).for_each(|i| data.extend_from_slice(x.row(i)));
        Matrix { data, rows: x.rows(), cols: x.cols() }
    }

    /// A view of it.
    pub fn view(&self) -> Mat<'_, S> {
        Mat::new(&self.data, self.rows, self.cols)
    }
}

/// What [`Loss::Natural`] means for a network.
pub fn natural(loss: Loss, subject: &dyn Subject) -> Loss {
    match (loss, subject.kind()) {
        (Loss::Natural, NetworkKind::Encoder) => Loss::Projection,
        (Loss::Natural, NetworkKind::Recurrent) => Loss::HalfSquare,
        (Loss::Natural, NetworkKind::Vision | NetworkKind::Decoder) => Loss::CrossEntropy,
        (loss, _) => loss,
    }
}

/// Weights with others in place of those that a pass wants replaced; none where it wants them as they are.
pub(super) fn replaced<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    transform: WeightTransform,
) -> Option<Weights<S>> {
    if transform == WeightTransform::Keep {
        return None;
    }
    let mut copy = weights.clone();
    for (param, tensor) in weights.layout.tensors() {
        let data = copy.get_mut(param);
        match transform {
            WeightTransform::PositionMagnitudes
                if !matches!(tensor.role, Role::Position | Role::ClassToken) => {}
            WeightTransform::Redrawn if tensor.form == Form::Vector => {}
            WeightTransform::Redrawn => {
                let mut rng = setting.weights_seed.stream(&tensor.name(), 1);
                data.iter_mut().for_each(|x| *x = S::from_f64(StandardNormal.sample(&mut rng)));
            }
            _ => data.iter_mut().for_each(|x| *x = x.abs()),
        }
    }
    Some(copy)
}

/// A tape with everything switched as the pass says.
pub(super) fn prepared<'t, S: Scalar>(
    setting: &Setting,
    pass: &Pass,
    weights: &'t Weights<S>,
    space: &'t mut Workspace<S>,
    record: bool,
) -> Tape<'t, S> {
    let mut tape = Tape::new(weights, space, record);
    if pass.train {
        tape.train(setting.seed.stream("dropout", 0), DROPOUT);
    }
    if pass.feed == Feed::Ones {
        tape.feed_ones();
    }
    if pass.unnormed {
        tape.without_norms();
    }
    if pass.leaking {
        tape.leak();
    }
    if pass.keep.contains(&Signal::Attention) {
        tape.keep_softmax();
    }
    if pass.keep.contains(&Signal::BlockGradients) {
        tape.blocks_apart();
    }
    if pass.noise > 0 {
        tape.embed_with(noised(setting, pass));
    }
    let logits =
        matches!(natural(pass.loss, setting.architecture), Loss::Sum | Loss::HalfSquare | Loss::Projection)
            && outputs_need_scores(setting.architecture)
            || matches!(pass.derivative, Derivative::Trace(trace) if trace.logits);
    if !logits {
        tape.without_head();
    }
    tape
}

/// `x + a v ε`: v the variance of each entry over the batch, ε standard normal.
fn noised<S: Scalar>(setting: &Setting, pass: &Pass) -> crate::network::Embedding<S> {
    let amplitude = f64::from(pass.noise) / 10.0;
    let given = setting.inputs.filter(|inputs| !inputs.noise.is_empty()).map(|inputs| inputs.noise.clone());
    let (mut rng, steps_first) = (setting.seed.stream("noise", 0), steps_first(setting.architecture));
    let batch = setting.inputs.map(|inputs| inputs.batch).filter(|_| pass.batch == 0);
    let batch = batch.unwrap_or(0).max(pass.batch);
    let usual = if batch == 0 {
        super::inputs::input::<S>(setting, pass).map(|i| i.batch()).unwrap_or(1)
    } else {
        batch
    };
    Box::new(move |x: Mat<'_, S>| {
        let (rows, cols) = (x.rows(), x.cols());
        let noise =
            given.unwrap_or_else(|| (0..rows * cols).map(|_| StandardNormal.sample(&mut rng)).collect());
        let tokens = rows / usual;
        let mut y = vec![S::ZERO; rows * cols];
        for t in 0..tokens {
            let row = |b: usize| if steps_first { t * usual + b } else { b * tokens + t };
            for j in 0..cols {
                let values: Vec<f64> = (0..usual).map(|b| x.at(row(b), j).to_f64()).collect();
                let mean = values.iter().sum::<f64>() / usual as f64;
                let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / usual as f64;
                for b in 0..usual {
                    let place = row(b) * cols + j;
                    y[place] = x.at(row(b), j) + S::from_f64(amplitude * variance * noise[place]);
                }
            }
        }
        y
    })
}

/// Runs a pass that differentiates by values or weights.
pub fn run<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    pass: &Pass,
    space: &mut Workspace<S>,
) -> Result<TypedResult<S>> {
    run_on(setting, weights, pass, &input(setting, pass)?, space)
}

/// [`run`] on an input of the caller's.
pub fn run_on<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    pass: &Pass,
    fed: &Input<S>,
    space: &mut Workspace<S>,
) -> Result<TypedResult<S>> {
    let replaced = replaced(setting, weights, pass.weights);
    let weights = replaced.as_ref().unwrap_or(weights);
    let apart = pass.keep.contains(&Signal::BlockGradients);
    let record = pass.loss != Loss::None || apart;
    // Gradients come from the workspace too: who is done with them may give them back.
    let mut gradients = (record && pass.derivative != Derivative::Values)
        .then(|| Weights { layout: weights.layout.clone(), data: space.take(weights.layout.len()) });
    let mut tape = prepared(setting, pass, weights, space, record);
    let output = forward(setting.architecture, fed, &mut tape);
    // Copies are buffers of the workspace as well: who is done with them may give them back.
    let wanted = |mark: &Mark| pass.keep.iter().any(|signal| keeps(*signal, *mark, false));
    let chosen: Vec<(Mark, Value)> = tape.marks().iter().filter(|(mark, _)| wanted(mark)).copied().collect();
    let mut kept = Vec::with_capacity(chosen.len());
    for (mark, value) in chosen {
        let buffer = tape.space.take(tape.data(value).len());
        kept.push((mark, Matrix::copy(tape.get(value), buffer)));
    }
    let mut seen =
        TypedResult { loss: None, weight_gradients: None, kept, gradients: Vec::new(), batch: fed.batch() };
    if !record {
        tape.close();
        return Ok(seen);
    }
    let seeds = if apart {
        signs_at_blocks(setting, &mut tape)
    } else {
        let (loss, value, seed) = differentiated(setting, pass, fed, output, &mut tape)?;
        seen.loss = Some(loss);
        vec![(value, seed)]
    };
    let mut tell = |mark: Mark, gradient: Mat<'_, S>| {
        if pass.keep.iter().any(|signal| keeps(*signal, mark, true)) {
            seen.gradients.push((mark, Matrix::copy(gradient, Vec::new())));
        }
    };
    tape.backward(seeds, gradients.as_mut(), &mut tell);
    seen.weight_gradients = gradients;
    Ok(seen)
}

/// Whether a signal asks for a marked value, or for its gradient.
fn keeps(signal: Signal, mark: Mark, gradient: bool) -> bool {
    matches!(
        (signal, mark, gradient),
        (Signal::Inputs, Mark::Input(_), false)
            | (Signal::InputGradients, Mark::Input(_), true)
            | (Signal::Outputs, Mark::Output(_), false)
            | (Signal::OutputGradients, Mark::Output(_), true)
            | (Signal::Normed, Mark::Normed(_), false)
            | (Signal::Attention, Mark::Attention(_) | Mark::Spectrum(_), false)
            | (Signal::PreActivations, Mark::PreActivation(_), false)
            | (Signal::Activations, Mark::Activation(_), false)
            | (Signal::Blocks, Mark::Block(_), false)
            | (Signal::BlockGradients, Mark::Block(_) | Mark::BlockInput(_), true)
            | (Signal::Hidden, Mark::Hidden(..), false)
            | (Signal::HiddenGradients, Mark::Hidden(..), true)
            | (Signal::InputGradient, Mark::Embedded, true)
    )
}

fn signs<S: Scalar>(rng: &mut crate::seed::Rng, into: &mut [S]) {
    into.iter_mut().for_each(|s| *s = S::from_f64(if rng.random::<bool>() { 1.0 } else { -1.0 }));
}

fn signs_at_blocks<S: Scalar>(setting: &Setting, tape: &mut Tape<'_, S>) -> Vec<(Value, Vec<S>)> {
    let blocks: Vec<Value> = tape
        .marks()
        .iter()
        .filter(|(mark, _)| matches!(mark, Mark::Block(_)))
        .map(|(_, value)| *value)
        .collect();
    let mut rng = setting.seed.stream("blocks", 0);
    let mut seed = |value| {
        let mut seed = tape.space.take(tape.data(value).len());
        signs(&mut rng, &mut seed);
        (value, seed)
    };
    blocks.into_iter().map(&mut seed).collect()
}

/// The loss, the value it is taken of, and its gradient there.
fn differentiated<S: Scalar>(
    setting: &Setting,
    pass: &Pass,
    fed: &Input<S>,
    output: Output,
    tape: &mut Tape<'_, S>,
) -> Result<(S, Value, Vec<S>)> {
    let (architecture, loss) = (setting.architecture, natural(pass.loss, setting.architecture));
    let without = |what: &str| {
        let message = format!("{what}; a {} network has none", architecture.family());
        Err(Error::option("loss", message))
    };
    if loss == Loss::CrossEntropy {
        if let Some(loss) = output.loss {
            let mut seed = tape.space.take(1);
            seed[0] = S::ONE;
            return Ok((tape.data(loss)[0], loss, seed));
        }
        let (Some(logits), Input::Images { labels, .. }) = (output.logits, fed) else {
            return without("cross-entropy needs a head and labels");
        };
        let (rows, classes) = tape.shape(logits);
        let mut seed = tape.space.take(rows * classes);
        let loss = cross_entropy(tape.get(logits), labels, 0.0, Some(MatMut::new(&mut seed, rows, classes)));
        return Ok((loss, logits, seed));
    }
    let value = outputs(architecture, output, tape);
    let (rows, cols) = tape.shape(value);
    let mut seed = tape.space.take(rows * cols);
    let y = tape.data(value);
    let loss = match loss {
        Loss::Sum => {
            seed.fill(S::ONE);
            S::sum(y)
        }
        Loss::HalfSquare => {
            seed.copy_from_slice(y);
            S::from_f64(0.5) * S::dot(y, y)
        }
        Loss::Target => {
            let Input::Images { labels, .. } = fed else {
                return without("a target logit needs a class per sample");
            };
            seed.fill(S::ZERO);
            labels.iter().enumerate().for_each(|(i, label)| seed[i * cols + *label as usize] = S::ONE);
            S::dot(&seed, y)
        }
        _ => {
            match setting.inputs.map(|inputs| &inputs.cotangent).filter(|c| c.len() == seed.len()) {
                Some(given) => seed.iter_mut().zip(given).for_each(|(s, c)| *s = S::from_f64(*c)),
                None => signs(&mut setting.seed.stream("projection", 0), &mut seed),
            }
            S::dot(&seed, y)
        }
    };
    Ok((loss, value, seed))
}
