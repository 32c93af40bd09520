//! Scales of charts and their ticks.

/// Positive numbers that span more than this factor are drawn on a logarithmic scale.
const WIDE: f64 = 1000.0;

/// Where numbers lie between the two ends of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// A scale that shows all these numbers, by logarithm if they are positive and span much; nothing for no number.
    pub(super) fn of(numbers: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for number in numbers.filter(|number| number.is_finite()) {
            (low, high) = (low.min(number), high.max(number));
        }
        if low > high {
            return None;
        }
        if low > 0.0 && high / low > WIDE {
            return Some(Scale { low: low / 1.2, high: high * 1.2, log: true });
        }
        let margin = if high > low { 0.04 * (high - low) } else { 0.05 * high.abs().max(1e-9) };
        Some(Scale { low: low - margin, high: high + margin, log: false })
    }

    /// From 0 to 1.
    #[cfg(test)]
    pub(super) fn unit() -> Self {
        Scale { low: 0.0, high: 1.0, log: false }
    }

    /// From one number to another.
    pub(super) fn between(low: f64, high: f64) -> Self {
        Scale { low, high: high.max(low + 1e-9), log: false }
    }

    /// From 1 to `most` by logarithm.
    pub(super) fn counting(most: f64) -> Self {
        Scale { low: 1.0, high: most.max(2.0), log: true }
    }

    /// 0 at the lower end, 1 at the upper.
    pub(super) fn share(&self, number: f64) -> f64 {
        let Scale { low, high, log } = *self;
        if log { (number / low).ln() / (high / low).ln() } else { (number - low) / (high - low) }
    }

    /// Round numbers along the axis, with their texts.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let Scale { low, high, log } = *self;
        if log {
            let decades = (low.log10().ceil() as i32, high.log10().floor() as i32);
            let stride = ((decades.1 - decades.0) / 6 + 1).max(1);
            let factors: &[f64] = if decades.1 - decades.0 < 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let decades = (decades.0 - 1..=decades.1).filter(|decade| decade % stride == 0);
            let all = decades.flat_map(|decade| factors.iter().map(move |f| f * 10_f64.powi(decade)));
            return all.filter(|n| (low..=high).contains(n)).map(|n| (n, tick(n, n, n))).collect();
        }
        let rough = (high - low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        let most = low.abs().max(high.abs());
        (first..=last).map(|i| (i as f64 * step, tick(i as f64 * step, step, most))).collect()
    }
}

/// A tick's text: no more digits than the step needs, in the unit of the largest.
fn tick(number: f64, step: f64, most: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let (unit, name) = units.into_iter().find(|(unit, _)| most >= *unit && most < 1e15).unwrap_or((1.0, ""));
    let unit = if name == "k" { 1e3 } else { unit };
    if number == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e15).contains(&most) {
        return format!("{number:.2e}").replace(".00e", "e").replace("0e", "e");
    }
    let digits = (-((step / unit).log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    format!("{:.digits$}{name}", number / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 to 10 with a margin of .4: five steps of 2.16 are rounded up to 5; 1 to 1000 spans three decades.
    #[test]
    fn ticks_are_round_and_inside() {
        let texts = |scale: Scale| scale.ticks().into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(texts(Scale::of([0.0, 10.0].into_iter()).unwrap()), ["0", "5", "10"]);
        assert_eq!(
            texts(Scale::of([5.2e6, 6.0e6].into_iter()).unwrap()),
            ["5.2M", "5.4M", "5.6M", "5.8M", "6.0M"]
        );
        assert_eq!(texts(Scale::counting(1000.0)), ["1", "10", "100", "1000"]);
        assert_eq!(texts(Scale::counting(20_000.0)), ["1", "10", "100", "1000", "10k"]);
        assert_eq!(texts(Scale::of([1e-9, 1e-5].into_iter()).unwrap()).len(), 5);
        assert_eq!(texts(Scale::of([7.0, 7.0].into_iter()).unwrap()).first().unwrap(), "6.8");
    }

    #[test]
    fn no_number_no_scale() {
        assert_eq!(Scale::of([f64::NAN, f64::NEG_INFINITY].into_iter()), None);
    }
}
