//! Memory that is free on this machine.

use sysinfo::System;

/// Bytes that are available, or what a control group leaves if that is less; `None` where the system does not say.
pub fn free_memory() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    let free = Some(system.available_memory()).filter(|bytes| *bytes > 0)?;
    Some(system.cgroup_limits().map_or(free, |group| group.free_memory.min(free)))
}

#[cfg(test)]
mod tests {
    /// Every machine that runs this test has some memory left, and none has a petabyte.
    #[test]
    fn some_memory_is_free() {
        assert!(super::free_memory().is_some_and(|bytes| (1 << 20..1 << 50).contains(&bytes)));
    }
}
