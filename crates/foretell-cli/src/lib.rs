//! The `foretell` command: arguments → library request → table or JSON. All knowledge is in the library `foretell`; this one
//! exists so that other packages can ship the command.

mod algorithms;
mod args;
mod bench;
mod build;
mod calibrate;
mod compare;
mod config;
mod count;
mod discover;
mod doctor;
mod export;
mod failure;
mod fit;
mod import;
mod interrupt;
mod manual;
mod output;
mod places;
mod predict;
mod progress;
mod proxies;
mod rank;
mod ray;
mod report;
mod reproduce;
mod sample;
mod score;
mod scoring;
mod search;
mod spaces;
mod studies;
mod train;
mod verify;
mod watch;

use args::Command;
use config::{Parsed, Refused};
use failure::Failed;
use foretell::error::Result;
use std::ffi::OsString;

pub use ray::Connect;

/// Runs a command line, whose first word is the name of the program; the exit code. It is run once in a process, since it
/// handles signals.
pub fn main(words: &[OsString]) -> u8 {
    main_with(words, None)
}

/// The same in a process that can reach Ray.
pub fn main_with(words: &[OsString], connect: Option<Connect>) -> u8 {
    ray::set(connect);
    output::expect(words);
    let parsed = match config::parse(words) {
        Ok(parsed) => parsed,
        Err(Refused::Usage(error)) => return failure::usage(&error),
        Err(Refused::Config(error)) => {
            return Failed { options: &Default::default(), store: None }.report(&error);
        }
    };
    let arguments = &parsed.arguments;
    output::set(arguments.json, arguments.quiet, arguments.verbose);
    output::show_notes();
    interrupt::install();
    interrupt::keeps(arguments.command.keeps());
    if let Some(threads) = arguments.threads {
        // Fails only if a pool exists already, and nothing has run yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    match run(&parsed, words) {
        Ok(code) => code,
        Err(error) => Failed { options: &parsed.options, store: arguments.command.store() }.report(&error),
    }
}

/// Runs the command; the exit code.
fn run(parsed: &Parsed, words: &[OsString]) -> Result<u8> {
    let json = parsed.arguments.json;
    match &parsed.arguments.command {
        Command::Search(args) => return search::run(args, words, json),
        Command::Score(args) => return score::run(args, json),
        Command::Rank(args) => return rank::run(args, json),
        Command::Bench(args) => return bench::run(args, json),
        Command::Reproduce(args) => return reproduce::run(args, json),
        Command::Studies(args) => studies::run(args, json),
        Command::Show(args) => studies::show(args, json),
        Command::Watch(args) => watch::run(args, json),
        Command::Best(args) => studies::best(args, json),
        Command::Compare(args) => compare::run(args, json),
        Command::Front(args) => studies::front(args, json),
        Command::Report(args) => report::run(args, json),
        Command::Export(args) => export::run(args, json),
        Command::VerifyStore(args) => studies::verify(args, json),
        Command::Repair(args) => studies::repair(args, json),
        Command::Merge(args) => studies::merge(args, json),
        Command::Algorithms(args) => algorithms::run(args, json),
        Command::Spaces(args) => spaces::run(args, json),
        Command::Sample(args) => sample::run(args, json),
        Command::Count(args) => count::run(args, json),
        Command::Proxies(args) => proxies::run(args, json),
        Command::Benchmark(args) => build::run(args, json),
        Command::Train(args) => train::run(args, json),
        Command::Verify(args) => verify::run(args, json),
        Command::Discover(args) => discover::run(args, json),
        Command::Calibrate(args) => calibrate::run(args, json),
        Command::Predict(args) => predict::run(&args.command, json),
        Command::Doctor => doctor::run(&parsed.files, json),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::man(args, json),
    }?;
    Ok(0)
}
