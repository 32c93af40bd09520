//! Agreement with scipy and numpy to 1e-12. `scipy.json` is written by
//! `scipy_reference.py`; both sides build the data from the recipe in it.

use foretell::rank::{kendall_tau_a, kendall_tau_b, partial_kendall, pearson, quantile, spearman};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
    percentiles: Vec<Percentile>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    n: usize,
    seed: u64,
    x_levels: u64,
    y_levels: u64,
    z_levels: u64,
    y_slope: f64,
    z_slope: f64,
    tau_b: Option<f64>,
    tau_a: Option<f64>,
    spearman: Option<f64>,
    pearson: Option<f64>,
    partial: Option<f64>,
}

#[derive(Deserialize)]
struct Percentile {
    n: usize,
    seed: u64,
    levels: u64,
    share: f64,
    expected: f64,
}

/// Splitmix64.
struct Splitmix(u64);

impl Splitmix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// An integer below `levels`, or for 0 levels a bell-shaped float.
    fn draw(&mut self, levels: u64) -> f64 {
        if levels > 0 {
            return (self.next() % levels) as f64;
        }
        let unit = 2_f64.powi(-53);
        (0..12).fold(0.0, |sum, _| sum + (self.next() >> 11) as f64 * unit) - 6.0
    }
}

fn columns(case: &Case) -> [Vec<f64>; 3] {
    let mut random = Splitmix(case.seed);
    let mut columns = [const { Vec::new() }; 3];
    for _ in 0..case.n {
        let x = random.draw(case.x_levels);
        columns[0].push(x);
        columns[1].push(case.y_slope * x + random.draw(case.y_levels));
        columns[2].push(case.z_slope * x + random.draw(case.z_levels));
    }
    columns
}

fn reference() -> serde_json::Result<Reference> {
    serde_json::from_str(include_str!("scipy.json"))
}

fn agree(ours: Option<f64>, theirs: Option<f64>) -> bool {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() < 1e-12,
        (None, None) => true,
        _ => false,
    }
}

#[test]
fn correlations_agree_with_scipy() -> serde_json::Result<()> {
    let cases = reference()?.cases;
    assert!(cases.len() > 20);
    for case in cases {
        let [x, y, z] = columns(&case);
        let compared = [
            ("tau-b", kendall_tau_b(&x, &y), case.tau_b),
            ("tau-a", kendall_tau_a(&x, &y), case.tau_a),
            ("spearman", spearman(&x, &y), case.spearman),
            ("pearson", pearson(&x, &y), case.pearson),
            ("partial", partial_kendall(&x, &y, &z), case.partial),
        ];
        for (statistic, ours, theirs) in compared {
            assert!(agree(ours, theirs), "{}: {statistic} {ours:?} {theirs:?}", case.name);
        }
    }
    Ok(())
}

#[test]
fn quantiles_agree_with_numpy() -> serde_json::Result<()> {
    let percentiles = reference()?.percentiles;
    assert!(percentiles.len() > 30);
    for case in percentiles {
        let mut random = Splitmix(case.seed);
        let values: Vec<f64> = (0..case.n).map(|_| random.draw(case.levels)).collect();
        let ours = quantile(&values, case.share);
        assert!(agree(ours, Some(case.expected)), "{ours:?} {}", case.expected);
    }
    Ok(())
}
