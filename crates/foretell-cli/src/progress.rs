//! Progress on stderr: a line that is redrawn on a terminal, plain lines now and then elsewhere.

use crate::fit;
use crate::output::number;
use foretell::study;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
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
        let bar = std::io::stderr().is_terminal().then(|| {
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
            eprintln!(
                "{} of {} {}, {gone:.0} s elapsed, {left:.0} s left",
                plain.done, self.total, self.what
            );
            plain.said = Instant::now();
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How far a search is: best so far, time left, what was refused and what failed.
pub struct Searching {
    bar: Option<ProgressBar>,
    plain: Mutex<Plain>,
}

impl Searching {
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0).with_style(style());
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        let now = Instant::now();
        Searching { bar, plain: Mutex::new(Plain { done: 0, start: now, said: now }) }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl study::Watch for Searching {
    fn scored(&self) {
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => self.plain.lock().expect("no holder panics").done += 1,
        }
    }

    fn generation(&self, progress: &study::Progress) {
        let study::Progress { done, total, rejected, failed, best } = progress;
        let best =
            best.map_or("none yet".to_owned(), |(trial, value)| format!("{} (trial {trial})", number(value)));
        let message = format!("best {best}, {rejected} refused, {failed} failed");
        if let Some(bar) = &self.bar {
            bar.set_length(*total);
            bar.set_position(*done);
            return bar.set_message(message);
        }
        let mut plain = self.plain.lock().expect("no holder panics");
        if plain.said.elapsed() >= PAUSE && done < total {
            // What was known from before took no time.
            let pace = plain.start.elapsed().as_secs_f64() / plain.done.max(1) as f64;
            eprintln!("{done} of {total}: {message}, {:.0} s left", pace * (total - done) as f64);
            plain.said = Instant::now();
        }
    }

    fn evaluated(&self, trial: u64, value: Option<f64>) {
        let value = value.map_or("failed".to_owned(), number);
        let line = format!("trial {trial} evaluated: {value}");
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }
}
