//! Mean cross-entropy of rows of logits.
//!
//! ```text
//! L = mean_t [ ln Σ_c e^(z_tc) − (1 − s) z_t,y − s mean_c z_tc ]        s: label smoothing
//! dz = (softmax z − (1 − s) [c = y] − s / classes) / rows
//! ```

use super::matmul::{Mat, MatMut};
use super::scalar::Scalar;

/// Returns L and, where wanted, writes its gradient.
pub fn cross_entropy<S: Scalar>(
    logits: Mat<'_, S>,
    targets: &[u32],
    smoothing: f64,
    mut dlogits: Option<MatMut<'_, S>>,
) -> S {
    let (rows, classes) = (logits.rows(), logits.cols());
    assert_eq!(targets.len(), rows, "cross entropy: targets of {rows} rows");
    let (keep, share) = (S::from_f64(1.0 - smoothing), S::from_f64(smoothing / classes as f64));
    let per_row = S::from_f64(1.0 / rows as f64);
    let mut loss = S::ZERO;
    for (t, &target) in targets.iter().enumerate() {
        let z = logits.row(t);
        let label = z[target as usize];
        loss += (S::log_sum_exp(z) - keep * label) * per_row;
        if smoothing != 0.0 {
            loss -= share * S::sum(z) * per_row;
        }
        if let Some(dz) = &mut dlogits {
            let dz = dz.row_mut(t);
            dz.copy_from_slice(z);
            S::softmax(dz);
            dz[target as usize] -= keep;
            if smoothing != 0.0 {
                dz.iter_mut().for_each(|d| *d -= share);
            }
            S::scale(per_row, dz);
        }
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random};
    use super::*;

    #[test]
    fn gradient() {
        for smoothing in [0.0, 0.1] {
            let (logits, targets, mut dz) = (random(15, 1), [4, 0, 2], vec![0.0; 15]);
            let to = Some(MatMut::new(&mut dz, 3, 5));
            cross_entropy(Mat::new(&logits, 3, 5), &targets, smoothing, to);
            gradients(&[logits], &[dz], |p| cross_entropy(Mat::new(&p[0], 3, 5), &targets, smoothing, None));
        }
    }

    /// Equal logits: ln of the number of classes, whatever the smoothing. Huge logits stay finite.
    #[test]
    fn known_values() {
        for smoothing in [0.0, 0.3] {
            let loss = cross_entropy(Mat::new(&[7.0; 4], 1, 4), &[2], smoothing, None);
            assert!((loss - 4f64.ln()).abs() < 1e-14);
        }
        assert_eq!(cross_entropy(Mat::new(&[1e4, -1e4], 1, 2), &[1], 0.0, None), 2e4);
    }
}
