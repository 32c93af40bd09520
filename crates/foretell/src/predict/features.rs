//! What a predictor sees of a network: sizes, profiles over its layers, and scores if asked.

use crate::architecture::{Architecture, Kind, NetworkKind, Part, Positions, Scope};
use crate::proxy::shape_law_basis;
use serde::{Deserialize, Serialize};

/// What a feature describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Parameters by part, or a score.
    Count,
    /// Depth, width and other sizes that are chosen.
    Choice,
    /// How layers differ, and which operations they use.
    Profile,
    /// How long the network is trained.
    Budget,
}

/// One number about a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// What it describes.
    pub group: Group,
    /// Its value; sizes are logarithms.
    pub value: f64,
}

/// The feature whose weight is large before any label is seen: on published tables attention is the part of a network that
/// agrees best with what training gives.
pub(super) const ANCHORS: [&str; 2] = ["attention-params", "block-params"];

/// The name of the feature that says what other tables make expect.
pub(super) const LAW: &str = "shape-law";

/// The weights of [`shape_law_basis`].
pub(super) type Law = [f64; 11];

/// What the tokens that a network is trained on add to its features: their logarithm, and for decoders what the law of the
/// shape, learned from other tables, makes expect.
pub(super) fn trained(architecture: &Architecture, tokens: f64, law: &Law) -> Vec<Feature> {
    let mut list = vec![Feature { name: "tokens".to_owned(), group: Group::Budget, value: tokens.ln() }];
    let decoder = architecture.family().card().kind == NetworkKind::Decoder;
    let basis = decoder.then(|| shape_law_basis(architecture, Some(tokens))).flatten();
    list.extend(basis.map(|basis| {
        let value = basis.iter().zip(law).map(|(value, weight)| value * weight).sum();
        Feature { name: LAW.to_owned(), group: Group::Count, value }
    }));
    list
}

/// All features of a network.
pub fn features(architecture: &Architecture) -> Vec<Feature> {
    let mut list = List::default();
    list.counts(architecture);
    list.genes(architecture);
    list.0
}

#[derive(Default)]
struct List(Vec<Feature>);

impl List {
    fn count(&mut self, name: impl Into<String>, value: f64) {
        self.0.push(Feature { name: name.into(), group: Group::Count, value });
    }

    fn choice(&mut self, name: impl Into<String>, value: f64) {
        self.0.push(Feature { name: name.into(), group: Group::Choice, value });
    }

    fn profile(&mut self, name: impl Into<String>, value: f64) {
        self.0.push(Feature { name: name.into(), group: Group::Profile, value });
    }

    /// The slope and the spread of a size over layers.
    fn over_layers(&mut self, name: &str, values: &[f64]) {
        self.profile(format!("{name} slope"), slope(values));
        self.profile(format!("{name} spread"), spread(values));
    }

    /// Sizes by part, and how they change from block to block.
    fn counts(&mut self, architecture: &Architecture) {
        let mut blocks = Vec::new();
        architecture.blocks(&mut |block| blocks.push(block));
        let mut attention = vec![0.0; blocks.len()];
        let mut ffn = vec![0.0; blocks.len()];
        let (mut inside, mut roots) = (0.0, 0.0);
        architecture.visit(&mut |tensor| {
            let Some(block) = tensor.block else { return };
            let entries = tensor.len() as f64;
            inside += entries;
            if tensor.matrix().is_some() {
                roots += entries.sqrt();
            }
            let part = match tensor.role.part() {
                Part::Attention => attention.get_mut(block as usize),
                Part::Ffn => ffn.get_mut(block as usize),
                _ => None,
            };
            if let Some(sum) = part {
                *sum += entries;
            }
        });
        let params = architecture.params();
        self.choice("depth", log(architecture.depth() as f64));
        let widths: Vec<f64> = blocks.iter().map(|block| log(block.width as f64)).collect();
        let heads: Vec<f64> = blocks.iter().filter_map(|block| Some(log(block.heads? as f64))).collect();
        self.choice("width", mean(&widths));
        self.choice("heads", mean(&heads));
        let per_width = |sums: &[f64]| -> Vec<f64> {
            sums.iter().zip(&widths).map(|(sum, width)| log(*sum) - width).collect()
        };
        self.count("ffn-width", mean(&per_width(&ffn)));
        self.count("attention-width", mean(&per_width(&attention)));
        self.count("depth-times-width", blocks.iter().map(|block| block.width as f64).sum::<f64>().ln_1p());
        self.count("attention-params", log(attention.iter().sum()));
        self.count("ffn-params", log(ffn.iter().sum()));
        self.count("block-params", log(inside));
        self.count("embedding-params", log(params.part(Part::Embedding) as f64));
        self.count("sum-of-roots", log(roots));
        let logs = |sums: &[f64]| sums.iter().map(|sum| log(*sum)).collect::<Vec<f64>>();
        self.over_layers("attention", &logs(&attention));
        self.over_layers("ffn", &logs(&ffn));
        self.over_layers("heads", &heads);
    }

    /// The choices of the family that counts do not show.
    fn genes(&mut self, architecture: &Architecture) {
        let card = architecture.family().card();
        let staged = matches!(card.positions, Positions::Stages(_));
        let (mut whole, mut position) = (0, 0);
        for field in card.fields {
            match field.scope {
                Scope::Whole | Scope::List(_) => {
                    let length = if let Scope::List(length) = field.scope { length } else { 1 };
                    for place in 0..length {
                        let value = architecture.globals()[whole + place];
                        self.gene(&label(field.key, place, length), field.kind, &[value]);
                    }
                    whole += length;
                }
                Scope::Position => {
                    let values: Vec<u32> =
                        (0..architecture.positions()).map(|row| architecture.row(row)[position]).collect();
                    match staged {
                        true => values.iter().enumerate().for_each(|(stage, value)| {
                            self.gene(&label(field.key, stage, values.len()), field.kind, &[*value]);
                        }),
                        false => self.gene(field.key, field.kind, &values),
                    }
                    position += 1;
                }
            }
        }
    }

    /// A choice, or what it is in every layer. Counts have the names that choices of some families have, too.
    fn gene(&mut self, key: &str, kind: Kind, values: &[u32]) {
        let key = format!("chosen {key}");
        let share = |which: u32| values.iter().filter(|value| **value == which).count() as f64;
        let n = values.len().max(1) as f64;
        match kind {
            Kind::Name(names) => {
                for (which, name) in names.iter().enumerate() {
                    self.profile(format!("{key}={name}"), share(which as u32) / n);
                }
            }
            Kind::Flag => self.profile(key, share(1) / n),
            Kind::Count(..) | Kind::Optional(..) | Kind::Ratio(..) => {
                let logs: Vec<f64> = values.iter().map(|value| log(f64::from(*value))).collect();
                self.choice(key, mean(&logs));
            }
        }
    }
}

fn label(key: &str, place: usize, length: usize) -> String {
    if length > 1 { format!("{key}.{place}") } else { key.to_owned() }
}

/// The logarithm of a size; of nothing, zero.
fn log(size: f64) -> f64 {
    size.max(0.0).ln_1p()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

pub(super) fn spread(values: &[f64]) -> f64 {
    let middle = mean(values);
    mean(&values.iter().map(|value| (value - middle).powi(2)).collect::<Vec<f64>>()).sqrt()
}

/// The slope of values over places from −1 to 1.
fn slope(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let last = (values.len() - 1) as f64;
    let place = |i: usize| 2.0 * i as f64 / last - 1.0;
    let squares: f64 = (0..values.len()).map(|i| place(i).powi(2)).sum();
    values.iter().enumerate().map(|(i, value)| place(i) * value).sum::<f64>() / squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space;
    use serde_json::json;

    fn value(list: &[Feature], name: &str) -> f64 {
        list.iter().find(|feature| feature.name == name).unwrap_or_else(|| panic!("no {name}")).value
    }

    /// Two layers, 4 wide: attention has 4·4·4 weights and 16 biases, feed-forward 2·4·6 and 2·4·12 weights and 6 + 4 and
    /// 12 + 4 biases.
    #[test]
    fn counts_by_hand() {
        let network = json!({"family": "gpt2", "vocab_size": 10, "context_len": 4, "d_model": 4, "n_layer": 2,
            "n_head": [1, 2], "d_inner": [6, 12]});
        let list = features(&space::read_architecture(&network).unwrap());
        let near = |name: &str, wanted: f64| {
            let found = value(&list, name);
            assert!((found - wanted).abs() < 1e-12, "{name}: {found}, not {wanted}");
        };
        near("depth", 3f64.ln());
        near("width", 5f64.ln());
        near("heads", (2f64.ln() + 3f64.ln()) / 2.0);
        near("attention-params", 161f64.ln());
        near("ffn-params", (48.0 + 10.0 + 96.0 + 16.0 + 1f64).ln());
        near("heads slope", (3f64.ln() - 2f64.ln()) / 2.0);
        near("attention spread", 0.0);
    }

    /// Every family has features, finite and with names of their own.
    #[test]
    fn all_families_have_features() {
        for (name, _) in space::PRESETS {
            let space = space::preset(name).unwrap();
            let network = space.sample(&mut crate::seed::Seed(1).stream("sample", 0));
            let list = features(&network);
            let mut names: Vec<&str> = list.iter().map(|feature| feature.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), list.len(), "{}", space.name());
            assert!(list.iter().all(|feature| feature.value.is_finite()), "{}", space.name());
        }
    }
}
