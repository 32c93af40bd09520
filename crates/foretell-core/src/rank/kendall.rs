//! Kendall's rank correlation.

use super::tally::{Cells, Tally};

/// Kendall's tau-b, `(C - D) / sqrt((P - X) (P - Y))`.
///
/// C and D are the concordant and discordant pairs, P all pairs, X and Y the
/// pairs tied in `x` and in `y`. The counts are exact integers; O(n log n).
/// `None` if a column is constant, n < 2, lengths differ or a value is NaN.
pub fn kendall_tau_b(x: &[f64], y: &[f64]) -> Option<f64> {
    Cells::new(x, y)?.tally(0..x.len()).tau_b()
}

/// Kendall's tau-a, `(C - D) / (n (n - 1) / 2)`; O(n log n).
///
/// A constant column has no concordant and no discordant pair, hence 0.
/// `None` if n < 2, lengths differ or a value is NaN.
pub fn kendall_tau_a(x: &[f64], y: &[f64]) -> Option<f64> {
    Cells::new(x, y)?.tally(0..x.len()).tau_a()
}

/// Kendall's partial correlation of `x` and `y` with `given` held fixed,
/// `(t_xy - t_xz t_yz) / sqrt((1 - t_xz^2) (1 - t_yz^2))`, t being tau-b.
///
/// `None` if one of the three is undefined or `given` orders the rows exactly
/// as `x` or `y` does, forwards or backwards.
pub fn partial_kendall(x: &[f64], y: &[f64], given: &[f64]) -> Option<f64> {
    let xy = kendall_tau_b(x, y)?;
    let xz = kendall_tau_b(x, given)?;
    let yz = kendall_tau_b(y, given)?;
    let left_over = (1.0 - xz * xz) * (1.0 - yz * yz);
    (left_over > 0.0).then(|| ((xy - xz * yz) / left_over.sqrt()).clamp(-1.0, 1.0))
}

impl Tally {
    /// Tau-b of the tallied rows, see [`kendall_tau_b`].
    pub(super) fn tau_b(&self) -> Option<f64> {
        let untied = u128::from(self.all - self.tied_x) * u128::from(self.all - self.tied_y);
        // One root of the whole product: for equal factors it gives back the
        // factor, so that identical orders are exactly 1.
        (untied > 0).then(|| (self.balance() as f64 / (untied as f64).sqrt()).clamp(-1.0, 1.0))
    }

    fn tau_a(&self) -> Option<f64> {
        (self.all > 0).then(|| self.balance() as f64 / self.all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 5] = [1.0, 1.0, 2.0, 2.0, 3.0];
    const Y: [f64; 5] = [1.0, 2.0, 1.0, 1.0, 0.0];

    /// P = 10, X = 2, Y = 3, C - D = 10 - 2 - 3 + 1 - 2 * 6 = -6:
    /// tau-b = -6 / sqrt(8 * 7), tau-a = -6 / 10.
    #[test]
    fn ties_by_hand() {
        assert_eq!(kendall_tau_b(&X, &Y), Some(-6.0 / 56_f64.sqrt()));
        assert_eq!(kendall_tau_a(&X, &Y), Some(-0.6));
    }

    #[test]
    fn equal_and_opposite_orders_are_exactly_one() {
        let opposite = X.map(|value| -value);
        assert_eq!(kendall_tau_b(&X, &X), Some(1.0));
        assert_eq!(kendall_tau_b(&X, &opposite), Some(-1.0));
    }

    #[test]
    fn undefined_is_none() {
        assert_eq!(kendall_tau_b(&[], &[]), None);
        assert_eq!(kendall_tau_b(&[1.0], &[1.0]), None);
        assert_eq!(kendall_tau_a(&[1.0], &[1.0]), None);
        assert_eq!(kendall_tau_b(&[2.0; 5], &Y), None);
        assert_eq!(kendall_tau_a(&[2.0; 5], &Y), Some(0.0));
        assert_eq!(kendall_tau_b(&X, &Y[..4]), None);
        assert_eq!(kendall_tau_b(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }

    /// Four rows, 6 pairs, no ties. x-y and x-z: one discordant, 4/6. y-z, rows
    /// (2,1) (1,3) (3,2) (4,4): two discordant, 2/6. Partial =
    /// (2/3 - 2/3 * 1/3) / sqrt((1 - 4/9) (1 - 1/9)) = (4/9) / (sqrt(40) / 9).
    #[test]
    fn partial_by_hand() {
        let x = [1.0, 2.0, 3.0, 4.0];
        let y = [2.0, 1.0, 3.0, 4.0];
        let z = [1.0, 3.0, 2.0, 4.0];
        let expected = 4.0 / 40_f64.sqrt();
        assert!(partial_kendall(&x, &y, &z).is_some_and(|t| (t - expected).abs() < 1e-15));
        assert_eq!(partial_kendall(&x, &y, &x), None);
    }
}
