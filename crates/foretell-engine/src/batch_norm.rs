//! Batch normalisation of N samples x C channels x L positions.
//!
//! ```text
//! y = g x̂ + b        x̂ = (x − μ)/σ        per channel, σ² = variance + ε
//! batch statistics:   dx = g/σ (dy − mean dy − x̂ mean dy x̂)
//! fixed statistics:   dx = g/σ dy
//! ```
//!
//! The variance is the biased one. L = 1 normalises the columns of a plain matrix.

use super::scalar::Scalar;

/// Shape, parameters and ε.
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm<'a, S> {
    /// g, one per channel.
    pub gain: &'a [S],
    /// b, one per channel.
    pub bias: &'a [S],
    /// L
    pub positions: usize,
    /// ε
    pub eps: f64,
}

/// Mean and 1/σ of every channel, and whether they depend on the input.
#[derive(Clone, Debug)]
pub struct Statistics<S> {
    /// μ
    pub mean: Vec<S>,
    /// 1/σ
    pub rstd: Vec<S>,
    /// Whether they were taken from the batch itself.
    pub from_batch: bool,
}

impl<S: Scalar> BatchNorm<'_, S> {
    /// Slices of one channel, one per sample.
    fn channel<'x>(&self, x: &'x [S], c: usize) -> impl Iterator<Item = &'x [S]> + use<'x, S> {
        let (l, channels) = (self.positions, self.gain.len());
        x.chunks_exact(l).skip(c).step_by(channels)
    }

    /// Statistics of a batch.
    pub fn statistics(&self, x: &[S]) -> Statistics<S> {
        let channels = self.gain.len();
        assert!(
            x.len().is_multiple_of(channels * self.positions),
            "batch norm: {} in {channels} channels",
            x.len()
        );
        let n = S::from_f64((x.len() / channels) as f64);
        let mean: Vec<S> =
            (0..channels).map(|c| self.channel(x, c).fold(S::ZERO, |s, x| s + S::sum(x)) / n).collect();
        let square = |c: usize| {
            self.channel(x, c).flatten().fold(S::ZERO, |s, &x| s + (x - mean[c]) * (x - mean[c])) / n
        };
        let rstd = (0..channels).map(|c| (square(c) + S::from_f64(self.eps)).sqrt().recip()).collect();
        Statistics { mean, rstd, from_batch: true }
    }

    /// Statistics from running mean and variance.
    pub fn running(&self, mean: &[S], variance: &[S]) -> Statistics<S> {
        let rstd = variance.iter().map(|&v| (v + S::from_f64(self.eps)).sqrt().recip()).collect();
        Statistics { mean: mean.to_vec(), rstd, from_batch: false }
    }

    /// Writes `y`.
    pub fn forward(&self, x: &[S], stats: &Statistics<S>, y: &mut [S]) {
        assert_eq!(x.len(), y.len(), "batch norm");
        let channels = self.gain.len();
        for (n, (y, x)) in y.chunks_exact_mut(self.positions).zip(x.chunks_exact(self.positions)).enumerate()
        {
            let c = n % channels;
            for (y, &x) in y.iter_mut().zip(x) {
                *y = (x - stats.mean[c]) * stats.rstd[c] * self.gain[c] + self.bias[c];
            }
        }
    }

    /// Writes dx and adds to the gradients of gain and bias; `None` skips the work.
    pub fn backward(
        &self,
        x: &[S],
        stats: &Statistics<S>,
        dy: &[S],
        dx: Option<&mut [S]>,
        parameters: Option<(&mut [S], &mut [S])>,
    ) {
        assert_eq!(x.len(), dy.len(), "batch norm backward");
        let channels = self.gain.len();
        // Σ dy and Σ dy x̂ of a channel.
        let sums = |c: usize| {
            let pairs = self.channel(x, c).flatten().zip(self.channel(dy, c).flatten());
            pairs.fold((S::ZERO, S::ZERO), |(a, b), (&x, &d)| {
                (a + d, b + d * (x - stats.mean[c]) * stats.rstd[c])
            })
        };
        if let Some((dgain, dbias)) = parameters {
            for c in 0..channels {
                let (plain, scaled) = sums(c);
                dgain[c] += scaled;
                dbias[c] += plain;
            }
        }
        let Some(dx) = dx else { return };
        let (n, l) = (S::from_f64((x.len() / channels) as f64), self.positions);
        for c in 0..channels {
            let (plain, scaled) = if stats.from_batch { sums(c) } else { (S::ZERO, S::ZERO) };
            let samples = dx.chunks_exact_mut(l).zip(x.chunks_exact(l)).zip(dy.chunks_exact(l));
            for ((dx, x), dy) in samples.skip(c).step_by(channels) {
                for ((dx, &x), &dy) in dx.iter_mut().zip(x).zip(dy) {
                    let hat = (x - stats.mean[c]) * stats.rstd[c];
                    *dx = self.gain[c] * stats.rstd[c] * (dy - plain / n - hat * scaled / n);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;

    #[test]
    fn gradient() {
        for (samples, channels, positions, batch) in [(3, 2, 4, true), (6, 3, 1, true), (3, 2, 4, false)] {
            let len = samples * channels * positions;
            let (parts, c) = ([random(len, 1), random(channels, 2), random(channels, 3)], random(len, 4));
            let layer = |p: &[Vec<f64>]| BatchNorm {
                gain: p[1].clone().leak(),
                bias: p[2].clone().leak(),
                positions,
                eps: 1e-5,
            };
            let stats = |p: &[Vec<f64>]| match batch {
                true => layer(p).statistics(&p[0]),
                false => layer(p).running(&vec![0.3; channels], &vec![0.8; channels]),
            };
            let (mut dx, mut dg, mut db) = (vec![0.0; len], vec![0.0; channels], vec![0.0; channels]);
            layer(&parts).backward(&parts[0], &stats(&parts), &c, Some(&mut dx), Some((&mut dg, &mut db)));
            gradients(&parts, &[dx, dg, db], |p| {
                let mut y = vec![0.0; len];
                layer(p).forward(&p[0], &stats(p), &mut y);
                weighted(&y, &c)
            });
        }
    }
}
