//! The course of training that all networks share: the mean and the deviation of labels after each budget.
//!
//! Budgets are equated from the shortest on. With the networks labelled after both of two neighbouring budgets, so that it
//! does no harm if only good networks were trained for long:
//!
//! ```text
//! s_k = s_{k−1} · deviation(y_k) / deviation(y_{k−1})
//! m_k = mean(y_k) − (mean(y_{k−1}) − m_{k−1}) · s_k / s_{k−1}
//! ```
//!
//! Fewer than four networks say nothing about the deviation, which then stays. Between budgets both are linear in the logarithm of the tokens; beyond the last the mean goes on as before it.

use super::features::{mean, spread};
use serde::{Deserialize, Serialize};

/// Networks that two budgets must share to compare their deviations.
const SHARED: usize = 4;

/// Mean and deviation of labels by the logarithm of the budget, shortest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Course(Vec<[f64; 3]>);

impl Course {
    /// The course of labels; `groups` lists the labels of each network.
    pub(super) fn fit(values: &[f64], tokens: &[f64], groups: &[Vec<usize>]) -> Self {
        let mut budgets = tokens.to_vec();
        budgets.sort_by(f64::total_cmp);
        budgets.dedup();
        let mut course: Vec<[f64; 3]> = Vec::new();
        for (place, budget) in budgets.iter().enumerate() {
            let after = |group: &Vec<usize>, budget: f64| {
                group.iter().find(|row| tokens[**row] == budget).map(|row| values[*row])
            };
            let before = place.checked_sub(1).map(|before| budgets[before]);
            let shared: Vec<(f64, f64)> = groups
                .iter()
                .filter_map(|group| Some((after(group, before?)?, after(group, *budget)?)))
                .collect();
            let (earlier, later): (Vec<f64>, Vec<f64>) = shared.into_iter().unzip();
            let next = match course.last() {
                Some([_, middle, deviation]) if !later.is_empty() => {
                    let known = later.len() >= SHARED && spread(&earlier) > 0.0;
                    let ratio = if known { spread(&later) / spread(&earlier) } else { 1.0 };
                    let middle = mean(&later) - (mean(&earlier) - middle) * ratio;
                    [budget.ln(), middle, deviation * ratio]
                }
                _ => {
                    let own: Vec<f64> = groups.iter().filter_map(|group| after(group, *budget)).collect();
                    [budget.ln(), mean(&own), spread(&own)]
                }
            };
            course.push(next);
        }
        // A budget of one label has no deviation of its own.
        let usual = mean(&course.iter().map(|[_, _, deviation]| *deviation).collect::<Vec<_>>());
        course.iter_mut().filter(|at| at[2] <= 1e-12 * usual).for_each(|at| at[2] = usual);
        Course(course)
    }

    /// The mean and the deviation after a budget.
    fn at(&self, tokens: f64) -> [f64; 2] {
        let at = tokens.ln();
        let course = &self.0;
        let next = course.partition_point(|point| point[0] < at);
        let (a, b) = match (next, course.len()) {
            (_, 1) => return [course[0][1], course[0][2]],
            (0, _) => (course[0], course[1]),
            (next, n) if next == n => (course[n - 2], course[n - 1]),
            (next, _) => (course[next - 1], course[next]),
        };
        let share = (at - a[0]) / (b[0] - a[0]);
        [a[1] + share * (b[1] - a[1]), a[2] + share.clamp(0.0, 1.0) * (b[2] - a[2])]
    }

    /// A label as deviations from the mean after its budget.
    pub(super) fn apply(&self, value: f64, tokens: f64) -> f64 {
        let [middle, deviation] = self.at(tokens);
        (value - middle) / deviation
    }

    /// The label that is so many deviations from the mean after a budget.
    pub(super) fn invert(&self, value: f64, tokens: f64) -> f64 {
        let [middle, deviation] = self.at(tokens);
        middle + value * deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six networks have the labels 0 to 5 after 10 tokens; the four best are trained on and have 10 + 2y after 100. By the
    /// four, labels rise by 10 + y and deviate twice as much: the mean of all six would be 10 + 2 · 2.5.
    #[test]
    fn budgets_are_equated_by_the_networks_they_share() {
        let values: Vec<f64> =
            (0..6).map(f64::from).chain((2..6).map(|y| 10.0 + 2.0 * f64::from(y))).collect();
        let tokens: Vec<f64> = [[10.0; 6].as_slice(), &[100.0; 4]].concat();
        let groups: Vec<Vec<usize>> = (0..6).map(|i| if i < 2 { vec![i] } else { vec![i, i + 4] }).collect();
        let course = Course::fit(&values, &tokens, &groups);
        let [middle, deviation] = course.at(100.0);
        assert!((middle - 15.0).abs() < 1e-12 && (deviation / course.at(10.0)[1] - 2.0).abs() < 1e-12);
        for (value, tokens) in [(3.0, 10.0), (17.0, 100.0), (8.0, 40.0), (20.0, 1000.0)] {
            assert!((course.invert(course.apply(value, tokens), tokens) - value).abs() < 1e-12);
        }
        assert!((course.at(1000.0)[0] - 27.5).abs() < 1e-12);
    }
}
