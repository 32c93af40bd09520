//! `foretell algorithms`: the catalogue of searchers, or one card.

use crate::args::Algorithms;
use crate::output;
use foretell::error::Result;
use foretell::search::{self, About, catalogue};
use serde_json::{Value, json};

pub fn run(args: &Algorithms, json: bool) -> Result<()> {
    if let Some(name) = &args.algorithm {
        let about = search::about(name)?;
        if json {
            output::line(object(about));
        } else {
            card(about);
        }
        return Ok(());
    }
    if json {
        catalogue::<()>().iter().for_each(|entry| output::line(object(entry.about)));
        return Ok(());
    }
    let rows = catalogue::<()>()
        .into_iter()
        .map(|entry| [entry.about.name, entry.about.sentence].map(str::to_owned).to_vec());
    output::line(output::table(&["algorithm", ""], rows.collect()));
    output::note("\nDetails and options of one: foretell algorithms block-wise");
    Ok(())
}

fn card(about: &About) {
    output::prose(format!("{}\n{}\n\n    {}\n", about.name, about.sentence, about.steps));
    output::prose(format!("paper       {}", about.paper));
    output::prose(format!("objectives  {}", if about.several { "all" } else { "the first" }));
    output::prose(format!("departures  {}", about.departures));
    for (name, default, meaning) in about.options {
        output::prose(format!("option      {name}={default}: {meaning}"));
    }
}

fn object(about: &About) -> Value {
    let option = |(name, default, meaning): &(&str, &str, &str)| json!({"name": name, "default": default, "meaning": meaning});
    json!({
        "name": about.name, "sentence": about.sentence, "steps": about.steps, "paper": about.paper,
        "several": about.several, "departures": about.departures,
        "options": about.options.iter().map(option).collect::<Vec<_>>(),
    })
}
