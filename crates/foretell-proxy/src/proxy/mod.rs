//! ProxyInput → one number. One file per proxy; it never touches a network, a file or a clock.
//!
//! Every proxy is one file and one line in the catalogue below; help, documentation, benchmarks and tests loop over
//! [`CATALOGUE`]. A proxy is asked for by name, with options in brackets: `sept[width=head,tokens=2]`. Keys that are
//! no option of the proxy but a field of the architecture are set before scoring: `params[mode=published]`; a few
//! options are common to all that run a network: [`SHARED`]. Formulas and blends of proxies are written out instead of
//! named: `sum(square(head), norm(weight))`, `blend(0.6 * nsc, 0.4 * depth)`.

mod blend;
mod formula;
mod heads;
mod input;
mod pass_overrides;
mod prelude;
mod range;
mod score;
mod spectrum;
mod toy;

pub use formula::{Aggregate, Binary, Branch, Element, Formula, Sheet, Statistic, Unary, split};
pub use input::{Layer, PassView, ProxyInput, Spectra};
pub use pass_overrides::{Drawing, Given, PassOverrides, SHARED, SHARED_RANGES};
pub use range::Range;
pub use score::{Score, Term};
pub use shape_law::{SHAPE_LAW, shape_law_basis};
pub use toy::{Toy, ToyResult};

use crate::architecture::{Architecture, NetworkKind, Subject, families};
use crate::catalogue;
use crate::error::{Error, Result};
use crate::probe::{Loss, Pass};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::RwLock;
use std::sync::atomic::AtomicBool;

/// What a proxy has to look at before it can score, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// Nothing but the architecture.
    Shape,
    /// The initial weights.
    Weights,
    /// One forward pass.
    Forward,
    /// One forward and one backward pass.
    Backward,
    /// Several of these.
    Passes,
    /// A backward pass for every sample.
    Samples,
    /// A Hessian-vector product.
    Hessian,
}

impl Cost {
    /// The cost of this name: the word that stands for all its proxies.
    fn named(name: &str) -> Option<Self> {
        use Cost::*;
        let all = [Shape, Weights, Forward, Backward, Passes, Samples, Hessian];
        all.into_iter().find(|cost| format!("{cost:?}").eq_ignore_ascii_case(name))
    }

    /// The class letter and its meaning.
    pub fn text(self) -> &'static str {
        match self {
            Cost::Shape => "S: architecture only",
            Cost::Weights => "W: initial weights",
            Cost::Forward => "F: one forward pass",
            Cost::Backward => "B: forward and backward",
            Cost::Passes => "k: several passes",
            Cost::Samples => "P: a backward pass per sample",
            Cost::Hessian => "H: a Hessian-vector product",
        }
    }
}

/// The card of a proxy.
#[derive(Debug)]
pub struct About {
    /// Its name, stored in databases and never reused.
    pub name: &'static str,
    /// Other names it answers to.
    pub aliases: &'static [&'static str],
    /// Grows whenever the same network gets another score than before: old cached scores are then ignored.
    pub version: u32,
    /// One plain sentence.
    pub sentence: &'static str,
    /// The formula in plain text.
    pub formula: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What it costs.
    pub cost: Cost,
    /// Whether the original is lower-is-better: its sign is then turned here.
    pub flipped: bool,
    /// Whether it is only a count, which every other proxy has to beat.
    pub trivial: bool,
    /// Options: name, default, meaning.
    pub options: &'static [(&'static str, &'static str, &'static str)],
    /// The values that numeric options may take; every numeric option has a range.
    pub ranges: &'static [Range],
    /// Named sets of options: `variant=name` stands for them.
    pub variants: &'static [(&'static str, &'static str)],
    /// What a set score ranks by; empty for scores that stand alone.
    pub parts: &'static [&'static str],
    /// Where the code departs from the paper, or "none".
    pub departures: &'static str,
    /// Published rank correlations, for comparison with one's own.
    pub published: &'static str,
    /// Whether it is meant only where it is named, and not by `all` or the name of its cost.
    pub by_name: bool,
    /// Whether it was learned from tables of trained networks: what it says of them is then no evidence.
    pub learned: bool,
}

impl About {
    /// A card of a proxy that reads the architecture alone, to be completed.
    pub const SHAPE: About = About {
        name: "",
        aliases: &[],
        version: 1,
        sentence: "",
        formula: "",
        paper: "",
        cost: Cost::Shape,
        flipped: false,
        trivial: false,
        options: &[],
        ranges: &[],
        variants: &[],
        parts: &[],
        departures: "none known",
        published: "",
        by_name: false,
        learned: false,
    };

    /// A card of a count, to be completed.
    pub const BASELINE: About = About { paper: "none: a baseline", trivial: true, ..About::SHAPE };

    /// Whether the score depends on what is drawn: weights, inputs, noise.
    pub fn drawn(&self) -> bool {
        self.cost != Cost::Shape
    }

    /// Whether a network is run.
    pub fn runs(&self) -> bool {
        !matches!(self.cost, Cost::Shape | Cost::Weights)
    }

    /// The name or one of the aliases.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// A training-free score.
pub trait Proxy: Send + Sync {
    /// The passes it looks at; none for what reads shape or weights alone.
    fn needs(&self, _subject: &dyn Subject) -> Vec<Pass> {
        Vec::new()
    }
    /// The score of one candidate. Higher predicts the better network.
    fn score(&self, input: &ProxyInput) -> Result<Score>;
    /// For set scores: the score of each candidate from the parts of all of them.
    fn within(&self, _set: &[Vec<f64>]) -> Vec<f64> {
        Vec::new()
    }
}

/// Proxies that users brought.
static BROUGHT: RwLock<Vec<Entry>> = RwLock::new(Vec::new());

/// Adds a proxy of your own: from then on its name can be asked for like any other, with its options in brackets, in
/// scores, ranks and studies. A proxy that is known already is not added again; one with the name of another is refused.
pub fn register<P: Proxy + DeserializeOwned + 'static>(about: &'static About) -> Result<()> {
    let mut brought = BROUGHT.write().expect("no holder panics");
    match CATALOGUE.iter().chain(&*brought).find(|entry| entry.about.answers_to(about.name)) {
        Some(known) if std::ptr::eq(known.about, about) => Ok(()),
        Some(_) => Err(Error::option(about.name, "is the name of another proxy: choose another")),
        None => {
            brought.push(Entry { about, build: build::<P> });
            Ok(())
        }
    }
}

/// The cards of all proxies: those of the library, then those that were registered.
pub fn cards() -> Vec<&'static About> {
    CATALOGUE.iter().chain(&*BROUGHT.read().expect("no holder panics")).map(|entry| entry.about).collect()
}

/// A catalogue entry: the card, and how to build the proxy from options.
#[derive(Clone, Copy)]
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
        /// What each proxy is with these options, in the order of the catalogue.
        #[cfg(test)]
        const SHOWN: &[fn(Map<String, Value>) -> String] = &[$(tests::shown::<$proxy>),*];
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
    shape_law::ShapeLaw,
    nsc::Nsc,
    zerolm::ZeroLm,
    lpzero_closed::LpZeroClosed,
    zerolm_weights::ZeroLmWeights,
    l2_norm::L2Norm,
    snip::Snip,
    plain::Plain,
    grad_norm::GradNorm,
    synflow::SynFlow,
    logsynflow::LogSynFlow,
    fisher::Fisher,
    grasp::Grasp,
    synaptic_saliency::SynapticSaliency,
    head_importance::HeadImportance,
    synaptic_diversity::SynapticDiversity,
    dss::Dss,
    dss_plus_plus::DssPlusPlus,
    ntkt::Ntkt,
    ntsr::Ntsr,
    ntk_trace::NtkTrace,
    te_score::TeScore,
    mgm::Mgm,
    gradsign::GradSign,
    naswot::Naswot,
    jacobian_covariance::JacobianCovariance,
    jacobian_cosine::JacobianCosine,
    large_noise::LargeNoise,
    more_noised::MoreNoised,
    hidden_covariance::HiddenCovariance,
    hidden_saliency::HiddenSaliency,
    meco::Meco,
    zico::Zico,
    length_distortion::LengthDistortion,
    az_nas::AzNas,
    attention_confidence::AttentionConfidence,
    softmax_confidence::SoftmaxConfidence,
    lpzero::LpZero,
    eznas::Eznas,
    w_pca::WPca,
}

/// The sum of terms in an order of their own: layers that change places change no bit, so true ties stay ties.
fn ordered_sum(mut terms: Vec<f64>) -> f64 {
    terms.sort_unstable_by(f64::total_cmp);
    terms.iter().sum()
}

fn build<P: Proxy + DeserializeOwned + 'static>(options: Map<String, Value>) -> Built {
    Ok(Box::new(serde_json::from_value::<P>(Value::Object(options))?))
}

/// How a proxy comes about: by options, or by what is written in place of a name.
enum Kind {
    Named(fn(Map<String, Value>) -> Built),
    Written(Box<dyn Proxy>),
}

impl Kind {
    fn of(name: &str) -> Result<(&'static About, Self)> {
        if name.starts_with(&format!("{}(", blend::NAME)) {
            let (blend, about) = blend::Blend::parse(name)?;
            return Ok((about, Kind::Written(Box::new(blend))));
        }
        if name.contains('(') {
            return Ok((formula::ABOUT, Kind::Written(Box::new(name.parse::<Formula>()?))));
        }
        let brought = BROUGHT.read().expect("no holder panics");
        let names = || CATALOGUE.iter().chain(&*brought).map(|entry| entry.about.name);
        let entry = CATALOGUE.iter().chain(&*brought).find(|entry| entry.about.answers_to(name));
        let entry = entry.ok_or_else(|| catalogue::unknown("proxy", name, names()))?;
        Ok((entry.about, Kind::Named(entry.build)))
    }
}

/// A proxy as it was asked for: options set, fields of the architecture to override.
pub struct Request {
    label: String,
    about: &'static About,
    proxy: Box<dyn Proxy>,
    pass_overrides: PassOverrides,
    overrides: Vec<(String, Value)>,
    /// Whether options that do nothing are passed over: they were given to many proxies at once, or belong to a formula.
    lenient: bool,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Request({})", self.label)
    }
}

/// Requests are equal if they are written alike.
impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        self.label == other.label
    }
}

impl Eq for Request {}

impl Request {
    /// Reads `name` or `name[key=value,…]`; in place of the name there may be a formula or a blend.
    ///
    /// ```
    /// use foretell_proxy::proxy::Request;
    /// assert!(Request::parse("sept[tokens=2]").is_ok());
    /// assert!(Request::parse("sum(square(head), norm(weight))[batch=4]").is_ok());
    /// let error = Request::parse("sebt").err().unwrap().to_string();
    /// assert!(error.contains("did you mean 'sept'"));
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let written = text.rfind(')').map_or(0, |end| end + 1);
        let (name, options) = match text[written..].find('[').map(|start| text.split_at(written + start)) {
            None => (text, ""),
            Some((name, rest)) => match rest[1..].strip_suffix(']') {
                Some(options) => (name, options),
                None => return Err(Error::option(text, "has no closing bracket")),
            },
        };
        let (about, kind) = Kind::of(name)?;
        if name.starts_with(&format!("{}(", blend::NAME)) && !options.is_empty() {
            return Err(Error::option(text, "a blend takes no options: write them behind its members"));
        }
        let (mut own, mut shared, mut overrides) = (Map::new(), Map::new(), Vec::new());
        let mut pairs: Vec<&str> =
            options.split(',').map(str::trim).filter(|option| !option.is_empty()).collect();
        if let Some(place) = pairs.iter().position(|pair| pair.starts_with("variant=")) {
            let wanted = pairs.remove(place).trim_start_matches("variant=");
            let variants = || about.variants.iter().map(|(known, _)| *known);
            let variant = about.variants.iter().find(|(known, _)| *known == wanted);
            let (_, options) =
                variant.ok_or_else(|| catalogue::unknown("variant", wanted, variants()).at(text))?;
            // What is said beside the variant comes later and so decides.
            pairs.splice(0..0, options.split(',').filter(|option| !option.is_empty()));
        }
        for option in pairs {
            let Some((key, value)) = option.split_once('=') else {
                return Err(Error::option(text, format!("'{option}' is not of the form key=value")));
            };
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
            if about.options.iter().any(|(known, ..)| *known == key) {
                own.insert(key.to_owned(), value);
            } else if about.drawn() && SHARED.iter().any(|(known, ..)| *known == key) {
                shared.insert(key.to_owned(), value);
            } else if families().iter().any(|family| family.knows(key)) {
                overrides.push((key.to_owned(), value));
            } else {
                let more = if about.drawn() { SHARED } else { &[] };
                let known = about.options.iter().chain(more).map(|(known, ..)| *known).chain(["variant"]);
                return Err(catalogue::unknown("option", key, known).at(text));
            }
        }
        let wrong = |e: serde_json::Error| Error::option(text, e.to_string());
        range::check(about.ranges, &own).map_err(|e| e.at(text))?;
        // A formula keeps the options of the passes that it was found with, whatever statistics it looks at.
        let lenient = matches!(kind, Kind::Written(_));
        let proxy = match kind {
            Kind::Named(build) => build(own).map_err(wrong)?,
            Kind::Written(proxy) => proxy,
        };
        let pass_overrides = PassOverrides::read(shared).map_err(|e| e.at(text))?;
        Ok(Request { label: text.to_owned(), about, proxy, pass_overrides, overrides, lenient })
    }

    /// The same request with further options, which decide where it has them already.
    pub fn further(&self, options: &str) -> Result<Self> {
        let text = match self.label.strip_suffix(']') {
            Some(begun) => format!("{begun},{options}]"),
            None => format!("{}[{options}]", self.label),
        };
        Ok(Request { lenient: self.lenient, ..Self::parse(&text)? })
    }

    /// A proxy of one's own, which no name leads to, with options common to all.
    pub fn own(about: &'static About, proxy: Box<dyn Proxy>, options: &str) -> Result<Self> {
        let text = format!("{}[{options}]", about.name);
        let (_, shared) = catalogue::bracketed(&text)?;
        let pass_overrides = PassOverrides::read(shared).map_err(|e| e.at(&text))?;
        Ok(Request { label: text, about, proxy, pass_overrides, overrides: Vec::new(), lenient: true })
    }

    /// Reads a comma-separated list; `all` stands for the whole catalogue, `shape`, `weights`, `forward`, `backward`,
    /// `passes`, `samples` and `hessian` for all proxies of that cost. Options in brackets behind such a word go to all
    /// proxies that run a network and are passed over by those on which they have no effect: `all[batch=2]`.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        let mut requests = Vec::new();
        let mut push = |part: &str| -> Result<()> {
            let (part, options) = part.trim().split_at(part.trim().find('[').unwrap_or(part.trim().len()));
            let cost = Cost::named(part);
            if part.is_empty() && options.is_empty() {
                return Ok(());
            }
            if part != "all" && cost.is_none() {
                return Self::parse(&format!("{part}{options}")).map(|request| requests.push(request));
            }
            let meant = |about: &&About| !about.by_name && cost.is_none_or(|cost| cost == about.cost);
            for about in cards().into_iter().filter(meant) {
                let options = if about.runs() { options } else { "" };
                let request = Self::parse(&format!("{}{options}", about.name))?;
                requests.push(Request { lenient: true, ..request });
            }
            Ok(())
        };
        formula::split(text).into_iter().try_for_each(&mut push)?;
        Ok(requests)
    }

    /// The proxy's card.
    pub fn about(&self) -> &'static About {
        self.about
    }

    /// The proxy as it was asked for, options included.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The architecture with the fields set that the request sets; none if it sets none.
    pub fn overridden(&self, subject: &dyn Subject) -> Result<Option<Architecture>> {
        let mut changed: Option<Architecture> = None;
        for (key, value) in &self.overrides {
            let Some(before) = changed.as_ref().or(subject.architecture()) else {
                return Err(Error::option(
                    key,
                    format!("cannot be set: {} has no such field", subject.name()),
                ));
            };
            changed = Some(before.with(key, value)?);
        }
        Ok(changed)
    }

    /// What is drawn for it with a seed.
    pub fn drawing(&self, seed: u64) -> Drawing {
        self.pass_overrides.drawing(seed)
    }

    /// Refuses options of draws that are not made for this candidate.
    pub fn check_draws(&self, subject: &dyn Subject, given: Given) -> Result<()> {
        if self.lenient {
            return Ok(());
        }
        self.pass_overrides.check_draws(&self.needs(subject), given)
    }

    /// The passes it looks at.
    pub fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        self.proxy.needs(subject).into_iter().map(|pass| self.pass_overrides.apply(pass, subject)).collect()
    }

    /// The score from what was input. Anything but finite numbers is an error, and so is an option that has no effect.
    pub fn score(&self, input: &ProxyInput) -> Result<Score> {
        let looked = AtomicBool::new(false);
        let input = ProxyInput { pass_overrides: &self.pass_overrides, looked: &looked, ..*input };
        let score = self.proxy.score(&input)?;
        let passes = self.proxy.needs(input.subject);
        self.pass_overrides.check_subject(input.subject, &passes)?;
        if !self.lenient {
            self.pass_overrides.check_effect(&passes, &score, looked.into_inner())?;
        }
        let score = self.pass_overrides.finish(score);
        let non_finite = |value: f64, place: String| Error::NonFinite {
            proxy: self.about().name,
            value: value.to_string(),
            place,
        };
        if let Some(term) = score.terms.iter().find(|term| !term.value.is_finite()) {
            return Err(non_finite(term.value, term.name.clone()));
        }
        match [score.value].iter().chain(&score.parts).find(|x| !x.is_finite()) {
            Some(value) => Err(non_finite(*value, "total".into())),
            None => Ok(score),
        }
    }

    /// The score of a proxy that looks at the shape alone.
    pub fn of_shape(&self, subject: &dyn Subject) -> Result<f64> {
        let changed = self.overridden(subject)?;
        let subject = changed.as_ref().map_or(subject, |changed| changed);
        Ok(self.score(&ProxyInput::of(subject))?.value)
    }

    /// Whether scores mean something only within a set.
    pub fn is_set_score(&self) -> bool {
        !self.about().parts.is_empty()
    }

    /// Scores within a set, from the parts of each candidate's score; what stands alone stays as it is.
    pub fn within(&self, set: &[&Score]) -> Vec<f64> {
        if !self.is_set_score() {
            return set.iter().map(|score| score.value).collect();
        }
        self.proxy.within(&set.iter().map(|score| score.parts.clone()).collect::<Vec<_>>())
    }
}

/// The linearised pass of a family: encoders end in a layer norm, where only random signs have a gradient.
fn linearised(subject: &dyn Subject) -> Pass {
    match subject.kind() {
        NetworkKind::Encoder => Pass { loss: Loss::Projection, ..Pass::linearised() },
        _ => Pass::linearised(),
    }
}

/// Average ranks from 1 for the worst: equal values share theirs.
fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    crate::rank::average_ranks(&values.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The proxy that options make.
    pub(super) fn shown<P: std::fmt::Debug + DeserializeOwned>(options: Map<String, Value>) -> String {
        let proxy = serde_json::from_value::<P>(Value::Object(options.clone()));
        format!("{:?}", proxy.unwrap_or_else(|e| panic!("{options:?}: {e}")))
    }

    /// The default that a card states makes the same proxy as saying nothing. An option that is `None` where nothing is said
    /// has its default where it is read: scores are compared for it in the conformance tests.
    #[test]
    fn cards_state_the_defaults() {
        let mut compared = 0;
        for (entry, shown) in CATALOGUE.iter().zip(SHOWN) {
            let plain = shown(Map::new());
            for (option, default, _) in
                entry.about.options.iter().filter(|(_, default, _)| !default.contains(' '))
            {
                let value =
                    serde_json::from_str(default).unwrap_or_else(|_| Value::String((*default).to_owned()));
                if plain.contains(&format!("{}: None", option.replace('-', "_"))) {
                    continue;
                }
                let stated = shown([((*option).to_owned(), value)].into_iter().collect());
                assert_eq!(stated, plain, "{}[{option}={default}]", entry.about.name);
                compared += 1;
            }
        }
        assert_eq!(compared, 59, "options whose defaults are compared");
    }
}
