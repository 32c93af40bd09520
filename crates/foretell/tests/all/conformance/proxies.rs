//! Every proxy of the catalogue: a complete card, a finite number or a named error, the same bits every time.

use super::{presets, shrunken};
use foretell::architecture::{Architecture, Positions};
use foretell::proxy::{CATALOGUE, Request, Score};
use foretell::score::{Options, Scorer, Workers};
use foretell::seed::Seed;
use serde_json::json;
use std::collections::HashSet;
use std::path::Path;

#[test]
fn cards_are_complete_and_names_unique() {
    let mut names = HashSet::new();
    for entry in CATALOGUE {
        let about = entry.about;
        assert!(names.insert(about.name), "{} is there twice", about.name);
        assert!(about.name.chars().all(|c| c.is_ascii_lowercase() || "-+2".contains(c)), "{}", about.name);
        for text in [about.sentence, about.formula, about.paper, about.departures] {
            assert!(!text.is_empty(), "{}", about.name);
        }
        Request::parse(about.name).unwrap();
    }
}

/// Files beside the proxies that are no proxy of the catalogue.
const FRAME: [&str; 12] = [
    "mod.rs",
    "prelude.rs",
    "heads.rs",
    "input.rs",
    "pass_overrides.rs",
    "range.rs",
    "score.rs",
    "spectrum.rs",
    "toy.rs",
    "formula",
    "formula.rs",
    "blend.rs",
];

/// A proxy file that is not in the catalogue would never run; one without a test is a formula that nobody did by hand.
#[test]
fn every_proxy_file_is_in_the_catalogue_and_has_a_test() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../foretell-proxy/src/proxy"));
    for file in FRAME {
        assert!(folder.join(file).exists(), "{file} is gone: take it from the list");
    }
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let names = files.map(|file| file.into_string().unwrap());
    let proxies: Vec<String> = names.filter(|file| !FRAME.contains(&&file[..])).collect();
    assert_eq!(proxies.len(), CATALOGUE.len(), "{proxies:?}");
    for file in proxies.iter().map(|file| &file[..]).chain(["formula.rs", "blend.rs"]) {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains("#[test]"), "{file} has no test");
    }
}

/// One small network per family.
pub fn networks() -> Vec<Architecture> {
    let cell =
        foretell::space::read_architecture(&json!({"family": "recurrent", "vocab_size": 30, "embed_dim": 12,
        "hidden_size": 16, "context_len": 9, "nodes": [
            {"name": "a", "op": "linear", "inputs": ["x", "h_prev_0"]},
            {"name": "h_new_0", "op": "activation_tanh", "inputs": ["a"]}]}));
    let sampled = shrunken().map(|space| space.sample(&mut Seed(1).stream("proxies", 0)));
    sampled.map(small).chain([cell.unwrap()]).collect()
}

/// The same with few pixels, words and tokens, where the family has them.
fn small(mut architecture: Architecture) -> Architecture {
    let side = if architecture.family().name() == "vit" { 56 } else { 32 };
    for (key, value) in
        [("image_size", side), ("num_classes", 10), ("context_len", 12), ("max_position_embeddings", 12)]
    {
        if architecture.family().knows(key) {
            architecture = architecture.with(key, &json!(value)).unwrap();
        }
    }
    architecture
}

fn all_scores(threads: usize) -> Vec<Vec<Vec<Result<u64, &'static str>>>> {
    let scorer = Scorer::new(Request::parse_list("all").unwrap(), Options::default());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let table = pool.install(|| scorer.table(&networks(), &[0, 1], &|| {}).unwrap());
    let bits = |score: &foretell::error::Result<Score>| match score {
        Ok(score) => Ok(score.value.to_bits()),
        Err(error) => Err(error.kind()),
    };
    table
        .iter()
        .map(|row| row.cells.iter().map(|cell| cell.scores.iter().map(bits).collect()).collect())
        .collect()
}

/// Every proxy of the catalogue on every family: a finite number or a typed refusal, the same bits for any thread count.
#[test]
fn scores_are_finite_or_named_errors_and_repeat_bit_by_bit() {
    let (one, requests, networks) = (all_scores(1), Request::parse_list("all").unwrap(), networks());
    let mut defined = vec![0; requests.len()];
    for (row, network) in one.iter().zip(&networks) {
        for ((cell, request), defined) in row.iter().zip(&requests).zip(&mut defined) {
            for score in cell {
                match score {
                    Ok(_) => *defined += 1,
                    Err(kind) => {
                        let named = ["not-defined", "degenerate"].contains(kind);
                        assert!(named, "{} on {}: {kind}", request.label(), network.family().name());
                    }
                }
            }
        }
    }
    for (request, defined) in requests.iter().zip(defined) {
        assert!(defined > 0, "{} scores nothing", request.label());
    }
    assert_eq!(one, all_scores(2));
    assert_eq!(one, all_scores(8));
}

/// Asked for alone, a proxy says what it says in company.
#[test]
fn company_changes_no_score() {
    let networks = networks();
    let together = all_scores(2);
    for (place, entry) in CATALOGUE.iter().filter(|entry| !entry.about.by_name).enumerate() {
        let scorer = Scorer::new(vec![Request::parse(entry.about.name).unwrap()], Options::default());
        for (network, row) in networks.iter().zip(&together) {
            let alone = &scorer.score(network, 0, &mut Workers::default()).scores[0];
            let alone = alone.as_ref().map(|score| score.value.to_bits()).map_err(|e| e.kind());
            assert_eq!(alone, row[place][0], "{} on {}", entry.about.name, network.family().name());
        }
    }
}

/// Layers in another order are another network of the same shape: its score is the same to the last bit.
#[test]
fn shape_proxies_do_not_see_the_order_of_layers() {
    for space in
        presets().filter(|space| matches!(space.definition().family.card().positions, Positions::Layers(_)))
    {
        let architecture = space.sample(&mut Seed(2).stream("proxies", 0));
        let mut object = architecture.to_json();
        for list in object.values_mut().filter_map(|value| value.as_array_mut()) {
            if list.len() == architecture.positions() {
                list.reverse();
            }
        }
        let reversed = foretell::space::read_architecture(&object.into()).unwrap();
        for request in Request::parse_list("shape").unwrap() {
            if let (Ok(a), Ok(b)) = (request.of_shape(&architecture), request.of_shape(&reversed)) {
                assert_eq!(a.to_bits(), b.to_bits(), "{} on {}", request.label(), space.name());
            }
        }
    }
}

#[test]
fn options_are_typed_and_slips_are_named() {
    for (text, part) in [
        ("sept[tokens=-1]", "tokens"),
        ("sept[width=depth]", "unknown variant"),
        ("sept[widht=head]", "did you mean 'width'"),
        ("sept[tokens]", "key=value"),
        ("sept[tokens=2", "closing bracket"),
        ("zerolm[alpha=many]", "alpha"),
        ("", "unknown proxy"),
    ] {
        let error = Request::parse(text).err().unwrap_or_else(|| panic!("{text} was accepted")).to_string();
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
    let list = Request::parse_list("params, sept[width=head,tokens=2],params[mode=published]").unwrap();
    assert_eq!(
        list.iter().map(Request::label).collect::<Vec<_>>(),
        ["params", "sept[width=head,tokens=2]", "params[mode=published]"]
    );
}

/// Options behind a word for many go to those that run a network.
#[test]
fn a_group_takes_options() {
    let labels: Vec<String> =
        Request::parse_list("all[batch=2]").unwrap().iter().map(|r| r.label().to_owned()).collect();
    let all: Vec<_> = CATALOGUE.iter().filter(|entry| !entry.about.by_name).collect();
    assert_eq!(labels.len(), all.len());
    for (label, entry) in labels.iter().zip(all) {
        assert_eq!(label.ends_with("[batch=2]"), entry.about.runs(), "{label}");
    }
    assert!(Request::parse_list("shape[batch=2],forward[bacth=2]").is_err());
}

/// Fewer samples than parts are a typed error of every proxy that needs the parts, on every family.
#[test]
fn small_batches_are_scored_or_refused() {
    let scorer = Scorer::new(Request::parse_list("all[batch=1],zico[batch=3]").unwrap(), Options::default());
    for network in networks() {
        for (score, request) in
            scorer.score(&network, 0, &mut Workers::default()).scores.iter().zip(scorer.requests())
        {
            if let Err(error) = score {
                let named =
                    ["not-defined", "degenerate", "option", "data", "non-finite"].contains(&error.kind());
                assert!(named, "{} on {}: {error}", request.label(), network.family().name());
            }
        }
    }
}

/// What a released program redraws, and how often a circle is drawn, decide a score; the first circle is the same.
#[test]
fn redrawn_weights_and_further_circles() {
    let network = &networks()[0];
    let value = |request: &str| {
        let scorer = Scorer::new(vec![Request::parse(request).unwrap()], Options::default());
        scorer.score(network, 0, &mut Workers::default()).scores.remove(0).unwrap().value
    };
    assert_ne!(value("naswot"), value("naswot[weights=redrawn]"));
    assert_eq!(value("naswot[weights=redrawn]"), value("naswot[weights=redrawn]"));
    let circle = |repeats: u32| value(&format!("length-distortion[scale=linear,points=4,repeats={repeats}]"));
    let (one, two, three) = (circle(1), circle(2), circle(3));
    assert!(one != two && two != three && (two / one - 1.0).abs() < 1.0, "{one} {two} {three}");
}
