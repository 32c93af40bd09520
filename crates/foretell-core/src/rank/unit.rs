//! Units of measure that cost no rounding.

/// The largest power of two not above the largest size of the values.
///
/// Division by it is exact and leaves sizes below 2, whose products cannot
/// overflow. Without a normal number among the values it is the least normal one.
pub(super) fn binary_unit(values: impl Iterator<Item = f64>) -> f64 {
    let largest = values.fold(0.0, |largest: f64, value| largest.max(value.abs()));
    // The exponent bits alone are that power of two.
    f64::from_bits(largest.to_bits() & f64::INFINITY.to_bits()).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two() {
        let unit = |values: &[f64]| binary_unit(values.iter().copied());
        assert_eq!(unit(&[3.0, -9.0, 0.1]), 8.0);
        assert_eq!(unit(&[0.3]), 0.25);
        assert_eq!(unit(&[0.0, 1e-320]), f64::MIN_POSITIVE);
        assert_eq!(unit(&[]), f64::MIN_POSITIVE);
    }
}
