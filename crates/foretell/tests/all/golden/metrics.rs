//! Every recorded metric, by the proxy and the options that claim to be it.

use super::case::{Case, Precision, disagree};
use super::{autoformer, flexibert, gpt2, pit, recurrent};
use foretell::architecture::{Architecture, Recipe};
use foretell::error::Result;
use foretell::network::Weights;
use foretell::probe::Inputs;
use foretell::proxy::{Request, Score, Term};
use foretell::score::{self, Options, Scorer, Source, Workers};
use serde_json::Value;

/// How our value becomes theirs.
type Turn = fn(f64, &Case) -> f64;

fn same(value: f64, _: &Case) -> f64 {
    value
}

/// Originals that are lower-is-better.
fn minus(value: f64, _: &Case) -> f64 {
    -value
}

fn batch(case: &Case) -> f64 {
    case.arch["batch"].as_f64().unwrap()
}

/// Metrics, the request that is each, and how its value becomes theirs. N stands for the number of samples given, P for the
/// points of the case's curve.
fn requests(family: &str, group: &str) -> Vec<(&'static str, String, Turn)> {
    let list = |pairs: &[(&'static str, &str)]| -> Vec<(&'static str, String, Turn)> {
        pairs.iter().map(|(name, request)| (*name, (*request).to_owned(), same as Turn)).collect()
    };
    let turned = |name, request: &str, turn: Turn| vec![(name, request.to_owned(), turn)];
    match (family, group) {
        ("autoformer", "metrics") => list(&[
            ("dss", "dss[qkv=fused]"),
            ("dss_signed", "dss[qkv=fused,weights=signed]"),
            ("dss_as_released", "dss[variant=released]"),
            ("snip", "snip"),
            ("grasp", "grasp"),
            ("naswot", "naswot"),
            ("grad_norm", "grad-norm"),
            ("plain", "plain"),
            ("synflow", "synflow"),
        ]),
        ("autoformer", "generic") => [
            list(&[
                ("autoprox_dss", "dss[variant=auto-prox]"),
                ("jacob_cov", "jacobian-covariance"),
                ("zico_2batches", "zico[batches=2]"),
                ("zico_2batches_accumulated_as_released", "zico[variant=released]"),
                ("zico_4batches", "zico"),
                ("zico_4batches_accumulated_as_released", "zico[accumulate=true]"),
                ("gradsign", "gradsign"),
                ("mgm_gram_mean", "mgm"),
                ("mgm_knas_as_released", "mgm[form=halves]"),
                ("autoprox_ntk_trace_target_logit", "ntk-trace"),
                ("meco", "meco[variant=released]"),
                ("length_distortion_ln", "length-distortion[points=P,norms=kept,scale=linear]"),
                ("length_distortion_id", "length-distortion[points=P,scale=linear]"),
            ]),
            turned("ntk_condition_number", "te-score", minus),
            turned("autoprox_condnum_target_logit", "te-score[loss=target,layers=biased]", minus),
            turned("ntk_trace", "ntk-trace[loss=sum,layers=named]", |value, case| {
                value * value * batch(case)
            }),
        ]
        .concat(),
        ("pit", "metrics") => list(&[
            ("dss", "dss[variant=auto-prox]"),
            ("snip", "snip"),
            ("grad_norm", "grad-norm"),
            ("grasp", "grasp"),
            ("synflow", "synflow"),
        ]),
        ("gpt2_flex", "metrics") => [
            list(&[
                ("snip", "snip"),
                ("grad_norm", "grad-norm"),
                ("fisher", "fisher"),
                ("fisher_channel_sum", "fisher[broadcast=false]"),
                ("grasp", "grasp"),
                ("head_importance", "head-importance"),
                ("attention_confidence", "attention-confidence"),
                ("attention_confidence_normalized", "attention-confidence[normalise=true]"),
                ("synaptic_diversity", "synaptic-diversity"),
                ("attn_prob_max_over_heads", "softmax-confidence"),
                ("attn_prob_max_over_keys", "softmax-confidence[over=keys]"),
                ("jacobian_cosine", "jacobian-cosine[of=positions]"),
                ("jacobian_covariance", "jacobian-covariance[of=positions]"),
                ("synflow_as_released", "synflow[mask=released]"),
                ("logsynflow_as_released", "logsynflow[mask=released]"),
                ("synflow", "synflow"),
                ("logsynflow", "logsynflow"),
            ]),
            turned("lpzero_tree", "lpzero", minus),
            list(&[("lpzero_tree", "sum(l1(square(weight)), square(softmax(gradient)))")]),
        ]
        .concat(),
        ("gpt2_flex", "ntkt") => list(&[
            ("ntkt_logits", "ntkt[eq=13,exact=true,of=logits,layers=everything]"),
            ("token_mean_ntk_trace_logits", "ntkt[exact=true,of=logits,layers=everything]"),
            ("ntkt_hidden", "ntkt[eq=13,exact=true,layers=everything]"),
            ("token_mean_ntk_trace_hidden", "ntkt[exact=true,layers=everything]"),
        ]),
        ("flexibert", "serianni_ones" | "serianni_cotangent") => {
            let loss = if group == "serianni_ones" { "sum" } else { "projection" };
            let pairs = [
                ("synaptic_diversity", "synaptic-diversity[loss=L]"),
                ("synaptic_diversity_normalized", "synaptic-diversity[loss=L,normalise=true]"),
                ("synaptic_saliency", "synaptic-saliency[loss=L]"),
                ("synaptic_saliency_normalized", "synaptic-saliency[loss=L,normalise=true]"),
                ("activation_distance", "naswot[over=tokens]"),
                ("activation_distance_normalized", "naswot[over=tokens,normalise=true]"),
                ("jacobian_covariance", "jacobian-covariance[of=positions,loss=L]"),
                ("jacobian_cosine", "jacobian-cosine[of=positions,loss=L]"),
                ("head_importance", "head-importance[loss=L]"),
                ("head_importance_normalized", "head-importance[loss=L,normalise=true]"),
                ("head_confidence", "attention-confidence"),
                ("head_confidence_normalized", "attention-confidence[normalise=true]"),
                ("softmax_confidence", "softmax-confidence"),
                ("softmax_confidence_normalized", "softmax-confidence[normalise=true]"),
            ];
            pairs
                .iter()
                .map(|(name, request)| (*name, request.replace("=L", &format!("={loss}")), same as Turn))
                .collect()
        }
        ("flexibert", "lpzero_ones") => list(&[
            ("snip", "snip[loss=sum]"),
            ("grad_norm", "grad-norm[loss=sum]"),
            ("fisher", "fisher[loss=sum]"),
            ("grasp", "grasp[loss=sum]"),
            ("synflow", "synflow[feed=data,loss=sum,batch=N]"),
            ("logsynflow", "logsynflow[feed=data,loss=sum,batch=N]"),
        ]),
        ("nas_bench_nlp_rnn", "metrics") => [
            list(&[
                ("jacobian_covariance", "jacobian-covariance"),
                ("jacobian_cosine", "jacobian-cosine"),
                ("small_noise_jacobian", "large-noise[amplitude=0.1]"),
                ("large_noise_jacobian", "large-noise"),
                ("more_noised_jacobian_cosine", "more-noised[of=cosine]"),
                ("synaptic_saliency", "synaptic-saliency[skip-first=true]"),
                ("hidden_covariance_layer1", "hidden-covariance"),
                ("hidden_covariance_layer2", "hidden-covariance[layer=2]"),
                ("hidden_covariance_layer3", "hidden-covariance[layer=3]"),
            ]),
            turned("small_noise_jacobian_cosine", "large-noise[amplitude=0.1,of=cosine]", minus),
            turned("large_noise_jacobian_cosine", "large-noise[of=cosine]", minus),
            turned("more_noised_jacobian", "more-noised", minus),
            turned("hidden_saliency_saliency_pass", "hidden-saliency", minus),
            // The reference runs the network twice before it looks: K is doubled, and N rows add N ln 2.
            turned("activation_distance", "naswot[of=outputs]", |v, case| {
                v + batch(case) * std::f64::consts::LN_2
            }),
        ]
        .concat(),
        _ => Vec::new(),
    }
}

/// Recorded values that are no proxy of ours, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("autoprox_zico", "another program's own metric under ZiCo's name"),
    ("grad_angle", "recorded beside GradSign, no paper of ours ranks by it"),
    ("jacobian_trace", "recorded beside the Jacobian scores, no paper of ours ranks by it"),
    ("hidden_saliency_as_released", "the sum over whatever passes the notebook has run before"),
    ("num_parameters", "compared with the counts"),
];

/// Terms that are recorded beside a metric and are no addends of it: metric, how their names begin, and why.
const TERMS_LEFT_OUT: &[(&str, &str, &str)] = &[
    ("autoformer-* metrics/naswot ", "blocks.", "sums over K by layer; the score is one determinant"),
    ("autoformer-* metrics/dss", "head", "zero: recorded beside a total that does not include them"),
];

/// Whether a term is left out.
fn left_out(what: &str, term: &str) -> bool {
    let what = what.replace("-norpe", "-*").replace("-rpe", "-*");
    TERMS_LEFT_OUT.iter().any(|(metric, start, _)| what.starts_with(metric) && term.starts_with(start))
}

/// f64 to 1e-9, what comes out of eigenvalues to 1e-7; f32 to 1e-5, or to what the original's own f32 value is off by.
fn tolerance(request: &str, precision: Precision, entry: &Value) -> f64 {
    let spectral = ["jacobian", "noise", "hidden-covariance", "te-score", "meco", "ntk"];
    let nuclear = ["dss", "diversity"];
    let is = |list: &[&str]| list.iter().any(|part| request.contains(part));
    if precision == Precision::F64 {
        return if is(&spectral) {
            1e-7
        } else if is(&nuclear) {
            1e-8
        } else {
            1e-9
        };
    }
    let (exact, rounded) = (entry["f64"].as_f64().unwrap_or(0.0), entry["f32"].as_f64().unwrap_or(0.0));
    let own = 4.0 * (rounded - exact).abs() / exact.abs().max(1e-12);
    let base = if is(&nuclear) || is(&spectral) || request.contains("grasp") { 1e-4 } else { 1e-5 };
    own.max(base)
}

fn architecture(case: &Case) -> Architecture {
    match case.family() {
        "autoformer" => autoformer::architecture(case),
        "flexibert" => flexibert::architecture(case),
        "gpt2_flex" => gpt2::architecture(case),
        "pit" => pit::architecture(case),
        _ => recurrent::architecture(case),
    }
}

/// Checks one case and says how many metrics were compared.
pub fn check(case: &Case, precision: Precision) -> usize {
    if !["autoformer", "flexibert", "gpt2_flex", "pit", "nas_bench_nlp_rnn"].contains(&case.family()) {
        return 0;
    }
    let architecture = architecture(case);
    let weights: Weights<f64> = match case.family() {
        "nas_bench_nlp_rnn" => {
            let names = Recipe::names_from_json(&case.arch["recipe"]).unwrap();
            case.weights_named(&architecture, &|name| recurrent::rename(name, &names))
        }
        _ => case.weights(&architecture),
    };
    let groups = ["metrics", "generic", "ntkt", "serianni_ones", "serianni_cotangent", "lpzero_ones"];
    let mut checked = 0;
    for (group, entries) in
        groups.iter().filter_map(|group| Some((*group, case.expected.get(*group)?.as_object()?)))
    {
        let inputs = Inputs::read(&case.folder.join("inputs.safetensors")).unwrap();
        let mut table = requests(case.family(), group);
        let points = case.arch.get("curve_n").and_then(Value::as_u64).unwrap_or(0);
        for (_, request, _) in &mut table {
            *request = request.replace("=N]", &format!("={}]", inputs.batch));
            *request = request.replace("=P,", &format!("={},", points));
        }
        let options = Options {
            precision: match precision {
                Precision::F64 => score::Precision::F64,
                Precision::F32 => score::Precision::F32,
            },
            weights: Source::Given(weights.clone()),
            inputs: Some(inputs),
            ..Options::default()
        };
        let scorer =
            Scorer::new(table.iter().map(|(_, request, _)| Request::parse(request).unwrap()), options);
        let scores = scorer.score(&architecture, 0, &mut Workers::default()).scores;
        for (name, entry) in entries {
            let claims: Vec<_> = table.iter().zip(&scores).filter(|((known, ..), _)| known == name).collect();
            let left_out = LEFT_OUT.iter().any(|(left, _)| left == name);
            if claims.is_empty() && !left_out {
                disagree(format!("{}: nothing computes {group}/{name}", case.name));
            }
            // Rounding around a mathematical zero is nobody's value.
            if entry["noise"] == true {
                continue;
            }
            for ((_, request, turn), score) in claims {
                let what = format!("{} {group}/{name} by {request}", case.name);
                // Two batches in single precision decide nothing.
                if precision == Precision::F32 && name.starts_with("zico_2batches") {
                    continue;
                }
                checked += compare(case, precision, (entry, score), (request, *turn), &what);
            }
        }
    }
    checked
}

/// Compares one recorded metric with our score, and says how many numbers that are.
fn compare(
    case: &Case,
    precision: Precision,
    (entry, score): (&Value, &Result<Score>),
    (request, turn): (&str, Turn),
    what: &str,
) -> usize {
    let Some(total) = entry["f64"].as_f64() else {
        // The mean of no term is not a number there, and an error here.
        if entry["f64"] != "nan" || score.is_ok() {
            disagree(format!("{what}: {score:?} where there is no number"));
        }
        return 1;
    };
    let score = match score {
        Ok(score) => score,
        Err(error) => {
            disagree(format!("{what}: {error}"));
            return 0;
        }
    };
    let tolerance = tolerance(request, precision, entry);
    near(turn(score.value, case), total, tolerance, precision, what);
    let terms: Vec<(&str, f64)> = (entry["terms"].as_array().into_iter().flatten())
        .map(|term| (term["name"].as_str().unwrap(), term["f64"].as_f64().unwrap()))
        .filter(|(name, _)| !left_out(what, name))
        .collect();
    // Terms that cancel are known to the rounding of the largest of them.
    let largest = terms.iter().fold(0.0, |most: f64, (_, value)| most.max(value.abs()));
    for (name, expected) in &terms {
        let Some(ours) = matching(case, score, name) else {
            let names: Vec<&str> = score.terms.iter().map(|term| &term.name[..]).collect();
            disagree(format!("{what}: their term {name} is none of ours: {names:?}"));
            continue;
        };
        let found = turn(ours.value, case);
        let scale = match precision {
            Precision::F64 => expected.abs().max(1e-3 * total.abs()),
            Precision::F32 => largest,
        };
        let off = (found - expected).abs();
        if off.is_nan() || off > tolerance * scale + 1e-12 {
            disagree(format!("{what}, term {name}: {found} is not {expected} ({precision:?})"));
        }
    }
    1 + terms.len()
}

fn near(found: f64, expected: f64, tolerance: f64, precision: Precision, what: &str) {
    let error = (found - expected).abs() / expected.abs().max(1e-12);
    if error.is_nan() || error > tolerance {
        disagree(format!(
            "{what}: {found} is not {expected} ({precision:?}, off by {error:.1e}, allowed {tolerance:.1e})"
        ));
    }
}

/// Our term of their name. A number behind `#` is the place in the order of calls, where one name stands several times.
fn matching<'s>(case: &Case, score: &'s Score, theirs: &str) -> Option<&'s Term> {
    let (name, place) = match theirs.split_once('#') {
        Some((name, place)) => (name, place.parse::<usize>().ok()),
        None => (theirs, None),
    };
    let names = match case.family() {
        "nas_bench_nlp_rnn" => Recipe::names_from_json(&case.arch["recipe"]).unwrap(),
        _ => Vec::new(),
    };
    let wanted = our_names(name);
    let known = |term: &&Term| {
        let ours = match names.is_empty() {
            true => plain(&term.name),
            false => plain(&recurrent::rename(&term.name, &names)),
        };
        wanted.contains(&ours)
    };
    let mut named = score.terms.iter().filter(known);
    match (named.next(), named.next(), place) {
        (_, Some(_), Some(place)) => score.terms.get(place).filter(known),
        (first, ..) => first,
    }
}

/// What a term of theirs may be called here.
fn our_names(theirs: &str) -> Vec<String> {
    let theirs = theirs.split(" [").next().unwrap_or(theirs);
    let parts: Vec<&str> = theirs.split(['.', ' ', '[', ']']).collect();
    match parts[..] {
        ["theta", point, ""] => vec![format!("point {point}")],
        ["layer", block] => vec![format!("block {block}")],
        ["layer1" | "layer2" | "layer3"] => vec![theirs.replace("layer", "layer ")],
        ["blocks", block] => vec![format!("block {block}")],
        ["blocks", block, "activation_fn"] => vec![format!("activation of block {block}")],
        ["encoder", "layer", block] => {
            vec![format!("block {block}"), format!("activation of block {block}")]
        }
        ["encoder", "layer", block, map] => {
            vec![format!("encoder.layer.{block}.operation.operation.{map}")]
        }
        ["decoder", "weight", "(=", "tied", "encoder", "weight)"] => vec!["encoder".to_owned()],
        _ => vec![plain(theirs)],
    }
}

/// A layer's name without what only one side writes.
fn plain(name: &str) -> String {
    let name = name.split(" [").next().unwrap_or(name);
    let name = name.trim_end_matches(" diversity").trim_end_matches(" saliency");
    name.strip_suffix(".weight").unwrap_or(name).replace("patch_embed_super", "patch_embed")
}
