//! Bands of parameters that agreement is computed within.

use crate::error::{Error, Result};
use crate::rank::{self, Band};

/// How networks are put into bands by their parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Bands {
    /// So many bands of about as many networks each.
    Equal(usize),
    /// Bands between these counts: below the first, between neighbours, from the last on. Empty ones are left out.
    At(Vec<f64>),
}

impl Bands {
    /// Bands that are cut at these counts, which must rise.
    pub fn at(cuts: &[u64]) -> Result<Self> {
        if cuts.is_empty() || cuts.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::option("bands", "the counts that bands are cut at must rise: 1M,5M,20M"));
        }
        Ok(Bands::At(cuts.iter().map(|cut| *cut as f64).collect()))
    }

    /// Agreement within each band.
    pub(super) fn of(&self, score: &[f64], truth: &[f64], size: &[f64]) -> Vec<Band> {
        let cuts = match self {
            Bands::Equal(count) => return rank::banded(score, truth, size, *count),
            Bands::At(cuts) => cuts,
        };
        let ends = std::iter::once(0.0).chain(cuts.iter().copied());
        let nexts = cuts.iter().copied().chain([f64::INFINITY]);
        let band = |(low, high): (f64, f64)| {
            let rows: Vec<usize> = (0..size.len()).filter(|row| (low..high).contains(&size[*row])).collect();
            let pick = |column: &[f64]| rows.iter().map(|row| column[*row]).collect::<Vec<f64>>();
            let (score, truth, size) = (pick(score), pick(truth), pick(size));
            Some(Band {
                low: size.iter().copied().reduce(f64::min)?,
                high: size.iter().copied().reduce(f64::max)?,
                n: rows.len(),
                kendall: rank::kendall_tau_b(&score, &truth),
                spearman: rank::spearman(&score, &truth),
            })
        };
        ends.zip(nexts).filter_map(band).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes 1 to 6 cut at 3 and 5: 1 2 | 3 4 | 5 6. A cut belongs to the band above it; nothing lies above 10.
    #[test]
    fn bands_as_asked() {
        let size = [6.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let truth = [1.0, 1.0, 2.0, 4.0, 3.0, 6.0];
        let found = Bands::at(&[3, 5, 10]).unwrap().of(&size, &truth, &size);
        let shown: Vec<_> = found.iter().map(|band| (band.low, band.high, band.n, band.kendall)).collect();
        let (up, down) = (Some(1.0), Some(-1.0));
        assert_eq!(shown, [(1.0, 2.0, 2, up), (3.0, 4.0, 2, down), (5.0, 6.0, 2, down)]);
        assert!(Bands::at(&[5, 3]).is_err() && Bands::at(&[]).is_err());
        assert_eq!(Bands::Equal(3).of(&size, &truth, &size).len(), 3);
    }
}
