//! The Pareto front.

use std::cmp::Ordering;

/// Rows that no other row dominates, in ascending order; larger is better in
/// every objective, and `p` dominates `q` when `p_i >= q_i` for all `i` and
/// `p_i > q_i` for one. Equal rows of the front are all kept.
///
/// O(n log n) for up to two objectives, O(n log n + n front) for more. A row
/// with a NaN, or of another length than the first row, is never on the front.
pub fn pareto_front(points: &[Vec<f64>]) -> Vec<usize> {
    let Some(objectives) = points.first().map(Vec::len) else {
        return Vec::new();
    };
    let sound = |point: &[f64]| point.len() == objectives && !point.iter().any(|v| v.is_nan());
    let mut order: Vec<usize> = (0..points.len()).filter(|&row| sound(&points[row])).collect();
    order.sort_by(|&a, &b| points[b].partial_cmp(&points[a]).unwrap_or(Ordering::Equal));

    let mut front: Vec<usize> = Vec::new();
    for row in order {
        // In this order no row dominates an earlier one. Of two objectives the
        // latest front row has the best second value so far: it alone decides.
        let rivals = if objectives <= 2 { front.len().saturating_sub(1) } else { 0 };
        if !front[rivals..].iter().any(|&rival| dominates(&points[rival], &points[row])) {
            front.push(row);
        }
    }
    front.sort_unstable();
    front
}

fn dominates(p: &[f64], q: &[f64]) -> bool {
    p.iter().zip(q).all(|(a, b)| a >= b) && p != q
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front<const N: usize>(points: &[[f64; N]]) -> Vec<usize> {
        pareto_front(&points.iter().map(|point| point.to_vec()).collect::<Vec<_>>())
    }

    /// (1,3) (2,2) (3,1) are the staircase; (1,2) lies under (2,2), (2,1) under
    /// (2,2) and (3,1); the second (2,2) equals a front row and stays.
    #[test]
    fn a_staircase_by_hand() {
        let points = [[1.0, 3.0], [1.0, 2.0], [2.0, 2.0], [2.0, 1.0], [3.0, 1.0], [2.0, 2.0]];
        assert_eq!(front(&points), [0, 2, 4, 5]);
    }

    #[test]
    fn one_objective_keeps_every_maximum() {
        assert_eq!(front(&[[1.0], [3.0], [2.0], [3.0]]), [1, 3]);
    }

    #[test]
    fn three_objectives_by_hand() {
        let points = [[1.0, 1.0, 1.0], [2.0, 0.0, 0.0], [1.0, 1.0, 2.0], [0.0, 0.0, 2.0]];
        assert_eq!(front(&points), [1, 2]);
    }

    #[test]
    fn unsound_rows_are_left_out() {
        assert_eq!(front(&[[f64::NAN, 9.0], [1.0, 1.0]]), [1]);
        assert_eq!(pareto_front(&[vec![1.0, 1.0], vec![9.0], vec![0.0, 2.0]]), [0, 2]);
        assert!(pareto_front(&[]).is_empty());
        assert_eq!(front(&[[0.0, -0.0], [-0.0, 0.0]]), [0, 1]);
    }
}
