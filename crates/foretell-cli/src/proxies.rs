//! `foretell proxies`: the catalogue, or one card.

use crate::args::Proxies;
use crate::output;
use foretell::error::Result;
use foretell::proxy::{About, CATALOGUE, Formula, Range, Request, SHARED, SHARED_RANGES};
use serde_json::{Value, json};

pub fn run(args: &Proxies, json: bool) -> Result<()> {
    if let Some(name) = &args.proxy {
        let about = Request::parse(name)?.about();
        if json {
            output::line(object(about));
        } else {
            card(about, name);
        }
        return Ok(());
    }
    if json {
        CATALOGUE.iter().for_each(|entry| output::line(object(entry.about)));
        return Ok(());
    }
    let rows = CATALOGUE.iter().map(|entry| {
        let about = entry.about;
        let kind = if about.trivial { "baseline" } else { "" };
        [about.name, kind, about.cost.text(), about.formula].map(str::to_owned).to_vec()
    });
    output::line(output::table(&["proxy", "", "cost", "formula"], rows.collect()));
    output::note("\nHigher scores predict better networks. Details of one: foretell proxies sept");
    output::note(
        "Formulas and files also work: 'sum(square(head), norm(weight))', 'blend(0.6 * nsc, 0.4 * depth)', @FILE",
    );
    Ok(())
}

fn card(about: &About, asked: &str) {
    output::prose(format!("{}\n{}\n\n    {}\n", about.name, about.sentence, about.formula));
    if let Ok(formula) = asked.parse::<Formula>() {
        output::prose(format!("this one    {}", formula.mathematics()));
    }
    output::prose(format!("paper       {}", about.paper));
    let turned =
        if about.flipped { "higher (lower is better in the paper; the sign is changed)" } else { "higher" };
    output::prose(format!("better      {turned}"));
    if !about.parts.is_empty() {
        output::prose(format!(
            "set score   ranks only within the set of architectures that is scored, by {}",
            about.parts.join(" and ")
        ));
    }
    output::prose(format!("cost        {}", about.cost.text()));
    output::prose(format!("departures  {}", about.departures));
    if !about.published.is_empty() {
        output::prose(format!("published   {}", about.published));
    }
    output::prose(format!("measured    foretell bench BENCHMARK --proxies '{asked}'"));
    let range = |name: &str, ranges: &[Range]| {
        ranges.iter().find(|range| range.option == name).map_or(String::new(), |range| format!("; {range}"))
    };
    for (name, default, meaning) in about.options {
        output::prose(format!("option      {name}={default}: {meaning}{}", range(name, about.ranges)));
    }
    for (name, options) in about.variants {
        output::prose(format!("variant     variant={name}: {options}"));
    }
    if about.drawn() {
        for (name, default, meaning) in SHARED {
            output::prose(format!("common      {name}={default}: {meaning}{}", range(name, SHARED_RANGES)));
        }
    }
}

fn object(about: &About) -> Value {
    let options = about
        .options
        .iter()
        .map(|(name, default, meaning)| {
            let range = about.ranges.iter().find(|range| range.option == *name);
            json!({"name": name, "default": default, "meaning": meaning, "range": range.map(|range| [range.least, range.most])})
        });
    json!({
        "name": about.name, "sentence": about.sentence, "formula": about.formula, "paper": about.paper,
        "better": "higher", "flipped": about.flipped, "cost": about.cost.text(), "trivial": about.trivial,
        "aliases": about.aliases, "version": about.version, "parts": about.parts,
        "variants": about.variants.iter().map(|(name, options)| json!({"name": name, "options": options})).collect::<Vec<_>>(),
        "departures": about.departures, "published": about.published, "options": options.collect::<Vec<_>>(),
    })
}
