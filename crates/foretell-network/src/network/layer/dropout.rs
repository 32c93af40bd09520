//! What training passes drop: numbers, attention probabilities, whole branches of a sample.

use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};
use rand::RngExt;

/// The share of numbers that a training pass drops where nobody says: that of every original which drops any.
pub const RATE: f64 = 0.1;

impl<S: Scalar> Tape<'_, S> {
    /// The share that this pass drops: none in evaluation.
    pub fn rate(&self) -> f64 {
        self.training.as_ref().map_or(0.0, |(_, rate)| *rate)
    }

    /// In training, each number is zero with probability p and grown by 1/(1 − p) otherwise; in evaluation, `x` itself.
    pub fn dropout(&mut self, x: Value) -> Value {
        let (rows, cols) = self.shape(x);
        let factors = self.dropout_factors(self.rate(), rows * cols);
        if factors.is_empty() {
            return x;
        }
        let mut y = self.space.take(rows * cols);
        y.copy_from_slice(self.data(x));
        S::hadamard(&factors, &mut y);
        let y = self.put(y, rows, cols);
        self.push_with(y, factors, move |back, dy, factors| {
            let mut dx = back.space.take(dy.len());
            dx.copy_from_slice(dy);
            S::hadamard(factors, &mut dx);
            back.gradients.add(x, dx, back.space);
        });
        y
    }

    /// Stochastic depth of block `i` of `depth`: in training a sample's branch vanishes with a probability that rises
    /// linearly from 0 to p, and is grown by the inverse of the rest otherwise; in evaluation, `x` itself.
    pub fn drop_path(&mut self, x: Value, batch: usize, (i, depth): (usize, usize)) -> Value {
        let rate = if depth > 1 { self.rate() * i as f64 / (depth - 1) as f64 } else { 0.0 };
        let factors = self.dropout_factors(rate, batch);
        if factors.is_empty() {
            return x;
        }
        let (rows, cols) = self.shape(x);
        let scaled = move |x: &[S], factors: &[S], y: &mut [S]| {
            y.copy_from_slice(x);
            y.chunks_exact_mut(rows / batch * cols).zip(factors).for_each(|(y, f)| S::scale(*f, y));
        };
        let mut y = self.space.take(rows * cols);
        scaled(self.data(x), &factors, &mut y);
        let y = self.put(y, rows, cols);
        self.push_with(y, factors, move |back, dy, factors| {
            let mut dx = back.space.take(dy.len());
            scaled(dy, factors, &mut dx);
            back.gradients.add(x, dx, back.space);
        });
        y
    }

    /// Factors 0 with probability `rate` and 1/(1 − rate) otherwise; none in evaluation, or where nothing is dropped.
    pub fn dropout_factors(&mut self, rate: f64, count: usize) -> Vec<S> {
        let Some((rng, _)) = self.training.as_mut().filter(|_| rate > 0.0) else { return Vec::new() };
        let (mut factors, kept) = (self.space.take(count), S::from_f64(1.0 / (1.0 - rate)));
        factors.iter_mut().for_each(|f| *f = if rng.random_bool(rate) { S::ZERO } else { kept });
        factors
    }
}

/// The part of one sample, if there are factors at all.
pub fn sample_of<S>(factors: &[S], sample: usize, count: usize) -> Option<&[S]> {
    (!factors.is_empty()).then(|| &factors[sample * count..][..count])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::buffer::Workspace;
    use crate::network::Weights;
    use crate::seed::Seed;
    use serde_json::json;

    /// 20,000 draws of 0.1: the share dropped is within five standard deviations, 0.1 ± 5 √(0.09 / 20,000).
    #[test]
    fn a_tenth_of_the_samples_lose_their_last_branch() {
        let architecture = json!({"family": "bert", "vocab_size": 4, "context_len": 2, "hidden_size": 4,
            "num_layers": 1, "num_heads": 1, "ffn_dim": 4});
        let architecture = crate::space::read_architecture(&architecture).unwrap();
        let weights: Weights<f64> = Weights::standalone(&architecture, Seed(0));
        let (batch, mut space) = (20_000, Workspace::new());
        let mut tape = Tape::new(&weights, &mut space, false);
        let x = tape.input(&vec![1.0; 6 * batch], 2 * batch, 3);
        assert_eq!(tape.drop_path(x, batch, (2, 3)), x, "evaluation keeps all");
        tape.train(Seed(0).stream("dropout", 0), RATE);
        assert_eq!(tape.drop_path(x, batch, (0, 3)), x, "so does the first block");
        for (block, rate) in [(1, 0.05), (2, 0.1)] {
            let y = tape.drop_path(x, batch, (block, 3));
            let (lost, kept): (Vec<_>, Vec<_>) = tape.data(y).chunks_exact(6).partition(|y| **y == [0.0; 6]);
            assert!(kept.iter().all(|y| **y == [1.0 / (1.0 - rate); 6]), "a sample is one");
            assert!((lost.len() as f64 / batch as f64 - rate).abs() < 0.0106);
        }
    }
}
