//! Memory that is free on this machine.

/// Bytes that are available, or what a control group allows if that is less; `None` where the system does not say.
#[cfg(target_os = "linux")]
pub fn free_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let free = line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse::<u64>().ok());
    Some(group.map_or(free, |limit| limit.min(free)))
}

/// Bytes that are available: not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn free_memory() -> Option<u64> {
    None
}
