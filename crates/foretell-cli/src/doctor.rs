//! `foretell doctor`: what this machine offers and where the data is.

use crate::output;
use foretell::benchmark;
use foretell::error::Result;
use serde_json::{Map, Value, json};

pub fn run(json: bool) -> Result<()> {
    let facts = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("cores", json!(std::thread::available_parallelism().map_or(1, usize::from))),
        ("vector", json!(foretell::store::processor())),
        ("memory_bytes", json!(memory())),
        ("spaces", json!(foretell::space::PRESETS.len())),
        ("proxies", json!(foretell::proxy::CATALOGUE.len())),
        ("benchmarks", json!(benchmark::folder(None).ok().and_then(|folder| benchmark::names(&folder).ok()))),
    ];
    if json {
        output::line(Value::Object(
            facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>(),
        ));
        return Ok(());
    }
    let text = |value: &Value| match value {
        Value::Null => "not found".to_owned(),
        Value::String(word) => word.clone(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    for (key, value) in &facts {
        output::line(format!("{key:<14}{}", text(value)));
    }
    match benchmark::folder(None) {
        Ok(folder) if folder.is_dir() => {}
        Ok(_) => output::line(
            "\nFurther tables are looked for in FORETELL_BENCHMARKS, which is not set. Only `foretell bench` needs them.",
        ),
        Err(wrong) => output::line(format!("\n{wrong}")),
    }
    Ok(())
}

/// Free memory, or what a control group allows if that is less.
pub fn memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let free = line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    Some(group.map_or(free, |limit| limit.min(free)))
}
