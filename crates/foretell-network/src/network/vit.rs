//! The forward pass of a vision transformer; see [`crate::architecture::Vit`].

use super::{Input, Mark, Model, Output, Tape};
use crate::architecture::names::vit::*;
use crate::architecture::{Architecture, Family, Tensor, Vit, families};
use crate::engine::activation::Activation;
use crate::engine::attention::{Attention, Mask};
use crate::engine::conv2d::Conv2d;
use crate::engine::relative::Grid;
use crate::engine::scalar::Scalar;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::vit::Family
    }
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = Vit(architecture);
        let Input::Images { pixels, batch, .. } = input else { panic!("a vision transformer reads images") };
        let (batch, side, patch) = (*batch, v.image_size() as usize, v.patch_size() as usize);
        let (grid, eps) = (side / patch, v.eps());
        let conv = Conv2d {
            inputs: v.channels() as usize,
            outputs: v.embed_dim() as usize,
            size: (side, side),
            kernel: (patch, patch),
            stride: patch,
            padding: 0,
            groups: 1,
        };
        let image = tape.input(pixels, batch, pixels.len() / batch);
        let image = tape.embedded(image);
        let mut x = tape.convolution(image, conv, PATCHES, [0, 0]);
        let class = tape.param(CLASS, [0, 0]);
        x = tape.prepend(x, class, batch);
        if v.abs_pos() == 1 {
            let positions = tape.param(POSITIONS, [0, 0]);
            x = tape.add_table(x, positions, batch);
        }
        let depth = v.depth() as usize;
        for i in 0..depth {
            let at = [i, 0];
            let heads = v.num_heads(i) as usize;
            let attention = Attention::new(heads, v.q(i) as usize / heads, Mask::None);
            let relative = (v.relative_position() == 1).then(|| {
                let max = v.max_relative_position() as usize;
                (Grid { rows: grid, cols: grid, class: true, max }, TABLES.map(|name| tape.param(name, at)))
            });
            let h = tape.layer_norm(x, NORM_1, at, eps);
            let qkv = tape.linear(h, QKV, at);
            let context = tape.self_attention(qkv, attention, batch, relative, i);
            let out = tape.linear(context, PROJ, at);
            let out = tape.drop_path(out, batch, (i, depth));
            x = tape.add(x, out);
            let h = tape.layer_norm(x, NORM_2, at, eps);
            let h = tape.linear(h, FC1, at);
            let h = tape.activation(h, Activation::Gelu, i);
            let h = tape.linear(h, FC2, at);
            let h = tape.drop_path(h, batch, (i, depth));
            x = tape.add(x, h);
            x = tape.block(i, x);
        }
        let tokens = grid * grid + 1;
        let features = tape.layer_norm(x, NORM, [0, 0], eps);
        let pooled = tape.mean_rows(features, batch, if v.pooling() == 0 { (1, tokens) } else { (0, 1) });
        tape.mark(Mark::Pooled, pooled);
        let logits = tape.linear(pooled, HEAD, [0, 0]);
        Output { features, logits: Some(logits), loss: None }
    }
    fn stock_names(&self, _: &Architecture, tensor: &Tensor) -> Vec<String> {
        stock_names(tensor)
    }
}

/// transformers keeps queries, keys and values apart.
fn stock_names(tensor: &Tensor) -> Vec<String> {
    let name = tensor.name();
    let kind = if name.ends_with("bias") { "bias" } else { "weight" };
    if let Some(rest) = name.strip_prefix("blocks.") {
        let (layer, what) = rest.split_once('.').unwrap_or((rest, ""));
        let what = what.trim_end_matches(".weight").trim_end_matches(".bias");
        let at = |name: &str| format!("vit.encoder.layer.{layer}.{name}.{kind}");
        return match what {
            "attn.qkv" => ["query", "key", "value"].map(|x| at(&format!("attention.attention.{x}"))).to_vec(),
            "attn.proj" => vec![at("attention.output.dense")],
            "attn_layer_norm" => vec![at("layernorm_before")],
            "ffn_layer_norm" => vec![at("layernorm_after")],
            "fc1" => vec![at("intermediate.dense")],
            "fc2" => vec![at("output.dense")],
            other => vec![at(other)],
        };
    }
    vec![match name.as_str() {
        CLASS => "vit.embeddings.cls_token".to_owned(),
        POSITIONS => "vit.embeddings.position_embeddings".to_owned(),
        name if name.starts_with("patch_embed") => {
            format!("vit.embeddings.patch_embeddings.projection.{kind}")
        }
        name if name.starts_with("norm") => format!("vit.layernorm.{kind}"),
        _ => format!("classifier.{kind}"),
    }]
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn gradients_agree_with_differences() {
        for (relative, head_dim, pooling) in [(true, json!(8), "mean"), (false, json!(null), "class")] {
            let architecture = crate::space::read_architecture(&json!({"family": "vit", "image_size": 12, "patch_size": 4,
                "num_classes": 5, "embed_dim": 12, "num_heads": [2, 3], "mlp_ratio": [2, 1.5], "head_dim": head_dim,
                "relative_position": relative, "max_relative_position": 1, "pooling": pooling}))
            .unwrap();
            let pixels = (0..2 * 3 * 144).map(|i| f64::from(i % 17) / 8.0 - 1.0).collect();
            check::gradients(&architecture, &Input::images(pixels, 2));
        }
    }
}
