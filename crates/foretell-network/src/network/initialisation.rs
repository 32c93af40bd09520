//! Initial distributions that can stand in for those of a family.

use crate::architecture::{Form, Init, Tensor};
use crate::engine::linalg;
use crate::engine::matmul::Mat;
use crate::engine::scalar::Scalar;
use crate::seed::Rng;
use serde::{Deserialize, Serialize};

/// How linear maps and convolutions are filled, whatever their family says. Tables, gains and biases stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initialisation {
    /// Normal, deviation 0.02.
    Normal,
    /// Uniform around zero, deviation 0.02.
    Uniform,
    /// Uniform within `±√(6 / (inputs + outputs))`.
    Xavier,
    /// Normal, variance `2 / inputs`.
    Kaiming,
    /// Normal, deviation 0.02, redrawn beyond two deviations.
    TruncNormal,
    /// Orthonormal rows, or columns where there are fewer of them.
    Orthogonal,
}

/// The deviation of distributions that do not follow from the shape, as BERT, GPT-2 and vision transformers have it.
const DEVIATION: f64 = 0.02;

impl Initialisation {
    /// All of them.
    pub const ALL: [Initialisation; 6] = [
        Initialisation::Normal,
        Initialisation::Uniform,
        Initialisation::Xavier,
        Initialisation::Kaiming,
        Initialisation::TruncNormal,
        Initialisation::Orthogonal,
    ];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Initialisation::Normal => "normal",
            Initialisation::Uniform => "uniform",
            Initialisation::Xavier => "xavier",
            Initialisation::Kaiming => "kaiming",
            Initialisation::TruncNormal => "trunc-normal",
            Initialisation::Orthogonal => "orthogonal",
        }
    }

    /// Whether it fills a tensor.
    pub(super) fn fills(self, tensor: &Tensor) -> bool {
        tensor.form != Form::Vector && !matches!(tensor.init, Init::Zeros | Init::Ones)
    }

    /// What the entries of a tensor are drawn from.
    pub(super) fn distribution(self, tensor: &Tensor) -> Init {
        let [inputs, outputs] = fans(tensor);
        match self {
            Initialisation::Normal | Initialisation::TruncNormal => Init::Normal(DEVIATION),
            Initialisation::Uniform => Init::Uniform(DEVIATION * 3f64.sqrt()),
            Initialisation::Xavier => Init::Uniform((6.0 / (inputs + outputs)).sqrt()),
            Initialisation::Kaiming => Init::Normal((2.0 / inputs).sqrt()),
            Initialisation::Orthogonal => Init::Normal(1.0),
        }
    }

    /// One entry of it.
    pub(super) fn one(self, init: Init, rng: &mut Rng, draw: impl Fn(Init, &mut Rng) -> f64) -> f64 {
        loop {
            let x = draw(init, rng);
            if self != Initialisation::TruncNormal || x.abs() <= 2.0 * DEVIATION {
                break x;
            }
        }
    }

    /// What is done to a tensor once it is drawn.
    pub(super) fn finish<S: Scalar>(self, data: &mut [S], rows: usize) {
        if self != Initialisation::Orthogonal {
            return;
        }
        let (wide, cols) = (rows < data.len() / rows, data.len() / rows);
        let tall: Vec<S> = match wide {
            true => (0..data.len()).map(|at| data[at % rows * cols + at / rows]).collect(),
            false => data.to_vec(),
        };
        let (m, n) = (rows.max(cols), rows.min(cols));
        // A normal draw has full rank and no number that is not finite.
        let (q, _) = linalg::qr(Mat::new(&tall, m, n)).expect("a drawn matrix has a factorisation");
        for (at, x) in data.iter_mut().enumerate() {
            let (row, col) = (at / cols, at % cols);
            *x = S::from_f64(if wide { q[col * n + row] } else { q[row * n + col] });
        }
    }
}

/// How many numbers enter and leave each entry of a map.
fn fans(tensor: &Tensor) -> [f64; 2] {
    let size = |i: usize| tensor.shape[i].max(1) as f64;
    let taps: f64 = (2..tensor.shape.len()).map(size).product();
    match tensor.form {
        Form::LinearTransposed => [size(0), size(1)],
        _ => [size(1) * taps, size(0) * taps],
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Supernet, Weights};
    use super::*;
    use crate::seed::Seed;
    use serde_json::json;

    /// Weights of a ViT of width 192: fc1 is 768 x 192, fc2 its transpose.
    fn drawn(init: Initialisation, seed: u64) -> Weights<f64> {
        let value = json!({"space": "autoformer-tiny", "embed_dim": 192, "depth": 12, "num_heads": 3, "mlp_ratio": 4});
        let network = crate::space::read_architecture(&value).unwrap();
        Supernet::new(Seed(seed)).initialised(Some(init)).weights(&network)
    }

    #[test]
    fn spreads_are_the_stated_ones() {
        for (init, variance, most) in [
            (Initialisation::Normal, 4e-4, f64::INFINITY),
            (Initialisation::Uniform, 4e-4, 0.0347),
            (Initialisation::Xavier, 2.0 / 960.0, (6.0_f64 / 960.0).sqrt()),
            (Initialisation::Kaiming, 2.0 / 192.0, f64::INFINITY),
            // The variance of a normal distribution cut at two deviations is .774 of the whole.
            (Initialisation::TruncNormal, 0.774 * 4e-4, 0.04),
        ] {
            let weights = drawn(init, 0);
            let fc1 = weights.get(weights.layout.find("blocks.{}.fc1.weight", [0, 0]).unwrap());
            let found = fc1.iter().map(|w| w * w).sum::<f64>() / fc1.len() as f64;
            assert!((found / variance - 1.0).abs() < 0.02, "{init:?}: {found} is not {variance}");
            assert!(fc1.iter().all(|w| w.abs() <= most), "{init:?}");
        }
    }

    #[test]
    fn orthogonal_maps_keep_lengths() {
        let weights = drawn(Initialisation::Orthogonal, 3);
        for name in ["blocks.{}.fc1.weight", "blocks.{}.fc2.weight"] {
            let matrix = weights.matrix(weights.layout.find(name, [0, 0]).unwrap());
            let wide = matrix.rows() < matrix.cols();
            let at = |i: usize, j: usize| if wide { matrix.row(i)[j] } else { matrix.row(j)[i] };
            let long = matrix.rows().max(matrix.cols());
            for (i, k, expected) in [(0, 0, 1.0), (7, 7, 1.0), (0, 7, 0.0), (190, 191, 0.0)] {
                let product: f64 = (0..long).map(|j| at(i, j) * at(k, j)).sum();
                assert!((product - expected).abs() < 1e-12, "{name}: {product}");
            }
        }
    }

    #[test]
    fn names_are_those_of_options() {
        for init in Initialisation::ALL {
            assert_eq!(serde_json::to_value(init).unwrap(), init.name());
        }
    }
}
