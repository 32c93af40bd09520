//! Derivatives that take several runs: per-sample gradients, Hessian products, kernel traces, curves.

use super::inputs::input;
use super::run::{prepared, run, run_on};
use super::{Derivative, Fold, Layers, Pass, Setting, Trace};
use crate::architecture::{Part, Role, Tensor};
use crate::engine::buffer::Workspace;
use crate::engine::dual::Dual;
use crate::engine::linalg;
use crate::engine::matmul::Mat;
use crate::engine::scalar::Scalar;
use crate::error::Result;
use crate::network::{Input, Layout, Mark, Param, Weights, forward, outputs, steps_first};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Runs a pass on each sample apart and hands over its weight gradients, whose sum is the batch's for additive losses.
pub fn per_sample<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    pass: &Pass,
    space: &mut Workspace<S>,
    each: &mut dyn FnMut(usize, &Weights<S>),
) -> Result<()> {
    let batch = input::<S>(setting, pass)?;
    let pass = Pass { derivative: Derivative::Weights, ..pass.clone() };
    for index in 0..batch.batch() {
        let sample = batch.part(index, batch.batch(), steps_first(setting.architecture));
        let gradients = run_on(setting, weights, &pass, &sample, space)?.weight_gradients;
        let gradients = gradients.expect("they were asked for");
        each(index, &gradients);
        space.give(gradients.data);
    }
    Ok(())
}

/// Folded per-sample gradients: inner products row by row, one number of each sample, or the agreement of signs.
pub(super) fn folded<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    pass: &Pass,
    (fold, layers): (Fold, Layers),
    space: &mut Workspace<S>,
) -> Result<Vec<f64>> {
    let chosen = layers.select(&weights.layout);
    let pick = |gradients: &Weights<S>| -> Vec<S> {
        chosen.iter().flat_map(|param| gradients.get(*param)).copied().collect()
    };
    let mut kept: Vec<Vec<S>> = Vec::new();
    let mut signs: Vec<i32> = Vec::new();
    let mut numbers = Vec::new();
    let leading = leading(&weights.layout);
    per_sample(setting, weights, pass, space, &mut |_, gradients| match fold {
        Fold::Gram => kept.push(pick(gradients)),
        Fold::Norms => {
            numbers.push(chosen.iter().map(|p| S::sum_of_squares(gradients.get(*p)).to_f64()).sum());
        }
        Fold::Halves => {
            let products = leading.iter().map(|param| halves(gradients.get(*param)));
            numbers.push(products.sum::<f64>() / leading.len() as f64);
        }
        Fold::Signs => {
            let gradient = pick(gradients);
            signs.resize(gradient.len(), 0);
            let sign = |g: &S| i32::from(*g > S::ZERO) - i32::from(*g < S::ZERO);
            signs.iter_mut().zip(&gradient).for_each(|(sum, g)| *sum += sign(g));
        }
    })?;
    Ok(match fold {
        Fold::Gram => {
            kept.iter().flat_map(|a| kept.iter().map(|b| inner(a, b)).collect::<Vec<_>>()).collect()
        }
        Fold::Norms | Fold::Halves => numbers,
        Fold::Signs => vec![signs.iter().map(|s| f64::from(s.abs())).sum()],
    })
}

/// Entries of a tensor that [`Fold::Halves`] looks at.
const LEADING: usize = 50;

/// The first eleven tensors with so many entries, in the order that the modules of AutoFormer have them: tokens and positions,
/// embeddings, blocks (attention, norms, feed-forward), heads.
fn leading(layout: &Layout) -> Vec<Param> {
    let large = layout.tensors().filter(|(param, _)| layout.range(*param).len() >= LEADING);
    let mut found: Vec<(Param, &Tensor)> = large.collect();
    let within = |tensor: &Tensor| match tensor.role.part() {
        Part::Attention => 0,
        Part::Norm => 1,
        _ => 2,
    };
    found.sort_by_key(|(_, tensor)| match (tensor.role, tensor.block) {
        (Role::ClassToken | Role::Position, _) => (0, 0),
        (Role::Embedding | Role::EmbeddingProjection | Role::PatchEmbedding, _) => (1, 0),
        (_, Some(block)) => (2 + block, within(tensor)),
        (_, None) => (u32::MAX, 0),
    });
    found.into_iter().take(11).map(|(param, _)| param).collect()
}

/// The inner product of both halves of the leading entries, each centred.
fn halves<S: Scalar>(gradient: &[S]) -> f64 {
    let centred = |half: &[S]| {
        let mean = half.iter().map(|x| x.to_f64()).sum::<f64>() / half.len() as f64;
        half.iter().map(|x| x.to_f64() - mean).collect::<Vec<_>>()
    };
    let [a, b] = [&gradient[..LEADING / 2], &gradient[LEADING / 2..LEADING]].map(centred);
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `a · b`, blocks added in double precision.
fn inner<S: Scalar>(a: &[S], b: &[S]) -> f64 {
    a.chunks(4096).zip(b.chunks(4096)).map(|(a, b)| S::dot(a, b).to_f64()).sum()
}

/// The product of the loss's Hessian in the weights with a direction: the tangent of the gradient.
pub fn hessian_vector_product<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    direction: &Weights<S>,
    pass: &Pass,
    space: &mut Workspace<Dual<S>>,
) -> Result<Weights<S>> {
    let moving = Weights { layout: weights.layout.clone(), data: Dual::zip(&weights.data, &direction.data) };
    let pass = Pass { derivative: Derivative::Weights, ..pass.clone() };
    let gradients = run(setting, &moving, &pass, space)?.weight_gradients.expect("they were asked for");
    let product = Weights { layout: gradients.layout, data: Dual::tangents(&gradients.data) };
    space.give(gradients.data);
    Ok(product)
}

/// The Hessian times the gradient, the latter restricted to some layers.
pub(super) fn hessian_gradient<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    pass: &Pass,
    layers: Layers,
    spaces: (&mut Workspace<S>, &mut Workspace<Dual<S>>),
) -> Result<Weights<S>> {
    let plain = Pass { derivative: Derivative::Weights, keep: Vec::new(), ..pass.clone() };
    let gradient = run(setting, weights, &plain, spaces.0)?.weight_gradients.expect("they were asked for");
    let mut direction = Weights::zeros(weights.layout.clone());
    for param in layers.select(&weights.layout) {
        direction.get_mut(param).copy_from_slice(gradient.get(param));
    }
    spaces.0.give(gradient.data);
    hessian_vector_product(setting, weights, &direction, &plain, spaces.1)
}

/// The trace of the tangent kernel, a row per probe (one row in all if exact) and a column per tensor.
pub(super) fn trace<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    pass: &Pass,
    trace: Trace,
    space: &mut Workspace<S>,
) -> Result<Vec<Vec<f64>>> {
    let fed = input::<S>(setting, pass)?;
    let mut rng = setting.seed.stream("trace", 0);
    // The gradient at the outputs, given their rows and columns; none when there is no further one.
    let mut next = |probe: usize, rows: usize, cols: usize| -> Option<Vec<f64>> {
        let (tokens, batch) = (rows / fed.batch(), fed.batch());
        let steps_first = steps_first(setting.architecture);
        let spread = |small: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            let sample = |row: usize| if steps_first { row % batch } else { row / tokens };
            (0..rows)
                .flat_map(|row| (0..cols).map(move |j| (row, j)))
                .map(|(row, j)| small(sample(row), j) / tokens as f64)
                .collect()
        };
        match trace.probes {
            Some(count) if probe >= count as usize => None,
            Some(_) if trace.mean => {
                let signs: Vec<f64> =
                    (0..batch * cols).map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 }).collect();
                Some(spread(&|a, j| signs[a * cols + j]))
            }
            Some(_) => Some(
                (0..rows * cols)
                    .map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 } / tokens as f64)
                    .collect(),
            ),
            None if trace.mean && probe >= batch * cols || probe >= rows * cols => None,
            None if trace.mean => Some(spread(&|a, j| f64::from(a * cols + j == probe))),
            None => Some((0..rows * cols).map(|place| f64::from(place == probe) / tokens as f64).collect()),
        }
    };
    let mut found: Vec<Vec<f64>> = Vec::new();
    let mut gradients = Weights { layout: weights.layout.clone(), data: space.take(weights.layout.len()) };
    let mut tape = prepared(setting, pass, weights, space, true);
    let output = forward(setting.architecture, &fed, &mut tape);
    let value = if trace.logits { outputs(setting.architecture, output, &mut tape) } else { output.features };
    let (rows, cols) = tape.shape(value);
    for probe in 0.. {
        let Some(seed) = next(probe, rows, cols) else { break };
        let mut buffer = tape.space.take(seed.len());
        buffer.iter_mut().zip(&seed).for_each(|(b, s)| *b = S::from_f64(*s));
        tape.backward_again(vec![(value, buffer)], &mut gradients);
        let squares =
            weights.layout.tensors().map(|(param, _)| S::sum_of_squares(gradients.get(param)).to_f64());
        match found.last_mut() {
            Some(total) if trace.probes.is_none() => total.iter_mut().zip(squares).for_each(|(t, s)| *t += s),
            _ => found.push(squares.collect()),
        }
    }
    tape.close();
    space.give(gradients.data);
    Ok(found)
}

/// The product of the features' Jacobian with a direction in weights and, for images, pixels: the tangent of the features.
pub fn jacobian_vector_product(
    setting: &Setting,
    (weights, direction): (&Weights<f64>, &Weights<f64>),
    (fed, pixels): (&Input<f64>, &[f64]),
    space: &mut Workspace<Dual<f64>>,
) -> Vec<f64> {
    let moving = Weights { layout: weights.layout.clone(), data: Dual::zip(&weights.data, &direction.data) };
    let fed = match fed {
        Input::Images { pixels: at, labels, batch } => {
            Input::Images { pixels: Dual::zip(at, pixels), labels: labels.clone(), batch: *batch }
        }
        Input::Tokens { ids, types, labels, batch } => {
            Input::Tokens { ids: ids.clone(), types: types.clone(), labels: labels.clone(), batch: *batch }
        }
    };
    let mut tape = crate::network::Tape::new(&moving, space, false);
    let output = forward(setting.architecture, &fed, &mut tape);
    let tangent = Dual::tangents(tape.data(output.features));
    tape.close();
    tangent
}

/// ‖dφ/dθ‖ at points of a circle in the embedded input, one sample: φ are the features, pooled where images are.
///
/// The angles are those of numpy's linspace(0, 2π, points): the first and the last coincide.
pub(super) fn curve<S: Scalar>(
    setting: &Setting,
    weights: &Weights<S>,
    pass: &Pass,
    (points, circles): (u32, u32),
    space: &mut Workspace<Dual<S>>,
) -> Result<Vec<f64>> {
    let still = Weights { layout: weights.layout.clone(), data: Dual::constants(&weights.data) };
    let pass = Pass { batch: 1, ..pass.clone() };
    let fed = input::<Dual<S>>(setting, &pass)?;
    let mut speeds = Vec::new();
    for (circle, point) in (0..circles).flat_map(|circle| (0..points).map(move |point| (circle, point))) {
        let angle = std::f64::consts::TAU * f64::from(point) / f64::from(points.max(2) - 1);
        let given = setting.inputs.map(|inputs| inputs.basis.clone()).filter(|basis| !basis.is_empty());
        let mut rng = setting.seed.stream("curve", circle.into());
        let mut tape = prepared(setting, &pass, &still, space, false);
        tape.embed_with(Box::new(move |x: Mat<'_, Dual<S>>| {
            let n = x.rows() * x.cols();
            let basis = given.unwrap_or_else(|| orthonormal(n, &mut rng));
            let at = |i: usize| {
                let (u, v) = (basis[2 * i], basis[2 * i + 1]);
                let (value, tangent) = (u * angle.cos() + v * angle.sin(), v * angle.cos() - u * angle.sin());
                Dual::new(S::from_f64(value), S::from_f64(tangent))
            };
            (0..n).map(at).collect()
        }));
        let output = forward(setting.architecture, &fed, &mut tape);
        let pooled = tape.marks().iter().find(|(mark, _)| *mark == Mark::Pooled).map(|(_, value)| *value);
        let tangents = Dual::tangents(tape.data(pooled.unwrap_or(output.features)));
        tape.close();
        speeds.push(S::sum_of_squares(&tangents).to_f64().sqrt());
    }
    Ok(speeds)
}

/// Two orthonormal columns of n entries, interleaved.
fn orthonormal(n: usize, rng: &mut crate::seed::Rng) -> Vec<f64> {
    let draws: Vec<f64> = (0..2 * n).map(|_| StandardNormal.sample(rng)).collect();
    linalg::qr(Mat::new(&draws, n, 2)).expect("normal draws are finite").0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 56 wide, norms and biases have more than 50 entries: the attention comes before them, as AutoFormer's modules do.
    #[test]
    fn leading_tensors_are_those_of_the_original() {
        let value = serde_json::json!({"family": "vit", "embed_dim": 56, "depth": 2, "num_heads": 1, "mlp_ratio": 2,
            "head_dim": 64, "relative_position": true, "max_relative_position": 2, "image_size": 32, "patch_size": 8});
        let layout = Layout::of(&crate::space::read_architecture(&value).unwrap());
        let names: Vec<String> =
            leading(&layout).into_iter().map(|param| layout.tensor(param).name()).collect();
        assert_eq!(names[..2], ["cls_token", "pos_embed"], "{names:?}");
        let block =
            ["qkv.weight", "qkv.bias", "proj.weight", "proj.bias"].map(|end| format!("blocks.0.attn.{end}"));
        assert_eq!(names[4..8], block, "{names:?}");
        assert!(names[8..].iter().all(|name| name.contains("rel_pos_embed")), "{names:?}");
    }
}
