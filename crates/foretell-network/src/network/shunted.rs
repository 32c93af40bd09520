//! The forward pass of a shunted vision transformer; see [`crate::architecture::Shunted`].

use super::{Input, Mark, Model, Output, Tape, Value};
use crate::architecture::names::shunted::*;
use crate::architecture::{Architecture, Family, Names, Shunted, families};
use crate::engine::activation::Activation;
use crate::engine::attention::{Attention, Mask};
use crate::engine::conv2d::Conv2d;
use crate::engine::scalar::Scalar;

const EPS: f64 = 1e-6;
const BATCH_NORM_EPS: f64 = 1e-5;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::shunted::Family
    }
    /// Features are the normalised tokens of the last stage; their mean enters the head.
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = Shunted(architecture);
        let Input::Images { pixels, batch, .. } = input else { panic!("a vision transformer reads images") };
        let image = tape.input(pixels, *batch, pixels.len() / batch);
        let image = tape.embedded(image);
        let mut x = stem(v, image, *batch, tape);
        let blocks = (0..NORMS.len()).map(|s| v.depth(s) as usize).sum();
        let mut block = 0;
        for (s, norm) in NORMS.into_iter().enumerate() {
            let (width, side) = (v.width(s) as usize, v.side(s) as usize);
            if s > 0 {
                let [merge, norm] = MERGES[s - 1];
                let halve = Conv2d { outputs: width, stride: 2, ..window(width / 2, 2 * side, 3) };
                let map = tape.channels_first(x, *batch, 0);
                let tokens = tape.convolution(map, halve, merge, [0, 0]);
                x = tape.layer_norm(tokens, norm, [0, 0], EPS);
            }
            let stage = Stage {
                width,
                side,
                heads: v.num_heads(s) as usize,
                reduction: v.sr_ratio(s) as usize,
                batch: *batch,
            };
            for i in 0..v.depth(s) as usize {
                let at = [s + 1, i];
                let h = tape.layer_norm(x, NORM_1, at, EPS);
                let h = stage.attention(h, at, block, tape);
                let h = tape.drop_path(h, *batch, (block, blocks));
                x = tape.add(x, h);
                let h = tape.layer_norm(x, NORM_2, at, EPS);
                let h = stage.feed_forward(h, at, block, tape);
                let h = tape.drop_path(h, *batch, (block, blocks));
                x = tape.add(x, h);
                x = tape.block(block, x);
                block += 1;
            }
            x = tape.layer_norm(x, norm, [0, 0], EPS);
        }
        let tokens = tape.shape(x).0 / batch;
        let pooled = tape.mean_rows(x, *batch, (0, tokens));
        tape.mark(Mark::Pooled, pooled);
        let logits = tape.linear(pooled, HEAD, [0, 0]);
        Output { features: x, logits: Some(logits), loss: None }
    }
}

/// From the image to the tokens of the first stage: a quarter of its side.
fn stem<S: Scalar>(v: Shunted, image: Value, batch: usize, tape: &mut Tape<'_, S>) -> Value {
    let (width, side) = (v.base_dim() as usize, v.image_size() as usize);
    let wide = Conv2d { outputs: width, stride: 2, ..window(v.channels() as usize, side, 7) };
    let mut x = tape.convolution(image, wide, STEM, [0, 0]);
    x = tape.batch_norm(x, STEM_NORM, [0, 0], BATCH_NORM_EPS);
    x = tape.activate(x, Activation::Relu);
    // Convolution, norm and ReLU are numbered in one sequence, and the first three are already done.
    for i in (3..).step_by(3).take(v.stem_convs() as usize) {
        let map = tape.channels_first(x, batch, 0);
        x = tape.convolution(map, window(width, side / 2, 3), STEM_CONVS, [i, 0]);
        x = tape.batch_norm(x, STEM_CONVS_NORM, [i + 1, 0], BATCH_NORM_EPS);
        x = tape.activate(x, Activation::Relu);
    }
    let map = tape.channels_first(x, batch, 0);
    x = tape.convolution(map, patches(width, side / 2, 2), PATCHES, [0, 0]);
    tape.layer_norm(x, PATCHES_NORM, [0, 0], EPS)
}

/// A convolution that keeps map and channels, its window centred.
fn window(channels: usize, side: usize, kernel: usize) -> Conv2d {
    Conv2d {
        inputs: channels,
        outputs: channels,
        size: (side, side),
        kernel: (kernel, kernel),
        stride: 1,
        padding: kernel / 2,
        groups: 1,
    }
}

/// A convolution of windows that do not overlap.
fn patches(channels: usize, side: usize, kernel: usize) -> Conv2d {
    Conv2d { stride: kernel, padding: 0, ..window(channels, side, kernel) }
}

/// What the blocks of a stage share.
struct Stage {
    width: usize,
    side: usize,
    heads: usize,
    reduction: usize,
    batch: usize,
}

impl Stage {
    fn attention<S: Scalar>(&self, x: Value, at: [usize; 2], block: usize, tape: &mut Tape<'_, S>) -> Value {
        let q = tape.linear(x, QUERY, at);
        let context = if self.reduction > 1 {
            let map = tape.channels_first(x, self.batch, 0);
            let [coarse, fine] = [0, 1].map(|rate| self.half_of_the_heads(rate, map, q, at, block, tape));
            tape.beside(coarse, fine)
        } else {
            let kv = tape.linear(x, KEY_VALUE, at);
            let [k, v] = halves(kv, tape);
            let attention = Attention::new(self.heads, self.width / self.heads, Mask::None);
            let context = tape.attention([q, k, v], attention, self.batch, block);
            let local = self.depthwise(v, self.side, LOCAL, at, tape);
            tape.add(context, local)
        };
        tape.linear(context, PROJ, at)
    }

    /// The first half of the heads sees keys and values pooled by the reduction, the second by half of it.
    fn half_of_the_heads<S: Scalar>(
        &self,
        rate: usize,
        map: Value,
        q: Value,
        at: [usize; 2],
        block: usize,
        tape: &mut Tape<'_, S>,
    ) -> Value {
        let ([pool, norm, key_value, local], kernel) = (RATES[rate], self.reduction >> rate);
        let h = tape.convolution(map, patches(self.width, self.side, kernel), pool, at);
        let h = tape.layer_norm(h, norm, at, EPS);
        let h = tape.activate(h, Activation::Gelu);
        let kv = tape.linear(h, key_value, at);
        let [k, v] = halves(kv, tape);
        let near = self.depthwise(v, self.side / kernel, local, at, tape);
        let v = tape.add(v, near);
        let q = tape.columns(q, rate * self.width / 2, self.width / 2);
        let attention = Attention::new(self.heads / 2, self.width / self.heads, Mask::None);
        tape.attention([q, k, v], attention, self.batch, block)
    }

    fn feed_forward<S: Scalar>(
        &self,
        x: Value,
        at: [usize; 2],
        block: usize,
        tape: &mut Tape<'_, S>,
    ) -> Value {
        let h = tape.linear(x, FC1, at);
        let near = self.depthwise(h, self.side, FFN_LOCAL, at, tape);
        let h = tape.add(h, near);
        let h = tape.activation(h, Activation::Gelu, block);
        tape.linear(h, FC2, at)
    }

    /// A 3x3 convolution of tokens, each channel by itself.
    fn depthwise<S: Scalar>(
        &self,
        x: Value,
        side: usize,
        names: Names,
        at: [usize; 2],
        tape: &mut Tape<'_, S>,
    ) -> Value {
        let channels = tape.shape(x).1;
        let conv = Conv2d { groups: channels, ..window(channels, side, 3) };
        let map = tape.channels_first(x, self.batch, 0);
        tape.convolution(map, conv, names, at)
    }
}

/// Keys and values, which one linear map gives side by side.
fn halves<S: Scalar>(kv: Value, tape: &mut Tape<'_, S>) -> [Value; 2] {
    let half = tape.shape(kv).1 / 2;
    [0, half].map(|first| tape.columns(kv, first, half))
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn gradients_agree_with_differences() {
        for (reductions, stem_convs) in [([8, 4, 2, 1], 0), ([1, 2, 1, 1], 2)] {
            let architecture =
                crate::space::read_architecture(&json!({"family": "shunted", "image_size": 32,
                "num_classes": 3, "base_dim": 4, "stem_convs": stem_convs, "sr_ratio": reductions,
                "depth": [1, 2, 1, 1], "num_heads": [2, 2, 4, 2], "mlp_ratio": [2, 1, 2, 1]}))
                .unwrap();
            let pixels = (0..2 * 3 * 1024).map(|i| f64::from(i * i % 101) / 50.0 - 1.0).collect();
            check::gradients(&architecture, &Input::images(pixels, 2));
        }
    }
}
