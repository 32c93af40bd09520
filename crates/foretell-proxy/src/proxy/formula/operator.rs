//! The operators of a formula, as the released program executes them.

/// A tensor of which only the first axis matters, or one number.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Entries, the first axis outermost.
    pub data: Vec<f64>,
    /// Length of the first axis.
    pub lead: usize,
}

impl Sheet {
    /// One number.
    pub fn scalar(value: f64) -> Self {
        Sheet { data: vec![value], lead: 1 }
    }

    fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Sheet { data: self.data.iter().map(|x| f(*x)).collect(), lead: self.lead }
    }

    fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.data.iter().map(|x| f(*x)).sum()
    }

    /// The mean, settled; nothing is left of a mean that is but the rounding of its addends.
    pub fn mean(&self) -> f64 {
        let (sum, size) = (self.sum(|x| x), self.sum(f64::abs));
        if sum.abs() <= 1e-12 * size { 0.0 } else { settled(sum / self.data.len() as f64) }
    }

    /// The standard deviation with n − 1, not a number for a single entry.
    fn deviation(&self) -> f64 {
        let mean = self.sum(|x| x) / self.data.len() as f64;
        (self.sum(|x| (x - mean) * (x - mean)) / (self.data.len() as f64 - 1.0)).sqrt()
    }

    /// The softmax along the first axis, or its logarithm.
    fn softmax(&self, log: bool) -> Self {
        let columns = self.data.len() / self.lead;
        let mut largest = vec![f64::NEG_INFINITY; columns];
        for row in self.data.chunks_exact(columns) {
            largest.iter_mut().zip(row).for_each(|(most, x)| *most = most.max(*x));
        }
        let mut sums = vec![0.0; columns];
        let mut data = self.data.clone();
        for row in data.chunks_exact_mut(columns) {
            for ((x, most), sum) in row.iter_mut().zip(&largest).zip(&mut sums) {
                *x -= most;
                let power = x.exp();
                *sum += power;
                if !log {
                    *x = power;
                }
            }
        }
        if log {
            sums.iter_mut().for_each(|sum| *sum = sum.ln());
        }
        for row in data.chunks_exact_mut(columns) {
            row.iter_mut().zip(&sums).for_each(|(x, sum)| if log { *x -= sum } else { *x /= sum });
        }
        Sheet { data, lead: self.lead }
    }
}

/// The nearest number of 41 significant bits, some twelve digits: what ties in exact arithmetic ties here.
pub(super) fn settled(value: f64) -> f64 {
    const DROPPED: u64 = 12;
    if !value.is_finite() || value == 0.0 {
        return if value == 0.0 { 0.0 } else { value };
    }
    let bits = value.to_bits() + (1 << (DROPPED - 1));
    f64::from_bits(bits >> DROPPED << DROPPED)
}

macro_rules! named {
    ($(#[$about:meta])* $kind:ident: $($(#[$doc:meta])* $item:ident = $name:literal),* $(,)?) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind { $($(#[$doc])* $item),* }

        impl $kind {
            /// All of them.
            pub const ALL: &[$kind] = &[$($kind::$item),*];
            /// The name in formulas.
            pub fn name(self) -> &'static str {
                match self { $($kind::$item => $name),* }
            }
        }
    };
}
pub(super) use named;

named! {
    /// What is done with a tensor.
    Unary:
    /// ln(x + 1e-9), 1 put for what is not positive.
    Log = "log",
    /// ln|x|, 1 put for 0.
    AbsLog = "abslog",
    /// |x|
    Abs = "abs",
    /// x²
    Square = "square",
    /// eˣ
    Exp = "exp",
    /// (x − mean) / deviation
    ZScore = "z-score",
    /// max(x, 0)
    Relu = "relu",
    /// 1 / (x + 1e-9)
    Reciprocal = "reciprocal",
    /// √Σx², one number.
    Norm = "norm",
    /// Σx / n, one number.
    NormalisedSum = "normalised-sum",
    /// Σ|x| / n, one number.
    L1 = "l1",
    /// Softmax along the first axis: samples, or rows as stored.
    Softmax = "softmax",
    /// 1 / (1 + e⁻ˣ)
    Sigmoid = "sigmoid",
    /// The logarithm of the softmax.
    LogSoftmax = "log-softmax",
    /// √max(x, 0)
    Sqrt = "sqrt",
    /// −x
    Negate = "negate",
    /// (x − min) / (max − min + 1e-9)
    MinMax = "min-max",
    /// The mean, one number.
    Mean = "mean",
    /// The standard deviation, one number.
    Deviation = "deviation",
    /// x
    Identity = "identity",
    /// Nothing: the other branch passes through.
    Prune = "prune",
}

named! {
    /// How two branches become one.
    Binary:
    /// a + b
    Sum = "sum",
    /// a − b
    Difference = "difference",
    /// a · b
    Product = "product",
    /// The matrix product, which of two numbers is their product.
    MatrixProduct = "matrix-product",
}

impl Unary {
    /// What it makes of a tensor; [`Unary::Prune`] leaves it, since a pruned branch is not looked at.
    pub fn apply(self, x: &Sheet) -> Sheet {
        use Unary::*;
        let n = x.data.len() as f64;
        match self {
            Log => x.map(|x| (if x <= 0.0 { 1.0 } else { x } + 1e-9).ln()),
            AbsLog => x.map(|x| if x == 0.0 { 0.0 } else { x.abs().ln() }),
            Abs => x.map(f64::abs),
            Square => x.map(|x| x * x),
            Exp => x.map(f64::exp),
            ZScore => {
                let (mean, deviation) = (x.sum(|x| x) / n, x.deviation());
                x.map(|x| (x - mean) / deviation)
            }
            Relu => x.map(|x| if x < 0.0 { 0.0 } else { x }),
            Reciprocal => x.map(|x| 1.0 / (x + 1e-9)),
            Norm => Sheet::scalar(x.sum(|x| x * x).sqrt()),
            NormalisedSum | Mean => Sheet::scalar(x.mean()),
            L1 => Sheet::scalar(x.sum(f64::abs) / n),
            Softmax => x.softmax(false),
            Sigmoid => x.map(|x| 1.0 / (1.0 + (-x).exp())),
            LogSoftmax => x.softmax(true),
            Sqrt => x.map(|x| if x < 0.0 { 0.0 } else { x.sqrt() }),
            Negate => x.map(|x| -x),
            MinMax => {
                let least = x.data.iter().copied().fold(f64::INFINITY, f64::min);
                let most = x.data.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                x.map(|x| (x - least) / (most - least + 1e-9))
            }
            Deviation => Sheet::scalar(x.deviation()),
            Identity | Prune => x.clone(),
        }
    }

    /// Whether one number is left.
    pub fn reduces(self) -> bool {
        use Unary::*;
        matches!(self, Norm | NormalisedSum | L1 | Mean | Deviation)
    }

    /// Its mathematics around what it is applied to.
    pub(super) fn around(self, x: &str) -> String {
        use Unary::*;
        match self {
            Log => format!("ln({x})"),
            AbsLog => format!("ln|{x}|"),
            Abs => format!("|{x}|"),
            Square if x.chars().count() == 1 => format!("{x}²"),
            Square => format!("({x})²"),
            Exp => format!("exp({x})"),
            ZScore => format!("z({x})"),
            Relu => format!("max({x}, 0)"),
            Reciprocal => format!("1/({x})"),
            Norm => format!("‖{x}‖"),
            NormalisedSum => format!("Σ({x})/n"),
            L1 => format!("‖{x}‖₁/n"),
            Softmax => format!("softmax({x})"),
            Sigmoid => format!("σ({x})"),
            LogSoftmax => format!("log softmax({x})"),
            Sqrt => format!("√({x})"),
            Negate => format!("−{x}"),
            MinMax => format!("minmax({x})"),
            Mean => format!("mean({x})"),
            Deviation => format!("sd({x})"),
            Identity => x.to_owned(),
            Prune => "nothing".to_owned(),
        }
    }
}

impl Binary {
    /// What it makes of two numbers.
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Sum => a + b,
            Binary::Difference => a - b,
            Binary::Product | Binary::MatrixProduct => a * b,
        }
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Binary::Sum => "+",
            Binary::Difference => "−",
            Binary::Product => "·",
            Binary::MatrixProduct => "@",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x = (−1, 0; 3, 2), two rows. Mean 1, Σ|x| = 6, Σx² = 14, deviation √(Σ(x − 1)² / 3) = √(10/3).
    #[test]
    fn every_operator_by_hand() {
        let x = Sheet { data: vec![-1.0, 0.0, 3.0, 2.0], lead: 2 };
        let is = |unary: Unary, expected: &[f64]| {
            let found = unary.apply(&x).data;
            assert_eq!(found.len(), expected.len(), "{unary:?}");
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-8 * b.abs().max(1.0);
            assert!(found.iter().zip(expected).all(near), "{unary:?} gave {found:?}");
        };
        let (e, s) = (std::f64::consts::E, (10.0_f64 / 3.0).sqrt());
        is(Unary::Log, &[0.0, 0.0, 3_f64.ln(), 2_f64.ln()]);
        is(Unary::AbsLog, &[0.0, 0.0, 3_f64.ln(), 2_f64.ln()]);
        is(Unary::Abs, &[1.0, 0.0, 3.0, 2.0]);
        is(Unary::Square, &[1.0, 0.0, 9.0, 4.0]);
        is(Unary::Exp, &[1.0 / e, 1.0, e.powi(3), e * e]);
        is(Unary::ZScore, &[-2.0 / s, -1.0 / s, 2.0 / s, 1.0 / s]);
        is(Unary::Relu, &[0.0, 0.0, 3.0, 2.0]);
        is(Unary::Reciprocal, &[-1.0 / (1.0 - 1e-9), 1e9, 1.0 / 3.0, 0.5]);
        is(Unary::Norm, &[14_f64.sqrt()]);
        is(Unary::NormalisedSum, &[1.0]);
        is(Unary::L1, &[1.5]);
        // Columns (−1, 3) and (0, 2): the differences are 4 and 2.
        let (p, q) = (1.0 / (1.0 + e.powi(4)), 1.0 / (1.0 + e * e));
        is(Unary::Softmax, &[p, q, 1.0 - p, 1.0 - q]);
        is(Unary::LogSoftmax, &[p.ln(), q.ln(), (1.0 - p).ln(), (1.0 - q).ln()]);
        is(Unary::Sigmoid, &[1.0 / (1.0 + e), 0.5, 1.0 / (1.0 + e.powi(-3)), 1.0 / (1.0 + e.powi(-2))]);
        is(Unary::Sqrt, &[0.0, 0.0, 3_f64.sqrt(), 2_f64.sqrt()]);
        is(Unary::Negate, &[1.0, 0.0, -3.0, -2.0]);
        is(Unary::MinMax, &[0.0, 0.25, 1.0, 0.75]);
        is(Unary::Mean, &[1.0]);
        is(Unary::Deviation, &[s]);
        is(Unary::Identity, &[-1.0, 0.0, 3.0, 2.0]);
        assert_eq!(Unary::ALL.len(), 21);
    }

    #[test]
    fn numbers_stay_numbers() {
        let x = Sheet::scalar(5.0);
        assert_eq!(Unary::Softmax.apply(&x).data, [1.0]);
        assert_eq!(Unary::LogSoftmax.apply(&x).data, [0.0]);
        assert!(Unary::Deviation.apply(&x).data[0].is_nan());
        assert_eq!(Unary::MinMax.apply(&x).data, [0.0]);
    }

    /// The mean of what was centred is rounding, not a number; a sum in another order is the same number.
    #[test]
    fn rounding_is_no_signal() {
        let x = Sheet { data: (0..1000).map(|i| (f64::from(i) * 0.37).sin()).collect(), lead: 1 };
        assert_eq!(Unary::ZScore.apply(&x).mean(), 0.0);
        assert_eq!(settled(0.1 + 0.2), settled(0.3));
        assert_eq!(settled(-0.0).to_bits(), 0);
        assert!(settled(1.0) < settled(1.0 + 1e-11));
    }

    #[test]
    fn joins_by_hand() {
        let made: Vec<f64> = Binary::ALL.iter().map(|join| join.apply(3.0, 2.0)).collect();
        assert_eq!(made, [5.0, 1.0, 6.0, 6.0]);
    }
}
