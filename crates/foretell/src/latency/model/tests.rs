use super::*;
use crate::space;
use rand::RngExt;

/// Networks of a preset with seconds that are a known sum of their terms, times a noise of ±`noise`.
fn measured(phase: Phase, noise: f64, count: u64) -> Vec<(Architecture, f64)> {
    let space = space::preset("gpt2").unwrap();
    let mut rng = Seed(1).stream("noise", 0);
    let one = |i: u64| {
        let architecture = space.sample(&mut Seed(2).stream("sample", i));
        let x = terms(&architecture, phase);
        let seconds = 1e-4 + 2e-4 * x[1] + 1e-5 * x[2] + x[4] / 3e9 + x[5] / 4e10;
        (architecture, seconds * (1.0 + noise * (2.0 * rng.random::<f64>() - 1.0)))
    };
    (0..count).map(one).collect()
}

/// Noise of ±4 %, 2 % in the median: left-out networks are off by about as much, and without noise by nothing.
#[test]
fn a_sum_over_layers_is_found() {
    for phase in [Phase::Prefill, Phase::Decode] {
        let exact = Model::from_measurements(phase, &measured(phase, 0.0, 32), None).unwrap();
        assert!(exact.error_90 < 0.01, "{exact:?}");
        let noisy = Model::from_measurements(phase, &measured(phase, 0.04, 64), None).unwrap();
        assert!((0.005..0.05).contains(&noisy.error) && noisy.error_90 < 0.12, "{noisy:?}");
        assert_eq!((noisy.phase(), noisy.samples), (phase, 64));
    }
    assert!(Model::from_measurements(Phase::Prefill, &measured(Phase::Prefill, 0.0, 15), None).is_none());
}

/// The same measurements give the same bits, also through JSON; what was not measured does not count.
#[test]
fn bits_survive_json() {
    let mut seen = measured(Phase::Decode, 0.04, 32);
    let model = Model::from_measurements(Phase::Decode, &seen, Some(0.01)).unwrap();
    let text = serde_json::to_string(&model).unwrap();
    let read: Model = serde_json::from_str(&text).unwrap();
    assert_eq!(read, model);
    for (architecture, _) in &seen {
        assert_eq!(read.predict(architecture).to_bits(), model.predict(architecture).to_bits());
    }
    seen.push((seen[0].0.clone(), f64::NAN));
    seen.push((seen[0].0.clone(), 0.0));
    assert_eq!(Model::from_measurements(Phase::Decode, &seen, Some(0.01)), Some(model));
}

/// Networks above the median take 1.5 times what the sum says, which no sum can follow: a fit near a small limit is
/// closer there than a fit to all, and says so.
#[test]
fn measurements_near_the_limit_count_more() {
    let mut seen = measured(Phase::Prefill, 0.0, 48);
    seen.sort_by(|a, b| a.1.total_cmp(&b.1));
    seen[24..].iter_mut().for_each(|(_, seconds)| *seconds *= 1.5);
    let near = seen[8].1;
    let small = &seen[4..14];
    let [all, close] =
        [None, Some(near)].map(|near| Model::from_measurements(Phase::Prefill, &seen, near).unwrap());
    let [far_off, off] = [&all, &close].map(|model| model.errors(small).unwrap().median);
    assert!(off < 0.5 * far_off, "{off} {far_off}");
    assert!(close.error < all.error, "{} {}", close.error, all.error);
}

/// Everything takes a tenth longer than predicted: bias and guard are a tenth. The guard has a floor and a ceiling.
#[test]
fn guard_follows_the_late_side() {
    let seen = measured(Phase::Prefill, 0.04, 32);
    let model = Model::from_measurements(Phase::Prefill, &seen, None).unwrap();
    let late = |factor: f64| -> Vec<(Architecture, f64)> {
        seen.iter()
            .map(|(architecture, _)| (architecture.clone(), factor * model.predict(architecture)))
            .collect()
    };
    let tenth = model.errors(&late(1.1)).unwrap();
    assert!((tenth.bias - 0.1).abs() < 1e-9 && (model.guard(Some(&tenth)) - 0.1).abs() < 1e-9);
    assert_eq!(model.guard(model.errors(&late(0.8)).as_ref()), model.error);
    assert_eq!(model.guard(model.errors(&late(3.0)).as_ref()), 0.5);
    assert_eq!((model.guard(None), model.errors(&[])), (model.error_90, None));
}

#[test]
fn the_sample_is_a_function_of_the_seed() {
    let (space, limits) = (space::preset("bert").unwrap(), Limits::default());
    let [one, again, other] = [3, 3, 4].map(|seed| Model::sample(&*space, &limits, seed).unwrap());
    assert_eq!((one.len(), &one), (32, &again));
    assert_ne!(one, other);
}
