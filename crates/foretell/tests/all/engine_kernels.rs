//! Vector kernels against plain formulas in `f64`, on ordinary and on extreme input.

use foretell::engine::scalar::{Scalar, Store};

/// Numbers over many magnitudes, both signs.
fn spread(len: usize, low: f64, high: f64) -> Vec<f64> {
    (0..len)
        .map(|i| {
            let u = (i as f64 * 0.618_033_988_749_894_9).fract();
            let size = (low.ln() + u * (high / low).ln()).exp();
            if i % 2 == 0 { size } else { -size }
        })
        .collect()
}

fn cast<S: Scalar>(x: &[f64]) -> Vec<S> {
    x.iter().map(|&x| S::from_f64(x)).collect()
}

fn values<S: Scalar>(x: &[S]) -> Vec<f64> {
    x.iter().map(|x| x.to_f64()).collect()
}

#[track_caller]
fn close(got: &[f64], expected: &[f64], relative: f64, absolute: f64) {
    assert_eq!(got.len(), expected.len());
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).abs() <= relative * e.abs() + absolute, "entry {i}: {g:e} against {e:e}");
    }
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let top = x.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x));
    let e: Vec<f64> = x.iter().map(|x| (x - top).exp()).collect();
    let total: f64 = e.iter().sum();
    e.iter().map(|e| e / total).collect()
}

fn check_softmax<S: Scalar>(relative: f64, tiny: f64) {
    for len in [1, 2, 7, 16, 31, 33, 64, 197] {
        for scale in [1e-30, 0.1, 3.0, 50.0, 600.0] {
            let mut row: Vec<S> = cast(&spread(len, 1e-3 * scale, scale));
            let expected = softmax(&values(&row));
            let total: f64 = values(&row).iter().map(|x| (x - S::largest(&row)).exp()).sum();
            let log_sum = total.ln() + S::largest(&row);
            close(&[S::log_sum_exp(&row).to_f64()], &[log_sum], relative, relative);
            S::softmax(&mut row);
            // The difference to the largest entry is rounded before the exponential.
            close(&values(&row), &expected, relative * (1.0 + scale), tiny);
        }
        let mut row: Vec<S> = cast(&spread(len, 0.1, 2.0));
        row[len / 2] = S::from_f64(f64::NEG_INFINITY);
        row[len - 1] = S::from_f64(-1e4);
        row[0] = S::from_f64(1.0);
        let expected = softmax(&values(&row));
        S::softmax(&mut row);
        close(&values(&row), &expected, relative, tiny);
    }
    let mut row: Vec<S> = cast(&[1.0, f64::NAN, 2.0]);
    S::softmax(&mut row);
    assert!(row.iter().all(|x| x.to_f64().is_nan()));
}

#[test]
fn softmax_rows() {
    check_softmax::<f64>(2e-15, 1e-300);
    check_softmax::<f32>(1e-6, 1e-37);
}

/// Through a softmax of (x, 0): both entries are exponentials in disguise, down to subnormals.
#[test]
fn exponential() {
    for x in spread(2000, 1e-8, 744.0) {
        let mut row = [x, 0.0];
        f64::softmax(&mut row);
        close(&row, &softmax(&[x, 0.0]), 1e-15, 1e-323);
        let small = (x / 8.0) as f32;
        let mut row = [small, 0.0];
        f32::softmax(&mut row);
        close(&values(&row), &softmax(&[small as f64, 0.0]), 3e-7, 2e-45);
    }
}

fn check_gelu<S: Scalar>(relative: f64, absolute: f64) {
    let mut x: Vec<S> = cast(&spread(3001, 1e-300, 40.0));
    x.extend(cast::<S>(&spread(3000, 1e-3, 12.0)));
    x.extend(cast::<S>(&[0.0, 1e30, -1e30, f64::INFINITY]));
    let (mut y, mut slope) = (vec![S::ZERO; x.len()], vec![S::ZERO; x.len()]);
    let exact = values(&x);
    let density = |x: f64| (-0.5 * x * x).exp() * 0.398_942_280_401_432_7;
    let phi = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    S::gelu_erf(&x, &mut y, &mut slope);
    let (got, got_slope) = (values(&y), values(&slope));
    assert!(got[got.len() - 1].is_infinite());
    let n = got.len() - 1;
    close(&got[..n], &exact[..n].iter().map(|&x| x * phi(x)).collect::<Vec<_>>(), relative, absolute);
    let slopes: Vec<f64> =
        exact[..n].iter().map(|&x| phi(x) + if x.abs() < 1e3 { x * density(x) } else { 0.0 }).collect();
    close(&got_slope[..n], &slopes, relative, absolute);

    S::gelu_tanh(&x, &mut y, &mut slope);
    let (got, got_slope) = (values(&y), values(&slope));
    let (c, small) =
        ((2.0 / std::f64::consts::PI).sqrt(), exact.iter().take_while(|x| x.abs() < 1e3).count());
    let t = |x: f64| (c * (x + 0.044715 * x * x * x)).tanh();
    let (mut ys, mut slopes) = (Vec::new(), Vec::new());
    for &x in &exact[..small] {
        ys.push(0.5 * x * (1.0 + t(x)));
        slopes.push(0.5 * (1.0 + t(x)) + 0.5 * x * (1.0 - t(x) * t(x)) * c * (1.0 + 3.0 * 0.044715 * x * x));
    }
    // The square of tanh is off by its rounding, times up to x³.
    close(&got[..small], &ys, 20.0 * relative, 20.0 * absolute);
    close(&got_slope[..small], &slopes, 20.0 * relative, 2000.0 * absolute);
}

#[test]
fn gelu() {
    check_gelu::<f64>(2e-15, 2e-15);
    check_gelu::<f32>(4e-7, 2e-7);
}

/// tanh keeps its relative accuracy near 0; sigmoid saturates without overflow.
#[test]
fn tanh_and_sigmoid() {
    let mut x = spread(4000, 1e-300, 800.0);
    x.extend([0.0, 1e308, -1e308]);
    let (mut y, tanh): (Vec<f64>, Vec<f64>) = (vec![0.0; x.len()], x.iter().map(|x| x.tanh()).collect());
    f64::tanh_all(&x, &mut y);
    close(&y, &tanh, 1e-15, 0.0);
    f64::sigmoid_all(&x, &mut y);
    close(&y, &x.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect::<Vec<_>>(), 1e-15, 1e-300);
    let x: Vec<f32> = cast(&spread(4000, 1e-30, 80.0));
    let mut y = vec![0.0f32; x.len()];
    f32::tanh_all(&x, &mut y);
    close(&values(&y), &x.iter().map(|&x| (x as f64).tanh()).collect::<Vec<_>>(), 4e-7, 0.0);
}

fn check_norm<S: Scalar>(relative: f64) {
    for (len, size, offset) in
        [(1, 1.0, 0.0), (5, 1e-20, 0.0), (33, 1.0, 100.0), (192, 1e15, 0.0), (100, 0.0, 3.0)]
    {
        let x: Vec<S> = (0..len).map(|i| S::from_f64(offset + size * (i as f64 * 1.7).sin())).collect();
        let gain: Vec<S> = (0..len).map(|i| S::from_f64(1.0 + 0.1 * (i as f64).cos())).collect();
        let bias: Vec<S> = (0..len).map(|i| S::from_f64(0.1 * (i as f64).sin())).collect();
        let dy: Vec<S> = (0..len).map(|i| S::from_f64((i as f64 * 0.9).cos())).collect();
        let [xs, gains, shifts, dys] = [&x, &gain, &bias, &dy].map(|v| values(v));
        let (mut y, mut expected) = (vec![S::ZERO; len], vec![0.0; len]);
        let stats = S::norm(&x, &gain, &bias, 1e-5, &mut y);
        // The plain bodies of the trait, in double precision.
        let mean = xs.iter().sum::<f64>() / len as f64;
        let var = xs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / len as f64;
        let rstd = 1.0 / (var + 1e-5).sqrt();
        let hat: Vec<f64> = xs.iter().map(|x| (x - mean) * rstd).collect();
        (0..len).for_each(|i| expected[i] = hat[i] * gains[i] + shifts[i]);
        close(&values(&y), &expected, relative, relative * (1.0 + offset));
        let h: Vec<f64> = (0..len).map(|i| gains[i] * dys[i]).collect();
        let (a, b) = (
            h.iter().sum::<f64>() / len as f64,
            h.iter().zip(&hat).map(|(h, x)| h * x).sum::<f64>() / len as f64,
        );
        let expected: Vec<f64> = (0..len).map(|i| 2.0 + rstd * (h[i] - a - hat[i] * b)).collect();
        let mut dx = vec![S::from_f64(2.0); len];
        S::norm_backward(&x, stats, &gain, &dy, None, Some((&mut dx, Store::Add)));
        close(&values(&dx), &expected, relative, relative * rstd * (1.0 + offset));
    }
}

#[test]
fn layer_norm_rows() {
    check_norm::<f64>(1e-13);
    check_norm::<f32>(1e-5);
}

#[test]
fn sums() {
    let x: Vec<f32> = (0..1_000_003).map(|i| 0.001 + (i % 7) as f32).collect();
    let exact: f64 = x.iter().map(|&x| x as f64 * x as f64).sum();
    assert!((f32::sum_of_squares(&x) as f64 / exact - 1.0).abs() < 1e-7);
    assert!((f32::dot(&x, &x) as f64 / exact - 1.0).abs() < 3e-6);
    assert!((f32::sum(&x) as f64 / x.iter().map(|&x| x as f64).sum::<f64>() - 1.0).abs() < 3e-6);
}
