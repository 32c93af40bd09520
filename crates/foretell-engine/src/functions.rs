//! Elementary functions for `f32` and `f64` that vectorise: no branches, no tables, no calls.
//!
//! ```text
//! eˣ = 2ⁿ eʳ        n = round(x / ln 2), r = x − n ln 2, eʳ by its series
//! Φ(−|x|) = ½ e^(−z²) erfcx(z)        z = |x|/√2, erfcx fitted by a Chebyshev polynomial in 3/(3 + z)
//! Φ(x) = ½ + x Q(x²)                  f32, |x| < 1.5: there the tail's rounding would show
//! ```

macro_rules! functions {
    (
        $module:ident, $t:ident, $bits:ident, mantissa $mantissa:literal, bias $bias:literal,
        ln2 ($ln2_high:literal, $ln2_low:literal), range ($lowest:literal, $highest:literal), tanh_range $flat:literal,
        exp [$($exp:expr),*], erfcx [$($erfcx:expr),*], centre ($near:literal, [$($centre:expr),*])
    ) => {
        pub mod $module {
            /// Adding it rounds to an integer, which then stands in the low bits.
            const ROUND: $t = 1.5 * (1u64 << $mantissa) as $t;

            #[inline(always)]
            fn clamp(x: $t, low: $t, high: $t) -> $t {
                // Comparisons in this order let a NaN through.
                let x = if x < low { low } else { x };
                if x > high { high } else { x }
            }

            #[inline(always)]
            fn horner(x: $t, coefficients: &[$t]) -> $t {
                let mut sum = 0.0;
                for &c in coefficients.iter().rev() {
                    sum = x.mul_add(sum, c);
                }
                sum
            }

            /// x = n ln 2 + r with |r| ≤ ln 2 / 2: returns r and two powers of two whose product is 2ⁿ.
            #[inline(always)]
            fn reduce(x: $t) -> ($t, $t, $t) {
                const OFFSET: $bits = 2048;
                let shifted = x.mul_add(std::$t::consts::LOG2_E, ROUND);
                let n = shifted - ROUND;
                let r = n.mul_add(-$ln2_low, n.mul_add(-$ln2_high, x));
                let k = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(2 * OFFSET);
                let half = k >> 1;
                let power = |e: $bits| $t::from_bits(e.wrapping_sub(OFFSET).wrapping_add($bias) << $mantissa);
                (r, power(half), power(k - half))
            }

            /// eˣ within 2 units in the last place, down to the smallest subnormal.
            #[inline(always)]
            pub fn exp(x: $t) -> $t {
                let (r, a, b) = reduce(clamp(x, $lowest, $highest));
                let tail = horner(r, &[$($exp),*]);
                ((r * r).mul_add(tail, r) + 1.0) * a * b
            }

            /// tanh x = m / (m + 2) with m = e²ˣ − 1, free of cancellation near 0.
            #[inline(always)]
            pub fn tanh(x: $t) -> $t {
                let (r, a, b) = reduce(clamp(2.0 * x, -$flat, $flat));
                let tail = (r * r).mul_add(horner(r, &[$($exp),*]), r);
                let power = a * b;
                let m = power.mul_add(tail, power - 1.0);
                m / (m + 2.0)
            }

            #[inline(always)]
            pub fn sigmoid(x: $t) -> $t {
                1.0 / (1.0 + exp(-x))
            }

            /// Φ(x) and φ(x). With z = |x|/√2, Φ(−|x|) = ½ e^(−z²) t P(t) with t = 3/(3 + z), P fitted to e^(z²) erfc z.
            #[inline(always)]
            pub fn normal(x: $t) -> ($t, $t) {
                let z = x.abs() * std::$t::consts::FRAC_1_SQRT_2;
                let bell = exp(-0.5 * x * x);
                let t = 3.0 / (3.0 + z);
                let tail = 0.5 * bell * t * horner(t.mul_add(2.0, -1.0), &[$($erfcx),*]);
                let far = if x > 0.0 { 1.0 - tail } else { tail };
                let near = x.mul_add(horner(x * x, &[$($centre),*]), 0.5);
                (if x.abs() < $near { near } else { far }, bell * 0.398_942_280_401_432_7_f64 as $t)
            }
        }
    };
}

functions! {
    single, f32, u32, mantissa 23, bias 127, ln2 (0.693_359_4, -2.121_944_4e-4),
    range (-104.0, 89.0), tanh_range 20.0,
    exp [1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0],
    erfcx [
        0.358_002_3, 0.294_464_8, 0.196_742_66, 0.103_489_16, 0.039_844_1, 8.941_79e-3, -4.107_903_4e-4,
        -1.009_141_5e-3, -1.692_835_3e-4, 8.832_781e-5, 2.260_987_9e-5, -6.551_970_2e-6
    ],
    centre (1.5, [
        0.398_942_3, -0.066_490_38, 9.973_541e-3, -1.187_272e-3, 1.153_349_7e-4, -9.347_723e-6, 6.127_693e-7,
        -2.531_471e-8
    ])
}

functions! {
    double, f64, u64, mantissa 52, bias 1023, ln2 (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10),
    range (-746.0, 710.0), tanh_range 40.0,
    exp [
        1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0,
        1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0, 1.0 / 6227020800.0
    ],
    erfcx [
        0.358_002_302_362_779_9, 0.294_464_817_723_293, 0.196_742_785_701_369_33, 0.103_489_087_300_324_87,
        0.039_842_587_095_666_31, 8.942_411_537_958_434e-3, -4.041_388_739_431_538_4e-4, -1.011_353_957_981_607_7e-3,
        -1.827_699_142_495_667_5e-4, 9.225_899_997_780_665e-5, 3.585_392_363_714_706e-5, -1.013_157_867_485_912_4e-5,
        -5.823_857_408_652_54e-6, 1.580_118_936_316_022e-6, 9.225_829_659_925_023e-7, -3.279_838_809_255_2e-7,
        -1.372_284_294_403_120_6e-7, 7.241_314_737_395_158e-8, 1.665_264_242_228_679_7e-8, -1.317_443_603_672_913e-8,
        -1.189_389_365_439_788e-9, 1.343_376_302_872_64e-9, 2.318_462_589_207_204e-12
    ],
    centre (0.0, [])
}

#[cfg(test)]
mod tests {
    use super::{double, single};

    /// Largest error of eˣ over the normal range, in units of the last place of the result.
    #[test]
    fn exponential_in_units_of_the_last_place() {
        let (mut worst32, mut worst64) = (0.0f64, 0.0f64);
        for i in 0..400_000 {
            let x = -87.0 + i as f32 * (175.0 / 400_000.0);
            let exact = (x as f64).exp();
            let unit = (f32::from_bits((exact as f32).to_bits() + 1) - exact as f32) as f64;
            worst32 = worst32.max((single::exp(x) as f64 - exact).abs() / unit);
            let x = -700.0 + i as f64 * (1400.0 / 400_000.0);
            let exact = x.exp();
            worst64 =
                worst64.max((double::exp(x) - exact).abs() / (f64::from_bits(exact.to_bits() + 1) - exact));
        }
        assert!(worst32 < 2.0 && worst64 < 2.0, "{worst32} and {worst64} units");
    }

    /// Φ against the complementary error function of libm.
    #[test]
    fn normal_distribution() {
        let mut worst = (0.0f64, 0.0f64);
        for i in -40_000..40_000 {
            let x = i as f64 / 1000.0;
            let exact = 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
            worst.0 = worst.0.max((double::normal(x).0 - exact).abs());
            let x = x as f32;
            let exact = 0.5 * libm::erfc(-(x as f64) * std::f64::consts::FRAC_1_SQRT_2);
            worst.1 = worst.1.max((single::normal(x).0 as f64 - exact).abs());
        }
        assert!(worst.0 < 1e-15 && worst.1 < 1e-7, "{worst:?}");
    }
}
