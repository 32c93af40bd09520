//! The hypervolume indicator.

use super::pareto::pareto_front;
use super::unit::binary_unit;

/// Volume of the union of the boxes `[reference, p]` over all points `p`, exact
/// in any dimension; larger is better in every objective.
///
/// Points that do not exceed the reference in every objective add nothing, nor
/// do points of another length or points without a finite distance to it. A
/// volume too large for `f64` is infinite.
///
/// Points are cut off one by one in ascending order of the last objective
/// (While et al. 2012, "A fast way of calculating exact hypervolumes"): the part
/// of `p` that no later point covers is
/// `p_d (p_1 ... p_(d-1) - volume of min(p, q) over later q in d - 1 dimensions)`.
/// One sweep in two dimensions, O(n^2 log n) in three.
pub fn hypervolume(points: &[Vec<f64>], reference: &[f64]) -> f64 {
    let mut boxes: Vec<Vec<f64>> = points
        .iter()
        .filter(|point| point.len() == reference.len() && !point.is_empty())
        .map(|point| point.iter().zip(reference).map(|(p, r)| p - r).collect())
        .filter(|sides: &Vec<f64>| sides.iter().all(|side| side.is_finite() && *side > 0.0))
        .collect();
    // In units of the longest sides no product can overflow, and so none be NaN.
    let units: Vec<f64> =
        (0..reference.len()).map(|axis| binary_unit(boxes.iter().map(|sides| sides[axis]))).collect();
    for sides in &mut boxes {
        sides.iter_mut().zip(&units).for_each(|(side, unit)| *side /= unit);
    }
    units.iter().fold(volume(boxes, reference.len()), |volume, unit| volume * unit)
}

fn volume(points: Vec<Vec<f64>>, dimension: usize) -> f64 {
    match dimension {
        0 => return 0.0,
        1 => return points.iter().map(|point| point[0]).fold(0.0, f64::max),
        2 => return area(points.iter().map(|point| (point[0], point[1])).collect()),
        _ => {}
    }
    let below = dimension - 1;
    let mut points: Vec<Vec<f64>> =
        pareto_front(&points).into_iter().map(|row| points[row].clone()).collect();
    points.sort_by(|p, q| p[below].total_cmp(&q[below]));
    let mut rest = points.as_slice();
    let mut sum = 0.0;
    while let Some((point, later)) = rest.split_first() {
        let base: f64 = point[..below].iter().product();
        let covered = if below == 2 {
            area(later.iter().map(|q| (q[0].min(point[0]), q[1].min(point[1]))).collect())
        } else {
            let limited = |q: &Vec<f64>| (0..below).map(|i| q[i].min(point[i])).collect();
            volume(later.iter().map(limited).collect(), below)
        };
        // Rounding alone could make a wholly covered point count below zero.
        sum += point[below] * (base - covered).max(0.0);
        rest = later;
    }
    sum
}

/// Area under a staircase: by falling x, each point adds what rises above the
/// points before it.
fn area(mut points: Vec<(f64, f64)>) -> f64 {
    points.sort_unstable_by(|p, q| q.0.total_cmp(&p.0));
    let mut height = 0.0;
    let mut sum = 0.0;
    for (x, y) in points {
        if y > height {
            sum += x * (y - height);
            height = y;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(points: &[[f64; N]], reference: [f64; N]) -> f64 {
        hypervolume(&points.iter().map(|point| point.to_vec()).collect::<Vec<_>>(), &reference)
    }

    /// Rows of height 1 under (3,1) (2,2) (1,3): widths 3, 2, 1: 6. Seen from
    /// (1,1) only (2,2) exceeds the reference: 1.
    #[test]
    fn a_staircase_by_hand() {
        let points = [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [1.0, 1.0]];
        assert_eq!(of(&points, [0.0, 0.0]), 6.0);
        assert_eq!(of(&points, [1.0, 1.0]), 1.0);
        assert_eq!(of(&points, [9.0, 0.0]), 0.0);
    }

    /// Boxes 2x1x1, 1x2x1, 1x1x2 share the unit cube: 2 + 2 + 2 - 3 + 1 = 4.
    /// The like four boxes in four dimensions: 4 * 2 - 6 + 4 - 1 = 5.
    #[test]
    fn crossing_boxes_by_hand() {
        let three = [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]];
        assert_eq!(of(&three, [0.0; 3]), 4.0);
        let four = [[2.0, 1.0, 1.0, 1.0], [1.0, 2.0, 1.0, 1.0], [1.0, 1.0, 2.0, 1.0], [1.0, 1.0, 1.0, 2.0]];
        assert_eq!(of(&four, [0.0; 4]), 5.0);
    }

    #[test]
    fn unsound_points_add_nothing() {
        assert_eq!(of(&[[f64::NAN, 2.0], [f64::INFINITY, 1.0], [1.0, 1.0]], [0.0; 2]), 1.0);
        assert_eq!(hypervolume(&[vec![1.0], vec![]], &[0.0, 0.0]), 0.0);
        assert_eq!((hypervolume(&[], &[0.0]), hypervolume(&[vec![]], &[])), (0.0, 0.0));
        assert_eq!(of(&[[3.0], [5.0]], [1.0]), 4.0);
    }
}
