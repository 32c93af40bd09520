//! The `foretell` command: arguments → library request → table or JSON. All knowledge is in the library.

mod algorithms;
mod args;
mod bench;
mod build;
mod calibrate;
mod count;
mod discover;
mod doctor;
mod export;
mod output;
mod progress;
mod proxies;
mod rank;
mod report;
mod sample;
mod score;
mod scoring;
mod search;
mod spaces;
mod studies;
mod train;
mod verify;

use args::{Arguments, Command};
use clap::Parser;
use foretell::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    #[cfg(unix)]
    leave_when_terminated();
    let _ = ctrlc::set_handler(|| leave("interrupted", 130));
    if let Some(threads) = arguments.threads {
        // Fails only if a pool exists already, and nothing has run yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    let json = arguments.json;
    let mut code = 0;
    let done = match arguments.command {
        Command::Search(args) => search::run(&args, json).map(|found| code = found),
        Command::Studies(args) => studies::list(&args, json),
        Command::Show(args) => studies::show(&args, json),
        Command::Best(args) => studies::best(&args, json),
        Command::Front(args) => studies::front(&args, json),
        Command::Report(args) => report::run(&args, json),
        Command::Export(args) => export::run(&args, json),
        Command::VerifyStore(args) => studies::verify(&args, json),
        Command::Repair(args) => studies::repair(&args, json),
        Command::Merge(args) => studies::merge(&args, json),
        Command::Algorithms(args) => algorithms::run(&args, json),
        Command::Spaces(args) => spaces::run(&args, json),
        Command::Sample(args) => sample::run(&args, json),
        Command::Count(args) => count::run(&args, json),
        Command::Score(args) => score::run(&args, json),
        Command::Rank(args) => rank::run(&args, json),
        Command::Proxies(args) => proxies::run(&args, json),
        Command::Bench(args) => bench::run(&args, json),
        Command::Benchmark(args) => build::run(&args, json),
        Command::Train(args) => train::run(&args, json),
        Command::Verify(args) => verify::run(&args, json),
        Command::Discover(args) => discover::run(&args, json),
        Command::Calibrate(args) => calibrate::run(&args, json),
        Command::Doctor => doctor::run(json),
    };
    match done {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            eprintln!("foretell: {error}");
            ExitCode::from(exit_code(&error))
        }
    }
}

/// Ends the process at once: what is known is on disk, so there is nothing to save.
fn leave(why: &str, code: i32) -> ! {
    foretell::study::abandon();
    eprintln!("\nforetell: {why}; what was done is remembered, run the same command to go on");
    std::process::exit(code)
}

/// Job schedulers and containers end programs by a signal that a first process would ignore.
#[cfg(unix)]
fn leave_when_terminated() {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    // Before any other thread is there, so that this one alone gets it.
    if signals.thread_block().is_ok() {
        std::thread::spawn(move || signals.wait().map(|_| leave("terminated", 143)));
    }
}

/// 1 failed, 2 wrong usage, 4 nothing feasible.
fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Infeasible { .. } => 4,
        Error::Unknown { .. } | Error::Input { .. } | Error::Invalid { .. } => 2,
        _ => 1,
    }
}
