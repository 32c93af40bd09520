//! `foretell spaces`: the list, or one space with its size, ranges, choices and feasible share.

use crate::args::Spaces;
use crate::output::{self, grouped, short};
use foretell::architecture::{Field, Scope};
use foretell::error::{Error, Result};
use foretell::space::{self, PRESETS, Size, Space};
use serde_json::{Value, json};

pub fn run(args: &Spaces, json: bool) -> Result<()> {
    args.limits.check()?;
    match &args.space {
        None if args.limits.given() => {
            Err(Error::option("SPACE", "is missing: limits need the name of a space"))
        }
        None => list(json),
        Some(name) => show(&*space::open(name)?, args, json),
    }
}

fn list(json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for (name, _) in PRESETS {
        let space = space::preset(name)?;
        if json {
            output::line(describe(&*space));
            continue;
        }
        let range = space
            .extremes()
            .map_or("any".into(), |[(low, high), _]| format!("{} – {}", short(low), short(high)));
        let about =
            space.definition().about.split_inclusive(". ").next().unwrap_or_default().trim().to_owned();
        rows.push(vec![
            (*name).to_owned(),
            space.definition().family.to_string(),
            short_size(&*space),
            range,
            about,
        ]);
    }
    if !json {
        output::line(output::table(&["space", "family", "size", "parameters", "about"], rows));
        output::note(
            "\nA space file works like a preset; to start from one: foretell spaces NAME --toml > mine.toml",
        );
    }
    Ok(())
}

fn show(space: &dyn Space, args: &Spaces, json: bool) -> Result<()> {
    if args.toml {
        output::line(space.definition().text.trim_end());
        return Ok(());
    }
    let feasible =
        if args.limits.given() { Some(space.within(&args.limits.limits())?.share()) } else { None };
    if json {
        let mut object = describe(space);
        if let Some(share) = feasible {
            object["feasible_share"] = json!(share);
        }
        output::line(object);
        return Ok(());
    }
    let definition = space.definition();
    output::line(format!(
        "{}  ({})\n{}\n{}\n",
        definition.name, definition.family, definition.about, definition.paper
    ));
    output::line(format!("size          {}", size_text(space)));
    if let Some([params, flops]) = space.extremes() {
        output::line(format!("parameters    {} – {}", grouped(params.0), grouped(params.1)));
        output::line(format!("multiply-adds {} – {} per input", grouped(flops.0), grouped(flops.1)));
    }
    match feasible {
        Some(Some(share)) => {
            output::line(format!("feasible      {} of the space{}", percent(share), count_text(space, share)))
        }
        Some(None) => output::line("feasible      yes; the share cannot be computed"),
        None => {}
    }
    output::line("");
    let rows =
        definition.family.fields().iter().filter_map(|field| {
            Some(vec![field.key.to_owned(), choices(space, field)?, field.doc.to_owned()])
        });
    output::line(output::table(&["field", "choices", "meaning"], rows.collect()));
    Ok(())
}

fn percent(share: f64) -> String {
    if share >= 1e-4 { format!("{:.2} %", 100.0 * share) } else { format!("{share:.2e}") }
}

fn count_text(space: &dyn Space, share: f64) -> String {
    match space.ln_size() {
        Some(ln) if ln < 36.0 => format!(", {} architectures", grouped((ln.exp() * share).round() as u64)),
        Some(ln) => format!(", about 10^{:.1} architectures", (ln + share.ln()) / std::f64::consts::LN_10),
        None => String::new(),
    }
}

fn size_text(space: &dyn Space) -> String {
    match (space.size(), space.ln_size()) {
        (Size::Exact(size), Some(ln)) if ln < 44.0 => {
            u64::try_from(size).map_or_else(|big| big.to_string(), grouped)
        }
        (Size::Exact(_), Some(ln)) => format!("10^{:.2}", ln / std::f64::consts::LN_10),
        _ => "open (random graphs)".to_owned(),
    }
}

/// The size of a space for a list: exact up to twelve digits.
fn short_size(space: &dyn Space) -> String {
    match (space.size(), space.ln_size()) {
        (Size::Exact(_), Some(ln)) if ln > 12.0 * std::f64::consts::LN_10 => {
            format!("10^{:.2}", ln / std::f64::consts::LN_10)
        }
        (Size::Open, _) => "open".to_owned(),
        _ => size_text(space),
    }
}

/// The choices of a field, shortened; `None` for fields that follow from a drawn cell.
fn choices(space: &dyn Space, field: &Field) -> Option<String> {
    let definition = space.definition();
    let text = |values: &[u32]| {
        let one = |value: u32| match field.write(value) {
            Value::String(word) => word,
            Value::Null => "none".to_owned(),
            other => other.to_string(),
        };
        match values {
            [] => String::new(),
            [first, second, .., last] if values.len() > 8 => {
                format!("{}, {} … {} ({} values)", one(*first), one(*second), one(*last), values.len())
            }
            _ => values.iter().map(|value| one(*value)).collect::<Vec<_>>().join(", "),
        }
    };
    let mut at = 0;
    let mut column = 0;
    for other in definition.family.fields() {
        if other.key == field.key {
            break;
        }
        at += other.width();
        column += usize::from(other.scope == Scope::Position);
    }
    let lists: Vec<Vec<u32>> = match field.scope {
        Scope::Whole => vec![definition.globals[at].clone()],
        Scope::List(n) => definition.globals[at..at + n].to_vec(),
        Scope::Position => match &definition.columns[column] {
            space::Column::Same(choices) => vec![choices.clone()],
            space::Column::Each(lists) => lists.clone(),
        },
    };
    let same = lists.windows(2).all(|pair| pair[0] == pair[1]);
    let shown = if same {
        text(lists.first()?)
    } else {
        lists.iter().map(|list| text(list)).collect::<Vec<_>>().join(" | ")
    };
    let each =
        if field.scope == Scope::Position && lists.iter().any(|list| list.len() > 1) { "  each" } else { "" };
    (!shown.is_empty()).then(|| shown + each)
}

fn describe(space: &dyn Space) -> Value {
    let definition = space.definition();
    let size = match space.size() {
        Size::Exact(size) => json!(size.to_string()),
        Size::Open => Value::Null,
    };
    let ranges = space.extremes();
    json!({
        "space": definition.name, "family": definition.family.to_string(), "about": definition.about, "paper": definition.paper,
        "size": size, "size_log10": space.ln_size().map(|ln| ln / std::f64::consts::LN_10),
        "params": ranges.map(|r| [r[0].0, r[0].1]), "flops": ranges.map(|r| [r[1].0, r[1].1]),
    })
}
