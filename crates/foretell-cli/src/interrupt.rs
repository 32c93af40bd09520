//! Ctrl-C, SIGTERM, SIGHUP and SIGQUIT: a command ends at once and says what is stored, or finishes its step first.

use crate::output;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// What is stored of the work done so far, if anything is.
static KEPT: Mutex<Option<&str>> = Mutex::new(None);
/// Whether the command stops by itself once it is asked to.
static PATIENT: AtomicBool = AtomicBool::new(false);
/// The exit code that a signal asks for; 0 before there was one.
static ASKED: AtomicU8 = AtomicU8::new(0);

/// Handles these signals from now on. It must run before any other thread is started.
pub fn install() {
    #[cfg(unix)]
    end_when_terminated();
    let _ = ctrlc::set_handler(|| signalled("interrupted", 130));
}

/// Sets what is stored if the command is interrupted from now on.
pub fn keeps(what: Option<&'static str>) {
    *KEPT.lock().expect("no holder panics") = what;
}

/// Runs work that asks [`asked`] now and then and stops by itself; a second signal still ends it at once.
pub fn patiently<T>(work: impl FnOnce() -> T) -> T {
    PATIENT.store(true, Ordering::SeqCst);
    let done = work();
    PATIENT.store(false, Ordering::SeqCst);
    done
}

/// Whether a signal asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst) > 0
}

/// The exit code of a command that stopped since it was asked to.
pub fn code() -> u8 {
    ASKED.load(Ordering::SeqCst).max(1)
}

/// Waits while the thread that handles the signal ends the program.
pub fn wait_for_end() -> ! {
    loop {
        std::thread::park();
    }
}

fn signalled(why: &str, code: u8) {
    let again = ASKED.swap(code, Ordering::SeqCst) > 0;
    if PATIENT.load(Ordering::SeqCst) && !again {
        return;
    }
    foretell::study::abandon();
    let kept = *KEPT.lock().expect("no holder panics");
    let message = kept.map_or_else(|| why.to_owned(), |kept| format!("{why}; {kept}"));
    if std::io::stderr().is_terminal() {
        // Below the progress bar and what the terminal shows of the key.
        eprintln!();
    }
    output::failure("interrupted", &message, code);
    std::process::exit(code.into())
}

/// Job schedulers, containers and closing terminals end programs by signals, which a first process would ignore.
#[cfg(unix)]
fn end_when_terminated() {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGQUIT);
    if !hangups_are_ignored() {
        signals.add(Signal::SIGHUP);
    }
    // Blocked before any other thread is there, so that only this one gets them.
    if signals.thread_block().is_ok() {
        std::thread::spawn(move || {
            while let Ok(signal) = signals.wait() {
                let (why, code) = match signal {
                    Signal::SIGHUP => ("the terminal was closed", 129),
                    Signal::SIGQUIT => ("quit", 131),
                    _ => ("terminated", 143),
                };
                signalled(why, code);
            }
        });
    }
}

/// Whether the program was started by nohup or alike, and goes on when its terminal is closed.
#[cfg(unix)]
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask & 1 == 1,
        // Where the system does not say: nohup redirects the output of a terminal.
        None => !std::io::stdout().is_terminal(),
    }
}
