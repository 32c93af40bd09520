//! What it takes to run a study again: command, settings, versions and hash; nothing that names a machine.

use super::Subject;
use super::text::escape;
use crate::error::Result;
use crate::space;
use crate::study::{Objective, SEEDS, Time};
use serde_json::Value;
use std::fmt::Write;

/// The search command of the study's settings, with this algorithm and as many candidates as the study has.
pub(super) fn command(subject: &Subject, algorithm: &str) -> String {
    let config = &subject.study.config;
    let name = config["space"].as_str().unwrap_or_default();
    let file = format!("{name}.toml");
    let mut words = vec!["foretell search --space".to_owned()];
    words.push(quoted(if config["space_file"].is_string() { &file } else { name }));
    for objective in subject.objectives {
        words.push(format!("--objective {}", quoted(&objective.to_string())));
    }
    if let [Objective::Proxy(label)] = subject.objectives {
        words[2] = format!("--proxy {}", quoted(label.label()));
    }
    words.push(match subject.view.settings.time {
        Some(Time::Seconds(seconds)) => format!("--time {seconds}s"),
        Some(Time::Steps(steps)) => format!("--time {steps}steps"),
        None => format!("--algorithm {}", quoted(algorithm)),
    });
    for (key, value) in config["limits"].as_object().into_iter().flatten() {
        let unit = if key.ends_with("latency") { "s" } else { "" };
        let value = value.as_str().map_or_else(|| format!("{value}{unit}"), str::to_owned);
        words.push(format!("--{} {}", key.replace('_', "-"), quoted(&value)));
    }
    words.push(format!("--seed {}", config["seed"]));
    let seeds = config["seeds"].as_u64().unwrap_or(1);
    if seeds != SEEDS && subject.objectives.iter().any(is_drawn) {
        words.push(format!("--seeds {seeds}"));
    }
    if subject.view.settings.time.is_none() {
        words.push(format!("--budget {}", subject.view.trials));
    }
    words.join(" ")
}

/// Whether an objective depends on draws of weights or inputs.
fn is_drawn(objective: &Objective) -> bool {
    match objective {
        Objective::Proxy(request) => request.about().drawn(),
        _ => false,
    }
}

/// A word, quoted where a shell needs it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+/=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The section of the page.
pub(super) fn section(subject: &Subject) -> Result<String> {
    let study = subject.study;
    let config = &study.config;
    let typed = study.provenance["command"].as_str().unwrap_or_default();
    let algorithm = config["algorithm"].as_str().unwrap_or_default();
    let mut html = String::new();
    if !typed.is_empty() {
        let _ = write!(html, "<p>The study was started with</p><pre>foretell {}</pre>", escape(typed));
    }
    let _ = write!(
        html,
        "<p>The same command with all defaults written out:</p><pre>{}</pre>",
        escape(&command(subject, algorithm))
    );
    let text = |key: &str| study.provenance[key].as_str().unwrap_or("not recorded").to_owned();
    let rows = [
        ("hash of all candidates", subject.hash.to_owned()),
        ("foretell", text("version")),
        ("processor", text("processor")),
        ("seed", config["seed"].to_string()),
    ];
    html += "<dl>";
    for (name, value) in rows {
        let _ = write!(html, "<dt>{name}</dt><dd class=\"code\">{}</dd>", escape(&value));
    }
    html += "</dl><p>Equal hashes mean equal candidates with equal scores, bit for bit; \
             <code>foretell show</code> prints the hash of a study. Scores may be rounded differently on another kind of \
             processor.</p>";
    let mut settings = config.clone();
    let file = settings.as_object_mut().and_then(|settings| settings.remove("space_file"));
    let mut details = |name: &str, text: &str| {
        let _ = write!(html, "<details><summary>{name}</summary><pre>{}</pre></details>", escape(text));
    };
    details("Settings", &pretty(&settings));
    if let Some(file) = file.as_ref().and_then(Value::as_str) {
        details("Space file", file);
    }
    if let Some(winner) = subject.winner() {
        let genes = space::write_architecture(&subject.candidate(winner)?.architecture);
        details("Winner as JSON, for count, score and rank", &pretty(&Value::Object(genes)));
    }
    Ok(html)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("autoformer-tiny"), "autoformer-tiny");
        assert_eq!(quoted("dss[variant=released]"), "'dss[variant=released]'");
        assert_eq!(quoted("a'b"), "'a'\\''b'");
        assert_eq!(quoted(""), "''");
    }
}
