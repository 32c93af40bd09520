//! Options of every proxy: numbers have ranges that are checked when a request is read, and an option that has no effect
//! is refused.

use super::proxies::networks;
use foretell::architecture::Architecture;
use foretell::network::Weights;
use foretell::proxy::{CATALOGUE, Range, Request, SHARED, SHARED_RANGES, Score};
use foretell::score::{Options, Scorer, Source, Workers};
use foretell::seed::Seed;

fn message(request: &str) -> String {
    let parsed = Request::parse(request);
    parsed.err().unwrap_or_else(|| panic!("{request} was accepted")).to_string()
}

/// Values outside a range, and whatever is not a number, are refused by an error that names option, value and range.
fn refuses_outside(name: &str, range: &Range) {
    let Range { option, least, most, whole } = *range;
    let mut outside = vec![(least - 1.0).to_string(), (most + 1.0).to_string(), "1e18".into(), "NaN".into()];
    outside.extend(["9223372036854775808", "-9223372036854775809", "many", "null"].map(str::to_owned));
    outside.extend((least > 0.0).then(|| "0".to_owned()));
    outside.extend(whole.then(|| "2.5".to_owned()));
    for value in outside {
        let error = message(&format!("{name}[{option}={value}]"));
        for part in [option, &range.to_string(), &format!("{name}[")] {
            assert!(error.contains(part), "{name}[{option}={value}]: {part:?} is not in: {error}");
        }
    }
    for value in [least, most] {
        Request::parse(&format!("{name}[{option}={value}]")).unwrap();
    }
}

#[test]
fn numbers_outside_their_range_are_refused() {
    for entry in CATALOGUE {
        let about = entry.about;
        for (option, default, _) in about.options {
            let has_range = about.ranges.iter().any(|range| range.option == *option);
            assert!(has_range || default.parse::<f64>().is_err(), "{}: {option} has no range", about.name);
        }
        for range in about.ranges {
            assert!(about.options.iter().any(|(option, ..)| *option == range.option), "{}", about.name);
            refuses_outside(about.name, range);
        }
    }
    for range in SHARED_RANGES {
        assert!(SHARED.iter().any(|(option, ..)| *option == range.option));
        refuses_outside("snip", range);
    }
    assert!(message("blend(1e300 * nsc, 1 * depth)").contains("at most 1000000"));
}

fn score(request: &str, network: &Architecture) -> Result<u64, String> {
    let scorer = Scorer::new(vec![Request::parse(request).unwrap()], Options::default());
    let score = scorer.score(network, 0, &mut Workers::default()).scores.remove(0);
    score.map(|score| score.value.to_bits()).map_err(|e| e.to_string())
}

/// Whether a card states a default that can be written in a request, not described in words.
fn is_value(default: &str) -> bool {
    !default.contains(' ')
}

/// A proxy with an option at the default of its card scores as without it, or refuses the option as one without effect.
#[test]
fn defaults_on_cards_are_those_of_the_code() {
    let networks = networks();
    for entry in CATALOGUE {
        let (about, name) = (entry.about, entry.about.name);
        let stated = about.options.iter().filter(|(_, default, _)| is_value(default));
        let mut single: Vec<String> =
            stated.map(|(option, default, _)| format!("{option}={default}")).collect();
        if single.len() > 1 {
            single.push(single.join(","));
        }
        for options in single {
            let request = format!("{name}[{options}]");
            let mut compared = 0;
            for network in &networks {
                let family = network.family().name();
                match (whole(name, network), whole(&request, network)) {
                    (Ok(plain), Ok(stated)) => {
                        assert_eq!(plain, stated, "{request} on {family} is not {name}");
                        compared += 1;
                    }
                    (Ok(_), Err(error)) => {
                        assert!(error.contains("has no effect"), "{request} on {family}: {error}");
                    }
                    (Err(plain), stated) => {
                        assert!(stated.is_err(), "{name} on {family}: {plain}, but {request} is scored");
                    }
                }
            }
            assert!(compared > 0, "{request} is scored nowhere");
        }
    }
}

/// Value and parts of a score, bit by bit.
fn whole(request: &str, network: &Architecture) -> Result<Vec<u64>, String> {
    let request = Request::parse(request).unwrap_or_else(|e| panic!("{e}"));
    let scorer = Scorer::new(vec![request], Options::default());
    let score = scorer.score(network, 0, &mut Workers::default()).scores.remove(0);
    let bits = |score: Score| [score.value].iter().chain(&score.parts).map(|x| x.to_bits()).collect();
    score.map(bits).map_err(|e| e.to_string())
}

/// Options that are common to all proxies, each with a value that is no proxy's own.
const CHANGES: [&str; 10] = [
    "feed=ones",
    "feed=uniform",
    "loss=half-square",
    "batch=3",
    "tokens=5",
    "train=true",
    "layers=first",
    "init=kaiming",
    "weights-seed=9",
    "inputs-seed=9",
];

/// Every option changes the score or is refused, for every proxy on every family.
#[test]
fn an_option_changes_the_score_or_is_refused() {
    let mut idle = Vec::new();
    for network in networks() {
        let family = network.family().name();
        for entry in CATALOGUE.iter().filter(|entry| entry.about.drawn() && entry.about.parts.is_empty()) {
            let name = entry.about.name;
            let Ok(plain) = score(name, &network) else { continue };
            let same = |change: &&str| score(&format!("{name}[{change}]"), &network) == Ok(plain);
            let named = |change: &str| format!("{name}[{change}] on {family}");
            let changes = CHANGES.into_iter().filter(|change| !harmless(name, change, family));
            idle.extend(changes.filter(same).map(named));
        }
    }
    assert!(idle.is_empty(), "options without effect: {idle:#?}");
}

/// Every option of a proxy with a value that is not its default.
const OTHERS: &[(&str, &[&str])] = &[
    ("flops", &["counter=published"]),
    ("sept", &["width=head", "tokens=2", "form=sum-of-logs"]),
    ("nsc", &["recipe=weights"]),
    ("zerolm", &["alpha=0.25"]),
    ("zerolm-weights", &["alpha=0.25", "of=log-complexity"]),
    ("grad-norm", &["global=true"]),
    ("synflow", &["mask=released"]),
    ("logsynflow", &["form=log1p", "mask=released"]),
    ("fisher", &["broadcast=false"]),
    ("grasp", &["flip=true"]),
    ("synaptic-saliency", &["skip-first=true"]),
    ("head-importance", &["of=heads", "rows=0"]),
    ("synaptic-diversity", &["qkv=split", "qkv=fused", "qkv=none", "norms=gradient", "norms=weight"]),
    (
        "dss",
        &[
            "qkv=fused",
            "qkv=none",
            "product=signed",
            "weights=signed",
            "head=1",
            "by=shape",
            "norms=gradient",
        ],
    ),
    (
        "dss++",
        &["qkv=fused", "qkv=none", "product=signed", "weights=signed", "head=1", "by=shape", "norms=weight"],
    ),
    ("ntkt", &["eq=13", "probes=4", "exact=true", "of=logits"]),
    ("ntsr", &["eq=13", "probes=4", "exact=true", "of=logits", "tokens=2"]),
    ("mgm", &["form=halves"]),
    ("naswot", &["over=tokens", "of=outputs", "weights=redrawn"]),
    ("jacobian-covariance", &["of=positions"]),
    ("jacobian-cosine", &["of=positions", "form=paper"]),
    ("large-noise", &["of=cosine", "amplitude=0.1"]),
    ("more-noised", &["of=cosine"]),
    ("shape-law", &["tokens=1000000"]),
    ("hidden-covariance", &["layer=2", "over=samples"]),
    ("meco", &["at=modules", "rows=tokens", "samples=first"]),
    ("length-distortion", &["points=5", "repeats=2", "norms=kept", "scale=linear"]),
    ("attention-confidence", &["of=heads"]),
    ("softmax-confidence", &["over=keys"]),
    ("lpzero", &["winner=flexibert", "winner=gpt2", "form=paper"]),
    ("w-pca", &["share=0.5", "params=false"]),
    ("zico", &["batches=2", "accumulate=true"]),
];

/// Every option of every proxy changes the score on a family, or is refused there.
#[test]
fn an_option_of_a_proxy_changes_its_score_or_is_refused() {
    let (networks, mut idle) = (networks(), Vec::new());
    for entry in CATALOGUE {
        let about = entry.about;
        let others = OTHERS.iter().find(|(name, _)| *name == about.name).map_or(&[][..], |(_, all)| all);
        for (option, ..) in about.options {
            let tried = |other: &&str| other.split('=').next() == Some(*option);
            assert!(others.iter().any(tried), "no value of {}[{option}] is tried", about.name);
        }
        for network in &networks {
            let family = network.family().name();
            let Ok(plain) = whole(about.name, network) else { continue };
            let same = |other: &&&str| {
                let request = format!("{}[{other}]", about.name);
                !usual(about.name, other, family) && whole(&request, network) == Ok(plain.clone())
            };
            let named = |other: &&str| format!("{}[{other}] on {family}", about.name);
            idle.extend(others.iter().filter(same).map(named));
        }
    }
    assert!(idle.is_empty(), "options without effect: {idle:#?}");
}

/// Options that ask for what is done anyway on a family, and those that are the same by mathematics on these networks.
fn usual(name: &str, other: &str, family: &str) -> bool {
    let decoder = ["gpt2", "transformer-xl", "llama"].contains(&family);
    match (name, other) {
        ("synaptic-diversity", "qkv=fused") => decoder || family == "recurrent",
        ("synaptic-diversity", "qkv=split") => !decoder,
        ("lpzero", "winner=flexibert") => ["bert", "flexibert"].contains(&family),
        ("lpzero", "winner=gpt2") => !["bert", "flexibert"].contains(&family),
        // One block: the logarithm of a sum of one is a sum of one logarithm.
        ("sept", "form=sum-of-logs") => ["vit", "llama"].contains(&family),
        // Square matrices are those of attention.
        ("dss" | "dss++", "by=shape") => true,
        // Without norms every product of magnitudes is positive.
        ("dss" | "dss++", "product=signed") => family == "recurrent",
        // One feature vector per image: the mean over tokens is the token.
        ("ntkt" | "ntsr", "eq=13") => ["pit", "shunted"].contains(&family),
        // All activations but the sigmoid keep the sign of what enters them.
        ("naswot", "of=outputs") => true,
        _ => false,
    }
}

/// Options that ask for what a proxy does anyway, and scores that may coincide.
fn harmless(name: &str, change: &str, family: &str) -> bool {
    match (name, change) {
        // Counts that other inputs often leave as they are; no matrix of these networks has 128 rows.
        ("w-pca" | "eznas" | "head-importance", _) => true,
        ("synflow" | "logsynflow" | "dss", "feed=ones") => true,
        ("synaptic-diversity", "feed=ones") => ["vit", "pit", "shunted"].contains(&family),
        (_, "loss=half-square") => family == "recurrent",
        _ => false,
    }
}

#[test]
fn options_without_effect_are_named() {
    let networks = networks();
    let of = |family: &str| networks.iter().find(|network| network.family().name() == family).unwrap();
    for (family, request, part) in [
        ("gpt2", "synaptic-diversity[qkv=split]", "qkv: has no effect on gpt2"),
        ("bert", "synaptic-diversity[qkv=fused]", "qkv: has no effect on bert"),
        ("bert", "dss[qkv=none]", "qkv: has no effect on bert"),
        ("bert", "dss[head=1]", "head: has no effect on bert"),
        ("recurrent", "dss[norms=weight]", "norms: has no effect on recurrent"),
        ("bert", "ntkt[of=logits]", "of: has no effect on bert"),
        ("gpt2", "nsc[recipe=weights]", "recipe: has no effect on gpt2"),
        ("gpt2", "dss[head=1]", "head: has no effect on gpt2"),
        ("vit", "synflow[mask=released]", "mask: has no effect on vit"),
        ("vit", "logsynflow[mask=released]", "mask: has no effect on vit"),
        ("vit", "synaptic-saliency[skip-first=true]", "skip-first: has no effect on vit"),
        ("gpt2", "lpzero[form=paper]", "form: has no effect on gpt2"),
        ("gpt2", "head-importance[of=heads,rows=0]", "rows: has no effect together with of=heads"),
        ("gpt2", "ntkt[exact=true,probes=4]", "probes: has no effect together with exact=true"),
        ("recurrent", "length-distortion[norms=kept]", "norms: has no effect on recurrent"),
        ("vit", "large-noise[amplitude=0.15]", "amplitude: 0.15 is not a multiple of 0.1"),
        ("llama", "snip[train=true]", "train: has no effect on llama"),
        ("vit", "snip[tokens=4]", "tokens: has no effect on vit"),
        ("gpt2", "naswot[loss=sum]", "loss: has no effect"),
        ("gpt2", "naswot[layers=first]", "layers: has no effect"),
        ("gpt2", "naswot[normalise=true]", "normalise: has no effect"),
        ("gpt2", "dss++[normalise=true]", "normalise: has no effect"),
        ("gpt2", "mgm[form=halves,layers=first]", "layers: has no effect"),
        ("gpt2", "length-distortion[batch=2]", "batch: has no effect"),
        ("gpt2", "l2-norm[batch=2]", "batch: has no effect"),
        ("gpt2", "l2-norm[loss=sum]", "loss: has no effect"),
    ] {
        let error = score(request, of(family)).expect_err(request);
        assert!(error.contains(part), "{request}: {part:?} is not in: {error}");
    }
    // What is asked for is what is done: no error.
    for (family, request) in
        [("gpt2", "synaptic-diversity[qkv=fused]"), ("bert", "dss[qkv=split]"), ("gpt2", "snip[train=true]")]
    {
        score(request, of(family)).unwrap();
    }
    assert!(message("blend(1 * snip)[batch=2]").contains("behind its members"));
    // Options for many are passed over by those on which they have no effect.
    let all = Request::parse_list("passes[batch=2,layers=first]").unwrap();
    let scorer = Scorer::new(all, Options::default());
    for score in scorer.score(of("gpt2"), 0, &mut Workers::default()).scores {
        assert!(
            score.is_ok() || score.as_ref().is_err_and(|e| e.to_string().contains("cannot be cut")),
            "{score:?}"
        );
    }
}

/// Seeds of weights and of all else apart give the score of one seed where both are it, and other scores where one is not.
#[test]
fn weights_and_inputs_have_seeds_of_their_own() {
    let network = networks().remove(0);
    let at = |request: &str, seed: u64| {
        let scorer = Scorer::new(vec![Request::parse(request).unwrap()], Options::default());
        scorer.score(&network, seed, &mut Workers::default()).scores.remove(0).unwrap().value
    };
    let both = at("snip[weights-seed=5,inputs-seed=5]", 0);
    assert_eq!(both, at("snip", 5));
    let (weights, inputs) = (at("snip[weights-seed=5]", 0), at("snip[inputs-seed=5]", 0));
    let all = [both, weights, inputs, at("snip", 0)];
    assert!(all.iter().enumerate().all(|(i, x)| !all[..i].contains(x)), "{all:?}");
    assert_eq!(weights, at("snip[inputs-seed=0]", 5));
}

#[test]
fn draws_that_are_not_made_are_refused() {
    for (request, part) in
        [("nsc[init=xavier]", "unknown option 'init'"), ("sept[weights-seed=1]", "unknown option")]
    {
        assert!(message(request).contains(part), "{}", message(request));
    }
    assert!(message("blend(1 * snip[init=xavier], 1 * depth)").contains("seed or init"));
    let network = networks().remove(0);
    for (request, part) in [
        ("l2-norm[inputs-seed=1]", "draws nothing but weights"),
        ("dss[inputs-seed=1]", "draws nothing but weights"),
        ("naswot[weights=redrawn,init=xavier]", "draws maps of its own"),
    ] {
        let error = score(request, &network).unwrap_err();
        assert!(error.contains(part), "{request}: {error}");
    }
    let weights = Weights::standalone(&network, Seed(0));
    let options = Options { weights: Source::Given(weights), ..Options::default() };
    let scorer = Scorer::new(vec![Request::parse("snip[weights-seed=1]").unwrap()], options);
    let error = scorer.score(&network, 0, &mut Workers::default()).scores.remove(0).unwrap_err();
    assert!(error.to_string().contains("the weights are given"), "{error}");
}
