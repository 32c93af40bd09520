//! A paper as a page of the documentation: claim, command, figures and verdict of every entry.

use super::{Entry, Experiment, Outcome, Paper, Size};
use std::fmt::Write;

/// The page of a paper. `result` gives what a run of an entry came to, if there was one, and `chart` the name of a drawing
/// beside the page.
pub fn page(
    paper: &Paper,
    result: &dyn Fn(&Entry) -> Option<Outcome>,
    chart: &dyn Fn(&Entry) -> Option<String>,
) -> String {
    let mut text = format!(
        "<!-- Generated: FORETELL_UPDATE=1 cargo test -p foretell --test all docs::. Do not edit. -->\n\n# {}\n\n*{}*\n",
        paper.title, paper.authors
    );
    if !paper.remark.is_empty() {
        let _ = write!(text, "\n{}\n", paper.remark.trim());
    }
    for entry in &paper.entries {
        let _ =
            write!(text, "\n## {}: {}\n\n**Claim.** {}\n", heading(entry), entry.title, entry.claim.trim());
        if !entry.stand_in.is_empty() {
            let _ = write!(text, "\n**Stand-in.** {}\n", entry.stand_in.trim());
        }
        match &entry.experiment {
            Experiment::Illustration { command } => {
                let _ = write!(text, "\nA drawing; this shows the same here:\n\n```sh\n{command}\n```\n");
                continue;
            }
            Experiment::Impossible { why } => {
                let _ = write!(text, "\nNo experiment is possible here: {}.\n", why.trim());
                published(&mut text, entry);
                continue;
            }
            _ => {}
        }
        let found = result(entry);
        let size = found.as_ref().map_or(Size::Quick, |found| found.size);
        let _ = write!(text, "\n```sh\nforetell reproduce {} --{size} --to reproduced\n```\n", entry.id);
        match found {
            Some(found) => {
                let _ = write!(text, "\n**Run ({size}).** {}", found.markdown());
                if let Some(chart) = chart(entry) {
                    let _ = write!(text, "\n![{}: {}]({chart})\n", heading(entry), entry.title);
                }
            }
            None => {
                text += "\n**Run.** Not run yet at a size that means anything.\n";
                published(&mut text, entry);
            }
        }
        if !entry.verdict.is_empty() {
            let _ = write!(text, "\n**Verdict.** {}\n", entry.verdict.trim());
        }
    }
    text
}

/// The published figures alone.
fn published(text: &mut String, entry: &Entry) {
    let alone = Outcome::of(entry, Size::Quick, String::new(), Vec::new());
    if !entry.columns.is_empty() {
        text.push_str(&alone.markdown());
    }
}

/// `table-3` as a heading: Table 3.
fn heading(entry: &Entry) -> String {
    let words = entry.name.replacen('-', " ", 1);
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
