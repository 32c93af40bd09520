//! How the costs of several independent draws add up: the exact distribution of a sum, as points with mass.
//!
//! Masses are probabilities, never differences of larger numbers, so a feasible corner of probability 1e-200 is as
//! reliable as the middle.

use rustc_hash::FxHashMap;

/// A cost: parameters and multiply-adds.
pub type Cost = [u64; 2];

/// A closed range for each of the two costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Least allowed.
    pub low: Cost,
    /// Most allowed.
    pub high: Cost,
}

impl Window {
    /// The window that remains after `cost` is spent; `None` if it is already exceeded.
    pub fn after(&self, cost: Cost) -> Option<Window> {
        let high = |metric: usize| match self.high[metric] {
            u64::MAX => Some(u64::MAX),
            high => high.checked_sub(cost[metric]),
        };
        let low = [0, 1].map(|metric| self.low[metric].saturating_sub(cost[metric]));
        Some(Window { low, high: [high(0)?, high(1)?] })
    }

    /// Whether a cost lies inside.
    pub fn holds(&self, cost: Cost) -> bool {
        (0..2).all(|metric| (self.low[metric]..=self.high[metric]).contains(&cost[metric]))
    }
}

/// The distribution of a sum of costs.
pub struct CostDistribution {
    costs: Vec<Cost>,
    mass: Vec<f64>,
    // Running totals from either end: a range near an end is a difference of small numbers.
    left: Vec<f64>,
    right: Vec<f64>,
    rising: bool,
}

impl CostDistribution {
    /// The sum of nothing: zero, surely.
    pub fn nothing() -> Self {
        Self::new(vec![[0, 0]], vec![1.0])
    }

    fn new(costs: Vec<Cost>, mass: Vec<f64>) -> Self {
        let n = mass.len();
        let (mut left, mut right) = (vec![0.0; n + 1], vec![0.0; n + 1]);
        for i in 0..n {
            left[i + 1] = left[i] + mass[i];
            right[n - 1 - i] = right[n - i] + mass[n - 1 - i];
        }
        let rising = costs.is_sorted_by_key(|cost| cost[1]);
        CostDistribution { costs, mass, left, right, rising }
    }

    /// All sums that can occur, smallest first.
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }

    /// The distribution after one more draw of `step`, whose entries have these costs and shares.
    ///
    /// `None` if more than `most` different sums could occur.
    pub fn add(&self, step: &[(Cost, f64)], most: usize) -> Option<CostDistribution> {
        if let Some(line) = Line::through(self, step)
            && line.cells <= 4 * self.costs.len() * step.len()
        {
            return if line.cells <= most { Some(line.add(self, step)) } else { None };
        }
        let mut found: FxHashMap<Cost, f64> = FxHashMap::default();
        for (cost, share) in step {
            for (sum, mass) in self.costs.iter().zip(&self.mass) {
                *found.entry([sum[0] + cost[0], sum[1] + cost[1]]).or_insert(0.0) += share * mass;
            }
            if found.len() > most {
                return None;
            }
        }
        let mut points: Vec<(Cost, f64)> = found.into_iter().collect();
        points.sort_unstable_by_key(|(cost, _)| *cost);
        Some(Self::from_points(points))
    }

    fn from_points(points: Vec<(Cost, f64)>) -> Self {
        // A sum that can occur keeps some mass, however small: being possible must survive underflow.
        let (costs, mass) =
            points.into_iter().map(|(cost, mass)| (cost, mass.max(f64::MIN_POSITIVE))).unzip();
        Self::new(costs, mass)
    }

    /// The mass inside a window.
    pub fn within(&self, window: &Window) -> f64 {
        let from = self.costs.partition_point(|cost| cost[0] < window.low[0]);
        let to = self.costs.partition_point(|cost| cost[0] <= window.high[0]);
        if from >= to {
            return 0.0;
        }
        if self.rising {
            let part = &self.costs[from..to];
            let start = from + part.partition_point(|cost| cost[1] < window.low[1]);
            let end = from + part.partition_point(|cost| cost[1] <= window.high[1]);
            return if start < end { self.range(start, end) } else { 0.0 };
        }
        let inside = |i: &usize| (window.low[1]..=window.high[1]).contains(&self.costs[*i][1]);
        (from..to).filter(inside).map(|i| self.mass[i]).sum()
    }

    fn range(&self, from: usize, to: usize) -> f64 {
        let (left, right) = (self.left[to], self.right[from]);
        let difference = if left < right { left - self.left[from] } else { right - self.right[to] };
        // Where cancellation may have eaten the digits, add up again.
        if difference > 1e-6 * left.min(right) { difference } else { self.mass[from..to].iter().sum() }
    }
}

/// Costs that all lie on one line at whole steps: then sums are places on that line and adding is sliding.
struct Line {
    origin: Cost,
    stride: Cost,
    /// The metric in which places are measured: the first that varies.
    axis: usize,
    cells: usize,
}

impl Line {
    fn through(sums: &CostDistribution, step: &[(Cost, f64)]) -> Option<Line> {
        let (a, b) = (*sums.costs.iter().min()?, step.iter().map(|(cost, _)| *cost).min()?);
        let offset = |cost: Cost, from: Cost| Some([cost[0] - from[0], cost[1].checked_sub(from[1])?]);
        let first = sums.costs.iter().map(|cost| offset(*cost, a)).collect::<Option<Vec<Cost>>>()?;
        let second = step.iter().map(|(cost, _)| offset(*cost, b)).collect::<Option<Vec<Cost>>>()?;
        let stride = first.iter().chain(&second).fold([0, 0], |g, o| [gcd(g[0], o[0]), gcd(g[1], o[1])]);
        let axis = (0..2).find(|axis| stride[*axis] > 0)?;
        let on_line = |o: &Cost| (o[axis] / stride[axis]).checked_mul(stride[1 - axis]) == Some(o[1 - axis]);
        if !first.iter().chain(&second).all(on_line) {
            return None;
        }
        let reach = |offsets: &[Cost]| offsets.iter().map(|o| o[axis]).max().unwrap_or(0);
        let cells =
            usize::try_from((reach(&first) + reach(&second)) / stride[axis] + 1).unwrap_or(usize::MAX);
        Some(Line { origin: [a[0] + b[0], a[1] + b[1]], stride, axis, cells })
    }

    fn add(&self, sums: &CostDistribution, step: &[(Cost, f64)]) -> CostDistribution {
        let axis = self.axis;
        let start = sums.costs[0][axis];
        let base = self.origin[axis] - start;
        let place = |cost: &Cost, from: u64| ((cost[axis] - from) / self.stride[axis]) as usize;
        let mut shares: Vec<(usize, f64)> =
            step.iter().map(|(cost, share)| (place(cost, base), *share)).collect();
        shares.sort_unstable_by_key(|(place, _)| *place);
        let mut mass = vec![0.0; self.cells];
        let contiguous =
            shares.iter().enumerate().all(|(i, (place, share))| *place == i && *share == shares[0].1);
        if contiguous && shares.len() > 1 {
            let mut dense = vec![0.0; self.cells - shares.len() + 1];
            sums.costs.iter().zip(&sums.mass).for_each(|(cost, m)| dense[place(cost, start)] = *m);
            slide(&dense, shares.len(), &mut mass);
            mass.iter_mut().for_each(|m| *m *= shares[0].1);
        } else {
            for (cost, m) in sums.costs.iter().zip(&sums.mass) {
                let at = place(cost, start);
                shares.iter().for_each(|(offset, share)| mass[at + offset] += share * m);
            }
        }
        let reached = mass.into_iter().enumerate().filter(|(_, m)| *m > 0.0);
        let cost = |i: usize| [0, 1].map(|metric| self.origin[metric] + i as u64 * self.stride[metric]);
        CostDistribution::from_points(reached.map(|(i, m)| (cost(i), m)).collect())
    }
}

/// `out[i] = Σ_{i-width < j ≤ i} data[j]`, by partial sums of blocks so that nothing is ever subtracted.
fn slide(data: &[f64], width: usize, out: &mut [f64]) {
    let at = |i: isize| if i >= 0 { data.get(i as usize).copied().unwrap_or(0.0) } else { 0.0 };
    let mut to_end = vec![0.0; width];
    for block in (0..out.len()).step_by(width) {
        // Window ending at block + k: the tail of the block before, and the head of this one.
        let before = block as isize - width as isize;
        let mut tail = 0.0;
        for k in (1..width).rev() {
            tail += at(before + k as isize);
            to_end[k] = tail;
        }
        let mut head = 0.0;
        for k in 0..width.min(out.len() - block) {
            head += at((block + k) as isize);
            out[block + k] = head + if k + 1 < width { to_end[k + 1] } else { 0.0 };
        }
    }
}

/// The greatest common divisor; that of zero and a number is the number.
pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two dice: 36 throws, six of which give seven.
    #[test]
    fn dice() {
        let die: Vec<(Cost, f64)> = (1..=6).map(|i| ([i, 10 * i], 1.0 / 6.0)).collect();
        let two = CostDistribution::nothing().add(&die, 1000).unwrap().add(&die, 1000).unwrap();
        let seven = Window { low: [7, 0], high: [7, u64::MAX] };
        assert!((two.within(&seven) - 6.0 / 36.0).abs() < 1e-15);
        assert!((two.within(&Window { low: [2, 0], high: [12, 30] }) - 3.0 / 36.0).abs() < 1e-15);
        assert_eq!(two.within(&Window { low: [13, 0], high: [99, u64::MAX] }), 0.0);
    }

    /// Line and hash routes agree: the second cost bent off the line forces the hash route.
    #[test]
    fn both_routes_agree() {
        let straight: Vec<(Cost, f64)> = (0..40).map(|i| ([100 + 3 * i, 7 * i], 1.0 / 40.0)).collect();
        let mut bent = straight.clone();
        bent[0].0[1] = 1;
        let sum = |step: &[(Cost, f64)]| {
            (0..5).fold(CostDistribution::nothing(), |sums, _| sums.add(step, 1 << 20).expect("few states"))
        };
        let (a, b) = (sum(&straight), sum(&bent));
        for (low, high) in [(500, 520), (500, 1000), (700, 703), (1085, 1085)] {
            let window = Window { low: [low, 0], high: [high, u64::MAX] };
            assert!(
                (a.within(&window) - b.within(&window)).abs() <= 1e-12 * b.within(&window),
                "{low}..{high}"
            );
        }
    }

    /// The corner of 64 layers with 64 choices each has probability 2^-384 and is still found.
    #[test]
    fn a_remote_corner_keeps_its_mass() {
        let step: Vec<(Cost, f64)> = (0..64).map(|i| ([i, 0], 1.0 / 64.0)).collect();
        let sums = (0..64)
            .fold(CostDistribution::nothing(), |sums, _| sums.add(&step, 1 << 20).expect("few states"));
        let corner = sums.within(&Window { low: [63 * 64, 0], high: [u64::MAX, u64::MAX] });
        assert!((corner / 2f64.powi(-384) - 1.0).abs() < 1e-12, "{corner:e}");
    }
}
