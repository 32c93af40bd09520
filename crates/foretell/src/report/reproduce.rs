//! What it takes to run a study again: command, settings, versions, hash. Nothing that names a machine.

use super::Subject;
use super::text::escape;
use crate::space;
use crate::study::Objective;
use serde_json::Value;
use std::fmt::Write;

/// The search command that the settings amount to, by this algorithm, with as many candidates as the study has.
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
        words[2] = format!("--proxy {}", quoted(label));
    }
    words.push(format!("--algorithm {}", quoted(algorithm)));
    for (key, value) in config["limits"].as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        words.push(format!("--{} {}", key.replace('_', "-"), quoted(&value)));
    }
    words.push(format!("--seed {} --budget {}", config["seed"], subject.trials.len()));
    words.join(" ")
}

/// A word as a shell reads it whole.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+/=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The section of the page.
pub(super) fn section(subject: &Subject) -> String {
    let study = subject.study;
    let config = &study.config;
    let typed = study.provenance["command"].as_str().unwrap_or_default();
    let algorithm = config["algorithm"].as_str().unwrap_or_default();
    let mut html = String::new();
    if !typed.is_empty() {
        let _ = write!(html, "<p>The study was begun by</p><pre>foretell {}</pre>", escape(typed));
    }
    let _ = write!(
        html,
        "<p>which, with everything said that was left to defaults, is</p><pre>{}</pre>",
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
             <code>foretell show</code> prints the hash of a study. Another kind of processor may round otherwise.</p>";
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
        let genes = space::write_architecture(&subject.candidate(winner).architecture);
        details("Winner, as count, score and rank read it", &pretty(&Value::Object(genes)));
    }
    html
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
