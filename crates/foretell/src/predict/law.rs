//! What a predictor learned, in a few numbers.

use super::{Group, Predictor};
use crate::architecture::Architecture;
use crate::engine::linalg::Cholesky;
use crate::engine::matmul::Mat;

/// What keeps a fit of sizes that go together defined.
const RIDGE: f64 = 0.01;

impl Predictor {
    /// How predictions for some networks change with each size that is chosen, the others as they are: the slope of a linear
    /// fit, per standard deviation of the size, in standard deviations of the predictions. Largest first; empty where
    /// predictions are all alike.
    pub fn slopes(&self, networks: &[Architecture]) -> Vec<(String, f64)> {
        let rows: Vec<Vec<f64>> = networks.iter().map(|network| self.row(network, &[])).collect();
        let chosen =
            self.facts.columns.iter().enumerate().filter(|(_, column)| column.group == Group::Choice);
        let (names, columns): (Vec<String>, Vec<Vec<f64>>) = chosen
            .filter_map(|(at, column)| {
                Some((column.name.clone(), scaled(rows.iter().map(|row| row[at]).collect())?))
            })
            .unzip();
        let expected = scaled(networks.iter().map(|network| self.expect(network, &[])).collect());
        let Some(expected) = expected.filter(|_| !columns.is_empty()) else { return Vec::new() };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let n = columns.len();
        let gram: Vec<f64> = (0..n * n)
            .map(|at| {
                let (i, j) = (at / n, at % n);
                dot(&columns[i], &columns[j]) + if i == j { RIDGE * networks.len() as f64 } else { 0.0 }
            })
            .collect();
        let right: Vec<f64> = columns.iter().map(|column| dot(column, &expected)).collect();
        let Ok(factor) = Cholesky::new(Mat::new(&gram, n, n)) else { return Vec::new() };
        let mut slopes: Vec<(String, f64)> = names.into_iter().zip(factor.solve(&right)).collect();
        slopes.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        slopes
    }
}

/// Values with mean 0 and deviation 1; nothing where they are all alike.
fn scaled(values: Vec<f64>) -> Option<Vec<f64>> {
    let (mean, deviation) = (super::mean(&values), super::spread(&values));
    (deviation > 1e-9).then(|| values.iter().map(|value| (value - mean) / deviation).collect())
}
