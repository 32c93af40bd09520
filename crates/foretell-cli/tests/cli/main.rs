//! The real binary, as users meet it. One executable, so that it is linked once.

mod basics;
mod bench;
mod campaign;
mod config;
mod discover;
mod docs;
mod export;
mod files;
mod help;
mod import;
mod machine;
mod modes;
mod predict;
mod report;
mod reproduce;
mod search;
mod support;
mod terminal;
mod timed;
mod training;
mod usage;
mod watch;
mod winner;
