//! Memory of this machine, and how passes share it.

use crate::cancel;
use crate::error::{Error, Result};
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use sysinfo::System;

/// How often a waiting pass looks whether its work was cancelled.
const PAUSE: Duration = Duration::from_millis(50);

/// Bytes that are available, or what a control group leaves if that is less; `None` where the system does not say.
pub fn free_memory() -> Option<u64> {
    let system = refreshed()?;
    let free = Some(system.available_memory()).filter(|bytes| *bytes > 0)?;
    Some(system.cgroup_limits().map_or(free, |group| group.free_memory.min(free)))
}

/// Bytes that all passes together may take: three quarters of what the machine or its control group has, whatever is free at
/// the moment, so that the same candidates fit in every run. `None` where the system does not say.
pub fn pass_memory() -> Option<u64> {
    let system = refreshed()?;
    let all = Some(system.total_memory()).filter(|bytes| *bytes > 0)?;
    let all = system.cgroup_limits().map_or(all, |group| group.total_memory.min(all));
    Some(all / 4 * 3)
}

fn refreshed() -> Option<System> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    Some(system)
}

/// Memory that passes take in turns: one that does not fit beside those that run waits for them.
#[derive(Default)]
pub struct Gate {
    used: Mutex<u64>,
    freed: Condvar,
}

/// Bytes of a [`Gate`], given back when dropped.
pub struct Permit<'g> {
    gate: &'g Gate,
    bytes: u64,
}

impl Gate {
    /// Waits until `bytes` of `all` are free; what never fits is refused at once.
    pub fn enter(&self, bytes: u64, all: u64) -> Result<Permit<'_>> {
        if bytes > all {
            return Err(Error::Memory { needed: bytes, budget: all });
        }
        let mut used = self.used.lock().expect("no holder panics");
        while used.saturating_add(bytes) > all {
            used = self.freed.wait_timeout(used, PAUSE).expect("no holder panics").0;
            if cancel::CancelToken::current().is_some_and(|token| token.is_cancelled()) {
                drop(used);
                cancel::checkpoint();
                used = self.used.lock().expect("no holder panics");
            }
        }
        *used += bytes;
        Ok(Permit { gate: self, bytes })
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.gate.used.lock().expect("no holder panics") -= self.bytes;
        self.gate.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Every machine that runs this test has some memory left, and none has a petabyte.
    #[test]
    fn some_memory_is_free() {
        assert!(free_memory().is_some_and(|bytes| (1 << 20..1 << 50).contains(&bytes)));
        assert!(pass_memory().is_some_and(|bytes| (1 << 20..1 << 50).contains(&bytes)));
    }

    /// Eight threads that take 3 or 4 of 10 bytes never hold more than 10, and all get their turn; 11 bytes are refused.
    #[test]
    fn passes_wait_for_their_turn() {
        let (gate, held, most) = (Gate::default(), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (gate, held, most) = (&gate, &held, &most);
                scope.spawn(move || {
                    for turn in 0..50 {
                        let bytes = 3 + (thread + turn) % 2;
                        let permit = gate.enter(bytes, 10).unwrap();
                        most.fetch_max(held.fetch_add(bytes, Ordering::SeqCst) + bytes, Ordering::SeqCst);
                        std::thread::yield_now();
                        held.fetch_sub(bytes, Ordering::SeqCst);
                        drop(permit);
                    }
                });
            }
        });
        assert!((4..=10).contains(&most.load(Ordering::SeqCst)), "{most:?}");
        assert_eq!(gate.enter(11, 10).err().unwrap().kind(), "memory");
    }

    /// A pass that waits leaves when its work is cancelled.
    #[test]
    fn a_waiting_pass_can_be_cancelled() {
        let gate = Gate::default();
        let _all = gate.enter(10, 10).unwrap();
        let token = cancel::CancelToken::default();
        let other = token.clone();
        std::thread::spawn(move || other.cancel());
        let waited = token.run(|| gate.enter(1, 10).map(|_| ()));
        assert_eq!(waited.unwrap_err().kind(), "cancelled");
    }
}
