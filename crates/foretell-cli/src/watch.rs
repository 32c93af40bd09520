//! `foretell watch`: how far a study is that another process writes.

use crate::args::WatchArgs;
use crate::output;
use crate::progress::duration;
use crate::studies;
use foretell::error::Result;
use foretell::store::Store;
use foretell::study::View;
use serde_json::json;
use std::time::{Duration, Instant};

/// Looking takes at most this share of the time, so that the writer is not slowed where both share a machine.
const SHARE: f64 = 0.02;

/// Candidates of a study at some moment.
#[derive(Clone, Copy)]
struct Seen {
    at: Instant,
    trials: u64,
}

pub fn run(args: &WatchArgs, json: bool) -> Result<()> {
    let path = studies::path(args.store.store.as_deref());
    let (mut first, mut last): (Option<Seen>, Option<Seen>) = (None, None);
    loop {
        let start = Instant::now();
        // Every look reads one moment and leaves nothing open that a writer would have to wait for.
        let store = Store::read(&path)?;
        let study = View::named(&store, &args.study)?;
        let news = last.is_none_or(|last| last.trials != study.trials);
        if news || study.stopped.is_some() {
            let view = View::of(&store, &study)?;
            let seen = Seen { at: start, trials: study.trials };
            let since = *first.get_or_insert(seen);
            let pace = (seen.trials - since.trials) as f64 / (start - since.at).as_secs_f64();
            say(&view, pace, json);
            last = Some(seen);
        }
        if study.stopped.is_some() || args.once {
            return Ok(());
        }
        drop(store);
        let looked = start.elapsed();
        std::thread::sleep(Duration::from_secs_f64(args.every.max(looked.as_secs_f64() / SHARE)));
    }
}

/// One line: candidates, the best of them, and how fast they come.
fn say(view: &View, pace: f64, json: bool) {
    let study = &view.study;
    let failed = view.trials - view.leaderboard.succeeded().len();
    let best = view.best(1).first().copied();
    let budget = study.config["budget"].as_u64();
    let pace = Some(pace).filter(|pace| pace.is_finite() && *pace > 0.0);
    let left = pace.zip(budget).map(|(pace, budget)| budget.saturating_sub(study.trials) as f64 / pace);
    if json {
        return output::line(json!({
            "study": study.name, "trials": study.trials, "budget": budget, "failed": failed, "rejected": study.rejected,
            "best": best.map(|trial| json!({"trial": trial, "value": view.value(trial, 0)})),
            "per_second": pace, "seconds_left": left, "stopped": study.stopped,
        }));
    }
    let of = budget.map_or(String::new(), |budget| format!(" of {budget}"));
    let best = best.map_or("none yet".to_owned(), |trial| {
        format!("{} (trial {trial})", studies::score_text(view, trial))
    });
    let pace = pace.map_or(String::new(), |pace| format!(", {pace:.1} per second"));
    let left = match (&study.stopped, left) {
        (Some(stopped), _) => format!("; stopped: {stopped}"),
        (None, Some(left)) if left > 0.0 => format!(", {} left", duration(left)),
        _ => String::new(),
    };
    output::line(format!("{}{of} candidates, best {best}, {failed} failed{pace}{left}", study.trials));
}
