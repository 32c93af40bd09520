//! Latency as a sum over layers, fitted to measurements on this machine.
//!
//! ```text
//! seconds = a + b·blocks + c·multiply-adds + d·attention weights + e·feed-forward weights + f·Σ widths
//! ```
//!
//! Each term is a sum over layers, so a layer costs the same wherever it stands. Coefficients minimise the squared relative
//! error with a slight pull towards zero; the error stated is that on networks left out of the fit.

use super::measure;
use crate::architecture::{Architecture, Counter, Part};
use crate::engine::linalg;
use crate::engine::matmul::Mat;
use crate::error::{Error, Result};
use crate::seed::Seed;
use crate::space::{Limits, Space};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Networks that a model is fitted to.
const SAMPLES: u64 = 32;
/// Parts of the sample, each of which is left out once.
const FOLDS: usize = 8;
/// How hard coefficients are pulled towards zero.
const PULL: f64 = 1e-4;
const TERMS: usize = 6;

/// What latency is made of on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// What each term is divided by before its coefficient applies.
    scales: [f64; TERMS],
    coefficients: [f64; TERMS],
    /// The median relative error on networks left out of the fit.
    pub error: f64,
    /// Nine in ten of them are off by less than this.
    pub error_90: f64,
    /// Networks measured.
    pub samples: usize,
    /// Threads of each measurement.
    pub threads: usize,
}

impl Model {
    /// Measures networks of a space inside limits and fits a model to them; `done` is told after each.
    pub fn fit(
        space: &dyn Space,
        limits: &Limits,
        seed: u64,
        memory: Option<u64>,
        done: &dyn Fn(u64, u64),
    ) -> Result<Self> {
        let inside = space.within(limits)?;
        let mut seen = Vec::new();
        for i in 0..SAMPLES {
            let architecture = inside.sample(false, &mut Seed(seed).stream("latency", i))?;
            if let Ok(latency) = measure(&architecture, super::Phase::Prefill, memory) {
                seen.push((terms(&architecture), latency.seconds));
            }
            done(i + 1, SAMPLES);
        }
        Self::of_seen(&seen).ok_or_else(|| {
            let message = format!("only {} of {SAMPLES} networks could be measured", seen.len());
            Error::input("latency", message)
        })
    }

    /// STUB
    pub fn sample(space: &dyn Space, limits: &Limits, seed: u64) -> Result<Vec<Architecture>> {
        let inside = space.within(limits)?;
        (0..SAMPLES).map(|i| inside.sample(false, &mut Seed(seed).stream("latency", i))).collect()
    }
    /// STUB
    pub fn from_measurements(
        _phase: super::Phase,
        m: &[(Architecture, f64)],
        _near: Option<f64>,
    ) -> Option<Model> {
        Self::of_seen(&m.iter().map(|(a, s)| (terms(a), *s)).collect::<Vec<_>>())
    }
    /// The model of some networks' terms and seconds; nothing if they are too few.
    fn of_seen(seen: &[([f64; TERMS], f64)]) -> Option<Self> {
        if seen.len() < 2 * FOLDS {
            return None;
        }
        let (scales, coefficients) = fitted(seen)?;
        // Few digits, so that what is read back from text has the same bits.
        let (scales, coefficients) = (scales.map(short), coefficients.map(short));
        let mut errors = Vec::new();
        for fold in 0..FOLDS {
            let of = |left_out: bool| {
                let pick = move |(i, x): (usize, &([f64; TERMS], f64))| {
                    (left_out == (i % FOLDS == fold)).then_some(*x)
                };
                seen.iter().enumerate().filter_map(pick)
            };
            let (scales, coefficients) = fitted(&of(false).collect::<Vec<_>>())?;
            errors.extend(
                of(true).map(|(x, seconds)| (predicted(&x, &scales, &coefficients) / seconds - 1.0).abs()),
            );
        }
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| errors[((errors.len() - 1) as f64 * share).round() as usize];
        Some(Model {
            scales,
            coefficients,
            error: short(at(0.5)),
            error_90: short(at(0.9)),
            samples: seen.len(),
            threads: 1,
        })
    }

    /// The model that a stored study was begun with.
    pub fn of(config: &Value) -> Result<Option<Self>> {
        let model = config.get("latency").map(|model| serde_json::from_value(model.clone())).transpose();
        model.map_err(|e| Error::input("the study's model of latency", e.to_string()))
    }

    /// Seconds of one forward pass of one input.
    pub fn predict(&self, architecture: &Architecture) -> f64 {
        predicted(&terms(architecture), &self.scales, &self.coefficients)
    }
}

fn short(x: f64) -> f64 {
    format!("{x:.8e}").parse().unwrap_or(x)
}

fn terms(architecture: &Architecture) -> [f64; TERMS] {
    let (params, mut blocks, mut widths) = (architecture.params(), 0.0, 0.0);
    architecture.blocks(&mut |block| {
        blocks += 1.0;
        widths += block.width as f64;
    });
    let flops = architecture.flops(Counter::Exact).unwrap_or(params.total) as f64;
    [1.0, blocks, flops, params.part(Part::Attention) as f64, params.part(Part::Ffn) as f64, widths]
}

fn predicted(x: &[f64; TERMS], scales: &[f64; TERMS], coefficients: &[f64; TERMS]) -> f64 {
    let sum: f64 = (0..TERMS).map(|i| x[i] / scales[i] * coefficients[i]).sum();
    sum.max(0.0)
}

fn fitted(seen: &[([f64; TERMS], f64)]) -> Option<([f64; TERMS], [f64; TERMS])> {
    let scales: [f64; TERMS] =
        std::array::from_fn(|i| seen.iter().map(|(x, _)| x[i]).sum::<f64>().max(1.0) / seen.len() as f64);
    // Divided by its seconds, a row asks for one.
    let rows: Vec<f64> =
        seen.iter().flat_map(|(x, seconds)| (0..TERMS).map(move |i| x[i] / scales[i] / seconds)).collect();
    let typical = seen.iter().map(|(_, seconds)| seconds).sum::<f64>() / seen.len() as f64;
    let pull = PULL * seen.len() as f64 / (typical * typical);
    let ones = vec![1.0; seen.len()];
    let found = linalg::ridge(Mat::new(&rows, seen.len(), TERMS), &ones, pull).ok()?;
    Some((scales, found.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// Noise of 2 % on a known sum: left-out networks are off by about as much, and without noise by nothing.
    #[test]
    fn a_sum_over_layers_is_found() {
        let mut rng = Seed(1).stream("test", 0);
        let mut seen = |noise: f64| -> Vec<([f64; TERMS], f64)> {
            let one = |_| {
                let blocks = rng.random_range(4..16) as f64;
                let (attention, ffn) =
                    (blocks * rng.random_range(1e5..3e5), blocks * rng.random_range(2e5..9e5));
                let x =
                    [1.0, blocks, 200.0 * (attention + ffn) + blocks * 1e7, attention, ffn, blocks * 192.0];
                let seconds = 1e-4 + 2e-4 * blocks + x[2] / 4e10;
                (x, seconds * (1.0 + noise * (2.0 * rng.random::<f64>() - 1.0)))
            };
            (0..32).map(one).collect()
        };
        let exact = Model::of_seen(&seen(0.0)).unwrap();
        assert!(exact.error_90 < 0.01, "{exact:?}");
        let noisy = Model::of_seen(&seen(0.04)).unwrap();
        assert!((0.005..0.05).contains(&noisy.error) && noisy.error_90 < 0.12, "{noisy:?}");
        assert!(Model::of_seen(&seen(0.0)[..10]).is_none());
    }
}
