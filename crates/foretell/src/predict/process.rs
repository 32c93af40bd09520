//! A Gaussian process over features.
//!
//! ```text
//! k(x, x') = 1 + Σ_i a_i² k_i(x, x')          noise b² on the diagonal
//!            one feature   x_f x'_f
//!            linear        x·x' / D
//!            smooth        exp(−|x − x'|² / (2 D l²))
//! of one budget: times exp(−(t − t')² / 2)        t: the budget
//! ```
//!
//! Logarithms of amplitudes, length and noise have normal priors and maximise the posterior density of the labels.

use super::minimise::minimise;
use crate::engine::linalg::{Cholesky, Unsolved};
use crate::engine::matmul::{Mat, MatMut, product};
use serde::{Deserialize, Serialize};

/// The labels that hyper-parameters are found with; more take part in predictions only.
const MOST_FITTED: usize = 200;
/// What is added to the diagonal, so that equal networks do no harm.
const JITTER: f64 = 1e-6;

/// A part of the covariance, over some columns of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Shape {
    Linear,
    Smooth,
}

/// A term of the covariance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Term {
    pub(super) shape: Shape,
    pub(super) columns: Vec<usize>,
    /// The column of the budget, for a term that budgets share the less the further they are apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<usize>,
    /// Mean and deviation of the logarithm of its amplitude before labels are seen.
    pub(super) prior: [f64; 2],
}

/// Mean and deviation of the logarithms of length and noise before labels are seen.
const LENGTH: [f64; 2] = [0.5, 0.6];
const NOISE: [f64; 2] = [-1.0, 0.7];

/// A fitted process.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) terms: Vec<Term>,
    /// Logarithms of the amplitudes, then of length and noise.
    pub(super) parameters: Vec<f64>,
    /// The features that it was fitted to, row by row, and what they weigh.
    rows: Vec<Vec<f64>>,
    weights: Vec<f64>,
    /// The inverse covariance, row by row.
    inverse: Vec<f64>,
    /// The columns of each term, row by row.
    columns: Vec<Vec<f64>>,
}

/// What a process says of one network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Normal {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Normal {
    /// The logarithm of the density at a value.
    pub(super) fn log_density(&self, value: f64) -> f64 {
        let tau = std::f64::consts::TAU;
        -0.5 * ((value - self.mean).powi(2) / self.variance + self.variance.ln() + tau.ln())
    }
}

impl Process {
    /// Fits a process to labels of mean 0 and deviation 1.
    pub(super) fn fit(terms: &[Term], rows: &[Vec<f64>], labels: &[f64]) -> Result<Self, Unsolved> {
        let fitted = labels.len().min(MOST_FITTED);
        let bases = Bases::new(terms, &rows[..fitted]);
        let priors: Vec<[f64; 2]> = terms.iter().map(|term| term.prior).chain([LENGTH, NOISE]).collect();
        let start: Vec<f64> = priors.iter().map(|prior| prior[0]).collect();
        let parameters = minimise(start, |at| bases.loss(at, &labels[..fitted], &priors));
        Self::with(terms.to_vec(), parameters, rows, labels)
    }

    /// The process with these parameters.
    pub(super) fn with(
        terms: Vec<Term>,
        parameters: Vec<f64>,
        rows: &[Vec<f64>],
        labels: &[f64],
    ) -> Result<Self, Unsolved> {
        let n = labels.len();
        let covariance = Bases::new(&terms, rows).covariance(&parameters);
        let factor = Cholesky::new(Mat::new(&covariance, n, n))?;
        let (weights, inverse) = (factor.solve(labels), factor.inverse());
        let columns = terms.iter().map(|term| term.gathered(rows)).collect();
        Ok(Process { terms, parameters, rows: rows.to_vec(), weights, inverse, columns })
    }

    fn noise(&self) -> f64 {
        (2.0 * self.parameters[self.terms.len() + 1]).exp() + JITTER
    }

    /// The covariances of networks with those that it was fitted to, row by row.
    fn covariances(&self, features: &[Vec<f64>]) -> Vec<f64> {
        let (m, n) = (features.len(), self.rows.len());
        let bend = -0.5 * (-2.0 * self.parameters[self.terms.len()]).exp();
        let mut sums = vec![1.0; m * n];
        let mut products = vec![0.0; m * n];
        for (place, (term, amplitude)) in self.terms.iter().zip(&self.parameters).enumerate() {
            let (width, scale) = (term.columns.len(), (2.0 * amplitude).exp());
            let (own, known) = (term.gathered(features), &self.columns[place]);
            let (a, b) = (Mat::new(&own, m, width), Mat::new(known, n, width));
            product(1.0, a, b.t(), 0.0, MatMut::new(&mut products, m, n));
            let squares =
                |of: Mat<'_, f64>| (0..of.rows()).map(|i| dot(of.row(i), of.row(i))).collect::<Vec<f64>>();
            let (of_a, of_b) = (squares(a), squares(b));
            let per = 1.0 / width.max(1) as f64;
            for i in 0..m {
                let row = i * n..(i + 1) * n;
                let shares = term.budget.map(|_| self.rows.iter().map(|row| term.share(&features[i], row)));
                let shares: Option<Vec<f64>> = shares.map(Iterator::collect);
                for (j, (sum, xy)) in sums[row.clone()].iter_mut().zip(&products[row]).enumerate() {
                    let value = match term.shape {
                        Shape::Linear => xy * per,
                        Shape::Smooth => (bend * per * (of_a[i] + of_b[j] - 2.0 * xy).max(0.0)).exp(),
                    };
                    *sum += scale * shares.as_ref().map_or(1.0, |shares| shares[j]) * value;
                }
            }
        }
        sums
    }

    /// The covariance of a network with itself.
    fn own(&self, features: &[f64]) -> f64 {
        let term = |(term, amplitude): (&Term, &f64)| {
            let value = match term.shape {
                Shape::Linear => term.base(features, features),
                Shape::Smooth => 1.0,
            };
            (2.0 * amplitude).exp() * value
        };
        1.0 + self.terms.iter().zip(&self.parameters).map(term).sum::<f64>()
    }

    /// The values that it expects of networks with these features.
    pub(super) fn expect(&self, features: &[Vec<f64>]) -> Vec<f64> {
        let with = self.covariances(features);
        with.chunks_exact(self.rows.len()).map(|with| dot(with, &self.weights)).collect()
    }

    /// What it says of networks with these features; variances include the noise of a label.
    pub(super) fn predict(&self, features: &[Vec<f64>]) -> Vec<Normal> {
        let (m, n) = (features.len(), self.rows.len());
        let with = self.covariances(features);
        let mut solved = vec![0.0; m * n];
        product(
            1.0,
            Mat::new(&with, m, n),
            Mat::new(&self.inverse, n, n),
            0.0,
            MatMut::new(&mut solved, m, n),
        );
        let one = |(i, (with, solved)): (usize, (&[f64], &[f64]))| {
            let variance = (self.own(&features[i]) - dot(with, solved)).max(0.0) + self.noise();
            Normal { mean: dot(with, &self.weights), variance }
        };
        with.chunks_exact(n).zip(solved.chunks_exact(n)).enumerate().map(one).collect()
    }

    /// What it would say of each label without the labels of its network: with P the inverse covariance and g the labels of
    /// one network, `y_g − P_gg⁻¹ (P y)_g` with the covariance `P_gg⁻¹`.
    pub(super) fn left_out(&self, labels: &[f64], groups: &[Vec<usize>]) -> Result<Vec<Normal>, Unsolved> {
        let n = labels.len();
        let mut said = vec![Normal { mean: 0.0, variance: 1.0 }; n];
        for group in groups {
            let block: Vec<f64> =
                group.iter().flat_map(|i| group.iter().map(move |j| self.inverse[i * n + j])).collect();
            let factor = Cholesky::new(Mat::new(&block, group.len(), group.len()))?;
            let weights: Vec<f64> = group.iter().map(|row| self.weights[*row]).collect();
            let (away, covariance) = (factor.solve(&weights), factor.inverse());
            for (place, row) in group.iter().enumerate() {
                let variance = covariance[place * group.len() + place];
                said[*row] = Normal { mean: labels[*row] - away[place], variance };
            }
        }
        Ok(said)
    }
}

impl Term {
    /// The product or the squared distance of two networks, per column.
    fn base(&self, a: &[f64], b: &[f64]) -> f64 {
        let each = self.columns.iter().map(|column| match self.shape {
            Shape::Linear => a[*column] * b[*column],
            Shape::Smooth => (a[*column] - b[*column]).powi(2),
        });
        each.sum::<f64>() / self.columns.len().max(1) as f64
    }

    /// Its columns of some networks, row by row.
    fn gathered(&self, rows: &[Vec<f64>]) -> Vec<f64> {
        rows.iter().flat_map(|row| self.columns.iter().map(|column| row[*column])).collect()
    }

    /// How much the budgets of two networks share of it.
    fn share(&self, a: &[f64], b: &[f64]) -> f64 {
        self.budget.map_or(1.0, |t| (-0.5 * (a[t] - b[t]).powi(2)).exp())
    }
}

/// k_i from the product or the squared distance.
fn of_base(shape: Shape, base: f64, length: f64) -> f64 {
    match shape {
        Shape::Linear => base,
        Shape::Smooth => (-0.5 * base * (-2.0 * length).exp()).exp(),
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Products or squared distances of all pairs of networks, and what their budgets share, term by term.
struct Bases<'t> {
    terms: &'t [Term],
    pairs: Vec<Vec<[f64; 2]>>,
    n: usize,
}

impl<'t> Bases<'t> {
    fn new(terms: &'t [Term], rows: &[Vec<f64>]) -> Self {
        let all = |term: &Term| {
            rows.iter().flat_map(|a| rows.iter().map(|b| [term.base(a, b), term.share(a, b)])).collect()
        };
        Bases { terms, pairs: terms.iter().map(all).collect(), n: rows.len() }
    }

    fn covariance(&self, parameters: &[f64]) -> Vec<f64> {
        let length = parameters[self.terms.len()];
        let mut sum = vec![1.0; self.n * self.n];
        for ((term, pairs), amplitude) in self.terms.iter().zip(&self.pairs).zip(parameters) {
            let amplitude = (2.0 * amplitude).exp();
            sum.iter_mut().zip(pairs).for_each(|(sum, [base, share])| {
                *sum += amplitude * share * of_base(term.shape, *base, length)
            });
        }
        let noise = (2.0 * parameters[self.terms.len() + 1]).exp() + JITTER;
        (0..self.n).for_each(|i| sum[i * self.n + i] += noise);
        sum
    }

    /// Minus the logarithm of the posterior density, and its gradient; none where the covariance has no factor.
    fn loss(&self, parameters: &[f64], labels: &[f64], priors: &[[f64; 2]]) -> Option<(f64, Vec<f64>)> {
        let n = self.n;
        let covariance = self.covariance(parameters);
        let factor = Cholesky::new(Mat::new(&covariance, n, n)).ok()?;
        let (weights, inverse) = (factor.solve(labels), factor.inverse());
        let mut loss = 0.5 * dot(labels, &weights) + 0.5 * factor.log_det();
        // d loss / dK = (K⁻¹ − w wᵀ) / 2
        let outer = |at: usize| 0.5 * (inverse[at] - weights[at / n] * weights[at % n]);
        let length = parameters[self.terms.len()];
        let mut gradient = vec![0.0; parameters.len()];
        for (place, (term, pairs)) in self.terms.iter().zip(&self.pairs).enumerate() {
            let amplitude = (2.0 * parameters[place]).exp();
            let (mut by_amplitude, mut by_length) = (0.0, 0.0);
            for (at, [base, share]) in pairs.iter().enumerate() {
                let value = amplitude * share * of_base(term.shape, *base, length) * outer(at);
                by_amplitude += 2.0 * value;
                if term.shape == Shape::Smooth {
                    by_length += value * base * (-2.0 * length).exp();
                }
            }
            gradient[place] += by_amplitude;
            gradient[self.terms.len()] += by_length;
        }
        let noise = (2.0 * parameters[self.terms.len() + 1]).exp();
        gradient[self.terms.len() + 1] += (0..n).map(|i| 2.0 * noise * outer(i * n + i)).sum::<f64>();
        for ((parameter, [middle, deviation]), slope) in parameters.iter().zip(priors).zip(&mut gradient) {
            let off = (parameter - middle) / deviation;
            loss += 0.5 * off * off;
            *slope += off / deviation;
        }
        loss.is_finite().then_some((loss, gradient))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Vec<Term> {
        vec![
            Term { shape: Shape::Linear, columns: vec![0], budget: None, prior: [0.0, 1.0] },
            Term { shape: Shape::Smooth, columns: vec![0, 1], budget: Some(1), prior: [-0.5, 1.0] },
        ]
    }

    fn rows() -> Vec<Vec<f64>> {
        (0..12).map(|i| vec![f64::from(i) / 4.0 - 1.4, (f64::from(i) * 1.7).sin()]).collect()
    }

    /// The gradient against differences.
    #[test]
    fn gradients_are_slopes() {
        let (terms, rows) = (terms(), rows());
        let labels: Vec<f64> = rows.iter().map(|row| row[0] + 0.3 * row[1]).collect();
        let bases = Bases::new(&terms, &rows);
        let priors = [[0.0, 1.0], [-0.5, 1.0], LENGTH, NOISE];
        let at = vec![0.2, -0.4, 0.1, -0.8];
        let (_, gradient) = bases.loss(&at, &labels, &priors).unwrap();
        for place in 0..at.len() {
            let moved = |by: f64| {
                let mut at = at.clone();
                at[place] += by;
                bases.loss(&at, &labels, &priors).unwrap().0
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - gradient[place]).abs() < 1e-6, "{place}: {slope}, not {}", gradient[place]);
        }
    }

    /// Leaving out by the formula is leaving out by fitting again with the same parameters.
    #[test]
    fn left_out_by_hand() {
        let (terms, rows) = (terms(), rows());
        let labels: Vec<f64> = rows.iter().map(|row| row[0] * row[0] - 1.0).collect();
        let process = Process::fit(&terms, &rows, &labels).unwrap();
        let alone: Vec<Vec<usize>> = (0..labels.len()).map(|row| vec![row]).collect();
        let left_out = process.left_out(&labels, &alone).unwrap();
        let (others, truth) = (rows[1..].to_vec(), &labels[1..]);
        let without = Process::with(terms, process.parameters, &others, truth).unwrap();
        let said = without.predict(&rows[..1])[0];
        assert!((said.mean - left_out[0].mean).abs() < 1e-9);
        assert!((said.variance - left_out[0].variance).abs() < 1e-9);
    }
}
