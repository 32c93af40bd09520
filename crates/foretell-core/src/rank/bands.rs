//! Agreement inside bands of like size.

use serde::{Deserialize, Serialize};

use super::correlation::spearman;
use super::kendall::kendall_tau_b;
use super::order::{ascending, comparable};

/// Rows of neighbouring size, and the correlation of score and truth among them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Smallest size in the band.
    pub low: f64,
    /// Largest size in the band.
    pub high: f64,
    /// Number of rows.
    pub n: usize,
    /// [`kendall_tau_b`](super::kendall_tau_b()) of the band.
    pub kendall: Option<f64>,
    /// [`spearman`](super::spearman()) of the band.
    pub spearman: Option<f64>,
}

/// Bands of about equal count by rising size, with the correlations of `score`
/// and `truth` inside each.
///
/// The ideal cut after band `b` is at row `n b / bands`; rows of one size stay
/// together, so the cut moves to the nearer end of its run of equal sizes
/// (the later one when both are as near) and bands left empty are dropped.
/// Empty if lengths differ, a value is NaN or there are no rows or bands.
pub fn banded(score: &[f64], truth: &[f64], size: &[f64], bands: usize) -> Vec<Band> {
    if !comparable(&[score, truth, size]) {
        return Vec::new();
    }
    let order = ascending(size);
    // More bands than rows can only be empty ones.
    let bands = bands.min(order.len());
    let mut start = 0;
    let mut found = Vec::new();
    for cut in (1..=bands).map(|band| order.len() * band / bands) {
        let end = nearer_run_end(&order, size, cut);
        if let Some(band) = order.get(start..end).and_then(|rows| Band::new(score, truth, size, rows)) {
            found.push(band);
            start = end;
        }
    }
    found
}

impl Band {
    fn new(score: &[f64], truth: &[f64], size: &[f64], rows: &[usize]) -> Option<Self> {
        let (low, high) = (size[*rows.first()?], size[*rows.last()?]);
        let [score, truth] =
            [score, truth].map(|column| rows.iter().map(|&row| column[row]).collect::<Vec<f64>>());
        let (kendall, spearman) = (kendall_tau_b(&score, &truth), spearman(&score, &truth));
        Some(Self { low, high, n: rows.len(), kendall, spearman })
    }
}

/// `cut` itself between two sizes, else the nearer end of the run it splits.
fn nearer_run_end(order: &[usize], size: &[f64], cut: usize) -> usize {
    let (before, after) = order.split_at(cut);
    let (Some(&left), Some(&right)) = (before.last(), after.first()) else {
        return cut;
    };
    if size[left] != size[right] {
        return cut;
    }
    let equal = |row: &&usize| size[**row] == size[left];
    let back = before.iter().rev().take_while(equal).count();
    let ahead = after.iter().take_while(equal).count();
    if back < ahead { cut - back } else { cut + ahead }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six rows in two bands: the cut at 3 splits the run of four 2s after two
    /// of them (rows 1..=4): back 2, ahead 2, as near, so the later end, 5.
    #[test]
    fn runs_of_one_size_stay_together() {
        let size = [1.0, 2.0, 2.0, 2.0, 2.0, 3.0];
        let shape = |size: &[f64], bands: usize| -> Vec<(f64, f64, usize)> {
            let column: Vec<f64> = (0..size.len()).map(|row| row as f64).collect();
            let found = banded(&column, &column, size, bands);
            found.iter().map(|band| (band.low, band.high, band.n)).collect()
        };
        assert_eq!(shape(&size, 2), [(1.0, 2.0, 5), (3.0, 3.0, 1)]);
        assert_eq!(shape(&[3.0, 1.0, 2.0, 4.0], 2), [(1.0, 2.0, 2), (3.0, 4.0, 2)]);
        assert_eq!(shape(&[1.0, 2.0, 2.0, 2.0], 2), [(1.0, 1.0, 1), (2.0, 2.0, 3)]);
        assert_eq!(shape(&[5.0; 4], 3), [(5.0, 5.0, 4)]);
        assert_eq!((shape(&size, 0).len(), shape(&[], 3).len()), (0, 0));
    }

    #[test]
    fn a_band_correlates_its_own_rows() {
        let found = banded(&[1.0, 2.0, 2.0, 1.0], &[1.0, 2.0, 3.0, 4.0], &[1.0, 1.0, 2.0, 2.0], 2);
        let taus: Vec<_> = found.iter().map(|band| (band.kendall, band.spearman)).collect();
        assert_eq!(taus, [(Some(1.0), Some(1.0)), (Some(-1.0), Some(-1.0))]);
    }
}
