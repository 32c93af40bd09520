//! Gradient checks: central differences in double precision.

/// Reproducible numbers of about unit size, never near zero.
pub fn random(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..len)
        .map(|_| {
            let (size, sign) = (next(), next());
            (0.05 + 1.4 * size) * if sign < 0.5 { -1.0 } else { 1.0 }
        })
        .collect()
}

/// Σ c y, the loss of most checks.
pub fn weighted(y: &[f64], c: &[f64]) -> f64 {
    assert_eq!(y.len(), c.len());
    y.iter().zip(c).map(|(y, c)| y * c).sum()
}

/// ‖a − b‖ / max(‖a‖, ‖b‖, tiny)
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |f: &dyn Fn(usize) -> f64| (0..a.len()).map(|i| f(i) * f(i)).sum::<f64>().sqrt();
    norm(&|i| a[i] - b[i]) / norm(&|i| a[i]).max(norm(&|i| b[i])).max(1e-30)
}

/// Compares `analytic[p]` with the central differences of `loss` in `parts[p]`, for every p.
pub fn gradients(parts: &[Vec<f64>], analytic: &[Vec<f64>], mut loss: impl FnMut(&[Vec<f64>]) -> f64) {
    assert_eq!(parts.len(), analytic.len());
    let mut parts = parts.to_vec();
    for (p, analytic) in analytic.iter().enumerate() {
        let numeric: Vec<f64> = (0..parts[p].len())
            .map(|i| {
                let (x, h) = (parts[p][i], 1e-5);
                parts[p][i] = x + h;
                let up = loss(&parts);
                parts[p][i] = x - h;
                let down = loss(&parts);
                parts[p][i] = x;
                (up - down) / (2.0 * h)
            })
            .collect();
        let error = distance(&numeric, analytic);
        assert!(error < 1e-6, "gradient {p}: relative error {error:e}\n{numeric:?}\n{analytic:?}");
    }
}
