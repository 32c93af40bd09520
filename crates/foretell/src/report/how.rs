//! What was searched, for what, by what, within which limits.

use super::Subject;
use super::text::{escape, grouped};
use crate::error::Result;
use crate::latency::Phase;
use crate::proxy::Request;
use crate::search;
use crate::space::Size;
use crate::study::{Answer, Objective};

impl Subject<'_> {
    /// What was searched, for what, by what, within which limits.
    pub(super) fn how(&self) -> Result<String> {
        let config = &self.study.config;
        let definition = self.space.definition();
        let size = match self.space.size() {
            Size::Exact(size) => {
                let digits = size.to_string();
                if digits.len() <= 9 {
                    grouped(digits.parse().unwrap_or(0))
                } else {
                    format!("{}.{} × 10<sup>{}</sup>", &digits[..1], &digits[1..2], digits.len() - 1)
                }
            }
            Size::Open => "unbounded many".to_owned(),
        };
        let cited = |paper: &str| {
            if paper.is_empty() { String::new() } else { format!(" <cite>{}</cite>", escape(paper)) }
        };
        let mut rows = vec![(
            "Space",
            format!(
                "<b>{}</b>, {size} architectures. {}{}",
                escape(&definition.name),
                escape(&definition.about),
                cited(&definition.paper)
            ),
        )];
        for objective in self.objectives {
            rows.push((
                "Objective",
                match objective {
                    Objective::Proxy(label) => {
                        let about = Request::parse(label)?.about();
                        format!(
                            "large <b>{}</b>: {} <code>{}</code>{}",
                            escape(label),
                            escape(about.sentence),
                            escape(about.formula),
                            cited(about.paper)
                        )
                    }
                    Objective::Params => "few <b>parameters</b>".into(),
                    Objective::Flops => "few <b>multiply-adds</b>, counted exactly".into(),
                    Objective::Memory => {
                        "little <b>memory</b> for a forward and backward of one input in f32".into()
                    }
                    Objective::Cache => {
                        "small <b>cache</b> of keys and values of a whole context in f32".into()
                    }
                    Objective::Latency => latency(&self.view.answer, "one whole input", Phase::Prefill),
                    Objective::TokenLatency => latency(&self.view.answer, "one further token", Phase::Decode),
                },
            ));
        }
        let algorithm = config["algorithm"].as_str().unwrap_or_default();
        let about = search::about(algorithm)?;
        rows.push((
            "Algorithm",
            format!("<b>{}</b>: {}{}", escape(algorithm), escape(about.sentence), cited(about.paper)),
        ));
        let limits: Vec<String> = config["limits"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| {
                let (bound, name) = key.split_once('_')?;
                let name = match name {
                    "params" => "parameters",
                    "flops" => "multiply-adds",
                    _ => "bytes of memory",
                };
                let bound = if bound == "min" { "at least" } else { "at most" };
                Some(format!("{bound} {} {name}", grouped(value.as_u64()?)))
            })
            .collect();
        let limits = if limits.is_empty() { "none".to_owned() } else { limits.join(", ") };
        rows.push((
            "Limits",
            format!("{limits}; {} candidates were refused before scoring", grouped(self.study.rejected)),
        ));
        let ended = match self.study.stopped.as_deref() {
            None => "not yet: the same command goes on".to_owned(),
            Some("budget") => "when as many candidates were scored as were asked for".to_owned(),
            Some("exhausted") => "when no new candidate was left".to_owned(),
            Some(reason) => escape(reason),
        };
        rows.push(("Ended", ended));
        Ok(rows
            .iter()
            .fold("<dl>".to_owned(), |html, (name, text)| html + &format!("<dt>{name}</dt><dd>{text}</dd>"))
            + "</dl>")
    }
}

fn latency(answer: &Answer, what: &str, phase: Phase) -> String {
    let model = answer.latency.iter().find(|model| model.phase == phase.name());
    let error = model.map_or(String::new(), |model| {
        format!(
            ", predicted by a model fitted to {} measurements (median error {:.1} %, nine in ten below {:.1} %)",
            model.measured,
            100.0 * model.error,
            100.0 * model.error_90
        )
    });
    format!("low <b>latency</b> of {what} on one thread{error}")
}
