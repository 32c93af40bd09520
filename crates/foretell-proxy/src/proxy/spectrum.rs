//! Eigenvalues that several proxies look at: of correlations, covariances and kernels.

use super::About;
use crate::engine::linalg;
use crate::engine::matmul::Mat;
use crate::error::{Error, Result};
use crate::probe::View;

/// Eigenvalues of a symmetric n x n matrix, smallest first; `place` is named if it is not finite.
pub(super) fn eigenvalues(about: &About, place: &str, matrix: &[f64], n: usize) -> Result<Vec<f64>> {
    let failed = |e: linalg::Unsolved| Error::NonFinite {
        proxy: about.name,
        value: e.to_string(),
        place: place.into(),
    };
    linalg::symmetric_eigenvalues(Mat::new(matrix, n, n)).map_err(failed)
}

/// `X Xᵀ` of n rows.
pub(super) fn gram(x: &[f64], n: usize) -> Vec<f64> {
    let (x, mut product) = (Mat::new(x, n, x.len() / n), vec![0.0; n * n]);
    linalg::product(x, x.t(), &mut product);
    product
}

/// The correlation matrix of n rows. A constant row has none: an error that names it.
pub(super) fn correlation(about: &About, rows: &[f64], n: usize) -> Result<Vec<f64>> {
    let m = rows.len() / n;
    let mut scaled = rows.to_vec();
    for (i, row) in scaled.chunks_exact_mut(m).enumerate() {
        let mean = row.iter().sum::<f64>() / m as f64;
        row.iter_mut().for_each(|x| *x -= mean);
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm == 0.0 {
            let reason = "it is constant, so it has no correlation".into();
            return Err(Error::Degenerate { proxy: about.name, place: format!("row {i}"), reason });
        }
        row.iter_mut().for_each(|x| *x /= norm);
    }
    Ok(gram(&scaled, n))
}

/// `−Σ ln(λ + k) + 1/(λ + k)`, k = 1e-5, over the eigenvalues of the correlation of n rows; tiny negative ones count as 0.
pub(super) fn spread(about: &About, rows: &[f64], n: usize) -> Result<f64> {
    const K: f64 = 1e-5;
    let values = eigenvalues(about, "correlation", &correlation(about, rows, n)?, n)?;
    Ok(-values.iter().map(|v| v.max(0.0) + K).map(|v| v.ln() + 1.0 / v).sum::<f64>())
}

/// The eigenvalues that are not zero by count of the unscaled covariance of columns over rows, smallest first: those of
/// the smaller of both Gram matrices of the centred columns.
pub(super) fn principal(about: &About, place: &str, rows: &View) -> Result<Vec<f64>> {
    let (n, d) = (rows.rows(), rows.cols());
    let mut columns = rows.t().to_vec();
    for column in columns.chunks_exact_mut(n) {
        let mean = column.iter().sum::<f64>() / n as f64;
        column.iter_mut().for_each(|x| *x -= mean);
    }
    if d <= n {
        return eigenvalues(about, place, &gram(&columns, d), d);
    }
    let turned = View::F64(Mat::new(&columns, d, n)).t().to_vec();
    eigenvalues(about, place, &gram(&turned, n), n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Correlations do not see a row's scale and offset; a constant row has none.
    #[test]
    fn affine_maps_of_rows_change_nothing() {
        let rows: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17) + f64::from(i) / 7.0).collect();
        let moved: Vec<f64> = rows
            .iter()
            .enumerate()
            .map(|(i, x)| x * (1.0 + (i / 15) as f64) - 3.0 * (i / 15) as f64)
            .collect();
        let [a, b] = [&rows, &moved].map(|rows| spread(&About::SHAPE, rows, 4).unwrap());
        assert!((a - b).abs() < 1e-9 * a.abs(), "{a} is not {b}");
        let error = spread(&About::SHAPE, &[1.0, 2.0, 5.0, 5.0], 2).err().unwrap();
        assert_eq!((error.kind(), error.to_string().contains("row 1")), ("degenerate", true));
    }

    /// Two rows of correlation c: eigenvalues 1 ± c.
    #[test]
    fn two_rows_by_hand() {
        // Centred: (-1, 0, 1) and (-1, 1, 0); their correlation is 1/2.
        let found = spread(&About::SHAPE, &[1.0, 2.0, 3.0, 0.0, 2.0, 1.0], 2).unwrap();
        let term = |v: f64| (v + 1e-5f64).ln() + 1.0 / (v + 1e-5);
        assert!((found + term(0.5) + term(1.5)).abs() < 1e-12);
    }
}
