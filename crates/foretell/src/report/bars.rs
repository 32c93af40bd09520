//! Bars of agreement: the longer, the stronger; with an interval and a mark where there are such.

use super::chart::{Chart, LETTER, WIDTH};
use super::text::{cut, escape};
use std::fmt::Write;

/// A number between −1 and 1.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// What it is of.
    pub name: String,
    /// The number; none is drawn as a dash.
    pub value: Option<f64>,
    /// The ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// Another number to compare it with, such as a published one.
    pub mark: Option<f64>,
}

/// Where the bars begin.
const LEFT: f64 = 122.0;
/// From one bar to the next.
const ROW: f64 = 24.0;

/// Bars in groups, each under its heading. All share one axis, which begins at zero unless a number is below it.
pub fn bars(groups: &[(String, Vec<Bar>)], label: String) -> Chart {
    let span = WIDTH - LEFT - 50.0;
    let all = || groups.iter().flat_map(|(_, bars)| bars);
    let numbers =
        all().flat_map(|bar| bar.value.into_iter().chain(bar.mark).chain(bar.interval.into_iter().flatten()));
    let low = numbers.fold(0.0, f64::min).max(-1.0);
    let place = |value: f64| LEFT + span * (value.clamp(low, 1.0) - low) / (1.0 - low);
    let mut body = String::new();
    let mut y = 14.0;
    for (heading, bars) in groups {
        let title = cut(heading, (WIDTH / LETTER) as usize);
        let _ = write!(body, "<text x=\"2\" y=\"{y:.1}\" class=\"strong\">{}</text>", escape(&title));
        y += 8.0;
        for bar in bars {
            one(&mut body, bar, heading, y, span, &place);
            y += ROW;
        }
        y += 20.0;
    }
    if all().any(|bar| bar.mark.is_some()) {
        let _ = write!(
            body,
            "<path class=\"notch\" d=\"M6 {:.1}v12\"/><text x=\"14\" y=\"{:.1}\">published</text>",
            y - 12.0,
            y - 2.0
        );
        y += 14.0;
    }
    Chart { label, height: y - 10.0, body }
}

fn one(body: &mut String, bar: &Bar, heading: &str, y: f64, span: f64, place: &dyn Fn(f64) -> f64) {
    let text = bar.value.map_or("–".to_owned(), |value| format!("{value:.2}"));
    let class = if bar.value.is_some_and(|value| value < 0.0) { "b" } else { "a" };
    let ends = [0.0, bar.value.unwrap_or(0.0)].map(place);
    let interval = bar.interval.map_or(String::new(), |[low, high]| format!(", 95 % {low:.2} to {high:.2}"));
    let published = bar.mark.map_or(String::new(), |mark| format!(", published {mark:.2}"));
    let _ = write!(
        body,
        "<g class=\"p\"><title>{} {}: {text}{interval}{published}</title>\
         <text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>\
         <rect class=\"stream\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{span}\" height=\"12\"/>\
         <rect class=\"bar {class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\"/>",
        escape(heading),
        escape(&bar.name),
        LEFT - 7.0,
        y + 16.0,
        escape(&cut(&bar.name, ((LEFT - 8.0) / LETTER) as usize)),
        y + 6.0,
        ends[0].min(ends[1]),
        y + 6.0,
        (ends[1] - ends[0]).abs()
    );
    if let Some([low, high]) = bar.interval {
        let _ = write!(
            body,
            "<path class=\"whisker\" d=\"M{:.1} {:.1}H{:.1}\"/>",
            place(low),
            y + 12.0,
            place(high)
        );
    }
    if let Some(mark) = bar.mark {
        let _ = write!(body, "<path class=\"notch\" d=\"M{:.1} {:.1}v16\"/>", place(mark), y + 4.0);
    }
    let _ = write!(
        body,
        "<text x=\"{:.1}\" y=\"{:.1}\" class=\"value\">{text}</text></g>",
        LEFT + span + 7.0,
        y + 16.0
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From −.5 to 1 the axis is 228 wide, so that zero stands at a third of it: 122 + 76.
    #[test]
    fn an_axis_with_negative_numbers_has_its_zero_inside() {
        let bar = |name: &str, value: f64| Bar { name: name.into(), value: Some(value), ..Bar::default() };
        let chart = bars(&[("g".into(), vec![bar("up", 0.5), bar("down", -0.5)])], String::new());
        assert!(chart.body.contains("class=\"bar a\" x=\"198.0\""), "{}", chart.body);
        assert!(chart.body.contains("class=\"bar b\" x=\"122.0\""), "{}", chart.body);
        assert!(!chart.body.contains("published"));
    }

    #[test]
    fn every_bar_is_drawn_and_long_names_are_cut() {
        let long = Bar { name: "a-very-long-name[of=heads]".into(), value: Some(-0.5), ..Bar::default() };
        let none = Bar { name: "layers".into(), mark: Some(0.3), ..Bar::default() };
        let chart = bars(&[("nsc".into(), vec![long, none])], String::new());
        assert_eq!(chart.body.matches("class=\"bar").count(), 2);
        assert!(chart.body.contains("-0.50") && chart.body.contains("a-very-long-n…"), "{}", chart.body);
        assert!(chart.body.contains("published 0.30"));
    }
}
