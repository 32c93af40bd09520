//! Scores on a Ray cluster: by the Python package, which this command hands over to where it is not part of it.

use foretell::error::{Error, Result};
use foretell::remote::Dispatcher;
use std::ffi::OsString;
use std::process::Command;
use std::sync::{Arc, OnceLock};

/// Joins the cluster at an address.
pub type Connect = fn(&str) -> Result<Arc<Dispatcher>>;

static CONNECT: OnceLock<Option<Connect>> = OnceLock::new();

/// Sets who joins clusters, once.
pub fn set(connect: Option<Connect>) {
    let _ = CONNECT.set(connect);
}

/// Who scores on the cluster at an address; a process without Ray becomes one with it, and this does not return.
pub fn executor(address: &str, words: &[OsString]) -> Result<Arc<Dispatcher>> {
    match CONNECT.get().copied().flatten() {
        Some(connect) => connect(address),
        None => Err(hand_over(words)),
    }
}

const NAMES: [&str; 2] = ["python3", "python"];

/// Runs the same command by the Python package; why it cannot.
fn hand_over(words: &[OsString]) -> Error {
    let refused = |message: String| Error::option("--on-ray", message);
    let asked = "import foretell; print(foretell.__version__)";
    let found = NAMES.iter().find_map(|name| {
        let told = Command::new(name).args(["-c", asked]).output().ok()?;
        told.status.success().then(|| (name, String::from_utf8_lossy(&told.stdout).trim().to_owned()))
    });
    let Some((python, version)) = found else {
        let message = "needs the Python package, which the Python on the PATH does not have: pip install 'foretell[ray]'";
        return refused(message.into());
    };
    let own = env!("CARGO_PKG_VERSION");
    if version != own {
        return refused(format!("needs the Python package {own}, and the Python on the PATH has {version}"));
    }
    let mut command = Command::new(python);
    command.args(["-m", "foretell"]).args(&words[1..]);
    refused(format!("cannot run {python}: {}", become_of(&mut command)))
}

/// Becomes another program; why it did not.
#[cfg(unix)]
fn become_of(command: &mut Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

#[cfg(not(unix))]
fn become_of(command: &mut Command) -> std::io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
