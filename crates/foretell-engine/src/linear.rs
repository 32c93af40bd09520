//! Linear maps: `y = x Wᵀ + b`, x of T x in, W of out x in.
//!
//! ```text
//! dx = dy W        dW = dyᵀ x        db = Σ_t dy
//! ```
//!
//! Weights stored the other way round (in x out) are passed as a transposed view, `weight.t()`.

use super::matmul::{Mat, MatMut, column_sums, product};
use super::scalar::{Scalar, Store};

/// A weight of out x in and an optional bias.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a, S> {
    /// W
    pub weight: Mat<'a, S>,
    /// b
    pub bias: Option<&'a [S]>,
}

/// Where the gradients of a [`Linear`] go; `None` skips the work.
#[derive(Debug)]
pub struct LinearGradient<'a, S> {
    /// dx
    pub input: Option<(MatMut<'a, S>, Store)>,
    /// dW
    pub weight: Option<(MatMut<'a, S>, Store)>,
    /// db, always added to.
    pub bias: Option<&'a mut [S]>,
}

impl<S> Default for LinearGradient<'_, S> {
    fn default() -> Self {
        Self { input: None, weight: None, bias: None }
    }
}

impl<S: Scalar> Linear<'_, S> {
    /// `y = x Wᵀ + b`, or `y += x Wᵀ + b` for a residual.
    pub fn forward(&self, x: Mat<'_, S>, mut y: MatMut<'_, S>, store: Store) {
        if let Some(bias) = self.bias {
            match store {
                Store::Write => y.fill_rows(bias),
                Store::Add => y.add_rows(bias),
            }
        }
        let beta = if self.bias.is_some() { 1.0 } else { store.beta() };
        product(1.0, x, self.weight.t(), beta, y);
    }

    /// Gradients for the input `x` of the forward pass and the output gradient `dy`.
    pub fn backward(&self, x: Mat<'_, S>, dy: Mat<'_, S>, gradient: LinearGradient<'_, S>) {
        if let Some((dx, store)) = gradient.input {
            product(1.0, dy, self.weight, store.beta(), dx);
        }
        if let Some((dw, store)) = gradient.weight {
            product(1.0, dy.t(), x, store.beta(), dw);
        }
        if let Some(db) = gradient.bias {
            column_sums(dy, db);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;

    fn check(turned: bool) {
        let (t, i, o) = (5, 4, 3);
        let parts = [random(t * i, 1), random(i * o, 2), random(o, 3)];
        let c = random(t * o, 4);
        fn weight(w: &[f64], turned: bool) -> Mat<'_, f64> {
            if turned { Mat::new(w, 4, 3).t() } else { Mat::new(w, 3, 4) }
        }
        let (mut dx, mut dw, mut db) = (vec![f64::NAN; t * i], vec![0.0; i * o], vec![0.0; o]);
        let layer = Linear { weight: weight(&parts[1], turned), bias: Some(&parts[2]) };
        let dw_view = if turned { MatMut::new(&mut dw, i, o).t() } else { MatMut::new(&mut dw, o, i) };
        layer.backward(
            Mat::new(&parts[0], t, i),
            Mat::new(&c, t, o),
            LinearGradient {
                input: Some((MatMut::new(&mut dx, t, i), Store::Write)),
                weight: Some((dw_view, Store::Add)),
                bias: Some(&mut db),
            },
        );
        gradients(&parts, &[dx, dw, db], |p| {
            let mut y = vec![f64::NAN; t * o];
            let layer = Linear { weight: weight(&p[1], turned), bias: Some(&p[2]) };
            layer.forward(Mat::new(&p[0], t, i), MatMut::new(&mut y, t, o), Store::Write);
            weighted(&y, &c)
        });
    }

    #[test]
    fn gradient() {
        check(false);
    }

    #[test]
    fn gradient_of_the_transposed_layout() {
        check(true);
    }
}
