//! The forward pass of a pooling vision transformer; see [`crate::architecture::Pit`].

use super::{Input, Mark, Model, Output, Tape};
use crate::architecture::names::pit::*;
use crate::architecture::{Architecture, Family, Pit, families};
use crate::engine::activation::Activation;
use crate::engine::attention::{Attention, Mask};
use crate::engine::conv2d::Conv2d;
use crate::engine::scalar::Scalar;

const EPS: f64 = 1e-6;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::pit::Family
    }
    /// Features are the normalised class tokens.
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = Pit(architecture);
        let Input::Images { pixels, batch, .. } = input else { panic!("a vision transformer reads images") };
        let (batch, side, patch) = (*batch, v.image_size() as usize, v.patch_size() as usize);
        let conv = Conv2d {
            inputs: v.channels() as usize,
            outputs: v.width(0) as usize,
            size: (side, side),
            kernel: (patch, patch),
            stride: v.stride() as usize,
            padding: 0,
            groups: 1,
        };
        let image = tape.input(pixels, batch, pixels.len() / batch);
        let image = tape.embedded(image);
        let mut x = tape.convolution(image, conv, PATCHES, [0, 0]);
        let positions = tape.param(POSITIONS, [0, 0]);
        x = tape.add_map(x, positions, batch);
        let class = tape.param(CLASS, [0, 0]);
        x = tape.prepend(x, class, batch);
        let blocks = (0..=POOLS.len()).map(|stage| v.depth(stage) as usize).sum();
        let mut block = 0;
        for stage in 0..=POOLS.len() {
            for i in 0..v.depth(stage) as usize {
                let at = [stage, i];
                let attention =
                    Attention::new(v.num_heads(stage) as usize, v.base_dim() as usize, Mask::None);
                let h = tape.layer_norm(x, NORM_1, at, EPS);
                let qkv = tape.linear(h, QKV, at);
                let context = tape.self_attention(qkv, attention, batch, None, block);
                let out = tape.linear(context, PROJ, at);
                let out = tape.drop_path(out, batch, (block, blocks));
                x = tape.add(x, out);
                let h = tape.layer_norm(x, NORM_2, at, EPS);
                let h = tape.linear(h, FC1, at);
                let h = tape.activation(h, Activation::Gelu, block);
                let h = tape.linear(h, FC2, at);
                let h = tape.drop_path(h, batch, (block, blocks));
                x = tape.add(x, h);
                x = tape.block(block, x);
                block += 1;
            }
            if let Some([conv, linear]) = POOLS.get(stage) {
                let (width, side) = (v.width(stage) as usize, v.side(stage) as usize);
                let halve = Conv2d {
                    inputs: width,
                    outputs: v.width(stage + 1) as usize,
                    size: (side, side),
                    kernel: (3, 3),
                    stride: 2,
                    padding: 1,
                    groups: width,
                };
                let map = tape.channels_first(x, batch, 1);
                let map = tape.convolution(map, halve, *conv, [0, 0]);
                let class = tape.mean_rows(x, batch, (0, 1));
                let class = tape.linear(class, *linear, [0, 0]);
                x = tape.join(class, map, batch);
            }
        }
        let class = tape.mean_rows(x, batch, (0, 1));
        let features = tape.layer_norm(class, NORM, [0, 0], EPS);
        tape.mark(Mark::Pooled, features);
        let logits = tape.linear(features, HEAD, [0, 0]);
        Output { features, logits: Some(logits), loss: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn gradients_agree_with_differences() {
        let architecture = crate::space::read_architecture(&json!({"family": "pit", "image_size": 12, "patch_size": 4,
            "stride": 2, "num_classes": 5, "base_dim": 4, "num_heads": [1, 2, 4], "mlp_ratio": 2, "depth": [1, 2, 1]}))
        .unwrap();
        let pixels = (0..2 * 3 * 144).map(|i| f64::from(i % 17) / 8.0 - 1.0).collect();
        check::gradients(&architecture, &Input::images(pixels, 2));
    }
}
