//! Two-dimensional convolution, one sample.
//!
//! ```text
//! y[o, i, j] = b[o] + Σ_{c, u, v} W[o, c, u, v] x[c₀ + c, i·s + u − p, j·s + v − p]        zero outside
//! ```
//!
//! c₀ is the first input channel of o's group. Windows are gathered into rows and multiplied (one product per group);
//! where a group has a single input channel they are summed directly. The output is a view of positions x channels,
//! so tokens (row-major) and channel planes (transposed) are written alike.

use super::buffer::Workspace;
use super::matmul::{Mat, MatMut, column_sums, product};
use super::scalar::{Scalar, Store};

/// Shape of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct Conv2d {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// Height and width of the input.
    pub size: (usize, usize),
    /// Height and width of the window.
    pub kernel: (usize, usize),
    /// Step, the same in both directions.
    pub stride: usize,
    /// Zeros added on every side.
    pub padding: usize,
    /// Groups of channels that do not mix.
    pub groups: usize,
}

/// Where the gradients of a [`Conv2d`] go; `None` skips the work.
#[derive(Debug)]
pub struct Conv2dGradient<'a, S> {
    /// dx, written.
    pub input: Option<&'a mut [S]>,
    /// dW, added to.
    pub weight: Option<&'a mut [S]>,
    /// db, added to.
    pub bias: Option<&'a mut [S]>,
}

impl Conv2d {
    /// Height and width of the output.
    pub fn output_size(&self) -> (usize, usize) {
        let side = |n: usize, k: usize| (n + 2 * self.padding - k) / self.stride + 1;
        (side(self.size.0, self.kernel.0), side(self.size.1, self.kernel.1))
    }

    /// Numbers in W: outputs · inputs / groups · window.
    pub fn weight_len(&self) -> usize {
        self.outputs * self.window()
    }

    /// Numbers under one window of one group.
    fn window(&self) -> usize {
        self.inputs / self.groups * self.kernel.0 * self.kernel.1
    }

    fn check(&self, x: usize, weight: usize, (rows, cols): (usize, usize)) {
        let (h, w) = self.output_size();
        assert!(
            self.inputs.is_multiple_of(self.groups) && self.outputs.is_multiple_of(self.groups),
            "conv2d: {} to {} channels in {} groups",
            self.inputs,
            self.outputs,
            self.groups
        );
        assert!(
            x == self.inputs * self.size.0 * self.size.1 && weight == self.weight_len(),
            "conv2d: input of {x}, weight of {weight}"
        );
        assert!((rows, cols) == (h * w, self.outputs), "conv2d: output {rows} x {cols}");
    }

    /// Calls `f(position, offset in the window, index in x)` for every pixel under a window of one group.
    fn taps(&self, group: usize, mut f: impl FnMut(usize, usize, usize)) {
        let ((height, width), (kh, kw)) = (self.size, self.kernel);
        let (oh, ow) = self.output_size();
        let channels = self.inputs / self.groups;
        for position in 0..oh * ow {
            let (top, left) = (position / ow * self.stride, position % ow * self.stride);
            for c in 0..channels {
                for u in 0..kh {
                    let Some(y) = (top + u).checked_sub(self.padding).filter(|&y| y < height) else {
                        continue;
                    };
                    let line = ((group * channels + c) * height + y) * width;
                    for v in 0..kw {
                        let Some(x) = (left + v).checked_sub(self.padding).filter(|&x| x < width) else {
                            continue;
                        };
                        f(position, (c * kh + u) * kw + v, line + x);
                    }
                }
            }
        }
    }

    /// Output channels of one group.
    fn share(&self) -> usize {
        self.outputs / self.groups
    }

    fn depthwise(&self) -> bool {
        self.groups == self.inputs
    }

    /// Writes positions x output channels.
    pub fn forward<S: Scalar>(
        &self,
        x: &[S],
        weight: &[S],
        bias: Option<&[S]>,
        mut y: MatMut<'_, S>,
        space: &mut Workspace<S>,
    ) {
        self.check(x.len(), weight.len(), (y.rows(), y.cols()));
        match bias {
            Some(bias) => y.fill_rows(bias),
            None => y.scale(0.0),
        }
        let (share, window, positions) = (self.share(), self.window(), y.rows());
        let mut columns = space.take(if self.depthwise() { 0 } else { positions * window });
        for g in 0..self.groups {
            let weight = &weight[g * share * window..][..share * window];
            let mut y = y.rb().columns(g * share, share);
            if self.depthwise() {
                self.taps(g, |p, k, i| {
                    (0..share).for_each(|o| *y.at_mut(p, o) += weight[o * window + k] * x[i])
                });
            } else {
                columns.fill(S::ZERO);
                self.taps(g, |p, k, i| columns[p * window + k] = x[i]);
                product(
                    1.0,
                    Mat::new(&columns, positions, window),
                    Mat::new(weight, share, window).t(),
                    1.0,
                    y,
                );
            }
        }
        space.give(columns);
    }

    /// Gradients for the input `x` and the output gradient `dy` (positions x output channels).
    pub fn backward<S: Scalar>(
        &self,
        x: &[S],
        weight: &[S],
        dy: Mat<'_, S>,
        gradient: Conv2dGradient<'_, S>,
        space: &mut Workspace<S>,
    ) {
        self.check(x.len(), weight.len(), (dy.rows(), dy.cols()));
        let Conv2dGradient { input: mut dx, weight: mut dw, bias: db } = gradient;
        if let Some(db) = db {
            column_sums(dy, db);
        }
        if let Some(dx) = &mut dx {
            dx.fill(S::ZERO);
        }
        let (share, window, positions) = (self.share(), self.window(), dy.rows());
        let mut columns = space.take(if self.depthwise() { 0 } else { positions * window });
        for g in 0..self.groups {
            let dy = dy.columns(g * share, share);
            let weight = &weight[g * share * window..][..share * window];
            let mut dw = dw.as_mut().map(|dw| &mut dw[g * share * window..][..share * window]);
            if self.depthwise() {
                self.taps(g, |p, k, i| {
                    for o in 0..share {
                        if let Some(dw) = &mut dw {
                            dw[o * window + k] += dy.at(p, o) * x[i];
                        }
                        if let Some(dx) = &mut dx {
                            dx[i] += dy.at(p, o) * weight[o * window + k];
                        }
                    }
                });
                continue;
            }
            if let Some(dw) = dw {
                columns.fill(S::ZERO);
                self.taps(g, |p, k, i| columns[p * window + k] = x[i]);
                let dw = MatMut::new(dw, share, window);
                product(1.0, dy.t(), Mat::new(&columns, positions, window), Store::Add.beta(), dw);
            }
            if let Some(dx) = &mut dx {
                let to = MatMut::new(&mut columns, positions, window);
                product(1.0, dy, Mat::new(weight, share, window), 0.0, to);
                self.taps(g, |p, k, i| dx[i] += columns[p * window + k]);
            }
        }
        space.give(columns);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;

    fn check(conv: Conv2d) {
        let (h, w) = conv.output_size();
        let (n, o) = (h * w, conv.outputs);
        let x = conv.inputs * conv.size.0 * conv.size.1;
        let parts = [random(x, 1), random(conv.weight_len(), 2), random(o, 3)];
        let (c, space) = (random(n * o, 4), &mut Workspace::new());
        let mut d: Vec<Vec<f64>> = parts.iter().map(|p| vec![0.0; p.len()]).collect();
        let [dx, dw, db] = &mut d[..] else { unreachable!() };
        let gradient = Conv2dGradient { input: Some(dx), weight: Some(dw), bias: Some(db) };
        conv.backward(&parts[0], &parts[1], Mat::new(&c, o, n).t(), gradient, space);
        gradients(&parts, &d, |p| {
            let mut y = vec![f64::NAN; n * o];
            conv.forward(&p[0], &p[1], Some(&p[2]), MatMut::new(&mut y, o, n).t(), &mut Workspace::new());
            weighted(&y, &c)
        });
    }

    #[test]
    fn gradient() {
        let dense =
            Conv2d { inputs: 4, outputs: 6, size: (5, 6), kernel: (3, 2), stride: 2, padding: 1, groups: 1 };
        check(dense);
        check(Conv2d { groups: 2, ..dense });
        check(Conv2d { groups: 4, outputs: 8, ..dense });
        check(Conv2d { kernel: (2, 2), padding: 0, size: (4, 4), ..dense });
    }

    /// One window over a 2 x 2 image with one zero around: the corner sees the four pixels under its lower right part.
    #[test]
    fn window_by_hand() {
        let conv =
            Conv2d { inputs: 1, outputs: 1, size: (2, 2), kernel: (3, 3), stride: 2, padding: 1, groups: 1 };
        let weight: Vec<f64> = (1..=9).map(f64::from).collect();
        let mut y = [0.0];
        conv.forward(
            &[1.0, 10.0, 100.0, 1000.0],
            &weight,
            None,
            MatMut::new(&mut y, 1, 1),
            &mut Workspace::new(),
        );
        assert_eq!(y[0], 5.0 + 60.0 + 800.0 + 9000.0);
    }
}
