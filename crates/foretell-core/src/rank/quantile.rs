//! Quantiles of a sample.

/// Quantile at `share` (0 = smallest, 1 = largest), linear between the two
/// nearest order statistics: with `h = (n - 1) share` and `i = floor(h)` it is
/// `(1 - f) v[i] + f v[i+1]` where `f = h - i`, the default of numpy.
///
/// `None` if there is no value, a value is NaN, `share` is outside 0..=1, or it
/// falls between minus and plus infinity.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&sorted, share)
}

/// [`quantile`] of values already in ascending order.
pub(super) fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&share) || sorted.iter().any(|value| value.is_nan()) {
        return None;
    }
    let place = sorted.len().checked_sub(1)? as f64 * share;
    let low = *sorted.get(place.floor() as usize)?;
    let high = *sorted.get(place.ceil() as usize)?;
    let part = place.fract();
    // A weighted mean, since the difference of two large values may overflow.
    let value = if low == high { low } else { low * (1.0 - part) + high * part };
    Some(value).filter(|value| !value.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four values: h = 3 * 0.25 = 0.75 lies between 1 and 2 (values sorted
    /// 1 2 4 8): 1 + 0.75 * 1 = 1.75. h = 3 * 0.5 = 1.5: 2 + 0.5 * 2 = 3.
    #[test]
    fn between_neighbours() {
        let values = [8.0, 1.0, 4.0, 2.0];
        assert_eq!(quantile(&values, 0.25), Some(1.75));
        assert_eq!(quantile(&values, 0.5), Some(3.0));
        assert_eq!((quantile(&values, 0.0), quantile(&values, 1.0)), (Some(1.0), Some(8.0)));
    }

    #[test]
    fn undefined_is_none() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[f64::NEG_INFINITY, f64::INFINITY], 0.5), None);
        assert_eq!(quantile(&[f64::MIN, f64::MAX], 0.5), Some(0.0));
        assert_eq!(quantile(&[1.0, f64::NAN], 0.0), None);
        assert_eq!((quantile(&[1.0], 1.5), quantile(&[1.0], f64::NAN)), (None, None));
    }
}
