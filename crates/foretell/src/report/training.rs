//! What a timed search trained and learned.

use super::Subject;
use super::chart::{Chart, Mark, Plot, Point, Scale};
use super::markup::{Cell, Row, note, table, terms};
use super::text::{escape, grouped, number, percent};
use crate::error::Result;
use crate::study::Timed;

impl Subject<'_> {
    /// Every run by its length and result, with the caption; nothing where no run succeeded.
    pub(super) fn runs(&self, timed: &Timed) -> Option<(Chart, String)> {
        let sound = || timed.runs.iter().filter_map(|run| Some((run, run.value?)));
        let x = Scale::counting(timed.rungs[2] as f64 * 1.2);
        let y = Scale::of(sound().map(|(_, value)| value))?;
        let mut plot = Plot::new(x, y, ["training steps", &timed.evaluator]);
        let finalist =
            |trial: usize| timed.runs.iter().any(|run| run.trial == trial && run.steps == timed.rungs[2]);
        for (last, class) in [(false, "low"), (true, "on")] {
            for (run, value) in sound().filter(|(run, _)| finalist(run.trial) == last) {
                let draw = if run.draw > 0 { format!(", draw {}", run.draw) } else { String::new() };
                let title =
                    format!("trial {}, {} steps{draw}: {}", run.trial, grouped(run.steps), number(value));
                plot.point(&Point { x: run.steps as f64, y: value, class, title });
            }
        }
        plot.legend(&[(Mark::Dot("on"), "finalists"), (Mark::Dot("low"), "others")]);
        let of = |steps: u64| timed.runs.iter().filter(|run| run.steps == steps).count();
        let [short, middle, full] = timed.rungs;
        let caption = format!(
            "{} short runs of {short} steps, {} of {middle} and {} full ones of {full}. Each network is trained from its start \
             for every length.",
            of(short),
            of(middle),
            of(full)
        );
        Some((plot.chart(format!("Runs by length and result. {caption}")), caption))
    }

    /// The winner against the best uniform network, the law that was learned, and how well the predictor predicts.
    pub(super) fn training(&self, timed: &Timed) -> Result<String> {
        let mut html = format!("<p>{}</p>", escape(&timed.verdict()));
        if let Some(against) = &timed.against {
            let row = |name: &str, place: usize| -> Result<Row> {
                let values: Vec<String> = against.values[place].iter().map(|value| number(*value)).collect();
                let trial = against.trials[place];
                Ok(Row::plain(vec![
                    Cell::Text(name.to_owned()),
                    Cell::trial(trial, Some(trial) == self.winner()),
                    Cell::Text(values.join(", ")),
                    Cell::Number(grouped(against.params[place]), against.params[place] as f64),
                    Cell::Genes(self.genes(&self.candidate(trial)?)),
                ]))
            };
            let names = ["", "trial", "after full training, by draw", "parameters", "architecture"]
                .map(str::to_owned);
            let rows = [row("winner", 0)?, row("best uniform network", 1)?];
            html += &table("Winner and uniform network", false, &names, &rows);
        }
        let signed = |(name, value): &(String, f64)| (name.clone(), format!("{value:+.2}"));
        if !timed.slopes.is_empty() {
            html += &format!(
                "<h3>What was learned</h3>{}",
                terms(&timed.slopes.iter().map(signed).collect::<Vec<_>>(), false)
            );
            html += &note(
                "How what is expected after full training changes with each size, the others as they are: standard deviations \
                 per standard deviation, better upwards.",
            );
        }
        if let Some(check) = &timed.check {
            let models =
                timed.models.iter().take(4).map(|(name, share)| format!("{name} {}", percent(*share, 0)));
            let tau = check.tau.map_or("not defined".to_owned(), |tau| format!("{tau:.2}"));
            html += &format!(
                "<h3>The predictor</h3>{}",
                terms(
                    &[
                        ("models".to_owned(), models.collect::<Vec<_>>().join(", ")),
                        ("tau, networks left out".to_owned(), tau),
                        ("inside 50 % intervals".to_owned(), percent(check.inside[0], 0)),
                        ("inside 90 % intervals".to_owned(), percent(check.inside[1], 0)),
                    ],
                    false
                )
            );
        }
        Ok(html)
    }
}
