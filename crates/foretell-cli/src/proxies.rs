//! `foretell proxies`: the catalogue, or one card.

use crate::args::Proxies;
use crate::output;
use foretell::error::Result;
use foretell::proxy::{About, CATALOGUE, Request};
use serde_json::{Value, json};

pub fn run(args: &Proxies, json: bool) -> Result<()> {
    if let Some(name) = &args.proxy {
        let about = Request::parse(name)?.about();
        if json {
            output::line(object(about));
        } else {
            card(about);
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
        [about.name, kind, about.cost.text(), about.direction.text(), about.formula]
            .map(str::to_owned)
            .to_vec()
    });
    output::line(output::table(&["proxy", "", "cost", "better", "formula"], rows.collect()));
    output::line("\nOne in full: foretell proxies sept");
    Ok(())
}

fn card(about: &About) {
    output::line(format!("{}\n{}\n\n    {}\n", about.name, about.sentence, about.formula));
    output::line(format!("paper       {}", about.paper));
    output::line(format!("better      {}", about.direction.text()));
    output::line(format!("cost        {}", about.cost.text()));
    output::line(format!("departures  {}", about.departures));
    if !about.published.is_empty() {
        output::line(format!("published   {}", about.published));
    }
    output::line(format!("measured    foretell bench BENCHMARK --proxies {}", about.name));
    for (name, default, meaning) in about.options {
        output::line(format!("option      {name}={default}: {meaning}"));
    }
}

fn object(about: &About) -> Value {
    let options = about
        .options
        .iter()
        .map(|(name, default, meaning)| json!({"name": name, "default": default, "meaning": meaning}));
    json!({
        "name": about.name, "sentence": about.sentence, "formula": about.formula, "paper": about.paper,
        "better": about.direction.text(), "cost": about.cost.text(), "trivial": about.trivial,
        "departures": about.departures, "published": about.published, "options": options.collect::<Vec<_>>(),
    })
}
