//! Product-moment correlation of values and of ranks.

use super::order::{average_ranks, comparable};
use super::unit::binary_unit;

/// Pearson's correlation, `sum(dx dy) / sqrt(sum(dx^2) sum(dy^2))` with `dx`,
/// `dy` the deviations from the means, which are found in a first pass.
///
/// `None` if a column is constant, n < 2, lengths differ or a value is not finite.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    if !comparable(&[x, y]) {
        return None;
    }
    let (x, y) = (deviations(x)?, deviations(y)?);
    let spread = dot(&x, &x) * dot(&y, &y);
    (spread > 0.0).then(|| (dot(&x, &y) / spread.sqrt()).clamp(-1.0, 1.0))
}

/// Spearman's correlation: [`pearson`] on [`average_ranks`].
///
/// `None` if a column is constant, n < 2, lengths differ or a value is NaN.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    comparable(&[x, y]).then(|| pearson(&average_ranks(x), &average_ranks(y)))?
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

/// Deviations from the mean in an arbitrary unit; `None` if there are none.
fn deviations(values: &[f64]) -> Option<Vec<f64>> {
    let constant = values.windows(2).all(|pair| pair[0] == pair[1]);
    if constant || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let unit = binary_unit(values.iter().copied());
    let mut deviations: Vec<f64> = values.iter().map(|value| value / unit).collect();
    // The second round removes the rounding error of the first mean.
    for _ in 0..2 {
        let mean = deviations.iter().sum::<f64>() / values.len() as f64;
        deviations.iter_mut().for_each(|value| *value -= mean);
    }
    Some(deviations)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x = 1 2 3, dx = -1 0 1; y = 1 3 2, dy = -1 1 0.
    /// sum dx dy = 1, both squares sum to 2: 1 / sqrt(2 * 2) = 0.5.
    #[test]
    fn three_rows_by_hand() {
        assert_eq!(pearson(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]), Some(0.5));
        assert_eq!(spearman(&[1.0, 20.0, 300.0], &[-5.0, 9.0, 0.0]), Some(0.5));
    }

    /// Ranks 1.5 1.5 3 and 1 2 3: deviations -.5 -.5 1 and -1 0 1, products sum
    /// to 1.5, squares to 1.5 and 2: 1.5 / sqrt(3).
    #[test]
    fn tied_ranks_by_hand() {
        let spearman = spearman(&[4.0, 4.0, 7.0], &[1.0, 2.0, 3.0]);
        assert_eq!(spearman, Some(1.5 / 3_f64.sqrt()));
    }

    #[test]
    fn scale_and_offset_do_not_matter() {
        let y = [1.0, 3.0, 2.0];
        assert_eq!(pearson(&[1e300, 2e300, 3e300], &y), Some(0.5));
        assert!(pearson(&[1e-310, 2e-310, 3e-310], &y).is_some_and(|r| (r - 0.5).abs() < 1e-10));
        assert_eq!(pearson(&[1e15 + 1.0, 1e15 + 2.0, 1e15 + 3.0], &y), Some(0.5));
        assert_eq!(spearman(&[f64::NEG_INFINITY, 0.0, f64::INFINITY], &y), Some(0.5));
    }

    #[test]
    fn undefined_is_none() {
        // The mean of three 0.1 is not 0.1, yet the column is constant.
        assert_eq!(pearson(&[0.1; 3], &[1.0, 2.0, 3.0]), None);
        assert_eq!(pearson(&[1.0, f64::INFINITY], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!((pearson(&[], &[]), spearman(&[1.0], &[1.0])), (None, None));
        assert_eq!(pearson(&[1.0, 2.0], &[1.0, 2.0, 3.0]), None);
    }
}
