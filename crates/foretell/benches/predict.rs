//! What a predictor is worth on tables of trained networks: `cargo bench --bench predict`.
//!
//! For each table and number of labels, 20 draws: Kendall's tau on the networks that have no label (mean and tenth
//! percentile), the share of pairs of nearly equal size in the right order, the share of truths inside 50 % and 90 %
//! intervals, and the milliseconds of a fit. Beside it the best count and the best score of the shape on the whole table,
//! chosen with all labels, and calibration with as many labels. `-- TABLE…` runs some tables, `--scores LIST` adds scores as
//! features, `--set KEY=VALUE` sets a field of every network, `--suggest` compares networks chosen by `predict suggest` with random
//! ones instead. Tables are read from FORETELL_BENCHMARKS; those that ship are always there.

use foretell::architecture::Architecture;
use foretell::benchmark::{self, Benchmark};
use foretell::discover::{Candidate, Split, calibrate};
use foretell::predict::{Labels, Predictor, ScoreColumn, design, propose};
use foretell::proxy::{CATALOGUE, Request};
use foretell::rank;
use foretell::score::{Options, Scorer};
use rayon::prelude::*;
use std::time::Instant;

const DRAWS: u64 = 20;
const SIZES: [usize; 4] = [10, 20, 30, 50];

fn main() {
    let folder = benchmark::folder(None).expect("FORETELL_BENCHMARKS names a folder");
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let option =
        |name: &str| arguments.iter().position(|word| word == name).map(|at| arguments[at + 1].clone());
    let (scores, set) = (option("--scores"), option("--set"));
    let suggested = arguments.iter().any(|word| word == "--suggest");
    let given =
        |word: &&String| !word.starts_with("--") && ![&scores, &set].contains(&&Some((*word).clone()));
    let asked: Vec<&String> = arguments.iter().filter(given).collect();
    let names = benchmark::names(&folder).expect("tables");
    for name in names.iter().filter(|name| asked.is_empty() || asked.contains(name)) {
        match Benchmark::load(&folder, name) {
            Ok(table) if table.budget().is_some() => {
                println!("{name}: several budgets, see benches/curves.rs")
            }
            Ok(table) => changed(table, set.as_deref())
                .by_family()
                .iter()
                .for_each(|part| run(part, scores.as_deref(), suggested)),
            Err(error) => println!("{name}: {error}"),
        }
    }
}

fn changed(table: Benchmark, set: Option<&str>) -> Benchmark {
    let Some((key, value)) = set.and_then(|set| set.split_once('=')) else { return table };
    table.with(key, &value.into()).expect("a field and its value")
}

fn run(table: &Benchmark, scores: Option<&str>, suggested: bool) {
    let targets: Vec<_> = table.columns.iter().filter(|column| column.is_label()).collect();
    for target in targets.into_iter().take(4) {
        let sign = if target.lower_is_better { -1.0 } else { 1.0 };
        let rows = table.architectures.iter().zip(&target.values);
        let (networks, truth): (Vec<Architecture>, Vec<f64>) =
            rows.filter_map(|(network, value)| Some((network.clone(), sign * (*value)?))).unzip();
        if truth.len() < 40 {
            continue;
        }
        let name = format!("{} {}", table.name, target.name);
        match suggested {
            true => suggest(&name, &networks, &truth),
            false => one(&name, &networks, &truth, scores),
        }
    }
}

/// Twelve labels chosen to cover the table, or at random: tau on the others. Then twelve more, three at a time, by expected
/// improvement or at random: how many of the best tenth are found. Means over 20 draws of the half of the table to choose from.
fn suggest(name: &str, networks: &[Architecture], truth: &[f64]) {
    const FIRST: usize = 12;
    const MORE: usize = 12;
    const STEP: usize = 3;
    let one = |seed: u64| {
        let half = Split::draw(truth.len(), truth.len() / 2, 0, seed).expect("enough networks");
        let of = |rows: &[usize]| rows.iter().map(|row| networks[*row].clone()).collect::<Vec<_>>();
        let (pool, test) = (half.sample, half.test);
        let fit = |rows: &[usize]| {
            let labels = Labels::new(&of(rows), &rows.iter().map(|row| truth[*row]).collect::<Vec<_>>());
            Predictor::fit(&labels.expect("labels")).expect("a fit")
        };
        let tau = |predictor: &Predictor| {
            let said: Vec<f64> = test.iter().map(|row| predictor.expect(&networks[*row], &[])).collect();
            let truth: Vec<f64> = test.iter().map(|row| truth[*row]).collect();
            rank::kendall_tau_b(&said, &truth).unwrap_or(0.0)
        };
        let spread: Vec<usize> = design(&of(&pool), FIRST).iter().map(|place| pool[*place]).collect();
        let random = pool[..FIRST].to_vec();
        let mut best: Vec<f64> = pool.iter().map(|row| truth[*row]).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let bar = best[(best.len() / 10).saturating_sub(1)];
        let good = |rows: &[usize]| rows.iter().filter(|row| truth[**row] >= bar).count() as f64;
        let mut chosen = spread.clone();
        while chosen.len() < FIRST + MORE {
            let left: Vec<usize> = pool.iter().copied().filter(|row| !chosen.contains(row)).collect();
            let next = propose(&fit(&chosen), &of(&left), STEP).expect("proposals");
            chosen.extend(next.iter().map(|place| left[*place]));
        }
        let chance = (FIRST + MORE) as f64 / pool.len() as f64 * good(&pool);
        [tau(&fit(&spread)), tau(&fit(&random)), good(&chosen), chance, good(&pool)]
    };
    let rows: Vec<[f64; 5]> = (0..DRAWS).into_par_iter().map(one).collect();
    let mean = |place: usize| rows.iter().map(|row| row[place]).sum::<f64>() / rows.len() as f64;
    println!(
        "| {name} | {:.3} | {:.3} | {:.1} of {:.0} | {:.1} |",
        mean(0),
        mean(1),
        mean(2),
        mean(4),
        mean(3)
    );
}

/// Scores of all networks, those that fail somewhere left out.
fn scored(networks: &[Architecture], list: &str) -> Vec<Candidate> {
    let requests = Request::parse_list(list).expect("known proxies");
    let requests: Vec<Request> = requests.into_iter().filter(|request| !request.is_set_score()).collect();
    let scorer = Scorer::new(requests, Options::default());
    let rows = scorer.table(networks, &[0], &|| ()).expect("scores");
    let column = |place: usize| {
        let values = rows.iter().map(|row| row.cells[place].mean().ok().map(|score| score.value));
        let scores = values.collect::<Option<Vec<f64>>>()?;
        let about = scorer.requests()[place].about();
        let label = scorer.requests()[place].label().to_owned();
        scores.iter().all(|score| score.is_finite()).then_some(Candidate {
            label,
            trivial: about.trivial,
            scores,
        })
    };
    (0..scorer.requests().len()).filter_map(column).collect()
}

fn one(name: &str, networks: &[Architecture], truth: &[f64], scores: Option<&str>) {
    let trivial: Vec<&str> =
        CATALOGUE.iter().map(|e| e.about).filter(|a| a.trivial).map(|a| a.name).collect();
    let shape = scored(networks, &format!("shape,{}", trivial.join(",")));
    let best = |trivial: bool| {
        let taus = shape.iter().filter(|c| c.trivial == trivial);
        let taus = taus.filter_map(|c| Some((rank::kendall_tau_b(&c.scores, truth)?, c.label.clone())));
        taus.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
    };
    let (count, score) = (best(true), best(false));
    println!(
        "{name}: {} networks; best count {} {:.3}, best score of the shape {} {:.3}",
        truth.len(),
        count.1,
        count.0,
        score.1,
        score.0
    );
    let extra = scores.map(|list| scored(networks, list)).unwrap_or_default();
    let sizes: Vec<f64> = networks.iter().map(|network| network.params().total as f64).collect();
    for labels in SIZES {
        if truth.len() < labels + 20 {
            continue;
        }
        let draw = |seed: u64| draw(networks, truth, &sizes, (&extra, &shape), labels, seed);
        let rows: Vec<[f64; 6]> = (0..DRAWS).into_par_iter().map(draw).collect();
        let mean = |place: usize| rows.iter().map(|row| row[place]).sum::<f64>() / rows.len() as f64;
        let mut taus: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        taus.sort_by(f64::total_cmp);
        println!(
            "  {labels:3} labels: tau {:.3} (tenth {:.3}), pairs {:.3}, calibrated {:.3}, inside {:.2} {:.2}, {:.0} ms",
            mean(0),
            taus[taus.len() / 10],
            mean(1),
            mean(2),
            mean(3),
            mean(4),
            mean(5)
        );
    }
}

/// Tau, agreement on close pairs, tau of calibration, shares inside both intervals, milliseconds.
fn draw(
    networks: &[Architecture],
    truth: &[f64],
    sizes: &[f64],
    (extra, shape): (&[Candidate], &[Candidate]),
    labels: usize,
    seed: u64,
) -> [f64; 6] {
    let split = Split::draw(truth.len(), labels, 0, seed).expect("enough networks");
    let pick = |values: &[f64], rows: &[usize]| rows.iter().map(|row| values[*row]).collect::<Vec<f64>>();
    let sample: Vec<Architecture> = split.sample.iter().map(|row| networks[*row].clone()).collect();
    // Networks that are there twice are labelled once: scores are given for all rows of the first kind.
    let start = Instant::now();
    let known = Labels::new(&sample, &pick(truth, &split.sample)).expect("labels");
    let place =
        |network: &Architecture| networks.iter().position(|other| other == network).expect("of the table");
    let columns = extra.iter().map(|column| ScoreColumn {
        name: column.label.clone(),
        values: known.architectures().iter().map(|network| column.scores[place(network)]).collect(),
    });
    let known = known.clone().with_scores(columns.collect()).expect("scores");
    let predictor = Predictor::fit(&known).expect("a fit");
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let said: Vec<_> = split
        .test
        .iter()
        .map(|row| {
            let scores: Vec<f64> = extra.iter().map(|column| column.scores[*row]).collect();
            predictor.predict(&networks[*row], &scores)
        })
        .collect();
    let test = pick(truth, &split.test);
    let means: Vec<f64> = said.iter().map(|said| said.normal[0]).collect();
    let inside = |low: &dyn Fn(usize) -> [f64; 2]| {
        let held = test.iter().enumerate().filter(|(row, y)| (low(*row)[0]..=low(*row)[1]).contains(*y));
        held.count() as f64 / test.len() as f64
    };
    let half = |row: usize| {
        let [mean, deviation] = said[row].normal;
        [predictor.label(mean - 0.6745 * deviation), predictor.label(mean + 0.6745 * deviation)]
    };
    let candidates: Vec<Candidate> =
        shape.iter().map(|c| Candidate { scores: pick(&c.scores, &split.sample), ..c.clone() }).collect();
    let calibrated = calibrate(&candidates, &pick(truth, &split.sample), 0).expect("a ladder");
    let calibrated = blended(calibrated.proxy(), networks, &split.test);
    [
        rank::kendall_tau_b(&means, &test).unwrap_or(0.0),
        pairs(&means, &test, &pick(sizes, &split.test)),
        rank::kendall_tau_b(&calibrated, &test).unwrap_or(0.0),
        inside(&half),
        inside(&|row| said[row].interval),
        milliseconds,
    ]
}

fn blended(proxy: &str, networks: &[Architecture], rows: &[usize]) -> Vec<f64> {
    let scorer = Scorer::new(vec![Request::parse(proxy).expect("a proxy")], Options::default());
    let networks: Vec<Architecture> = rows.iter().map(|row| networks[*row].clone()).collect();
    let table = scorer.table(&networks, &[0], &|| ()).expect("scores");
    let column: Vec<_> = table.iter().map(|row| &row.cells[0]).collect();
    scorer.order(0, &column).into_iter().map(|score| score.unwrap_or(f64::NAN)).collect()
}

/// The share of pairs within a tenth of size that are ordered as training did.
fn pairs(said: &[f64], truth: &[f64], sizes: &[f64]) -> f64 {
    let (mut right, mut all) = (0.0, 0.0);
    for i in 0..truth.len() {
        for j in 0..i {
            if (sizes[i] - sizes[j]).abs() < 0.1 * sizes[i].max(sizes[j]) && truth[i] != truth[j] {
                all += 1.0;
                right += f64::from(u8::from((said[i] > said[j]) == (truth[i] > truth[j])));
            }
        }
    }
    right / all
}
