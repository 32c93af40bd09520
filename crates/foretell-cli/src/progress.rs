//! Progress on stderr: a line that is redrawn on a terminal, plain lines now and then elsewhere.

use crate::fit;
use crate::output::{self, number};
use foretell::architecture::Architecture;
use foretell::latency::Phase;
use foretell::remote::Dispatcher;
use foretell::store::Evaluation;
use foretell::study;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How far a known amount of work is.
pub struct Progress {
    bar: Option<ProgressBar>,
    what: &'static str,
    total: u64,
    plain: Mutex<Plain>,
}

struct Plain {
    done: u64,
    start: Instant,
    said: Instant,
}

/// Whether progress is drawn: on a terminal, unless only results are asked for.
pub fn drawn() -> bool {
    !output::is_quiet() && std::io::stderr().is_terminal()
}

/// A plain line of progress.
pub fn plain(line: &str) {
    if !output::is_quiet() {
        output::said(line);
    }
}

/// Plain lines come at least this far apart.
const PAUSE: Duration = Duration::from_secs(5);

/// A bar, how much is done, the time left, and a message that is cut to the width of the terminal.
pub fn style() -> ProgressStyle {
    let width = fit::progress();
    let template =
        format!("{{bar:{}}} {{pos}}/{{len}}, {{eta}} left, {{wide_msg}}", (width / 4).clamp(1, 30));
    ProgressStyle::with_template(&template).expect("the template is valid")
}

impl Progress {
    pub fn new(what: &'static str, total: u64) -> Self {
        let bar = drawn().then(|| {
            let bar = ProgressBar::new(total).with_style(style()).with_message(what);
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        let now = Instant::now();
        Progress { bar, what, total, plain: Mutex::new(Plain { done: 0, start: now, said: now }) }
    }

    pub fn step(&self) {
        if let Some(bar) = &self.bar {
            return bar.inc(1);
        }
        let mut plain = self.plain.lock().expect("no holder panics");
        plain.done += 1;
        if plain.said.elapsed() >= PAUSE && plain.done < self.total {
            let (gone, done) = (plain.start.elapsed().as_secs_f64(), plain.done as f64);
            let left = gone / done * (self.total as f64 - done);
            self::plain(&format!(
                "{} of {} {}, {gone:.0} s elapsed, {left:.0} s left",
                plain.done, self.total, self.what
            ));
            plain.said = Instant::now();
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How far a search is: best so far, time left, rejected and failed candidates.
pub struct Searching {
    bar: Option<ProgressBar>,
    plain: Mutex<Plain>,
    /// Who hands candidates to other machines, and what was last said of it.
    remote: Option<Arc<Dispatcher>>,
    news: Mutex<Option<String>>,
}

impl Searching {
    pub fn new(remote: Option<Arc<Dispatcher>>) -> Self {
        let bar = drawn().then(|| {
            let bar = ProgressBar::new(0).with_style(style());
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        let now = Instant::now();
        let plain = Mutex::new(Plain { done: 0, start: now, said: now });
        Searching { bar, plain, remote, news: Mutex::default() }
    }

    /// Says what happened to workers since it was last said.
    fn tell_news(&self) {
        let Some(news) = self.remote.as_ref().and_then(|remote| remote.status().news) else { return };
        let mut said = self.news.lock().expect("no holder panics");
        if said.as_ref() != Some(&news) {
            self.say(news.clone());
            *said = Some(news);
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line of its own.
    fn say(&self, line: String) {
        match &self.bar {
            Some(bar) => bar.println(output::escaped(&line)),
            None => plain(&line),
        }
    }
}

impl study::Watch for Searching {
    fn scored(&self) {
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => self.plain.lock().expect("no holder panics").done += 1,
        }
        self.tell_news();
    }

    fn generation(&self, progress: &study::Progress) {
        let study::Progress { done, total, rejected, failed, best } = progress;
        let best =
            best.map_or("none yet".to_owned(), |(trial, value)| format!("{} (trial {trial})", number(value)));
        let workers = self.remote.as_ref().map_or(String::new(), |remote| format!("; {}", remote.status()));
        let message = format!("best {best}, {rejected} rejected, {failed} failed{workers}");
        if let Some(bar) = &self.bar {
            bar.set_length(*total);
            bar.set_position(*done);
            return bar.set_message(message);
        }
        let mut plain = self.plain.lock().expect("no holder panics");
        if plain.said.elapsed() >= PAUSE && done < total {
            // Stored candidates took no time.
            let pace = plain.start.elapsed().as_secs_f64() / plain.done.max(1) as f64;
            self::plain(&format!("{done} of {total}: {message}, {:.0} s left", pace * (total - done) as f64));
            plain.said = Instant::now();
        }
    }

    fn evaluated(&self, _: &Architecture, row: &Evaluation) {
        let value = study::given_value(row)
            .map_or_else(|| format!("failed ({}): {}", row.status, row.message), number);
        self.say(format!("trial {} evaluated: {value}", row.trial));
    }

    fn trained(&self, run: Option<&study::TimedRun>, doing: &study::Doing) {
        let value =
            |run: &study::TimedRun| run.value.map_or("failed".to_owned(), |value| number(value.abs()));
        let best = doing.best.map_or(String::new(), |best| {
            format!(", best so far {} after {} steps (trial {})", value(best), best.steps, best.trial)
        });
        let spent = format!("{:.0} %", 100.0 * doing.spent);
        let line = match run {
            None => format!("{spent}: {}{best}", doing.why),
            Some(run) => {
                format!("{spent}: trial {}, {} steps: {}{best}", run.trial, run.steps, value(run))
            }
        };
        let Some(bar) = self.bar.as_ref().filter(|_| run.is_some()) else { return self.say(line) };
        bar.set_length(1000);
        bar.set_position((1000.0 * doing.spent) as u64);
        bar.set_message(line);
    }

    fn solving(&self, share: f64) {
        let mut plain = self.plain.lock().expect("no holder panics");
        if plain.said.elapsed() >= PAUSE {
            plain.said = Instant::now();
            drop(plain);
            self.say(format!("exact search: {:.0} % done", 100.0 * share));
        }
    }

    fn measuring(&self, done: u64, total: u64) {
        // The pace of scoring counts from here on.
        self.plain.lock().expect("no holder panics").start = Instant::now();
        if done > 0 && done.is_multiple_of(8) {
            self.say(format!("measuring latency: {done} of {total} networks"));
        }
    }

    fn measured(&self, trial: u64, phase: Phase, seconds: f64) {
        self.say(format!("trial {trial} measured, {}: {:.2} ms", phase.name(), 1e3 * seconds));
    }

    fn estimated(&self, estimate: &study::Estimate) {
        if estimate.seconds() < WORTH_SAYING {
            return;
        }
        self.say(format!(
            "about {} for {} candidates ({} each on one of {} threads). To save time: fewer candidates (--budget), one \
             draw (--seeds 1), a smaller batch (--proxy 'dss++[batch=4]'), or a proxy that uses only the shape (nsc)",
            duration(estimate.seconds()),
            estimate.candidates,
            duration(estimate.seconds_each),
            estimate.threads
        ));
    }
}

/// The time of shorter searches is not printed.
const WORTH_SAYING: f64 = 20.0;

/// A duration in the unit that suits it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", 1e3 * s),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}
