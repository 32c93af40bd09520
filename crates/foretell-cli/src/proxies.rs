//! `foretell proxies`: the catalogue, or one card.

use crate::args::Proxies;
use crate::output;
use foretell::error::Result;
use foretell::proxy::{About, CATALOGUE, Formula, Request, SHARED};
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
    output::line("\nHigher predicts the better network, always. One in full: foretell proxies sept");
    output::line(
        "Written instead of named: 'sum(square(head), norm(weight))', 'blend(0.6 * nsc, 0.4 * depth)', @FILE",
    );
    Ok(())
}

fn card(about: &About, asked: &str) {
    output::line(format!("{}\n{}\n\n    {}\n", about.name, about.sentence, about.formula));
    if let Ok(formula) = asked.parse::<Formula>() {
        output::line(format!("this one    {}", formula.mathematics()));
    }
    output::line(format!("paper       {}", about.paper));
    let turned =
        if about.flipped { "higher (the original is lower-is-better; its sign is turned)" } else { "higher" };
    output::line(format!("better      {turned}"));
    if !about.parts.is_empty() {
        output::line(format!(
            "set score   ranks within the set it is given, by {}",
            about.parts.join(" and ")
        ));
    }
    output::line(format!("cost        {}", about.cost.text()));
    output::line(format!("departures  {}", about.departures));
    if !about.published.is_empty() {
        output::line(format!("published   {}", about.published));
    }
    output::line(format!("measured    foretell bench BENCHMARK --proxies '{asked}'"));
    for (name, default, meaning) in about.options {
        output::line(format!("option      {name}={default}: {meaning}"));
    }
    for (name, options) in about.variants {
        output::line(format!("variant     variant={name}: {options}"));
    }
    if about.drawn() {
        for (name, default, meaning) in SHARED {
            output::line(format!("common      {name}={default}: {meaning}"));
        }
    }
}

fn object(about: &About) -> Value {
    let options = about
        .options
        .iter()
        .map(|(name, default, meaning)| json!({"name": name, "default": default, "meaning": meaning}));
    json!({
        "name": about.name, "sentence": about.sentence, "formula": about.formula, "paper": about.paper,
        "better": "higher", "flipped": about.flipped, "cost": about.cost.text(), "trivial": about.trivial,
        "aliases": about.aliases, "version": about.version, "parts": about.parts,
        "variants": about.variants.iter().map(|(name, options)| json!({"name": name, "options": options})).collect::<Vec<_>>(),
        "departures": about.departures, "published": about.published, "options": options.collect::<Vec<_>>(),
    })
}
