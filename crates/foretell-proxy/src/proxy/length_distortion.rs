//! Length distortion: how much longer the network makes a circle.
//!
//! ```text
//! s = log10 Σ_θ ‖dφ/dθ‖,  x(θ) = u₁ cos θ + u₂ sin θ        φ: features    u₁, u₂: orthonormal    norms: identity
//! ```
//!
//! - Paper: *Auto-scaling vision transformers without training* (As-ViT; Chen et al., ICLR 2022).
//! - Direction: higher is better. Cost: one forward-mode pass per point.
//! - Departures from the paper: 16 points scaled up to the published 500 (`points=500` takes all), one circle where they
//!   take the mean of three (`repeats=3`), images of the network's own size. Language models take the circle in their embedded input. Without norms lengths explode with
//!   depth, hence the logarithm; `scale=linear` gives the sum itself, `norms=kept` keeps norms.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LengthDistortion {
    points: u32,
    repeats: u32,
    norms: Norms,
    scale: Scale,
}

#[derive(Debug, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Norms {
    Identity,
    Kept,
}

#[derive(Debug, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Scale {
    Log,
    Linear,
}

impl Default for LengthDistortion {
    fn default() -> Self {
        LengthDistortion { points: 16, repeats: 1, norms: Norms::Identity, scale: Scale::Log }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "length-distortion",
    aliases: &["ld"],
    version: 2,
    sentence: "Length distortion: how much longer the network makes a circle.",
    formula: "s = log10 Σ_θ ‖dφ/dθ‖ along a circle in input space",
    paper: "As-ViT (Chen et al., 2022)",
    cost: Cost::Passes,
    options: &[
        ("points", "16", "points on the circle"),
        ("repeats", "1", "circles, of which the mean is taken; 3 as published"),
        ("norms", "identity", "identity or kept"),
        ("scale", "log", "log: log10 of the sum scaled to 500 points; linear: the sum itself"),
    ],
    ranges: &[Range::whole("points", 2, 10_000), Range::whole("repeats", 1, 1000)],
    departures: "16 points scaled up to 500, one circle, full-size images",
    published: "AutoFormer .52/.69, .60/.81, .59/.80; GPT-2 WikiText-103 .48/.64 (ETAS, own networks)",
    ..About::SHAPE
};

impl LengthDistortion {
    fn pass(&self) -> Pass {
        let derivative = Derivative::Curve { points: self.points, circles: self.repeats };
        Pass { derivative, unnormed: self.norms == Norms::Identity, ..Pass::forward() }
    }
}

impl Proxy for LengthDistortion {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![self.pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        if self.norms == Norms::Kept && input.subject.kind() == NetworkKind::Recurrent {
            return Err(input.idle("norms", "a cell has no norms"));
        }
        let observed = input.pass(&self.pass())?;
        let speeds = observed.result.numbers.iter().enumerate();
        let term =
            |(i, speed): (usize, &f64)| Term::of(format!("point {i}"), None, speed / f64::from(self.repeats));
        let score = Score::sum(speeds.map(term).collect());
        if self.scale == Scale::Linear {
            return Ok(score);
        }
        if score.value == 0.0 {
            let reason = "features do not move with the input".into();
            return Err(Error::Degenerate { proxy: ABOUT.name, place: "all points".into(), reason });
        }
        Ok(Score::from((score.value * 500.0 / f64::from(self.points)).log10()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    fn toy(points: u32, circles: u32, unnormed: bool, speeds: &[f64]) -> Toy {
        let derivative = Derivative::Curve { points, circles };
        Toy::new().pass(Pass { derivative, unnormed, ..Pass::forward() }, |seen| seen.numbers(speeds))
    }

    /// Sixteen speeds of 0.2 add up to 3.2, scaled to 500 points 100: log10 is 2. Four speeds of 1, 2, 3, 2 add up to 8,
    /// scaled 1000: 3; the sum itself: 8.
    #[test]
    fn circles_by_hand() {
        near(toy(16, 1, true, &[0.2; 16]).value("length-distortion"), 2.0);
        let four = toy(4, 1, true, &[1.0, 2.0, 3.0, 2.0]);
        near(four.value("length-distortion[points=4]"), 3.0);
        assert_eq!(four.value("length-distortion[points=4,scale=linear]"), 8.0);
    }

    /// The mean of two circles of two points, 1 + 2 and 3 + 4: 5. With norms kept it is another pass.
    #[test]
    fn repeats_by_hand() {
        let two = toy(2, 2, true, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(two.value("length-distortion[points=2,repeats=2,scale=linear]"), 5.0);
        let kept = toy(2, 1, false, &[1.0, 6.0]);
        assert_eq!(kept.value("length-distortion[points=2,norms=kept,scale=linear]"), 7.0);
    }
}
