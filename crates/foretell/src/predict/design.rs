//! Which networks to train next.

use super::{Column, Group, Prediction, Predictor, columns, features, standard};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::seed::Seed;
use crate::space::{Limits, Space};
use rayon::prelude::*;
use std::collections::HashSet;

/// `n` networks of a pool that cover it: the most usual one, then each as far from all before as there is. Returns places
/// in the pool, fewer if it does not hold so many different networks.
pub fn design(pool: &[Architecture], n: usize) -> Vec<usize> {
    let table: Vec<_> = pool.par_iter().map(features).collect();
    let columns: Vec<Column> =
        columns(&table).into_iter().filter(|column| column.group != Group::Profile).collect();
    let rows: Vec<Vec<f64>> = table.iter().map(|row| standard(&columns, row)).collect();
    spread_out(&rows, n)
}

/// Different networks of a space inside limits, to choose from.
pub fn pool(space: &dyn Space, limits: &Limits, n: u64, seed: u64) -> Result<Vec<Architecture>> {
    let feasible = space.within(limits)?;
    let (mut known, mut pool) = (HashSet::new(), Vec::new());
    for draw in 0..n {
        let network = feasible.sample(false, &mut Seed(seed).stream("pool", draw))?;
        if known.insert(network.id()) {
            pool.push(network);
        }
    }
    Ok(pool)
}

/// `n` networks of a pool that are worth a label, given what a predictor knows: those with the largest expected improvement
/// over the best label it was fitted to, each unlike those before.
pub fn propose(predictor: &Predictor, pool: &[Architecture], n: usize) -> Result<Vec<usize>> {
    let gains = improvements(predictor, pool)?;
    let rows: Vec<Vec<f64>> = pool.par_iter().map(|network| predictor.row(network, &[])).collect();
    let mut left = gains;
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < n {
        let most = (0..pool.len()).filter(|place| !chosen.contains(place));
        let Some(next) = most.max_by(|a, b| left[*a].total_cmp(&left[*b])) else { break };
        chosen.push(next);
        for (place, gain) in left.iter_mut().enumerate() {
            let near = distance(&rows[place], &rows[next]) / rows[next].len().max(1) as f64;
            *gain *= 1.0 - (-near).exp();
        }
    }
    Ok(chosen)
}

/// The expected improvement of each network of a pool over the best label that a predictor was fitted to, as models see it.
pub fn improvements(predictor: &Predictor, pool: &[Architecture]) -> Result<Vec<f64>> {
    if !predictor.facts.scores.is_empty() {
        let message = "needs scores of every network: fit one without scores to suggest networks";
        return Err(Error::option("predictor", message));
    }
    let best = predictor.facts.truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let gain = |said: &Prediction| {
        let [mean, deviation] = said.normal;
        improvement((mean - best) / deviation) * deviation
    };
    Ok(predictor.predict_all(pool).iter().map(gain).collect())
}

/// Places of rows, the most usual one first, then each as far from all before as there is.
fn spread_out(rows: &[Vec<f64>], n: usize) -> Vec<usize> {
    let usual = |row: &Vec<f64>| row.iter().map(|x| x * x).sum::<f64>();
    let first = (0..rows.len()).min_by(|a, b| usual(&rows[*a]).total_cmp(&usual(&rows[*b])));
    let mut chosen: Vec<usize> = first.into_iter().take(n).collect();
    let mut nearest = vec![f64::INFINITY; rows.len()];
    while let Some(last) = chosen.last().copied().filter(|_| chosen.len() < n) {
        nearest.iter_mut().zip(rows).for_each(|(near, row)| *near = near.min(distance(row, &rows[last])));
        let Some(next) = (0..rows.len()).max_by(|a, b| nearest[*a].total_cmp(&nearest[*b])) else { break };
        if nearest[next] <= 1e-12 {
            break;
        }
        chosen.push(next);
    }
    chosen
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// E max(0, z + x) for a normal x: z Φ(z) + φ(z).
fn improvement(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    // Φ by the logistic curve of Bowling et al. (2009), within 2e-4.
    let below = 1.0 / (1.0 + (-(0.07056 * z.powi(3) + 1.5976 * z)).exp());
    (z * below + density).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// φ(0) = 0.3989; far above, the improvement is z itself; far below, none.
    #[test]
    fn improvements_by_hand() {
        assert!((improvement(0.0) - 0.398_942).abs() < 1e-5);
        assert!((improvement(6.0) - 6.0).abs() < 1e-6);
        assert!(improvement(-6.0) < 1e-4);
    }

    /// On a line the middle comes first, then both ends, then the places half-way.
    #[test]
    fn places_spread_out() {
        let rows: Vec<Vec<f64>> = (-4..=4).map(|x| vec![f64::from(x)]).collect();
        assert_eq!(spread_out(&rows, 5), [4, 8, 0, 6, 2]);
        assert_eq!(spread_out(&[vec![1.0], vec![1.0]], 2), [0]);
    }
}
