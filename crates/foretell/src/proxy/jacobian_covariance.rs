//! Jacobian covariance: how differently the output depends on the input from sample to sample.
//!
//! ```text
//! s = −Σ_n ln(λ_n + k) + 1/(λ_n + k),  k = 1e-5        λ: eigenvalues of the correlation of J's rows
//! ```
//!
//! J has one row per sample: the gradient of the outputs at its embedded input. `of=positions` takes the gradient of the
//! position table instead, a row per channel, as published for FlexiBERT and GPT-2.
//!
//! - Paper: *Neural architecture search without training*, first version (Mellor et al., 2020); Serianni & Kalita (2023).
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: a symmetric eigenvalue solver, tiny negatives raised to 0. Decoders differentiate their
//!   loss, encoders a random projection.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JacobianCovariance {
    of: Rows,
}

/// Which rows the Jacobian has.
#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rows {
    #[default]
    Samples,
    Positions,
}

pub(super) const ABOUT: &About = &About {
    name: "jacobian-covariance",
    sentence: "Jacobian covariance: how differently the output depends on the input from sample to sample.",
    formula: "s = −Σ_n ln(λ_n + 1e-5) + 1/(λ_n + 1e-5)",
    paper: "Mellor et al. (2020); Serianni & Kalita (2023)",
    cost: Cost::Backward,
    options: &[("of", "samples", "samples: a row each, positions: a row per channel of the position table")],
    variants: &[
        ("published-flexibert", "of=positions,loss=sum,train=true"),
        ("published-gpt2", "of=positions"),
    ],
    departures: "a symmetric solver; encoders use a random projection",
    published: "FlexiBERT -.042/-.067; NAS-Bench-NLP .003/.005",
    ..About::SHAPE
};

/// The pass behind every Jacobian score.
pub(super) fn pass(architecture: &Architecture, of: Rows) -> Pass {
    let loss = match architecture.family().name() {
        "bert" | "flexibert" => Loss::Projection,
        "gpt2" | "transformer-xl" | "llama" => Loss::Natural,
        _ => Loss::Sum,
    };
    match of {
        Rows::Samples => {
            Pass { derivative: Derivative::Values, ..Pass::backward(loss) }.keep(Signal::InputGradient)
        }
        Rows::Positions => Pass::backward(loss),
    }
}

/// The rows of J, and how many there are.
pub(super) fn jacobian(
    about: &'static About,
    seen: &Signals,
    pass: &Pass,
    of: Rows,
) -> Result<(Vec<f64>, usize)> {
    let observed = seen.pass(pass)?;
    if of == Rows::Positions {
        let table = seen.layout.and_then(|layout| {
            layout.tensors().find(|(_, t)| t.role == Role::Position && t.shape[1] > 0).map(|(param, _)| param)
        });
        let Some(table) = table else { return seen.undefined(about, "there is no table of positions") };
        let gradient = observed.layer(table).gradient.t();
        return Ok((gradient.to_vec(), gradient.rows()));
    }
    let found = observed.kept_gradients(|mark| (mark == Mark::Embedded).then_some(()));
    let Some((_, gradient)) = found.first() else {
        return seen.undefined(about, "the input has no gradient");
    };
    let (n, values) = (observed.seen.batch, gradient.to_vec());
    if seen.architecture.family().name() != "recurrent" {
        return Ok((values, n));
    }
    // Rows are listed step after step.
    let width = gradient.cols();
    let steps = values.len() / (n * width);
    let place = |sample: usize, t: usize| (t * n + sample) * width;
    let rows =
        (0..n).flat_map(|sample| (0..steps).flat_map(move |t| place(sample, t)..place(sample, t) + width));
    Ok((rows.map(|i| values[i]).collect(), n))
}

/// `−Σ ln(λ + k) + 1/(λ + k)` of the correlation of rows. A constant row is an error.
pub(super) fn spread(about: &'static About, rows: &[f64], n: usize) -> Result<f64> {
    const K: f64 = 1e-5;
    let correlation = correlation(about, rows, n)?;
    let eigenvalues = linalg::symmetric_eigenvalues(Mat::new(&correlation, n, n));
    let eigenvalues = eigenvalues.map_err(|e| Error::NonFinite {
        proxy: about.name,
        value: e.to_string(),
        place: "correlation".into(),
    })?;
    Ok(-eigenvalues.iter().map(|v| v.max(0.0) + K).map(|v| v.ln() + 1.0 / v).sum::<f64>())
}

/// The correlation matrix of n rows.
pub(super) fn correlation(about: &'static About, rows: &[f64], n: usize) -> Result<Vec<f64>> {
    let m = rows.len() / n;
    let mut scaled = rows.to_vec();
    for (i, row) in scaled.chunks_exact_mut(m).enumerate() {
        let mean = row.iter().sum::<f64>() / m as f64;
        row.iter_mut().for_each(|x| *x -= mean);
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm == 0.0 {
            let reason = "it is constant, so it has no correlation".into();
            return Err(Error::Degenerate { proxy: about.name, place: format!("row {i}"), reason });
        }
        row.iter_mut().for_each(|x| *x /= norm);
    }
    Ok(gram(&scaled, n))
}

/// `X Xᵀ` of n rows.
pub(super) fn gram(x: &[f64], n: usize) -> Vec<f64> {
    let (x, mut product) = (Mat::new(x, n, x.len() / n), vec![0.0; n * n]);
    linalg::product(x, x.t(), &mut product);
    product
}

impl Proxy for JacobianCovariance {
    fn about(&self) -> &'static About {
        ABOUT
    }
    fn needs(&self, architecture: &Architecture) -> Vec<Pass> {
        vec![pass(architecture, self.of)]
    }
    fn score(&self, seen: &Signals) -> Result<Score> {
        let pass = pass(seen.architecture, self.of);
        let (rows, n) = jacobian(ABOUT, seen, &pass, self.of)?;
        Ok(Score::from(spread(ABOUT, &rows, n)?).note(seen.trap(&pass)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Correlations do not see a row's scale and offset; a constant row has none.
    #[test]
    fn affine_maps_of_rows_change_nothing() {
        let rows: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17) + f64::from(i) / 7.0).collect();
        let moved: Vec<f64> = rows
            .iter()
            .enumerate()
            .map(|(i, x)| x * (1.0 + (i / 15) as f64) - 3.0 * (i / 15) as f64)
            .collect();
        let [a, b] = [&rows, &moved].map(|rows| spread(ABOUT, rows, 4).unwrap());
        assert!((a - b).abs() < 1e-9 * a.abs(), "{a} is not {b}");
        let error = spread(ABOUT, &[1.0, 2.0, 5.0, 5.0], 2).err().unwrap();
        assert_eq!((error.kind(), error.to_string().contains("row 1")), ("degenerate", true));
    }

    /// Two rows of correlation c: eigenvalues 1 ± c.
    #[test]
    fn two_rows_by_hand() {
        // Centred: (-1, 0, 1) and (-1, 1, 0); their correlation is 1/2.
        let found = spread(ABOUT, &[1.0, 2.0, 3.0, 0.0, 2.0, 1.0], 2).unwrap();
        let term = |v: f64| (v + 1e-5f64).ln() + 1.0 / (v + 1e-5);
        assert!((found + term(0.5) + term(1.5)).abs() < 1e-12);
    }
}
