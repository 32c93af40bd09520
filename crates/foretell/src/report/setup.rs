//! What was searched, for what and by which algorithm.

use super::Subject;
use super::markup::terms;
use super::text::{escape, grouped};
use crate::error::Result;
use crate::search;
use crate::space::Size;
use crate::study::Objective;

/// A paper, in markup.
fn cited(paper: &str) -> String {
    if paper.is_empty() { String::new() } else { format!(" <cite>{}</cite>", escape(paper)) }
}

impl Subject<'_> {
    /// The space, the objectives, the algorithm, the limits and why the search ended.
    pub(super) fn setup(&self) -> Result<String> {
        let definition = self.space.definition();
        let mut rows = vec![(
            "Space".to_owned(),
            format!(
                "<b>{}</b>, {} architectures. {}{}",
                escape(&definition.name),
                self.size(),
                escape(&definition.about),
                cited(&definition.paper)
            ),
        )];
        for objective in self.objectives {
            rows.push(("Objective".to_owned(), objective_text(objective)?));
        }
        let algorithm = self.study.config["algorithm"].as_str().unwrap_or_default();
        let (sentence, paper) = match self.view.settings.time {
            Some(_) => {
                ("networks are trained, for longer and longer as they promise more; see Training.", "")
            }
            None => search::about(algorithm).map(|about| (about.sentence, about.paper))?,
        };
        rows.push((
            "Algorithm".to_owned(),
            format!("<b>{}</b>: {}{}", escape(algorithm), escape(sentence), cited(paper)),
        ));
        if self.study.config["limits"].as_object().is_none_or(serde_json::Map::is_empty) {
            rows.push(("Limits".to_owned(), "none".to_owned()));
        }
        let ended = match self.study.stopped.as_deref() {
            None => "not yet: the same command resumes the search".to_owned(),
            Some("budget") => "the budget of candidates was used up".to_owned(),
            Some("time") => "the time was used up".to_owned(),
            Some("exhausted") => "no new candidate was left".to_owned(),
            Some(reason) => escape(reason),
        };
        rows.push(("Ended".to_owned(), ended));
        Ok(terms(&rows, true))
    }

    /// How many architectures the space has, in markup.
    fn size(&self) -> String {
        match self.space.size() {
            Size::Exact(size) => {
                let digits = size.to_string();
                match digits.parse() {
                    Ok(size) if digits.len() <= 9 => grouped(size),
                    _ => format!("{}.{} × 10<sup>{}</sup>", &digits[..1], &digits[1..2], digits.len() - 1),
                }
            }
            Size::Open => "infinitely many".to_owned(),
        }
    }
}

/// An objective in words, in markup.
fn objective_text(objective: &Objective) -> Result<String> {
    Ok(match objective {
        Objective::Proxy(request) => {
            let about = request.about();
            format!(
                "maximise <b>{}</b>: {} <code>{}</code>{}",
                escape(request.label()),
                escape(about.sentence),
                escape(about.formula),
                cited(about.paper)
            )
        }
        Objective::Params => "minimise <b>parameters</b>".into(),
        Objective::Flops => "minimise <b>multiply-adds</b>, counted exactly".into(),
        Objective::Memory => {
            "minimise <b>memory</b> of a forward and backward pass of one input in f32".into()
        }
        Objective::Cache => "minimise the <b>cache</b> of keys and values of a whole context in f32".into(),
        Objective::Latency => "minimise the predicted <b>latency</b> of one input on one thread".into(),
        Objective::TokenLatency => {
            "minimise the predicted <b>latency</b> of one further token on one thread".into()
        }
    })
}
