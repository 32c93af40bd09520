//! Signals → one number. One file per proxy; it never touches a network, a file or a clock.
//!
//! Every proxy is one file and one line in the catalogue below; help, documentation, benchmarks and tests loop over
//! [`CATALOGUE`]. A proxy is asked for by name, with options in brackets: `sept[width=head,tokens=2]`. Keys that are
//! no option of the proxy but a field of the architecture are set before scoring: `params[mode=published]`.

use crate::architecture::{Architecture, FAMILIES};
use crate::catalogue;
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What a proxy has to look at before it can score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Nothing but the architecture.
    Shape,
}

impl Cost {
    /// The class letter and its meaning.
    pub fn text(self) -> &'static str {
        match self {
            Cost::Shape => "S: architecture only",
        }
    }
}

/// Which end of the scale predicts the better network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Larger is better.
    Higher,
}

impl Direction {
    /// The word in tables and JSON.
    pub fn text(self) -> &'static str {
        match self {
            Direction::Higher => "higher",
        }
    }
}

/// The card of a proxy.
#[derive(Debug)]
pub struct About {
    /// Its name, stored in databases and never reused.
    pub name: &'static str,
    /// One plain sentence.
    pub sentence: &'static str,
    /// The formula in plain text.
    pub formula: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// What it costs.
    pub cost: Cost,
    /// Whether it is a mere count that every other proxy has to beat.
    pub trivial: bool,
    /// Options: name, default, meaning.
    pub options: &'static [(&'static str, &'static str, &'static str)],
    /// Where the code departs from the paper, or "none".
    pub departures: &'static str,
    /// Published rank correlations, for comparison with one's own.
    pub published: &'static str,
}

impl About {
    /// A card of a proxy that reads the architecture alone, to be completed.
    pub const SHAPE: About = About {
        name: "",
        sentence: "",
        formula: "",
        paper: "",
        direction: Direction::Higher,
        cost: Cost::Shape,
        trivial: false,
        options: &[],
        departures: "none known",
        published: "",
    };

    /// A card of a mere count, to be completed.
    pub const BASELINE: About = About { paper: "none: a baseline", trivial: true, ..About::SHAPE };
}

/// What was seen of one candidate; read-only.
pub struct Signals<'a> {
    architecture: &'a Architecture,
}

impl<'a> Signals<'a> {
    /// The architecture alone, which is all that shape proxies look at.
    pub fn of(architecture: &'a Architecture) -> Self {
        Signals { architecture }
    }

    /// The candidate.
    pub fn architecture(&self) -> &'a Architecture {
        self.architecture
    }
}

/// A training-free score.
pub trait Proxy: Send + Sync {
    /// Its card.
    fn about(&self) -> &'static About;
    /// The score of one candidate.
    fn score(&self, seen: &Signals) -> Result<f64>;
}

/// A catalogue entry: the card, and how to build the proxy from options.
pub struct Entry {
    /// The card.
    pub about: &'static About,
    build: fn(Map<String, Value>) -> Built,
}

type Built = std::result::Result<Box<dyn Proxy>, serde_json::Error>;

macro_rules! catalogue {
    ($($module:ident::$proxy:ident),* $(,)?) => {
        $(mod $module; pub use $module::$proxy;)*
        /// Every proxy, trivial baselines first.
        pub const CATALOGUE: &[Entry] = &[$(Entry { about: $module::ABOUT, build: build::<$proxy> }),*];
    };
}

catalogue! {
    params::Params,
    decoder_params::DecoderParams,
    attention_params::AttentionParams,
    ffn_params::FfnParams,
    flops::Flops,
    depth::Depth,
    width::Width,
    depth_times_width::DepthTimesWidth,
    sept::Sept,
    nsc::Nsc,
    zerolm::ZeroLm,
    lpzero_closed::LpZeroClosed,
}

/// The sum of terms in an order of their own: layers that change places change no bit, so true ties stay ties.
fn ordered_sum(mut terms: Vec<f64>) -> f64 {
    terms.sort_unstable_by(f64::total_cmp);
    terms.iter().sum()
}

fn build<P: Proxy + DeserializeOwned + 'static>(options: Map<String, Value>) -> Built {
    Ok(Box::new(serde_json::from_value::<P>(Value::Object(options))?))
}

/// A proxy as it was asked for: options set, fields of the architecture to override.
pub struct Request {
    label: String,
    proxy: Box<dyn Proxy>,
    overrides: Vec<(String, Value)>,
}

impl Request {
    /// Reads `name` or `name[key=value,…]`.
    ///
    /// ```
    /// use foretell::proxy::Request;
    /// assert!(Request::parse("sept[tokens=2]").is_ok());
    /// let error = Request::parse("sebt").err().unwrap().to_string();
    /// assert!(error.contains("did you mean 'sept'"));
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let (name, options) = match text.split_once('[') {
            None => (text, ""),
            Some((name, rest)) => match rest.strip_suffix(']') {
                Some(options) => (name, options),
                None => return Err(Error::input(text, "has no closing bracket")),
            },
        };
        let names = || CATALOGUE.iter().map(|entry| entry.about.name);
        let entry = CATALOGUE.iter().find(|entry| entry.about.name == name);
        let entry = entry.ok_or_else(|| catalogue::unknown("proxy", name, names()))?;
        let (mut own, mut overrides) = (Map::new(), Vec::new());
        for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let Some((key, value)) = option.split_once('=') else {
                return Err(Error::input(text, format!("'{option}' is not of the form key=value")));
            };
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
            if entry.about.options.iter().any(|(known, ..)| *known == key) {
                own.insert(key.to_owned(), value);
            } else if FAMILIES.iter().any(|family| family.knows(key)) {
                overrides.push((key.to_owned(), value));
            } else {
                let known = entry.about.options.iter().map(|(known, ..)| *known);
                return Err(catalogue::unknown("option", key, known).at(text));
            }
        }
        let proxy = (entry.build)(own).map_err(|e| Error::input(text, e.to_string()))?;
        Ok(Request { label: text.to_owned(), proxy, overrides })
    }

    /// Reads a comma-separated list; `all` stands for the whole catalogue.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        let (mut depth, mut start, mut requests) = (0, 0, Vec::new());
        let mut push = |part: &str| -> Result<()> {
            match part.trim() {
                "" => Ok(()),
                "all" => Self::all().map(|all| requests.extend(all)),
                name => Self::parse(name).map(|request| requests.push(request)),
            }
        };
        for (i, c) in text.char_indices() {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                ',' if depth == 0 => {
                    push(&text[start..i])?;
                    start = i + 1;
                }
                _ => {}
            }
        }
        push(&text[start..])?;
        Ok(requests)
    }

    /// Every proxy of the catalogue with its defaults.
    pub fn all() -> Result<Vec<Self>> {
        CATALOGUE.iter().map(|entry| Self::parse(entry.about.name)).collect()
    }

    /// The proxy's card.
    pub fn about(&self) -> &'static About {
        self.proxy.about()
    }

    /// The proxy as it was asked for, options included.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The score of an architecture; anything but a finite number is an error.
    pub fn score(&self, architecture: &Architecture) -> Result<f64> {
        let mut changed = None;
        for (key, value) in &self.overrides {
            changed = Some(changed.as_ref().unwrap_or(architecture).with(key, value)?);
        }
        let score = self.proxy.score(&Signals::of(changed.as_ref().unwrap_or(architecture)))?;
        if score.is_finite() {
            Ok(score)
        } else {
            Err(Error::NonFinite {
                proxy: self.about().name,
                value: score.to_string(),
                place: "total".into(),
            })
        }
    }
}
