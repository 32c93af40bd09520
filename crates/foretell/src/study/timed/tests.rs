//! A timed search with a trainer that computes what training would give.

use super::{Time, Timed};
use crate::architecture::Architecture;
use crate::error::Error;
use crate::space::{self, Bound, Limits, Space};
use crate::store::Store;
use crate::study::{Evaluator, Failure, Settings, Study, StudyBuilder, View, rungs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SPACE: &str = "name = 'toy'\nfamily = 'gpt2'\n[fixed]\nvocab_size = 64\ncontext_len = 16\ncutoffs = []\n[choices]\n\
    n_layer = [1, 2, 3, 4]\nd_model = [8, 16, 24, 32]\nn_head = [1, 2]\nd_inner = [8, 16, 32, 64, 128]";

/// Loss falls with width and, after long training, with depth; draws differ by a little. It breaks down when its counter is
/// used up.
#[derive(Clone)]
struct Toy {
    left: Arc<AtomicU64>,
    length: (u64, u64),
}

impl Toy {
    fn new(left: u64) -> Self {
        Toy { left: Arc::new(AtomicU64::new(left)), length: (0, 0) }
    }

    fn loss(network: &Architecture, (steps, draw): (u64, u64)) -> f64 {
        let width: f64 = network.to_json()["d_model"].as_f64().unwrap();
        let depth = network.depth() as f64;
        let inner = network.params().total as f64 / 1e5;
        let late = 1.0 - (-(steps as f64) / 40.0).exp();
        let noise = (network.params().total.wrapping_mul(31) + 7 * draw) % 13;
        8.0 - late * (width.ln() + depth.ln() + inner) - 0.1 * width.ln() + 1e-3 * noise as f64
    }
}

impl Evaluator for Toy {
    fn label(&self) -> String {
        format!("toy{}{}", rungs::said(self.length.0, self.length.1), crate::study::LEAST)
    }

    fn evaluate(&self, network: &Architecture) -> Result<f64, Failure> {
        let spend = |left: u64| left.checked_sub(1);
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend) {
            Ok(_) => Ok(-Self::loss(network, self.length)),
            Err(_) => Err(Failure::Machine(Error::NotEvaluated { reason: "no power".into() })),
        }
    }

    fn trained_for(&self, steps: u64, draw: u64) -> Option<Arc<dyn Evaluator>> {
        Some(Arc::new(Toy { left: self.left.clone(), length: (steps, draw) }))
    }

    fn side_by_side(&self) -> bool {
        true
    }
}

fn settings(trainer: impl Evaluator + 'static, steps: u64) -> Settings {
    let space: Arc<dyn Space> = space::parse("toy", SPACE).unwrap();
    let limits = Limits { params: Bound { min: 0, max: 40_000 }, ..Limits::default() };
    let settings = Settings { limits, evaluator: Some(Arc::new(trainer)), ..Settings::new(space) };
    settings.timed(Time::Steps(steps))
}

fn run(settings: Settings, store: &mut Store) -> crate::error::Result<Study> {
    StudyBuilder::from(settings).in_store(store).run()
}

/// Stopped anywhere and resumed, by any number of threads, a search is the same; and it finds about the best network there is.
#[test]
fn a_search_that_was_stopped_ends_alike() {
    let mut store = Store::memory().unwrap();
    let whole = run(settings(Toy::new(u64::MAX), 1600), &mut store).unwrap();
    let mut stopped = Store::memory().unwrap();
    for (left, threads) in [(12, 2), (20, 3)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let error = pool.install(|| run(settings(Toy::new(left), 1600), &mut stopped)).unwrap_err();
        assert!(error.to_string().contains("no power"), "{error}");
    }
    let resumed = run(settings(Toy::new(u64::MAX), 1600), &mut stopped).unwrap();
    assert_eq!((&resumed.hash, resumed.answer), (&whole.hash, whole.answer.clone()));
    assert!(resumed.resumed > 15);
    let again = run(settings(Toy::new(0), 1600), &mut stopped).unwrap();
    assert_eq!(
        (again.hash, again.resumed),
        (whole.hash.clone(), whole.progress.done),
        "nothing is trained again"
    );

    let view = View::load(&store, &whole.name).unwrap();
    let timed = Timed::of(&view).unwrap().unwrap();
    assert!(view.value(0, 0).is_some(), "the prior score is stored");
    let winner = whole.winner.unwrap().architecture;
    let full = timed.rungs[2];
    let space = space::parse("toy", SPACE).unwrap();
    let inside = space.within(&view.settings.limits).unwrap();
    let loss = |network: &Architecture| Toy::loss(network, (full, 0));
    let drawn =
        (0..2000).map(|i| loss(&inside.sample(false, &mut crate::seed::Seed(1).stream("x", i)).unwrap()));
    let better = drawn.filter(|other| *other < loss(&winner)).count();
    assert!(better <= 4, "{better} of 2000 random networks are better");
    assert_eq!(view.best(1), [whole.answer.winner.unwrap() as usize]);
    let against = timed.against.unwrap();
    assert_eq!(
        (against.trials[0], against.values[0].len(), against.values[1].len()),
        (view.winner().unwrap(), 3, 3)
    );
    assert!(timed.check.is_some() && !timed.slopes.is_empty());
}

/// Each length costs what it may, and the work is spent but for less than a full run.
#[test]
fn the_work_is_spent_as_planned() {
    let mut store = Store::memory().unwrap();
    let done = run(settings(Toy::new(u64::MAX), 3000), &mut store).unwrap();
    let view = View::load(&store, &done.name).unwrap();
    let timed = Timed::of(&view).unwrap().unwrap();
    let work = view.settings.work.unwrap();
    let cost = |steps: u64| {
        let runs = timed.runs.iter().filter(|run| run.steps == steps);
        runs.map(|run| work.cost(&view.architecture(run.trial).unwrap(), steps)).sum::<f64>() / work.budget
    };
    let spent = timed.rungs.map(cost);
    assert!(spent[0] <= 2.01 / 21.0 && spent[0] > 1.6 / 21.0, "{spent:?}");
    assert!(spent[1] <= 3.5 / 21.0 && spent[1] > 2.5 / 21.0, "{spent:?}");
    let all = spent.iter().sum::<f64>();
    assert!(all <= 1.01 && all > 0.9, "{spent:?}");
}

#[test]
fn what_cannot_be_done_is_named() {
    let refused = |settings: Settings| run(settings, &mut Store::memory().unwrap()).unwrap_err().to_string();
    let short = refused(settings(Toy::new(u64::MAX), 100));
    assert!(short.contains("too short for 43 runs of at least 8 steps: give 1512 steps"), "{short}");
    let nobody = refused(Settings { evaluator: None, ..settings(Toy::new(0), 2000) });
    assert!(nobody.contains("somebody who trains"), "{nobody}");
    let small = Limits { params: Bound { min: 0, max: 10 }, ..Limits::default() };
    let nothing = refused(Settings { limits: small, ..settings(Toy::new(0), 2000) });
    assert!(nothing.contains("nothing in space 'toy'"), "{nothing}");
    let latency = refused(Settings { latency: Some(1.0), ..settings(Toy::new(0), 2000) });
    assert!(latency.contains("limit multiply-adds"), "{latency}");
    let broken = refused(Settings { time: Some(Time::Seconds(5.0)), ..settings(Toy::new(0), 2000) });
    assert!(broken.contains("no power"), "{broken}");
}
