//! What passes saw, in whichever precision they ran: the only thing proxies look at.

use super::data;
use super::run::{Matrix, TypedResult};
use crate::engine::buffer::Workspace;
use crate::engine::linalg::{self, Unsolved};
use crate::engine::matmul::Mat;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result as Checked};
use crate::network::{Mark, Param, Weights};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// Numbers of either precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbers {
    /// Single.
    F32(#[serde(with = "data::list")] Vec<f32>),
    /// Double.
    F64(#[serde(with = "data::list")] Vec<f64>),
}

/// A scalar that proxies can look at.
pub trait Number: Scalar {
    /// Forgets the precision.
    fn own(data: Vec<Self>) -> Numbers;
    /// Gives a buffer of this precision back; one of the other is dropped.
    fn reclaim(numbers: Numbers, space: &mut Workspace<Self>);
}

impl Number for f32 {
    fn own(data: Vec<f32>) -> Numbers {
        Numbers::F32(data)
    }
    fn reclaim(numbers: Numbers, space: &mut Workspace<f32>) {
        if let Numbers::F32(data) = numbers {
            space.give(data);
        }
    }
}

impl Number for f64 {
    fn own(data: Vec<f64>) -> Numbers {
        Numbers::F64(data)
    }
    fn reclaim(numbers: Numbers, space: &mut Workspace<f64>) {
        if let Numbers::F64(data) = numbers {
            space.give(data);
        }
    }
}

impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Numbers::F32(data) => data.len(),
            Numbers::F64(data) => data.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A part as a matrix.
    pub fn matrix(&self, range: std::ops::Range<usize>, rows: usize, cols: usize) -> View<'_> {
        match self {
            Numbers::F32(data) => View::F32(Mat::new(&data[range], rows, cols)),
            Numbers::F64(data) => View::F64(Mat::new(&data[range], rows, cols)),
        }
    }
}

/// A matrix that is read.
#[derive(Debug, Clone, Copy)]
pub enum View<'a> {
    /// Single precision.
    F32(Mat<'a, f32>),
    /// Double precision.
    F64(Mat<'a, f64>),
}

macro_rules! each {
    ($view:expr, $x:ident => $body:expr) => {
        match $view {
            View::F32($x) => $body,
            View::F64($x) => $body,
        }
    };
}

impl<'a> View<'a> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        each!(self, x => x.rows())
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        each!(self, x => x.cols())
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.rows() * self.cols()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element (i, j).
    pub fn at(&self, i: usize, j: usize) -> f64 {
        each!(self, x => x.at(i, j).to_f64())
    }

    /// The transpose.
    pub fn t(self) -> Self {
        match self {
            View::F32(x) => View::F32(x.t()),
            View::F64(x) => View::F64(x.t()),
        }
    }

    /// Rows `start..start + count`.
    pub fn part(self, start: usize, count: usize) -> Self {
        let cols = self.cols();
        match self {
            View::F32(x) => View::F32(x.block((start, count), (0, cols))),
            View::F64(x) => View::F64(x.block((start, count), (0, cols))),
        }
    }

    /// `Σ f(x)`
    pub fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        each!(self, x => {
            let (x, unit) = if x.col_stride() == 1 || x.cols() == 1 { (*x, x.col_stride() == 1) } else { (x.t(), x.row_stride() == 1) };
            (0..x.rows()).map(|i| match unit {
                true => lanes(x.row(i), x.row(i), |x, _| f(x.to_f64())),
                false => (0..x.cols()).map(|j| f(x.at(i, j).to_f64())).sum(),
            }).sum()
        })
    }

    /// `Σ f(x, y)` over two matrices of one shape and precision.
    pub fn sum_with(&self, other: &View, f: impl Fn(f64, f64) -> f64) -> f64 {
        assert_eq!((self.rows(), self.cols()), (other.rows(), other.cols()), "a sum over two matrices");
        fn both<S: Scalar>(x: &Mat<'_, S>, y: &Mat<'_, S>, f: impl Fn(f64, f64) -> f64) -> f64 {
            if x.col_stride() == 1 && y.col_stride() == 1 {
                let row = |i| lanes(x.row(i), y.row(i), |x, y| f(x.to_f64(), y.to_f64()));
                return (0..x.rows()).map(row).sum();
            }
            let row = |i| (0..x.cols()).map(|j| f(x.at(i, j).to_f64(), y.at(i, j).to_f64())).sum::<f64>();
            (0..x.rows()).map(row).sum()
        }
        match (self, other) {
            (View::F32(x), View::F32(y)) => both(x, y, f),
            (View::F64(x), View::F64(y)) => both(x, y, f),
            _ => unreachable!("one pass has one precision"),
        }
    }

    /// Every entry in double precision, row by row.
    pub fn to_vec(&self) -> Vec<f64> {
        each!(self, x => (0..x.rows()).flat_map(|i| (0..x.cols()).map(move |j| (i, j))).map(|(i, j)| x.at(i, j).to_f64()).collect())
    }

    /// `‖A‖_*`
    pub fn nuclear_norm(&self) -> Result<f64, Unsolved> {
        each!(self, x => linalg::nuclear_norm(*x))
    }
}

/// `Σ_j f(x_j, y_j)`, eight sums side by side: the compiler vectorises it, and the order is the same everywhere.
fn lanes<S: Scalar>(x: &[S], y: &[S], f: impl Fn(S, S) -> f64) -> f64 {
    let ((eights, rest), (others, left)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (eight, other) in eights.iter().zip(others) {
        for (sum, (x, y)) in sums.iter_mut().zip(eight.iter().zip(other)) {
            *sum += f(*x, *y);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().zip(left).map(|(x, y)| f(*x, *y)).sum::<f64>()
}

/// A matrix of one's own, in either precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "data::Unchecked")]
pub struct KeptValue {
    pub(super) numbers: Numbers,
    rows: usize,
    cols: usize,
}

impl KeptValue {
    /// A matrix from its entries, row by row.
    pub fn new(numbers: Numbers, rows: usize, cols: usize) -> Checked<Self> {
        match rows.checked_mul(cols) == Some(numbers.len()) {
            true => Ok(KeptValue { numbers, rows, cols }),
            false => {
                let message = format!("{} numbers are no matrix of {rows} x {cols}", numbers.len());
                Err(Error::data("value", message))
            }
        }
    }

    fn own<S: Number>(matrix: Matrix<S>) -> Self {
        KeptValue { rows: matrix.rows, cols: matrix.cols, numbers: S::own(matrix.data) }
    }

    /// A view of it.
    pub fn view(&self) -> View<'_> {
        self.numbers.matrix(0..self.rows * self.cols, self.rows, self.cols)
    }
}

/// What one pass saw.
///
/// It is written and read as data, so that another program can hand it back; what is absent there is empty, but for the
/// batch. [`PassResult::check`] says whether it fits a network.
///
/// ```
/// use foretell_network::probe::PassResult;
/// let text = r#"{"loss": 1.5, "gradients": {"f32": [0.5, -0.25]}, "batch": 1,
///     "values": [[{"output": 0}, {"numbers": {"f32": [3.0]}, "rows": 1, "cols": 1}]]}"#;
/// let result: PassResult = serde_json::from_str(text).unwrap();
/// assert_eq!((result.loss, result.values[0].1.view().at(0, 0)), (Some(1.5), 3.0));
/// ```
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PassResult {
    /// The loss, if there was one.
    #[serde(default, with = "data::option")]
    pub loss: Option<f64>,
    /// Gradients of all weights in the order of the layout, or the Hessian times them.
    #[serde(default)]
    pub gradients: Option<Numbers>,
    /// Values kept, with what they are.
    #[serde(default)]
    pub values: Vec<(Mark, KeptValue)>,
    /// Gradients of values, with the value they belong to.
    #[serde(default)]
    pub value_gradients: Vec<(Mark, KeptValue)>,
    /// Folded per-sample gradients, or the speeds along a curve.
    #[serde(default, with = "data::list")]
    pub numbers: Vec<f64>,
    /// Squared gradient norms of a kernel trace: a row per probe, a column per tensor.
    #[serde(default, with = "data::lists")]
    pub traces: Vec<Vec<f64>>,
    /// Nuclear norms of gradients, each computed for the first who asks: tensor, part, parts.
    #[serde(skip)]
    pub nuclear: Mutex<FxHashMap<(Param, usize, usize), f64>>,
    /// Samples that were fed.
    pub batch: usize,
    /// Wall time.
    #[serde(default)]
    pub seconds: f64,
}

impl PassResult {
    pub(super) fn of<S: Number>(run: TypedResult<S>) -> Self {
        let own = |list: Vec<(Mark, Matrix<S>)>| {
            list.into_iter().map(|(mark, x)| (mark, KeptValue::own(x))).collect()
        };
        PassResult {
            loss: run.loss.map(S::to_f64),
            gradients: run.weight_gradients.map(|weights| S::own(weights.data)),
            values: own(run.kept),
            value_gradients: own(run.gradients),
            batch: run.batch,
            ..PassResult::default()
        }
    }

    /// Weight gradients, or the Hessian times them, if they were formed.
    pub fn gradients(&self) -> Option<&Numbers> {
        self.gradients.as_ref()
    }
}

/// Weights in either precision.
#[derive(Debug, Clone, Copy)]
pub enum AnyWeights<'a> {
    /// Single.
    F32(&'a Weights<f32>),
    /// Double.
    F64(&'a Weights<f64>),
}

impl<'a> AnyWeights<'a> {
    /// Where tensors lie.
    pub fn layout(&self) -> &'a std::sync::Arc<crate::network::Layout> {
        match self {
            AnyWeights::F32(weights) => &weights.layout,
            AnyWeights::F64(weights) => &weights.layout,
        }
    }

    /// A tensor as it is stored.
    pub fn stored(&self, param: Param) -> View<'a> {
        match self {
            AnyWeights::F32(weights) => View::F32(weights.matrix(param)),
            AnyWeights::F64(weights) => View::F64(weights.matrix(param)),
        }
    }
}
