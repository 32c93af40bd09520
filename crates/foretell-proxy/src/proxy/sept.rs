//! SEPT: how many functions a transformer of this shape can express.
//!
//! ```text
//! s = ln Σ_l d_l + ln Σ_l (d_l^(T+1) − 1) / (d_l − 1)        d_l: width of block l    T: tokens
//! ```
//!
//! Written so that nothing overflows: with `a_l = (T+1)·ln d_l + ln1p(−d_l^−(T+1)) − ln(d_l − 1)`, the second term is
//! `max a + ln Σ exp(a_l − max a)`; a width of 1 has `a_l = ln(T+1)`.
//!
//! - Paper: *ETAS* eq. 16 and 25.
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures from the paper: none by default. The per-block bound of eq. 24 is a sum of logarithms over blocks, which
//!   eq. 25 turns into logarithms of sums, though it does not follow: `form = sum-of-logs` is eq. 24. The paper leaves
//!   open which width is meant: `width = head` takes 64 per head.
use super::{About, Proxy, ProxyInput, Range, Score};
use crate::error::{Error, Result};
use serde::Deserialize;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sept {
    width: WidthOf,
    tokens: Option<u64>,
    form: Form,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum WidthOf {
    #[default]
    Block,
    Head,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Form {
    #[default]
    LogOfSums,
    SumOfLogs,
}

pub(super) const ABOUT: &About = &About {
    name: "sept",
    sentence: "SEPT: how many functions a transformer of this shape can express.",
    formula: "s = ln Σ_l d_l + ln Σ_l (d_l^(T+1) − 1) / (d_l − 1)",
    paper: "ETAS: Zero-Shot Transformer Architecture Search via Network Trainability and Expressivity, eq. 16",
    options: &[
        ("width", "block", "which width d_l is: block, or head for 64 per head"),
        ("tokens", "the space's own", "T; a small T lets depth weigh more"),
        ("form", "log-of-sums", "log-of-sums (eq. 25) or sum-of-logs over blocks (eq. 24)"),
    ],
    ranges: &[Range::whole("tokens", 1, 1_048_576)],
    departures: "none by default",
    published: "AutoFormer .71/.89, .72/.89, .69/.87; GPT-2 WikiText-103 .78/.94 on ETAS's own networks (tau/rho)",
    ..About::SHAPE
};

impl Sept {
    /// With so many tokens; the network's own where nothing is said.
    pub(super) fn of_tokens(tokens: Option<u64>) -> Self {
        Sept { tokens, ..Sept::default() }
    }
}

impl Proxy for Sept {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let tokens = self.tokens.unwrap_or_else(|| input.subject.tokens());
        let mut sum = Sum::new(tokens as f64, self.form);
        let mut headless = false;
        input.subject.blocks(&mut |block| match (self.width, block.heads) {
            (WidthOf::Block, _) => sum.add(block.width),
            (WidthOf::Head, Some(heads)) => sum.add(64 * heads),
            (WidthOf::Head, None) => headless = true,
        });
        if headless {
            let reason = "width=head needs attention heads, a recurrent cell has none".to_owned();
            return Err(Error::NotDefined { proxy: ABOUT.name, reason });
        }
        Ok(Score::from(sum.value()))
    }
}

/// The running sum over blocks; equal neighbours share their logarithms.
struct Sum {
    tokens: f64,
    form: Form,
    last: (u64, f64),
    widths: f64,
    logs: f64,
    max: f64,
    terms: f64,
}

impl Sum {
    fn new(tokens: f64, form: Form) -> Self {
        Sum { tokens, form, last: (0, 0.0), widths: 0.0, logs: 0.0, max: f64::NEG_INFINITY, terms: 0.0 }
    }

    fn add(&mut self, width: u64) {
        if width != self.last.0 {
            self.last = (width, log_geometric(width as f64, self.tokens));
        }
        let a = self.last.1;
        if self.form == Form::SumOfLogs {
            self.logs += (width as f64).ln() + a;
            return;
        }
        self.widths += width as f64;
        if a > self.max {
            self.terms = self.terms * (self.max - a).exp() + 1.0;
            self.max = a;
        } else if a == self.max {
            self.terms += 1.0;
        } else {
            self.terms += (a - self.max).exp();
        }
    }

    fn value(&self) -> f64 {
        match self.form {
            Form::SumOfLogs => self.logs,
            Form::LogOfSums => self.widths.ln() + self.max + self.terms.ln(),
        }
    }
}

/// `ln (d^(T+1) − 1) / (d − 1)`.
fn log_geometric(d: f64, tokens: f64) -> f64 {
    if d == 1.0 {
        return (tokens + 1.0).ln();
    }
    let power = (tokens + 1.0) * d.ln();
    power + (-(-power).exp()).ln_1p() - (d - 1.0).ln()
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    fn sept(widths: &[u64], tokens: f64, form: Form) -> f64 {
        let mut sum = Sum::new(tokens, form);
        widths.iter().for_each(|width| sum.add(*width));
        sum.value()
    }

    /// Widths 2 and 3, two tokens: ln (2 + 3) + ln (7 + 13) = ln 5 + ln 20.
    #[test]
    fn two_small_blocks() {
        let expected = 5f64.ln() + 20f64.ln();
        assert!((sept(&[2, 3], 2.0, Form::LogOfSums) - expected).abs() < 1e-12);
        assert!((sept(&[3, 2], 2.0, Form::LogOfSums) - expected).abs() < 1e-12);
    }

    /// ln 2 + ln 7 + ln 3 + ln 13.
    #[test]
    fn sum_of_logs() {
        let expected = 2f64.ln() + 7f64.ln() + 3f64.ln() + 13f64.ln();
        assert!((sept(&[2, 3], 2.0, Form::SumOfLogs) - expected).abs() < 1e-12);
    }

    /// Beyond 134 tokens the powers of 192 leave f64; reference values computed with 60 decimal digits.
    #[test]
    fn shapes_that_would_overflow() {
        assert!((sept(&[192; 14], 197.0, Form::LogOfSums) - 1_046.267_420_264_712_4).abs() < 1e-9);
        assert!((sept(&[128; 5], 192.0, Form::LogOfSums) - 939.668_559_938_815_3).abs() < 1e-9);
    }

    /// A width of one: a geometric sum of T + 1 ones.
    #[test]
    fn width_one() {
        assert_eq!(sept(&[1], 9.0, Form::LogOfSums), 10f64.ln());
    }

    /// Widths 2 and 3, two tokens of the network's own: (2³ − 1)/1 = 7 and (3³ − 1)/2 = 13, so ln 5 + ln 20; apart,
    /// ln 2 + ln 7 + ln 3 + ln 13. One and two heads are widths 64 and 128; with one token (64² − 1)/63 = 65 and 129:
    /// ln 192 + ln 194.
    #[test]
    fn two_blocks_of_a_network() {
        let toy = Toy::new().block(2, 1).block(3, 2).tokens(2);
        near(toy.value("sept"), 100f64.ln());
        near(toy.value("sept[form=sum-of-logs]"), (2.0 * 7.0 * 3.0 * 13.0f64).ln());
        near(toy.value("sept[width=head,tokens=1]"), 192f64.ln() + 194f64.ln());
        let cell = Toy::new().block(2, None);
        assert_eq!(cell.score("sept[width=head]").unwrap_err().kind(), "not-defined");
    }
}
