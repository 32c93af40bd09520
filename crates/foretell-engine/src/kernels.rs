//! Row kernels for `f32` and `f64`, compiled for each instruction set and chosen at run time.
//!
//! The bodies are plain loops over lanes, which the compiler vectorises; `pulp` compiles each of them for AVX-512,
//! AVX2 + FMA and the baseline, and picks one per call.

/// Defines a function whose body runs with the best instruction set of the machine.
macro_rules! vectorised {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$meta])*
        pub fn $name<'a>($($arg: $type),*) $(-> $result)? {
            struct Body<'a> { $($arg: $type,)* _slices: std::marker::PhantomData<&'a ()> }
            impl<'a> pulp::WithSimd for Body<'a> {
                type Output = vectorised!(@ $($result)?);
                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
                    let Self { $($arg,)* .. } = self;
                    $body
                }
            }
            pulp::Arch::new().dispatch(Body { $($arg,)* _slices: std::marker::PhantomData })
        }
    )*};
    (@) => { () };
    (@ $result:ty) => { $result };
}
pub(crate) use vectorised;

macro_rules! kernels {
    ($module:ident, $t:ident, lanes $lanes:literal) => {
        pub mod $module {
            use super::super::functions::$module::{exp, normal, sigmoid, tanh};

            const L: usize = $lanes;

            #[inline(always)]
            fn fold(lanes: [$t; L], f: impl Fn($t, $t) -> $t) -> $t {
                let mut lanes = lanes;
                let mut width = L / 2;
                while width > 0 {
                    for i in 0..width {
                        lanes[i] = f(lanes[i], lanes[i + width]);
                    }
                    width /= 2;
                }
                lanes[0]
            }

            /// Σ f(xᵢ, yᵢ), lane by lane and block by block; f adds its term to what it is given.
            #[inline(always)]
            fn sum_pairs(x: &[$t], y: &[$t], f: impl Fn($t, $t, $t) -> $t) -> $t {
                let mut total = 0.0f64;
                for (x, y) in x.chunks(128 * L).zip(y.chunks(128 * L)) {
                    let (mut lanes, mut rest) = ([0.0; L], 0.0);
                    let (xs, ys) = (x.chunks_exact(L), y.chunks_exact(L));
                    for (&x, &y) in xs.remainder().iter().zip(ys.remainder()) {
                        rest = f(x, y, rest);
                    }
                    for (x, y) in xs.zip(ys) {
                        for i in 0..L {
                            lanes[i] = f(x[i], y[i], lanes[i]);
                        }
                    }
                    total += (fold(lanes, |a, b| a + b) + rest) as f64;
                }
                total as $t
            }

            /// The largest entry, passing over NaN.
            #[inline(always)]
            fn top(x: &[$t]) -> $t {
                let larger = |a: $t, b: $t| if b > a { b } else { a };
                let (mut lanes, mut rest) = ([$t::NEG_INFINITY; L], $t::NEG_INFINITY);
                let chunks = x.chunks_exact(L);
                for &x in chunks.remainder() {
                    rest = larger(rest, x);
                }
                for x in chunks {
                    for i in 0..L {
                        lanes[i] = larger(lanes[i], x[i]);
                    }
                }
                larger(fold(lanes, larger), rest)
            }

            vectorised! {
                fn largest(x: &'a [$t]) -> $t {
                    top(x)
                }
                fn log_sum_exp(x: &'a [$t]) -> $t {
                    let top = top(x);
                    sum_pairs(x, x, |x, _, s| s + exp(x - top)).ln() + top
                }
                fn sum(x: &'a [$t]) -> $t {
                    sum_pairs(x, x, |x, _, s| s + x)
                }
                fn dot(x: &'a [$t], y: &'a [$t]) -> $t {
                    assert_eq!(x.len(), y.len(), "dot");
                    sum_pairs(x, y, |x, y, s| x.mul_add(y, s))
                }
                fn sum_of_squares(x: &'a [$t]) -> $t {
                    const L: usize = 16;
                    let (mut lanes, mut rest) = ([0.0f64; L], 0.0f64);
                    let chunks = x.chunks_exact(L);
                    for &x in chunks.remainder() {
                        rest += x as f64 * x as f64;
                    }
                    for x in chunks {
                        for i in 0..L {
                            lanes[i] = (x[i] as f64).mul_add(x[i] as f64, lanes[i]);
                        }
                    }
                    (lanes.iter().sum::<f64>() + rest) as $t
                }
                fn axpy(a: $t, x: &'a [$t], y: &'a mut [$t]) {
                    assert_eq!(x.len(), y.len(), "axpy");
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y = a.mul_add(x, *y);
                    }
                }
                fn hadamard(x: &'a [$t], y: &'a mut [$t]) {
                    assert_eq!(x.len(), y.len(), "hadamard");
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y *= x;
                    }
                }
                fn scale(a: $t, y: &'a mut [$t]) {
                    for y in y {
                        *y *= a;
                    }
                }
                fn tanh_all(x: &'a [$t], y: &'a mut [$t]) {
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y = tanh(x);
                    }
                }
                fn sigmoid_all(x: &'a [$t], y: &'a mut [$t]) {
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y = sigmoid(x);
                    }
                }
                fn gelu_erf(x: &'a [$t], y: &'a mut [$t], slope: &'a mut [$t]) {
                    for ((y, slope), &x) in y.iter_mut().zip(slope).zip(x) {
                        let (phi, density) = normal(x);
                        *y = x * phi;
                        *slope = x.mul_add(density, phi);
                    }
                }
                fn gelu_tanh(x: &'a [$t], y: &'a mut [$t], slope: &'a mut [$t]) {
                    const C: $t = 0.797_884_560_802_865_4_f64 as $t;
                    for ((y, slope), &x) in y.iter_mut().zip(slope).zip(x) {
                        let square = x * x;
                        let t = tanh(C * x * square.mul_add(0.044715, 1.0));
                        let du = C * square.mul_add(3.0 * 0.044715, 1.0);
                        *y = 0.5 * x * (1.0 + t);
                        *slope = 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * du;
                    }
                }
                fn softmax(row: &'a mut [$t]) {
                    let top = top(row);
                    let (mut sums, mut total) = ([0.0; L], 0.0);
                    let mut chunks = row.chunks_exact_mut(L);
                    for x in &mut chunks {
                        for i in 0..L {
                            x[i] = exp(x[i] - top);
                            sums[i] += x[i];
                        }
                    }
                    // Padded to one chunk, so that short rows are vectorised too.
                    let rest = chunks.into_remainder();
                    let mut padded = [0.0; L];
                    padded[..rest.len()].copy_from_slice(rest);
                    for x in &mut padded {
                        *x = exp(*x - top);
                    }
                    rest.copy_from_slice(&padded[..rest.len()]);
                    for &x in rest.iter() {
                        total += x;
                    }
                    let factor = 1.0 / (fold(sums, |a, b| a + b) + total);
                    for x in row {
                        *x *= factor;
                    }
                }
                fn softmax_backward(p: &'a [$t], dp: &'a mut [$t], a: $t) {
                    assert_eq!(p.len(), dp.len(), "softmax_backward");
                    let mean = sum_pairs(p, dp, |p, d, s| p.mul_add(d, s));
                    for (d, &p) in dp.iter_mut().zip(p) {
                        *d = a * p * (*d - mean);
                    }
                }
                fn norm(x: &'a [$t], gain: &'a [$t], bias: &'a [$t], eps: $t, y: &'a mut [$t]) -> ($t, $t) {
                    let n = x.len() as $t;
                    let mean = sum_pairs(x, x, |x, _, s| s + x) / n;
                    let var = sum_pairs(x, x, |x, _, s| (x - mean).mul_add(x - mean, s)) / n;
                    let rstd = 1.0 / (var + eps).sqrt();
                    for (((y, &x), &g), &b) in y.iter_mut().zip(x).zip(gain).zip(bias) {
                        *y = ((x - mean) * rstd).mul_add(g, b);
                    }
                    (mean, rstd)
                }
                fn norm_parameters(
                    x: &'a [$t], stats: ($t, $t), dy: &'a [$t], dgain: &'a mut [$t], dbias: &'a mut [$t]
                ) {
                    let (mean, rstd) = stats;
                    for (((dg, db), &dy), &x) in dgain.iter_mut().zip(dbias).zip(dy).zip(x) {
                        *dg = dy.mul_add((x - mean) * rstd, *dg);
                        *db += dy;
                    }
                }
                fn norm_input(
                    x: &'a [$t], stats: ($t, $t), gain: &'a [$t], dy: &'a [$t], add: bool, dx: &'a mut [$t]
                ) {
                    let ((mean, rstd), n) = (stats, x.len() as $t);
                    let h_mean = sum_pairs(gain, dy, |g, d, s| g.mul_add(d, s)) / n;
                    let (mut lanes, mut rest) = ([0.0; L], 0.0);
                    let (xs, gs, ds) = (x.chunks_exact(L), gain.chunks_exact(L), dy.chunks_exact(L));
                    for ((&x, &g), &d) in xs.remainder().iter().zip(gs.remainder()).zip(ds.remainder()) {
                        rest = (g * d).mul_add(x - mean, rest);
                    }
                    for ((x, g), d) in xs.zip(gs).zip(ds) {
                        for i in 0..L {
                            lanes[i] = (g[i] * d[i]).mul_add(x[i] - mean, lanes[i]);
                        }
                    }
                    let slope = (fold(lanes, |a, b| a + b) + rest) * rstd * rstd / n;
                    for (((dx, &x), &g), &d) in dx.iter_mut().zip(x).zip(gain).zip(dy) {
                        let old = if add { *dx } else { 0.0 };
                        *dx = rstd.mul_add((x - mean).mul_add(-slope, g.mul_add(d, -h_mean)), old);
                    }
                }
            }
        }
    };
}

kernels!(single, f32, lanes 32);
kernels!(double, f64, lanes 16);
