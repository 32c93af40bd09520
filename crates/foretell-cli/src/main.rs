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
mod fit;
mod interrupt;
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
    interrupt::install();
    interrupt::keeps(arguments.command.keeps());
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
        Command::Score(args) => score::run(&args, json).map(|found| code = found),
        Command::Rank(args) => rank::run(&args, json).map(|found| code = found),
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
            let cure =
                if matches!(error, Error::Interrupted { .. }) { "; the same command resumes it" } else { "" };
            eprintln!("foretell: {error}{cure}");
            ExitCode::from(exit_code(&error))
        }
    }
}

/// 1 failed, 2 wrong usage, 4 nothing feasible; 130 or 143 stopped by a signal.
fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Interrupted { .. } => interrupt::code(),
        Error::Infeasible { .. } => 4,
        Error::Unknown { .. } | Error::Input { .. } | Error::Invalid { .. } => 2,
        _ => 1,
    }
}
