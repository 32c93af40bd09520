//! `foretell count`: exact parameters by part, multiply-adds and memory.

use crate::args::{Count, assignment};
use crate::output::{self, grouped, short};
use foretell::architecture::{Architecture, Counter, Part};
use foretell::error::{Error, Result};
use foretell::latency::{self, Care, Latency, Phase};
use foretell::score::free_memory;
use foretell::{file, hub, space};
use serde_json::{Map, Value, json};
use std::path::Path;

pub fn run(args: &Count, json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for source in &args.architectures {
        for mut architecture in read(source)? {
            for text in &args.set {
                let (key, value) = assignment(text)?;
                architecture = architecture.with(key, &value)?;
            }
            if args.tensors {
                tensors(&architecture, json);
            } else if json {
                output::line(object(&architecture, args.latency)?);
            } else {
                rows.push(row(&architecture, args.latency)?);
            }
        }
    }
    if !json && !args.tensors {
        let parts = Part::ALL.map(Part::name);
        let timed: &[&str] = if args.latency { &["latency", "one token"] } else { &[] };
        let header: Vec<&str> =
            [&["id", "space", "parameters"], &parts[..], &["multiply-adds", "memory", "cache"], timed]
                .concat();
        output::line(output::table(&header, rows));
    }
    Ok(())
}

/// One object or one per line; a file, standard input, or a folder of transformers.
pub fn read(source: &str) -> Result<Vec<Architecture>> {
    let inside = Path::new(source).join("config.json");
    if source != "-" && Path::new(source).is_dir() {
        if !inside.is_file() {
            return Err(Error::option(source, "is a folder without a config.json"));
        }
        return read(&inside.display().to_string());
    }
    output::detail(format!(
        "architectures are read from {}",
        if source == "-" { "standard input" } else { source }
    ));
    let text = match source {
        "-" => file::text_from(Path::new("-"), std::io::stdin())?,
        path => file::text(Path::new(path))?,
    };
    let mut architectures = Vec::new();
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let value = value.map_err(|e| Error::option(source, format!("is not JSON: {e}")))?;
        let place = format!("{source}, architecture {}", architectures.len() + 1);
        let architecture = match hub::is_config(&value) {
            true => hub::read(&value, Path::new(source).parent().unwrap_or(Path::new("."))),
            false => space::read_architecture(&value),
        };
        architectures.push(architecture.map_err(|e| e.at(place))?);
    }
    if architectures.is_empty() {
        return Err(Error::option(source, "holds no architecture"));
    }
    Ok(architectures)
}

/// Seconds of a pass over one whole input and, for decoders, of one further token.
fn measured(architecture: &Architecture) -> Result<Vec<(Phase, Latency)>> {
    let phases = [Phase::Prefill, Phase::Decode].into_iter();
    let phases = phases.filter(|phase| *phase == Phase::Prefill || architecture.cache_bytes().is_some());
    phases
        .map(|phase| Ok((phase, latency::measure(architecture, phase, free_memory(), Care::Sittings)?)))
        .collect()
}

fn object(architecture: &Architecture, timed: bool) -> Result<Value> {
    let params = architecture.params();
    let mut parts = Map::from_iter([
        ("total".to_owned(), json!(params.total)),
        ("decoder".to_owned(), json!(params.decoder())),
    ]);
    parts.extend(Part::ALL.map(|part| (part.name().to_owned(), json!(params.part(part)))));
    let memory = architecture.memory();
    let mut object = json!({
        "id": architecture.id(), "space": architecture.space(), "params": parts,
        "flops": architecture.flops(Counter::Exact), "flops_published": architecture.flops(Counter::Published),
        "memory_bytes": memory.total(), "cache_bytes": architecture.cache_bytes(),
        "memory": {"weights": memory.weights, "gradients": memory.gradients, "activations": memory.activations},
    });
    if timed {
        let rows =
            measured(architecture)?.into_iter().map(|(phase, found)| (phase.name().to_owned(), json!(found)));
        object["latency"] = Value::Object(rows.collect());
    }
    Ok(object)
}

fn row(architecture: &Architecture, timed: bool) -> Result<Vec<String>> {
    let params = architecture.params();
    let mut row = vec![architecture.id(), architecture.space().to_owned(), grouped(params.total)];
    row.extend(Part::ALL.map(|part| grouped(params.part(part))));
    row.push(short(architecture.flops(Counter::Exact).unwrap_or(0)));
    row.push(format!("{}B", short(architecture.memory().total())));
    row.push(architecture.cache_bytes().map_or("–".to_owned(), |bytes| format!("{}B", short(bytes))));
    if timed {
        let found = measured(architecture)?;
        let text = |phase: Phase| {
            let row = found.iter().find(|(other, _)| *other == phase);
            row.map_or("–".to_owned(), |(_, found)| format!("{:.3} ms", 1e3 * found.seconds))
        };
        row.extend([Phase::Prefill, Phase::Decode].map(text));
    }
    Ok(row)
}

fn tensors(architecture: &Architecture, json: bool) {
    let mut rows = Vec::new();
    for tensor in architecture.tensors() {
        let shape: Vec<u32> = tensor.shape.into_iter().take_while(|size| *size > 0).collect();
        if json {
            output::line(
                json!({"name": tensor.name(), "role": format!("{:?}", tensor.role), "block": tensor.block, "shape": shape,
                "matrix": tensor.matrix().map(|(m, n)| [m, n]), "counted": tensor.counted}),
            );
        } else {
            let block = tensor.block.map_or(String::new(), |block| block.to_string());
            rows.push(vec![
                tensor.name(),
                format!("{:?}", tensor.role),
                block,
                format!("{shape:?}"),
                grouped(tensor.len()),
            ]);
        }
    }
    if !json {
        output::line(output::table(&["tensor", "role", "block", "shape", "entries"], rows));
    }
}
