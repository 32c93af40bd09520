//! The minimum of a smooth function of a few numbers, by BFGS with halving steps.

/// Steps at most.
const STEPS: usize = 60;
/// A step that gains less ends the search.
const GAIN: f64 = 1e-6;

/// The place of the minimum near `start`. The function gives its value and gradient, or nothing where it is not defined.
pub(super) fn minimise(start: Vec<f64>, function: impl Fn(&[f64]) -> Option<(f64, Vec<f64>)>) -> Vec<f64> {
    let n = start.len();
    let Some((mut value, mut gradient)) = function(&start) else { return start };
    let mut at = start;
    let mut inverse = identity(n);
    for _ in 0..STEPS {
        let mut direction = times(&inverse, &gradient);
        direction.iter_mut().for_each(|x| *x = -*x);
        let slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            break;
        }
        // Logarithms that move by more than one at once are beyond what the model of the function knows.
        let longest = direction.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let mut step = (1.0 / longest).min(1.0);
        let next = loop {
            let moved: Vec<f64> = at.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
            match function(&moved) {
                Some((lower, slopes)) if lower <= value + 1e-4 * step * slope => {
                    break Some((moved, lower, slopes));
                }
                _ if step < 1e-8 => break None,
                _ => step /= 2.0,
            }
        };
        let Some((moved, lower, slopes)) = next else { break };
        let change: Vec<f64> = moved.iter().zip(&at).map(|(a, b)| a - b).collect();
        let bend: Vec<f64> = slopes.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        update(&mut inverse, &change, &bend);
        let gain = value - lower;
        (at, value, gradient) = (moved, lower, slopes);
        if gain < GAIN {
            break;
        }
    }
    at
}

/// H ← (I − s yᵀ/sᵀy) H (I − y sᵀ/sᵀy) + s sᵀ/sᵀy, where the curvature is positive.
fn update(inverse: &mut [f64], change: &[f64], bend: &[f64]) {
    let n = change.len();
    let curvature = dot(change, bend);
    if curvature <= 1e-12 {
        return;
    }
    let pulled = times(inverse, bend);
    let factor = (1.0 + dot(bend, &pulled) / curvature) / curvature;
    for i in 0..n {
        for j in 0..n {
            inverse[i * n + j] +=
                factor * change[i] * change[j] - (pulled[i] * change[j] + change[i] * pulled[j]) / curvature;
        }
    }
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect()
}

fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    matrix.chunks(vector.len()).map(|row| dot(row, vector)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The valley of Rosenbrock's function ends at (1, 1).
    #[test]
    fn finds_the_end_of_a_valley() {
        let found = minimise(vec![-1.2, 1.0], |at| {
            let (x, y) = (at[0], at[1]);
            let value = (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
            let gradient = vec![-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)];
            Some((value, gradient))
        });
        assert!((found[0] - 1.0).abs() < 1e-2 && (found[1] - 1.0).abs() < 1e-2, "{found:?}");
    }
}
