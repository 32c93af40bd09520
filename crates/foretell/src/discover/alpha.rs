//! How ZeroLM's balance of attention and feed-forward capacity is found.
//!
//! ```text
//! s = α S_attention + (1 − α) S_ffn
//! labels:   α from −1.5 to 1.5 by 0.1; the mean of the two with the largest |tau| on n labelled networks
//! balance:  α = sd(S_ffn) / (sd(S_attention) + sd(S_ffn))
//! maxmin:   α in 0..1 with the largest min(rho(s, S_attention), rho(s, S_ffn)); of equals the one nearest to ½
//! anchor:   α in −1.5..1.5 with the largest rho(s, decoder parameters)
//! ```
//!
//! The first is the paper's as an independent re-implementation has it; the three that need no label are ours.

use super::Spread;
use crate::architecture::Architecture;
use crate::error::Result;
use crate::proxy::Request;
use crate::rank;
use crate::seed::Seed;
use rand::seq::SliceRandom;
use serde::Serialize;

/// Both capacities of some networks.
#[derive(Debug, Clone)]
pub struct Capacities {
    attention: Vec<f64>,
    ffn: Vec<f64>,
    decoder: Vec<f64>,
}

/// A balance, and the direction that labels gave it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Alpha {
    /// The weight of attention.
    pub alpha: f64,
    /// Whether small scores are good.
    pub turned: bool,
}

impl Capacities {
    /// Those of some networks.
    pub fn of(architectures: &[Architecture]) -> Result<Self> {
        let column = |proxy: &str| {
            let request = Request::parse(proxy)?;
            architectures
                .iter()
                .map(|architecture| request.of_shape(architecture))
                .collect::<Result<Vec<_>>>()
        };
        Ok(Capacities {
            attention: column("zerolm[alpha=1]")?,
            ffn: column("zerolm[alpha=0]")?,
            decoder: column("decoder-params")?,
        })
    }

    /// The score of some networks.
    pub fn scores(&self, alpha: Alpha, rows: &[usize]) -> Vec<f64> {
        let sign = if alpha.turned { -1.0 } else { 1.0 };
        let one = |row: &usize| alpha.alpha * self.attention[*row] + (1.0 - alpha.alpha) * self.ffn[*row];
        rows.iter().map(|row| sign * one(row)).collect()
    }

    /// By the labels of some networks; none if no balance ranks them.
    pub fn by_labels(&self, rows: &[usize], truth: &[f64]) -> Option<Alpha> {
        let mut grid: Vec<(f64, f64)> = Vec::new();
        for alpha in steps(-15, 15) {
            let scores = self.scores(Alpha { alpha, turned: false }, rows);
            grid.extend(rank::kendall_tau_b(&scores, truth).map(|tau| (tau, alpha)));
        }
        // Of equals the one nearest to the middle, and to the first: far apart, their mean would be neither.
        let best = |grid: &[(f64, f64)], middle: f64| {
            let far = |entry: &(f64, f64)| (entry.1 - middle).abs();
            let better = |a: &&(f64, f64), b: &&(f64, f64)| {
                a.0.abs().total_cmp(&b.0.abs()).then(far(b).total_cmp(&far(a)))
            };
            grid.iter().max_by(better).copied()
        };
        let (tau, first) = best(&grid, 0.5)?;
        grid.retain(|(_, alpha)| *alpha != first);
        let (_, second) = best(&grid, first)?;
        Some(Alpha { alpha: (first + second) / 2.0, turned: tau < 0.0 })
    }

    /// The term that is the same for all networks, if one is: there is nothing to balance then, since every α between 0
    /// and 1 ranks alike and one of the ends ranks nothing.
    pub fn constant(&self) -> Option<&'static str> {
        let constant = |values: &[f64]| rank::distinct(values) < 2;
        match (constant(&self.attention), constant(&self.ffn)) {
            (true, true) => Some("attention and feed-forward capacity"),
            (true, false) => Some("attention capacity"),
            (false, true) => Some("feed-forward capacity"),
            (false, false) => None,
        }
    }

    /// Without labels: equal spread of both terms; ½ where one of them is the same for all networks.
    pub fn balance(&self) -> Alpha {
        if self.constant().is_some() {
            return Alpha { alpha: 0.5, turned: false };
        }
        let deviation = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64).sqrt()
        };
        let (attention, ffn) = (deviation(&self.attention), deviation(&self.ffn));
        Alpha { alpha: ffn / (attention + ffn), turned: false }
    }

    /// Without labels: the score that both terms agree with.
    pub fn maxmin(&self) -> Alpha {
        let alphas = (0..=100).map(|step| f64::from(step) / 100.0);
        let worst = |scores: &[f64]| {
            let rho = |term: &[f64]| rank::spearman(scores, term).unwrap_or(-1.0);
            rho(&self.attention).min(rho(&self.ffn))
        };
        self.best(alphas, worst)
    }

    /// Without labels: the score closest to the parameters of the decoder.
    pub fn anchor(&self) -> Alpha {
        self.best(steps(-15, 15), |scores| rank::spearman(scores, &self.decoder).unwrap_or(-1.0))
    }

    /// The fixed balances and those of every rule that needs no label.
    pub fn unlabelled(&self) -> [(&'static str, Alpha); 6] {
        let fixed = |alpha| Alpha { alpha, turned: false };
        [
            ("ffn alone", fixed(0.0)),
            ("both", fixed(0.5)),
            ("attention alone", fixed(1.0)),
            ("balance (ours)", self.balance()),
            ("maxmin (ours)", self.maxmin()),
            ("anchor (ours)", self.anchor()),
        ]
    }

    fn best(&self, alphas: impl Iterator<Item = f64>, value: impl Fn(&[f64]) -> f64) -> Alpha {
        let rows: Vec<usize> = (0..self.ffn.len()).collect();
        let mut best = (f64::NEG_INFINITY, 0.5_f64);
        for alpha in alphas {
            let value = value(&self.scores(Alpha { alpha, turned: false }, &rows));
            let nearer = value == best.0 && (alpha - 0.5).abs() < (best.1 - 0.5).abs();
            if value > best.0 || nearer {
                best = (value, alpha);
            }
        }
        Alpha { alpha: best.1, turned: false }
    }
}

/// How one way to find the balance does on networks whose labels it did not see.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The way.
    pub rule: &'static str,
    /// Labels it needs.
    pub labels: usize,
    /// The balance, over draws of the labels.
    pub alpha: Spread,
    /// Kendall's tau-b on the networks left.
    pub tau: Spread,
    /// Spearman's rho there.
    pub rho: Spread,
}

type Agreement = fn(&[f64], &[f64]) -> Option<f64>;

/// Draws of the labelled networks.
const DRAWS: u64 = 20;

/// Every way to find the balance, held against labels that are larger for better networks.
pub fn compare(capacities: &Capacities, truth: &[f64], seed: u64) -> Vec<Row> {
    let n = truth.len();
    let row = |rule, labels, found: &[(Alpha, Vec<usize>)]| {
        let column = |f: Agreement| {
            let one = |(alpha, rows): &(Alpha, Vec<usize>)| {
                let truth: Vec<f64> = rows.iter().map(|row| truth[*row]).collect();
                f(&capacities.scores(*alpha, rows), &truth).unwrap_or(0.0)
            };
            Spread::of(&found.iter().map(one).collect::<Vec<_>>())
        };
        let alphas: Vec<f64> = found.iter().map(|(alpha, _)| alpha.alpha).collect();
        let alpha = Spread::of(&alphas);
        Row { rule, labels, alpha, tau: column(rank::kendall_tau_b), rho: column(rank::spearman) }
    };
    let all: Vec<usize> = (0..n).collect();
    let mut rows: Vec<Row> =
        capacities.unlabelled().map(|(rule, alpha)| row(rule, 0, &[(alpha, all.clone())])).into();
    for labels in [10, 20, 50, 100].into_iter().filter(|labels| labels + 10 <= n) {
        let draw = |nth| {
            let mut order = all.clone();
            order.shuffle(&mut Seed(seed).stream("alpha", nth));
            let rest = order.split_off(labels);
            let truth: Vec<f64> = order.iter().map(|row| truth[*row]).collect();
            Some((capacities.by_labels(&order, &truth)?, rest))
        };
        let found: Vec<(Alpha, Vec<usize>)> = (0..DRAWS).filter_map(draw).collect();
        if !found.is_empty() {
            rows.push(row("labels", labels, &found));
        }
    }
    rows
}

/// Tenths.
fn steps(from: i32, to: i32) -> impl Iterator<Item = f64> {
    (from..=to).map(|tenth| f64::from(tenth) / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Capacities {
        let attention = vec![1.0, 2.0, 3.0, 4.0, 5.0];
        let ffn = vec![20.0, 10.0, 40.0, 30.0, 50.0];
        Capacities { decoder: attention.iter().zip(&ffn).map(|(a, f)| a + f).collect(), attention, ffn }
    }

    /// The deviations are √2 and 10 √2: α = 10 / 11.
    #[test]
    fn balance_by_hand() {
        assert!((made().balance().alpha - 10.0 / 11.0).abs() < 1e-12);
    }

    /// A term that does not vary leaves nothing to balance; its spread alone would give it all the weight.
    #[test]
    fn a_constant_term_is_named() {
        assert_eq!(made().constant(), None);
        // 0.1 three times does not add up to three times 0.1: a deviation computed from the mean is not zero.
        let attention = Capacities { attention: vec![0.1; 5], ..made() };
        assert_eq!((attention.constant(), attention.balance().alpha), (Some("attention capacity"), 0.5));
        let ffn = Capacities { ffn: vec![7.0; 5], ..made() };
        assert_eq!((ffn.constant(), ffn.balance().alpha), (Some("feed-forward capacity"), 0.5));
    }

    /// Labels that are attention alone: only α = 1 ranks all five right. Below, feed-forward decides and 4 of 10 pairs weigh
    /// against; of these 0.9 is nearest. Reversed labels give the same balance, turned.
    #[test]
    fn labels_give_balance_and_direction() {
        let rows = [0, 1, 2, 3, 4];
        let up = made().by_labels(&rows, &[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let down = made().by_labels(&rows, &[5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
        assert_eq!((up.alpha, up.turned, down.turned), (down.alpha, false, true));
        assert_eq!(up.alpha, 0.95);
        assert!(made().scores(up, &rows).windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn anchors_find_the_decoder() {
        // Feed-forward decides the order at ½: rho is 1 and 0.8, and nothing is better than 0.8.
        assert_eq!(made().maxmin().alpha, 0.5);
        let found = made().anchor();
        assert!(rank::spearman(&made().scores(found, &[0, 1, 2, 3, 4]), &made().decoder).unwrap() > 0.99);
    }
}
