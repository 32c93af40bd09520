//! Runs a network once per distinct pass and keeps only what was asked for. Knows no formula.

mod pass;

pub use pass::{Feed, Loss, Pass, Signal};

use crate::architecture::Architecture;
use crate::engine::blank::Blank;
use crate::engine::buffer::Workspace;
use crate::engine::cross_entropy::cross_entropy;
use crate::engine::dual::Dual;
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{Input, Layout, Mark, Output, Tape, Value, Weights, forward};
use crate::seed::Seed;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// What was seen.
pub struct Signals<S> {
    /// The loss, if there was one.
    pub loss: Option<S>,
    /// The gradients of all weights, if they were asked for.
    pub weight_gradients: Option<Weights<S>>,
    /// Values kept, with what they are.
    pub kept: Vec<(Mark, Matrix<S>)>,
    /// Gradients kept, with the value they belong to.
    pub gradients: Vec<(Mark, Matrix<S>)>,
    /// The most bytes the workspace has handed out at once: everything but the weights.
    pub peak_bytes: usize,
}

/// A matrix of one's own.
pub struct Matrix<S> {
    data: Vec<S>,
    rows: usize,
    cols: usize,
}

impl<S: Scalar> Matrix<S> {
    fn copy(x: Mat<'_, S>) -> Self {
        Matrix {
            data: (0..x.rows()).flat_map(|i| x.row(i).to_vec()).collect(),
            rows: x.rows(),
            cols: x.cols(),
        }
    }

    /// A view of it.
    pub fn view(&self) -> Mat<'_, S> {
        Mat::new(&self.data, self.rows, self.cols)
    }
}

/// What the family of an architecture is fed when nothing is given: ones or noise as pixels, or random tokens.
pub fn input<S: Scalar>(architecture: &Architecture, pass: &Pass) -> Result<Input<S>> {
    let mut rng = Seed(pass.seed).stream("input", 0);
    let setting = |key: &str| architecture.to_json().get(key).and_then(serde_json::Value::as_u64);
    let images = setting("image_size").zip(setting("channels"));
    let wrong = |feed: &str| {
        let message = format!("{feed} cannot be fed to a {}", architecture.family().name());
        Err(Error::input("feed", message))
    };
    match (pass.feed, images, setting("vocab_size")) {
        (Feed::Ones | Feed::Noise, Some((side, channels)), _) => {
            let count = pass.batch * (channels * side * side) as usize;
            let pixel = |_| if pass.feed == Feed::Ones { 1.0 } else { StandardNormal.sample(&mut rng) };
            Ok(Input::Images { pixels: (0..count).map(pixel).map(S::from_f64).collect(), batch: pass.batch })
        }
        (Feed::RandomTokens | Feed::Ones, None, Some(vocabulary)) => {
            let count = pass.batch * architecture.tokens() as usize;
            let mut draw = || (0..count).map(|_| rng.random_range(0..vocabulary as u32)).collect();
            Ok(Input::Tokens { ids: draw(), types: Vec::new(), labels: draw(), batch: pass.batch })
        }
        (Feed::Given, ..) => wrong("an input that was not given"),
        (feed, ..) => wrong(&format!("{feed:?}")),
    }
}

/// Runs a pass on `input`, or on what the pass says if there is none.
pub fn run<S: Scalar>(
    architecture: &Architecture,
    weights: &Weights<S>,
    pass: &Pass,
    given: Option<&Input<S>>,
    space: &mut Workspace<S>,
) -> Result<Signals<S>> {
    let made;
    let fed = match given {
        Some(given) => given,
        None => {
            made = input(architecture, pass)?;
            &made
        }
    };
    let magnitudes = pass.absolute.then(|| weights.abs());
    let weights = magnitudes.as_ref().unwrap_or(weights);
    // Gradients come from the workspace too: who is done with them may give them back.
    let mut gradients = (pass.loss != Loss::None && pass.weight_gradients)
        .then(|| Weights { layout: weights.layout.clone(), data: space.take(weights.layout.len()) });
    let mut tape = Tape::new(weights, space, pass.loss != Loss::None);
    if pass.train {
        tape.train(Seed(pass.seed).stream("dropout", 0));
    }
    if pass.feed == Feed::Ones {
        tape.feed_ones();
    }
    let output = forward(architecture, fed, &mut tape);
    let wanted = |mark: &Mark| pass.keep.iter().any(|signal| keeps(*signal, *mark, false));
    let kept = tape
        .marks()
        .iter()
        .filter(|(mark, _)| wanted(mark))
        .map(|(mark, value)| (*mark, Matrix::copy(tape.get(*value))));
    let kept = kept.collect();
    let mut signals =
        Signals { loss: None, weight_gradients: None, kept, gradients: Vec::new(), peak_bytes: 0 };
    if pass.loss == Loss::None {
        tape.close();
    } else {
        let (loss, value, seed) = differentiated(architecture, pass, fed, output, &mut tape)?;
        signals.loss = Some(loss);
        let mut seen = |mark: Mark, gradient: Mat<'_, S>| {
            if pass.keep.iter().any(|signal| keeps(*signal, mark, true)) {
                signals.gradients.push((mark, Matrix::copy(gradient)));
            }
        };
        tape.backward(vec![(value, seed)], gradients.as_mut(), &mut seen);
        signals.weight_gradients = gradients;
    }
    signals.peak_bytes = space.peak_bytes();
    Ok(signals)
}

/// Whether a signal asks for a marked value, or for its gradient.
fn keeps(signal: Signal, mark: Mark, gradient: bool) -> bool {
    matches!(
        (signal, mark, gradient),
        (Signal::Inputs, Mark::Input(_), false)
            | (Signal::Outputs, Mark::Output(_), false)
            | (Signal::OutputGradients, Mark::Output(_), true)
            | (Signal::Attention, Mark::Attention(_), false)
            | (Signal::PreActivations, Mark::PreActivation(_), false)
            | (Signal::Activations, Mark::Activation(_), false)
            | (Signal::Blocks, Mark::Block(_), false)
            | (Signal::Hidden, Mark::Hidden(..), false)
            | (Signal::InputGradient, Mark::Embedded, true)
    )
}

/// The loss, the value it is taken of, and its gradient there.
fn differentiated<S: Scalar>(
    architecture: &Architecture,
    pass: &Pass,
    fed: &Input<S>,
    output: Output,
    tape: &mut Tape<'_, S>,
) -> Result<(S, Value, Vec<S>)> {
    if pass.loss == Loss::CrossEntropy {
        if let Some(loss) = output.loss {
            let mut seed = tape.space.take(1);
            seed[0] = S::ONE;
            return Ok((tape.data(loss)[0], loss, seed));
        }
        let (Some(logits), Input::Images { batch, .. }) = (output.logits, fed) else {
            let message =
                format!("cross-entropy needs labels, which a {} was not given", architecture.family().name());
            return Err(Error::input("loss", message));
        };
        let (rows, classes) = tape.shape(logits);
        let mut rng = Seed(pass.seed).stream("labels", 0);
        let labels: Vec<u32> = (0..*batch).map(|_| rng.random_range(0..classes as u32)).collect();
        let mut seed = tape.space.take(rows * classes);
        let loss = cross_entropy(tape.get(logits), &labels, 0.0, Some(MatMut::new(&mut seed, rows, classes)));
        return Ok((loss, logits, seed));
    }
    let value = output.logits.unwrap_or(output.features);
    let mut seed = tape.space.take(tape.data(value).len());
    let y = tape.data(value);
    let loss = match pass.loss {
        Loss::Sum => {
            seed.fill(S::ONE);
            S::sum(y)
        }
        Loss::HalfSquare => {
            seed.copy_from_slice(y);
            S::from_f64(0.5) * S::dot(y, y)
        }
        _ => {
            let mut rng = Seed(pass.seed).stream("projection", 0);
            seed.iter_mut().for_each(|s| *s = S::from_f64(if rng.random::<bool>() { 1.0 } else { -1.0 }));
            S::dot(&seed, y)
        }
    };
    Ok((loss, value, seed))
}

/// The most bytes a pass over `S` will hold, found without allocating them: weights and gradients, the input, what lies
/// between layers, what is kept. The products' packing buffers, a few MB at most, are not counted.
pub fn peak_bytes<S: Scalar>(architecture: &Architecture, pass: &Pass) -> Result<u64> {
    let weights: Weights<Blank> = Weights::zeros(Layout::of(architecture));
    let (mut space, copies) = (Workspace::new(), if pass.absolute { 2 } else { 1 });
    let pass = Pass { absolute: false, ..pass.clone() };
    let fed = input(architecture, &pass)?;
    let signals = run(architecture, &weights, &pass, Some(&fed), &mut space)?;
    let pixels = if let Input::Images { pixels, .. } = &fed { pixels.len() } else { 0 };
    let kept: usize = signals.kept.iter().chain(&signals.gradients).map(|(_, kept)| kept.data.len()).sum();
    let numbers = space.peak_numbers() + kept + pixels + copies * weights.layout.len();
    Ok((numbers * size_of::<S>()) as u64)
}

/// Refuses a pass whose peak exceeds `budget` bytes, before anything is allocated.
pub fn within<S: Scalar>(architecture: &Architecture, pass: &Pass, budget: u64) -> Result<()> {
    let needed = peak_bytes::<S>(architecture, pass)?;
    if needed > budget { Err(Error::Memory { needed, budget }) } else { Ok(()) }
}

/// Runs a pass on each sample apart and hands over its weight gradients, whose sum is the batch's for additive losses.
pub fn per_sample<S: Scalar>(
    architecture: &Architecture,
    weights: &Weights<S>,
    pass: &Pass,
    batch: &Input<S>,
    space: &mut Workspace<S>,
    each: &mut dyn FnMut(usize, &Weights<S>),
) -> Result<()> {
    let samples = match batch {
        Input::Images { batch, .. } | Input::Tokens { batch, .. } => *batch,
    };
    for index in 0..samples {
        let sample = batch.sample(index, architecture.family().name() == "recurrent");
        let pass = Pass { weight_gradients: true, batch: 1, ..pass.clone() };
        let signals = run(architecture, weights, &pass, Some(&sample), space)?;
        let gradients = signals.weight_gradients.expect("they were asked for");
        each(index, &gradients);
        space.give(gradients.data);
    }
    Ok(())
}

/// The product of the features' Jacobian with a direction in weights and, for images, pixels: the tangent of the features.
pub fn jacobian_vector_product(
    architecture: &Architecture,
    (weights, direction): (&Weights<f64>, &Weights<f64>),
    (input, pixels): (&Input<f64>, &[f64]),
    space: &mut Workspace<Dual<f64>>,
) -> Vec<f64> {
    let moving = Weights { layout: weights.layout.clone(), data: Dual::zip(&weights.data, &direction.data) };
    let input = match input {
        Input::Images { pixels: at, batch } => Input::Images { pixels: Dual::zip(at, pixels), batch: *batch },
        Input::Tokens { ids, types, labels, batch } => {
            Input::Tokens { ids: ids.clone(), types: types.clone(), labels: labels.clone(), batch: *batch }
        }
    };
    let mut tape = Tape::new(&moving, space, false);
    let output = forward(architecture, &input, &mut tape);
    let tangent = Dual::tangents(tape.data(output.features));
    tape.close();
    tangent
}

/// The product of the loss's Hessian in the weights with a direction: the tangent of the gradient.
pub fn hessian_vector_product(
    architecture: &Architecture,
    weights: &Weights<f64>,
    direction: &Weights<f64>,
    pass: &Pass,
    space: &mut Workspace<Dual<f64>>,
) -> Result<Weights<f64>> {
    let moving = Weights { layout: weights.layout.clone(), data: Dual::zip(&weights.data, &direction.data) };
    let signals = run(architecture, &moving, &Pass { weight_gradients: true, ..pass.clone() }, None, space)?;
    let gradients = signals.weight_gradients.expect("they were asked for");
    let product = Weights { layout: gradients.layout, data: Dual::tangents(&gradients.data) };
    space.give(gradients.data);
    Ok(product)
}

/// A batch cut from text at random places, a byte a token; each label is the byte that follows.
pub fn text<S: Scalar>(
    architecture: &Architecture,
    text: &[u8],
    batch: usize,
    seed: u64,
) -> Result<Input<S>> {
    let vocabulary =
        architecture.to_json().get("vocab_size").and_then(serde_json::Value::as_u64).unwrap_or(0);
    let tokens = architecture.tokens() as usize;
    if vocabulary < 256 || text.len() <= tokens {
        let message = format!(
            "bytes need a vocabulary of 256 and more than {tokens} of them; there are {vocabulary} words and {} bytes",
            text.len()
        );
        return Err(Error::input("text", message));
    }
    let mut rng = Seed(seed).stream("text", 0);
    let starts: Vec<usize> = (0..batch).map(|_| rng.random_range(0..text.len() - tokens)).collect();
    let steps_first = architecture.family().name() == "recurrent";
    let read = |shift: usize| -> Vec<u32> {
        let places = 0..batch * tokens;
        let place = |n: usize| if steps_first { (n % batch, n / batch) } else { (n / tokens, n % tokens) };
        places.map(place).map(|(sample, t)| u32::from(text[starts[sample] + t + shift])).collect()
    };
    Ok(Input::Tokens { ids: read(0), types: Vec::new(), labels: read(1), batch })
}
