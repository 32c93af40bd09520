//! A searcher of your own: ask for points, be told what became of them. Registered, it is asked for by name.

use foretell::prelude::*;
use foretell::search::{self, About, Build, Told, Whole};
use foretell::seed::Rng;
use serde::{Deserialize, Serialize};

/// Draws at random, and redraws one value of the best network so far every other time.
struct Climber<P> {
    options: Options,
    best: Option<(f64, P)>,
}

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    generation: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { generation: 20 }
    }
}

static CLIMBER: About = About {
    name: "climber",
    sentence: "Changes the best network so far, or draws a new one.",
    steps: "half of each generation is random, half are children of the best",
    paper: "an example",
    several: false,
    options: &[("generation", "20", "networks asked for at a time")],
    departures: "none",
};

impl<P: Clone + Send + 'static> Build<P> for Climber<P> {
    type Options = Options;

    fn build(options: Options) -> std::result::Result<Self, String> {
        if options.generation == 0 {
            return Err("generation is 0; at least 1 is needed".to_owned());
        }
        Ok(Climber { options, best: None })
    }
}

impl<P: Clone + Send> Searcher<P> for Climber<P> {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P> {
        let next = |place: usize| {
            let parent =
                self.best.as_ref().filter(|_| place.is_multiple_of(2)).map(|(_, point)| point.clone());
            context.propose(rng, &mut |operators, rng| match &parent {
                Some(parent) => operators.redraw(parent, Whole::One, &|_| 0.2, rng),
                None => operators.sample(rng),
            })
        };
        (0..self.options.generation).map_while(next).collect()
    }

    fn tell(&mut self, generation: Vec<Told<P>>) {
        for told in generation {
            let Some(value) = told.outcome.map(|outcome| outcome.objectives[0][0]) else { continue };
            if self.best.as_ref().is_none_or(|(best, _)| value > *best) {
                self.best = Some((value, told.point));
            }
        }
    }

    fn planned(&self) -> u64 {
        1000
    }
}

fn main() -> Result<()> {
    search::register::<Architecture, Climber<Architecture>>(&CLIMBER)?;
    let run = |searcher: &str| {
        let limits = Limits { params: Bound { min: 0, max: 20_000_000 }, ..Limits::default() };
        let study = Study::builder(space::preset("gpt2")?).objective(Objective::proxy("nsc")?);
        study.limits(limits).searcher(searcher).budget(600).run()
    };
    let value = |study: Study| study.winner.expect("something fits").values[0];
    let (ours, random) = (value(run("climber[generation=30]")?), value(run("random")?));
    println!("climber {ours:.1}, random {random:.1}");
    assert!(ours > random);
    Ok(())
}
