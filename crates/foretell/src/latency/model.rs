//! Latency as a sum over layers, fitted to measurements on this machine.
//!
//! ```text
//! seconds = Σ_i c_i · term_i
//! prefill   1, blocks, heads, weights of attention and of feed-forward, multiply-adds, Σ widths, activations
//! decode    1, blocks, heads, weights of attention and of feed-forward, cache, word scores, rows of word tables
//! ```
//!
//! Each term is a sum over layers, so a layer costs the same wherever it stands. Coefficients minimise the squared
//! relative error with a slight pull towards zero. The error stated is that on networks left out of the fit; the error
//! on networks that a search prefers may be larger, which is what [`Model::errors`] is for.

use super::Phase;
use super::errors::{Compared, ErrorSummary};
use super::terms::{TERMS, terms};
use crate::architecture::Architecture;
use crate::engine::linalg;
use crate::engine::matmul::Mat;
use crate::error::Result;
use crate::seed::Seed;
use crate::space::{Limits, Space};
use serde::{Deserialize, Serialize};

/// Networks that a model is fitted to.
const SAMPLES: u64 = 32;
/// Parts of the measurements, each of which is left out once.
const FOLDS: usize = 8;
/// How hard coefficients are pulled towards zero.
const PULL: f64 = 1e-4;
/// The weight of a measurement falls by e with each such step of ln seconds away from the limit: a factor of two away
/// it counts a seventh.
const NEAR: f64 = 0.35;
/// The widest guard band.
const WIDEST: f64 = 0.5;

/// What latency is made of on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    phase: Phase,
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

/// The terms of a network, its seconds, and how much it counts.
#[derive(Debug, Clone, Copy)]
struct Row {
    terms: [f64; TERMS],
    seconds: f64,
    weight: f64,
}

impl Model {
    /// Random networks of a space inside limits, to be measured for a fit.
    pub fn sample(space: &dyn Space, limits: &Limits, seed: u64) -> Result<Vec<Architecture>> {
        let inside = space.within(limits)?;
        (0..SAMPLES).map(|i| inside.sample(false, &mut Seed(seed).stream("latency", i))).collect()
    }

    /// The model of measured networks and their seconds; nothing if fewer than sixteen are usable.
    ///
    /// With `near`, measurements count the more the closer they are to so many seconds, and the error stated is that
    /// near it. The same measurements give the same bits, and the model survives JSON unchanged.
    pub fn from_measurements(
        phase: Phase,
        measured: &[(Architecture, f64)],
        near: Option<f64>,
    ) -> Option<Self> {
        let near = near.filter(|near| near.is_finite() && *near > 0.0);
        let rows = measured.iter().filter(|(_, seconds)| seconds.is_finite() && *seconds > 0.0);
        let rows = rows.map(|(architecture, seconds)| {
            let weight = near.map_or(1.0, |near| (-(seconds / near).ln().abs() / NEAR).exp());
            Row { terms: terms(architecture, phase), seconds: *seconds, weight }
        });
        Self::of_rows(phase, &rows.collect::<Vec<_>>())
    }

    fn of_rows(phase: Phase, rows: &[Row]) -> Option<Self> {
        if rows.len() < 2 * FOLDS {
            return None;
        }
        let (scales, coefficients) = fitted(rows)?;
        let mut compared = Vec::with_capacity(rows.len());
        for fold in 0..FOLDS {
            let part = |left_out: bool| {
                let inside = move |(i, _): &(usize, &Row)| left_out == (i % FOLDS == fold);
                rows.iter().enumerate().filter(inside).map(|(_, row)| *row)
            };
            let (scales, coefficients) = fitted(&part(false).collect::<Vec<_>>())?;
            compared.extend(part(true).map(|row| Compared {
                predicted: predicted(&row.terms, &scales, &coefficients),
                measured: row.seconds,
                weight: row.weight,
            }));
        }
        let errors = ErrorSummary::of(compared)?;
        Some(Model {
            phase,
            // Few digits, so that what is read back from text has the same bits.
            scales: scales.map(short),
            coefficients: coefficients.map(short),
            error: short(errors.median),
            error_90: short(errors.p90),
            samples: rows.len(),
            threads: 1,
        })
    }

    /// What it predicts.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Seconds of one input or one further token.
    pub fn predict(&self, architecture: &Architecture) -> f64 {
        predicted(&terms(architecture, self.phase), &self.scales, &self.coefficients)
    }

    /// Its errors on measured networks, such as those that a search drew; nothing if there are none.
    pub fn errors(&self, measured: &[(Architecture, f64)]) -> Option<ErrorSummary> {
        ErrorSummary::of(measured.iter().map(|(architecture, seconds)| Compared {
            predicted: self.predict(architecture),
            measured: *seconds,
            weight: 1.0,
        }))
    }

    /// A relative guard band: a network keeps a limit if `predicted ≤ limit / (1 + guard)`.
    ///
    /// It is how much longer than predicted nine in ten of the measured networks take at most; without any, the error
    /// that nine in ten networks left out of the fit stay below. It is at least the median error of the fit, in which
    /// the spread of measurements is contained, and at most one half.
    pub fn guard(&self, errors: Option<&ErrorSummary>) -> f64 {
        let excess = errors.map_or(self.error_90, |errors| errors.excess);
        excess.max(self.error).min(WIDEST)
    }
}

fn short(x: f64) -> f64 {
    format!("{x:.8e}").parse().unwrap_or(x)
}

fn predicted(x: &[f64; TERMS], scales: &[f64; TERMS], coefficients: &[f64; TERMS]) -> f64 {
    let sum: f64 = (0..TERMS).map(|i| x[i] / scales[i] * coefficients[i]).sum();
    sum.max(0.0)
}

/// Scales and coefficients of the weighted relative least squares.
fn fitted(rows: &[Row]) -> Option<([f64; TERMS], [f64; TERMS])> {
    let mean = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
    let scales: [f64; TERMS] = std::array::from_fn(|i| {
        let scale = mean(&|row| row.terms[i]);
        if scale > 0.0 { scale } else { 1.0 }
    });
    // Divided by its seconds, a row asks for one.
    let root = |row: &Row| row.weight.sqrt();
    let entries = rows
        .iter()
        .flat_map(|row| (0..TERMS).map(move |i| root(row) * row.terms[i] / scales[i] / row.seconds));
    let (entries, ones): (Vec<f64>, Vec<f64>) = (entries.collect(), rows.iter().map(root).collect());
    let weight: f64 = rows.iter().map(|row| row.weight).sum();
    let pull = PULL * weight / mean(&|row| row.seconds).powi(2);
    let found = linalg::ridge(Mat::new(&entries, rows.len(), TERMS), &ones, pull).ok()?;
    Some((scales, found.try_into().ok()?))
}

#[cfg(test)]
mod tests;
