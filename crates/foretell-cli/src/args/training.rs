//! What networks are trained on and how, and how they are evaluated.

use super::value::{assignment, seconds, whole};
use super::{DataArgs, no_effect};
use crate::{output, places};
use clap::Args;
use foretell::architecture::Family;
use foretell::data::{Data, Tokeniser};
use foretell::error::{Error, Result};
use foretell::file;
use foretell::space::{self, Definition, Space};
use foretell::study::{Evaluator, External, Table, Trained};
use foretell::train::{self, Recipe};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How candidates are evaluated.
#[derive(Args)]
pub struct EvaluateArgs {
    /// Evaluate candidates by a benchmark, which knows only its own networks (NAME or NAME:COLUMN), or by training (train).
    /// The algorithm etas evaluates during the search, all others evaluate their best candidates at the end.
    #[arg(long, value_name = "TABLE[:COLUMN]|train", group = "judge")]
    pub evaluate: Option<String>,
    #[command(flatten)]
    pub training: TrainingArgs,
    /// Evaluate candidates by a command, run by sh: {dir} is a folder with architecture.json and counts.json; the last line
    /// of the output is the value.
    #[arg(long, value_name = "COMMAND", group = "judge")]
    pub evaluate_with: Option<String>,
    /// Lower values are better. For a benchmark this follows from the column.
    #[arg(long, requires = "judge")]
    pub evaluate_lower: bool,
    /// Number of the best candidates to evaluate at the end.
    #[arg(long, value_name = "K", default_value_t = 5, requires = "judge", value_parser = whole::<1, 1_000_000>)]
    pub evaluate_top: usize,
    /// Seconds after which the command and all processes that it started are killed.
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400.0, requires = "evaluate_with", value_parser = seconds)]
    pub evaluate_timeout: f64,
    /// Number of times that a failed command is run again.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "evaluate_with", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub evaluate_retries: u32,
    /// Repeat evaluations that failed before.
    #[arg(long)]
    pub retry_failed: bool,
    #[command(flatten)]
    pub data: DataArgs,
}

impl EvaluateArgs {
    pub fn evaluator(&self, space: &dyn Space, dry: bool) -> Result<Option<Arc<dyn Evaluator>>> {
        if self.evaluate.as_deref() == Some("train") {
            let recipe = self.training.recipe()?;
            let data = self.training.open_for(space.definition().family, dry)?;
            return Ok(Some(Arc::new(Trained::new(data, recipe, space)?)));
        }
        for option in self.training.given() {
            no_effect(option, "has no effect without --evaluate train or --time")?;
        }
        if let Some(table) = &self.evaluate {
            return Ok(Some(Arc::new(Table::open(&self.data.folder()?, table, self.evaluate_lower)?)));
        }
        let Some(command) = &self.evaluate_with else { return Ok(None) };
        self.by_command(command).map(Some)
    }

    /// The space as the data wants it, and who trains its networks for as long as a timed search says.
    pub fn trainer(&self, space: Option<&str>, dry: bool) -> Result<(Arc<dyn Space>, Arc<dyn Evaluator>)> {
        if let Some(command) = &self.evaluate_with {
            for option in self.training.given() {
                no_effect(option, "has no effect with --evaluate-with")?;
            }
            let space = space.ok_or_else(|| {
                Error::option("--space", "is missing: name the space of the networks that the command trains")
            })?;
            return Ok((space::open(space)?, self.by_command(command)?));
        }
        if self.training.with.iter().any(|text| text.starts_with("steps=")) {
            no_effect("--with", "cannot set the steps with --time, which says how long to train")?;
        }
        let space = space.map_or_else(|| self.training.usual_space(), space::open)?;
        let data = self.training.open_for(space.definition().family, dry)?;
        let space = train::fit_space(&space, &data)?;
        let trained = Trained::new(data, self.training.recipe()?, &*space)?;
        Ok((space, Arc::new(trained)))
    }

    fn by_command(&self, command: &str) -> Result<Arc<dyn Evaluator>> {
        let limit = Duration::from_secs_f64(self.evaluate_timeout);
        Ok(Arc::new(External::new(command, limit, self.evaluate_retries, self.evaluate_lower)?))
    }
}

fn reads_text(family: &dyn Family) -> bool {
    family.knows("vocab_size")
}

/// The error of a network that reads images where no data was given.
fn no_images(family: &dyn Family) -> Error {
    let text = space::PRESETS.iter().filter(|(name, text)| {
        Definition::parse(name, text).is_ok_and(|definition| reads_text(definition.family))
    });
    let message = format!(
        "is missing: {} networks read images, and only text is included in the program. Pass --on FOLDER with images, as \
         train/CLASS/*.png and valid/CLASS/*.png (docs/train.md lists all layouts). Spaces whose networks can use the \
         included text: {}",
        family,
        text.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    );
    Error::option("--on", message)
}

/// What networks are trained on, and how.
#[derive(Args)]
pub struct TrainingArgs {
    /// Text or images to train on; see docs/train.md for the layouts. Default: the text that is included in the program.
    #[arg(long, value_name = "PATH")]
    pub on: Option<PathBuf>,
    /// Tokeniser of text: bytes, or bpe:N for N byte pairs learned from the text.
    #[arg(long, value_name = "bytes|bpe:N", default_value = "bytes", value_parser = |text: &str| text.parse::<Tokeniser>().map_err(|e| e.to_string()))]
    pub tokeniser: Tokeniser,
    /// Side length that image files are scaled to. Default: the smaller side of the first one.
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub image_size: Option<u32>,
    /// Training recipe (.toml): steps, batch, optimiser, rate and so on. Default: the recipe in docs/train.md.
    #[arg(long, value_name = "FILE")]
    pub recipe: Option<PathBuf>,
    /// Set a value of the recipe, e.g. steps=1000, optimiser=lamb, rate=0.01. See docs/train.md.
    #[arg(long = "with", value_name = "KEY=VALUE")]
    pub with: Vec<String>,
}

impl TrainingArgs {
    /// The space that suits the data, where none is named.
    fn usual_space(&self) -> Result<Arc<dyn Space>> {
        let images = match &self.on {
            Some(path) => matches!(Data::open(path, self.tokeniser, None, self.image_size)?, Data::Images(_)),
            None => false,
        };
        space::preset(if images { "autoformer-tiny" } else { "gpt2-text" })
    }

    /// The data for networks of a family. Only language models need none from the user.
    ///
    /// Tokens of a text are cached, unless `dry`.
    pub fn open_for(&self, family: &dyn Family, dry: bool) -> Result<Data> {
        let data = match &self.on {
            Some(path) => {
                let cache = places::cache(None).filter(|_| !dry).map(|folder| folder.join("tokens"));
                output::detail(format!("data is read from {}", path.display()));
                Data::open(path, self.tokeniser, cache.as_deref(), self.image_size)?
            }
            None if reads_text(family) => Data::demo(self.tokeniser)?,
            None => return Err(no_images(family)),
        };
        match &data {
            Data::Text(_) if self.image_size.is_some() => {
                no_effect("--image-size", "has no effect on text").map(|()| data)
            }
            Data::Images(_) if self.tokeniser != Tokeniser::Bytes => {
                no_effect("--tokeniser", "has no effect on images").map(|()| data)
            }
            _ => Ok(data),
        }
    }

    /// Those of these options that are set.
    fn given(&self) -> Vec<&'static str> {
        let given = [
            ("--on", self.on.is_some()),
            ("--tokeniser", self.tokeniser != Tokeniser::Bytes),
            ("--image-size", self.image_size.is_some()),
            ("--recipe", self.recipe.is_some()),
            ("--with", !self.with.is_empty()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(option, _)| option).collect()
    }

    pub fn recipe(&self) -> Result<Recipe> {
        let mut values = match &self.recipe {
            Some(path) => {
                let place = path.display().to_string();
                let text = file::text(path)?;
                let recipe = Recipe::parse(&text).map_err(|e| e.at(place))?;
                serde_json::to_value(recipe).expect("a recipe is plain data")
            }
            None => serde_json::to_value(Recipe::default()).expect("a recipe is plain data"),
        };
        for text in &self.with {
            let (key, value) = assignment(text)?;
            values[key] = value;
        }
        let recipe: Recipe =
            serde_json::from_value(values).map_err(|e| Error::option("--with", e.to_string()))?;
        recipe.check()?;
        Ok(recipe)
    }
}
