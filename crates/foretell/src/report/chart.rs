//! Scales, ticks, marks and the frame of a chart, as SVG text.

pub(super) use super::scale::Scale;
use super::text::{cut, escape};
use std::fmt::Write;

/// The width of every drawing, in its own units. Drawings are laid out for the text of a phone, [`LETTER`] units a
/// character; on wider screens the text is smaller in these units.
pub(super) const WIDTH: f64 = 400.0;
/// Width of a character of the largest text.
pub(super) const LETTER: f64 = 7.8;
/// Pixels of a drawing that is a file.
const PIXELS: f64 = 640.0;
const HEIGHT: f64 = 290.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 44.0;
/// From one line below a drawing to the next.
const KEY: f64 = 16.0;
/// Marks without highlight that a chart draws at most.
pub(super) const MARKS: usize = 1500;

/// A drawing, inside a page or on its own.
#[derive(Debug, Clone)]
pub struct Chart {
    /// What it shows, for screen readers.
    pub(super) label: String,
    pub(super) height: f64,
    pub(super) body: String,
}

impl Chart {
    /// The drawing as part of a page that holds `chart.css`.
    pub(super) fn inside(&self) -> String {
        let Chart { label, height, body } = self;
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"group\" tabindex=\"0\" \
             aria-roledescription=\"chart\" aria-label=\"{}\">{body}</svg>",
            escape(label)
        )
    }

    /// The drawing as an SVG file.
    pub fn alone(&self) -> String {
        let Chart { label, height, body } = self;
        let (label, style) = (escape(label), include_str!("chart.css"));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart alone\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
             width=\"{PIXELS}\" height=\"{:.0}\" role=\"img\" aria-label=\"{label}\">\
             <metadata>{}</metadata><style>{style}</style>\
             <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height:.0}\"/>{body}</svg>\n",
            height * PIXELS / WIDTH,
            super::MARK
        )
    }

    /// The chart as a picture that neither takes nor gives styles of the page around it.
    pub(super) fn picture(&self) -> String {
        let mut source = String::new();
        for c in self.alone().chars() {
            match c {
                '%' | '#' | '<' | '>' | '"' | '\'' | '\n' => source += &format!("%{:02X}", c as u32),
                other => source.push(other),
            }
        }
        format!("<img alt=\"{}\" src=\"data:image/svg+xml,{source}\">", escape(&self.label))
    }
}

/// Radius of a mark without highlight.
const SMALL: f64 = 1.8;
/// Radius of a highlighted mark.
const LARGE: f64 = 3.1;

/// What a name of the legend stands for; the class is a word of `chart.css`.
pub(super) enum Mark {
    /// A line.
    Line(&'static str),
    /// Points.
    Dot(&'static str),
}

/// A point that can be selected.
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// How it looks; words of `chart.css`.
    pub(super) class: &'static str,
    /// What is said of it.
    pub(super) title: String,
}

/// Two scales and what was drawn between them.
pub(super) struct Plot {
    x: Scale,
    y: Scale,
    body: String,
}

impl Plot {
    /// A frame with ticks and the names of both axes.
    pub(super) fn new(x: Scale, y: Scale, names: [&str; 2]) -> Self {
        let mut plot = Plot { x, y, body: String::new() };
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let mut body = String::new();
        let ticks = x.ticks();
        let widest = ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let room = (widest as f64 + 1.5) * LETTER;
        let gap = ticks.windows(2).map(|pair| plot.at(pair[1].0, 0.0).0 - plot.at(pair[0].0, 0.0).0);
        let every = gap.map(|gap| (room / gap).ceil() as usize).max().unwrap_or(1).max(1);
        for (number, text) in ticks.iter().step_by(every) {
            let at = plot.at(*number, 0.0).0;
            let _ = write!(body, "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/>");
            let _ = write!(body, "<text x=\"{at:.1}\" y=\"{}\" class=\"mid\">{text}</text>", bottom + 16.0);
        }
        for (number, text) in y.ticks() {
            let at = plot.at(1.0, number).1;
            let _ = write!(body, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>");
            let _ =
                write!(body, "<text x=\"{}\" y=\"{:.1}\" class=\"end\">{text}</text>", LEFT - 5.0, at + 4.0);
        }
        let _ = write!(body, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>");
        let [x, y] = names.map(|name| escape(&cut(name, (WIDTH / LETTER) as usize - 8)));
        let _ = write!(
            body,
            "<text x=\"{:.1}\" y=\"{}\" class=\"mid name\">{x}</text><text x=\"2\" y=\"{}\" class=\"name\">{y}</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 8.0,
            TOP - 14.0
        );
        plot.body = body;
        plot
    }

    /// The place of a pair of numbers in the drawing.
    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let wide = WIDTH - LEFT - RIGHT;
        let high = HEIGHT - TOP - BOTTOM;
        (LEFT + wide * self.x.share(x), TOP + high * (1.0 - self.y.share(y)))
    }

    /// A line that keeps its height until the next point, and on to the right end if asked.
    pub(super) fn steps(&mut self, points: &[(f64, f64)], class: &str, to_end: bool) {
        let Some(first) = points.first() else { return };
        let start = self.at(first.0, first.1);
        let mut path = format!("M{:.1} {:.1}", start.0, start.1);
        for point in &points[1..] {
            let (x, y) = self.at(point.0, point.1);
            let _ = write!(path, "H{x:.1}V{y:.1}");
        }
        if to_end {
            let _ = write!(path, "H{:.1}", WIDTH - RIGHT);
        }
        let _ = write!(self.body, "<path class=\"line {class}\" d=\"{path}\"/>");
    }

    /// A point with its words.
    pub(super) fn point(&mut self, point: &Point) {
        let (x, y) = self.at(point.x, point.y);
        let radius = if point.class.is_empty() { SMALL } else { LARGE };
        let _ = write!(
            self.body,
            "<circle class=\"p {}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{}</title></circle>",
            point.class,
            escape(&point.title)
        );
    }

    /// A ring around a point, with a word next to it.
    pub(super) fn ring(&mut self, x: f64, y: f64, word: &str) {
        let (x, y) = self.at(x, y);
        let (anchor, by) = if x > WIDTH * 0.7 { ("end", -9.0) } else { ("start", 9.0) };
        let down = if y > HEIGHT - BOTTOM - 24.0 { -8.0 } else { 14.0 };
        let _ = write!(
            self.body,
            "<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" class=\"word {anchor}\">{}</text>",
            x + by,
            y + down,
            escape(word)
        );
    }

    /// A point in the look of its group, with its words.
    pub(super) fn dot(&mut self, x: f64, y: f64, class: &str, title: &str) {
        let (x, y) = self.at(x, y);
        let _ = write!(
            self.body,
            "<circle class=\"p {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{SMALL}\"><title>{}</title></circle>",
            escape(title)
        );
    }

    /// The area between two lines that keep their height until the next point.
    pub(super) fn band(&mut self, low: &[(f64, f64)], high: &[(f64, f64)], class: &str) {
        let corners = |line: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let mut corners: Vec<(f64, f64)> = Vec::new();
            for point in line.iter().map(|point| self.at(point.0, point.1)) {
                corners.extend(corners.last().map(|last| (point.0, last.1)));
                corners.push(point);
            }
            corners.extend(corners.last().map(|last| (WIDTH - RIGHT, last.1)));
            corners
        };
        let around = corners(low).into_iter().chain(corners(high).into_iter().rev());
        let path: Vec<String> = around.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        if !path.is_empty() {
            let _ = write!(self.body, "<path class=\"band {class}\" d=\"M{}Z\"/>", path.join("L"));
        }
    }

    /// The line of least squares through points as they are drawn, as far as they reach; none through fewer than three or
    /// through those above each other.
    pub(super) fn trend(&mut self, points: &[(f64, f64)], class: &str) {
        let places: Vec<(f64, f64)> = points.iter().map(|point| self.at(point.0, point.1)).collect();
        let n = places.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|place| place.0), mean(|place| place.1));
        let spread: f64 = places.iter().map(|place| (place.0 - x).powi(2)).sum();
        if places.len() < 3 || spread <= 0.0 {
            return;
        }
        let slope = places.iter().map(|place| (place.0 - x) * (place.1 - y)).sum::<f64>() / spread;
        let end = |pick: fn(f64, f64) -> f64| places.iter().map(|place| place.0).reduce(pick).unwrap_or(x);
        let inside = |at: f64| (y + slope * (at - x)).clamp(TOP, HEIGHT - BOTTOM);
        let (left, right) = (end(f64::min), end(f64::max));
        let _ = write!(
            self.body,
            "<path class=\"line trend {class}\" d=\"M{left:.1} {:.1}L{right:.1} {:.1}\"/>",
            inside(left),
            inside(right)
        );
    }

    /// A word in the upper right corner of the frame.
    pub(super) fn corner(&mut self, word: &str) {
        let (x, y) = (WIDTH - RIGHT - 4.0, TOP + 12.0);
        let _ = write!(self.body, "<text x=\"{x}\" y=\"{y}\" class=\"word end\">{}</text>", escape(word));
    }

    /// The names of lines and points, above the frame.
    pub(super) fn legend(&mut self, names: &[(Mark, &str)]) {
        let (mut x, y) = (2.0, 12.0);
        for (mark, name) in names {
            let wide = match mark {
                Mark::Line(class) => {
                    let _ =
                        write!(self.body, "<path class=\"line {class}\" d=\"M{x:.1} {:.1}h20\"/>", y - 4.0);
                    20.0
                }
                Mark::Dot(class) => {
                    let radius = if class.is_empty() { SMALL } else { LARGE };
                    let _ = write!(
                        self.body,
                        "<circle class=\"key {class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"/>",
                        x + LARGE,
                        y - 4.0
                    );
                    2.0 * LARGE
                }
            };
            let _ =
                write!(self.body, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", x + wide + 5.0, escape(name));
            x += wide + 20.0 + LETTER * name.chars().count() as f64;
        }
    }

    /// The whole drawing.
    pub(super) fn chart(self, label: String) -> Chart {
        Chart { label, height: HEIGHT, body: self.body }
    }

    /// The whole drawing, with the names of groups below it, a line each.
    pub(super) fn chart_with_key(mut self, names: &[(&str, &str)], label: String) -> Chart {
        for (place, (class, name)) in names.iter().enumerate() {
            let y = HEIGHT + 6.0 + KEY * place as f64;
            let name = escape(&cut(name, (WIDTH / LETTER) as usize - 5));
            let _ = write!(
                self.body,
                "<path class=\"line {class}\" d=\"M6 {:.1}h20\"/><text x=\"32\" y=\"{y:.1}\">{name}</text>",
                y - 4.0
            );
        }
        let height = HEIGHT + if names.is_empty() { 0.0 } else { 4.0 + KEY * names.len() as f64 };
        Chart { label, height, body: self.body }
    }

    /// Which of these places to draw so that at most [`MARKS`] remain: the first in each square of a grid.
    pub(super) fn thin(&self, places: &[(f64, f64)]) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..places.len()).collect();
        let mut side = 1.0;
        while kept.len() > MARKS {
            let mut taken = std::collections::HashSet::new();
            let square = |i: &usize| {
                let (x, y) = self.at(places[*i].0, places[*i].1);
                ((x / side) as i64, (y / side) as i64)
            };
            kept.retain(|i| taken.insert(square(i)));
            side *= 1.25;
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame is 54 to 378 wide and 48 to 246 high; 1 to 100 by logarithm has 10 in the middle.
    #[test]
    fn numbers_lie_where_they_should() {
        let unit = Scale::unit();
        let plot = Plot::new(Scale::counting(100.0), unit, ["a", "b"]);
        let (x, y) = plot.at(10.0, 0.25);
        assert!((x - 216.0).abs() < 1e-9 && (y - 196.5).abs() < 1e-9, "{x} {y}");
    }

    #[test]
    fn thinning_keeps_the_first_of_each_square_and_both_ends() {
        let unit = Scale::unit();
        let plot = Plot::new(unit, unit, ["a", "b"]);
        let places: Vec<(f64, f64)> =
            (0..100_000).map(|i| (f64::from(i % 317) / 316.0, f64::from(i / 317) / 315.0)).collect();
        let kept = plot.thin(&places);
        assert!((MARKS / 2..=MARKS).contains(&kept.len()), "{}", kept.len());
        assert_eq!((kept[0], plot.thin(&places[..900]).len()), (0, 900));
    }
}
