//! Passes and their results as data: what any proxy needs on any family is read back as it was written, to the last bit.

use super::proxies::networks;
use foretell::architecture::Architecture;
use foretell::network::Weights;
use foretell::probe::{
    self, AnyWeights, KeptValue, Number, Numbers, Pass, PassResult, Setting, View, Worker,
};
use foretell::proxy::{CATALOGUE, Request};
use foretell::seed::Seed;
use serde_json::{Value, json};

/// Every pass that a proxy of the catalogue or one of its variants needs.
fn needed(network: &Architecture, options: &str) -> Vec<Pass> {
    let variants = CATALOGUE.iter().flat_map(|entry| {
        let variants = entry.about.variants.iter().map(|(variant, _)| format!("variant={variant}"));
        variants.chain([String::new()]).map(|variant| (entry.about, variant))
    });
    let requests = variants.map(|(about, variant)| {
        let options = if about.runs() { options } else { "" };
        Request::parse(&format!("{}[{variant},{options}]", about.name)).unwrap()
    });
    requests.flat_map(|request| request.needs(network)).collect()
}

#[test]
fn passes_are_read_as_they_are_written() {
    let mut count = 0;
    for network in networks() {
        for pass in needed(&network, "") {
            let text = serde_json::to_string(&pass).unwrap();
            assert_eq!(serde_json::from_str::<Pass>(&text).unwrap(), pass, "{text}");
            assert!(
                !text.contains(|c: char| c.is_ascii_uppercase() || c == '_'),
                "{text} is not in kebab-case"
            );
            count += 1;
        }
    }
    assert!(count > 400, "{count} passes");
}

/// What is misspelt or left out is refused, inside as well.
#[test]
fn unknown_fields_are_refused() {
    let whole = serde_json::to_value(Pass::forward()).unwrap();
    let with = |key: &str, value: Value| {
        let mut object = whole.as_object().unwrap().clone();
        object.insert(key.to_owned(), value);
        serde_json::from_value::<Pass>(Value::Object(object))
    };
    with("derivative", json!({"curve": {"points": 4, "circles": 1}})).unwrap();
    with("derivative", json!({"samples": ["gram", "linear"]})).unwrap();
    with("derivative", json!({"trace": {"mean": true, "logits": false, "probes": null}})).unwrap();
    assert!(with("lose", json!("sum")).is_err());
    assert!(with("loss", json!("summ")).is_err());
    assert!(with("derivative", json!({"curve": {"points": 4, "circles": 1, "turns": 1}})).is_err());
    assert!(with("derivative", json!({"trace": {"mean": true, "logits": false, "probe": 1}})).is_err());
    assert!(serde_json::from_value::<Pass>(json!({"loss": "sum"})).is_err());
}

/// All numbers of a result with their precision.
fn bits(result: &PassResult) -> Vec<(String, Vec<u64>)> {
    let list = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    let kept = |(mark, value): &(_, KeptValue)| {
        let (view, single) = (value.view(), matches!(value.view(), View::F32(_)));
        (format!("{mark:?} {single} {} x {}", view.rows(), view.cols()), list(&view.to_vec()))
    };
    let gradients = result.gradients().map(|gradients| match gradients {
        Numbers::F32(data) => ("f32".to_owned(), data.iter().map(|x| u64::from(x.to_bits())).collect()),
        Numbers::F64(data) => ("f64".to_owned(), list(data)),
    });
    let rest = [
        ("loss".to_owned(), list(result.loss.as_slice())),
        ("numbers".to_owned(), list(&result.numbers)),
        ("batch".to_owned(), vec![result.batch as u64, result.seconds.to_bits()]),
    ];
    let traces = result.traces.iter().map(|row| ("trace".to_owned(), list(row)));
    let values = result.values.iter().chain(&result.value_gradients).map(kept);
    values.chain(gradients).chain(rest).chain(traces).collect()
}

fn run<S: Number>(network: &Architecture, any: fn(&Weights<S>) -> AnyWeights<'_>) -> usize {
    let weights: Weights<S> = Weights::shared(network, Seed(0));
    let (setting, mut worker) = (Setting::new(network, Seed(0)), Worker::<S>::default());
    let mut count = 0;
    for pass in probe::union(needed(network, "batch=4")) {
        let Ok(result) = worker.run(&setting, &weights, &pass) else { continue };
        let text = serde_json::to_string(&result).unwrap();
        let read: PassResult = serde_json::from_str(&text).unwrap();
        assert!(bits(&read) == bits(&result), "{} {pass:?}", network.family().name());
        read.check(&any(&weights)).unwrap();
        count += 1;
    }
    count
}

#[test]
fn results_are_read_as_they_are_written() {
    for network in networks() {
        let counts =
            [run::<f32>(&network, |w| AnyWeights::F32(w)), run::<f64>(&network, |w| AnyWeights::F64(w))];
        assert!(counts.iter().all(|count| *count > 10), "{}: {counts:?}", network.family().name());
    }
}
