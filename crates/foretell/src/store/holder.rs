//! A process that holds a study, and whether it lives.
//!
//! This is asked of the system where the process id has a meaning: in the same run of the same machine, in the same namespace
//! of processes. Elsewhere only the time of the last beat is known, by a clock that may be wrong.

use super::{Study, now};
use crate::error::Error;
use rusqlite::{Connection, OptionalExtension, Row};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Seconds for which a beat counts as recent, so that the row need not be watched.
pub(super) const RECENT: i64 = 60;
/// Seconds that the beat of another machine may lie in the future and still count as recent.
pub(super) const AHEAD: i64 = 5;

/// A process that holds a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: i64,
    /// The machine it runs on.
    pub host: String,
    pub(super) started: String,
    pub(super) boot: String,
    pub(super) namespace: String,
    pub(super) beat: i64,
    pub(super) token: String,
}

/// What is known of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Lives,
    Dead,
    /// It cannot be seen from here, and its last beat is long ago or in the future.
    Silent,
}

impl Holder {
    /// This process.
    pub(super) fn this(token: String) -> Self {
        let pid = i64::from(std::process::id());
        let trim = |text: String| text.trim().to_owned();
        Holder {
            pid,
            host: host(),
            started: started(pid).unwrap_or_default(),
            boot: std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(trim).unwrap_or_default(),
            namespace: std::fs::read_link("/proc/self/ns/pid")
                .map(|link| link.to_string_lossy().into_owned())
                .unwrap_or_default(),
            beat: now(),
            token,
        }
    }

    pub(super) fn read(row: &Row) -> rusqlite::Result<Self> {
        Ok(Holder {
            pid: row.get(0)?,
            started: row.get(1)?,
            host: row.get(2)?,
            beat: row.get(3)?,
            token: row.get(4)?,
            boot: row.get(5)?,
            namespace: row.get(6)?,
        })
    }

    pub(super) fn find(connection: &Connection, study: i64) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT pid, started, host, beat, token, boot, namespace FROM leases WHERE study = ?1";
        connection.query_row(sql, [study], Self::read).optional()
    }

    pub(super) fn state(&self) -> State {
        self.state_seen_by(&Self::this(String::new()))
    }

    fn state_seen_by(&self, own: &Self) -> State {
        let near = match own.boot.is_empty() {
            // Without these names the machine's own must do.
            true => self.boot.is_empty() && self.host == own.host,
            false => self.boot == own.boot && self.namespace == own.namespace,
        };
        match started(self.pid) {
            _ if !near || self.started.is_empty() => {}
            None if hidden(self.pid) => {}
            now if now.as_ref() == Some(&self.started) => return State::Lives,
            _ => return State::Dead,
        }
        let age = own.beat.saturating_sub(self.beat);
        if (-AHEAD..RECENT).contains(&age) { State::Lives } else { State::Silent }
    }

    pub(super) fn busy(&self, study: &Study) -> Error {
        Error::Busy { study: study.name.clone(), pid: self.pid, host: self.host.clone() }
    }
}

/// The name of this machine.
pub(super) fn host() -> String {
    System::host_name().unwrap_or_else(|_| "this machine".to_owned())
}

/// When a process began, in what units the system has, if it lives and can be seen from here.
pub(super) fn started(pid: i64) -> Option<String> {
    let pid = u32::try_from(pid).ok()?;
    // Ticks since the machine started, which no clock that is set changes. The name before them may hold spaces.
    if let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let ended = matches!(fields.next(), None | Some("Z" | "X"));
        return fields.nth(18).filter(|_| !ended).map(str::to_owned);
    }
    let pid = Pid::from_u32(pid);
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, ProcessRefreshKind::nothing());
    system.process(pid).map(|process| process.start_time().to_string())
}

/// Whether a process is there that the system does not show, because it belongs to another user.
fn hidden(pid: i64) -> bool {
    #[cfg(unix)]
    {
        use nix::errno::Errno;
        let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0);
        pid.is_some_and(|pid| {
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) == Err(Errno::EPERM)
        })
    }
    #[cfg(not(unix))]
    {
        let _ = pid;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_judged_by_what_can_be_seen_of_it() {
        let own = Holder::this(String::new());
        assert_eq!(own.state(), State::Lives);
        let gone = Holder { pid: i64::from(u32::MAX), ..own.clone() };
        assert_eq!(gone.state(), State::Dead);
        assert_eq!(Holder { started: "1".into(), ..own.clone() }.state(), State::Dead);
        // The same machine, but another container: its process cannot be seen, and is not taken for dead.
        let contained = Holder { namespace: "pid:[1]".into(), ..gone.clone() };
        let elsewhere = Holder { boot: "another".into(), host: "another".into(), ..gone };
        for holder in [contained, elsewhere] {
            let aged = |age: i64| Holder { beat: own.beat.saturating_sub(age), ..holder.clone() };
            for (age, state) in [
                (0, State::Lives),
                (RECENT - 1, State::Lives),
                (-AHEAD, State::Lives),
                (70, State::Silent),
                (-70, State::Silent),
                (i64::MAX, State::Silent),
            ] {
                assert_eq!(aged(age).state_seen_by(&own), state, "{age} seconds");
            }
            for beat in [i64::MIN, i64::MAX] {
                assert_eq!(Holder { beat, ..holder.clone() }.state(), State::Silent);
            }
        }
    }
}
