//! `foretell predict`: how good networks will be, from labels of a few.

use crate::args::{FitPredictor, PredictCommand, ShowPredictor, Suggest, UsePredictor};
use crate::count::read;
use crate::discover::Labelled;
use crate::output::{self, decimals, genes, number, short};
use foretell::architecture::Architecture;
use foretell::discover::Split;
use foretell::error::{Error, Result};
use foretell::predict::{self, Labels, Predictor, Saved, ScoreColumn};
use foretell::proxy::Request;
use foretell::score::{Options, Scorer, pass_memory};
use foretell::{rank, space};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;

pub fn run(command: &PredictCommand, json: bool) -> Result<()> {
    match command {
        PredictCommand::Fit(args) => fit(args, json),
        PredictCommand::Show(args) => show(args, json),
        PredictCommand::Use(args) => apply(args, json),
        PredictCommand::Suggest(args) => suggest(args, json),
    }
}

fn fit(args: &FitPredictor, json: bool) -> Result<()> {
    let parts = args.labels.at_budgets()?;
    let [labelled] = &parts[..] else {
        let families: Vec<&str> = parts.iter().map(|part| part.family.as_str()).collect();
        let message = format!("holds networks of {}: pick one by --where", families.join(" and "));
        return Err(Error::option("--benchmark", message));
    };
    let (sample, test) = split(args, labelled)?;
    let pick = |rows: &[usize]| -> (Vec<Architecture>, Vec<f64>) {
        rows.iter().map(|row| (labelled.architectures[*row].clone(), labelled.truth[*row])).unzip()
    };
    let (networks, truth) = pick(&sample);
    let tokens: Option<Vec<f64>> = match (&labelled.budget, args.train_tokens) {
        (Some(_), Some(_)) => {
            let message = "has no effect: the table says how long each network was trained";
            return Err(Error::option("--train-tokens", message));
        }
        (Some(budget), None) => Some(sample.iter().map(|row| budget[*row]).collect()),
        (None, tokens) => tokens.map(|tokens| vec![tokens as f64; sample.len()]),
    };
    let labels = match tokens {
        Some(tokens) => Labels::at_budgets(&networks, &truth, &tokens)?,
        None => Labels::new(&networks, &truth)?,
    };
    let columns = scores(&args.proxies, labels.architectures())?;
    let mut predictor = Predictor::fit(&labels.with_scores(columns)?)?;
    if let Some(tokens) = args.at {
        predictor = predictor.at(tokens as f64)?;
    }
    let (networks, truth) = pick(&test);
    let said: Vec<f64> =
        predictions(&predictor, &networks)?.iter().map(|prediction| prediction.value).collect();
    let tau = rank::kendall_tau_b(&said, &truth);
    let saved =
        Saved { predictor, target: labelled.target.clone(), lower_is_better: labelled.lower_is_better };
    if let Some(path) = &args.output {
        foretell::file::replace(path, saved.to_json().as_bytes())?;
    }
    if json {
        let mut shown = described(&saved);
        shown["benchmark"] = labelled.name.as_str().into();
        shown["test_networks"] = test.len().into();
        shown["test_tau"] = tau.into();
        output::line(shown);
        return Ok(());
    }
    print(&saved, labelled);
    if !test.is_empty() {
        output::line(format!("test       tau {} on {} other networks", decimals(tau), test.len()));
    }
    if let Some(path) = &args.output {
        let path = path.display();
        output::note(format!(
            "\nNext:\n  foretell search --proxy @{path}\n  foretell predict use {path} ARCH.json"
        ));
    }
    Ok(())
}

/// Rows to fit, and rows to test: those of other networks with the largest budget.
fn split(args: &FitPredictor, labelled: &Labelled) -> Result<(Vec<usize>, Vec<usize>)> {
    let rows = 0..labelled.truth.len();
    let Some(count) = args.count else { return Ok((rows.collect(), Vec::new())) };
    let ids: Vec<String> = labelled.architectures.iter().map(Architecture::id).collect();
    let mut networks = ids.clone();
    networks.sort();
    networks.dedup();
    if labelled.budget.is_none() {
        let split = Split::draw(ids.len(), count as usize, 0, args.seed)?;
        return Ok((split.sample, split.test));
    }
    let split = Split::draw(networks.len(), count as usize, 0, args.seed)?;
    let of = |places: &[usize]| -> Vec<usize> {
        let chosen: HashSet<&String> = places.iter().map(|place| &networks[*place]).collect();
        rows.clone().filter(|row| chosen.contains(&ids[*row])).collect()
    };
    let budget = labelled.budget.as_deref().unwrap_or_default();
    let most = budget.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let test = of(&split.test).into_iter().filter(|row| budget[*row] == most);
    Ok((of(&split.sample), test.collect()))
}

fn print(saved: &Saved, labelled: &Labelled) {
    output::line(format!(
        "labels     {} of {}, target {}",
        saved.predictor.check().labels,
        labelled.name,
        saved.target
    ));
    details(saved);
}

fn details(saved: &Saved) {
    let check = saved.predictor.check();
    output::line(format!("left out   tau {} by leave-one-out validation", decimals(check.tau)));
    let [half, most] = check.inside.map(|share| 100.0 * share);
    output::line(format!("intervals  {half:.0} % of labels are inside 50 %, {most:.0} % inside 90 %"));
    if let Some(tokens) = saved.predictor.tokens() {
        output::line(format!("predicts   after a budget of {}", output::grouped(tokens as u64)));
    }
    let models = saved.predictor.models();
    let shown: Vec<String> = models
        .iter()
        .take(5)
        .filter(|model| model.1 >= 0.005)
        .map(|(name, weight)| format!("{name} {:.0} %", 100.0 * weight))
        .collect();
    output::line(format!("models     {}", shown.join(", ")));
}

fn described(saved: &Saved) -> Value {
    let predictor = &saved.predictor;
    let models: Vec<Value> =
        predictor.models().iter().map(|(name, weight)| json!({"model": name, "weight": weight})).collect();
    json!({"target": saved.target, "lower_is_better": saved.lower_is_better, "check": predictor.check(),
        "models": models, "proxies": predictor.scores(), "budget": predictor.tokens()})
}

/// Scores of networks as features.
fn scores(list: &str, networks: &[Architecture]) -> Result<Vec<ScoreColumn>> {
    let requests = Request::parse_list(&foretell::predict::listed(list)?)?;
    if let Some(set) = requests.iter().find(|request| request.is_set_score()) {
        let message = format!("{} ranks a set and has no value of its own", set.label());
        return Err(Error::option("--proxies", message));
    }
    let scorer = Scorer::new(requests, Options { memory: pass_memory(), ..Options::default() });
    let seeds: Vec<u64> = (0..foretell::study::SEEDS).collect();
    let table = scorer.table(networks, &seeds, &|| ())?;
    let column = |place: usize| {
        let values = table.iter().map(|row| Ok(row.cells[place].mean()?.value));
        let name = scorer.requests()[place].label().to_owned();
        Ok(ScoreColumn { name, values: values.collect::<Result<_>>()? })
    };
    (0..scorer.requests().len()).map(column).collect()
}

fn predictions(predictor: &Predictor, networks: &[Architecture]) -> Result<Vec<predict::Prediction>> {
    networks.iter().try_for_each(|network| predictor.check_family(network))?;
    let columns = scores(&predictor.scores().join(","), networks)?;
    let row = |(place, network): (usize, &Architecture)| {
        let scores: Vec<f64> = columns.iter().map(|column| column.values[place]).collect();
        predictor.predict(network, &scores)
    };
    Ok(networks.iter().enumerate().map(row).collect())
}

fn show(args: &ShowPredictor, json: bool) -> Result<()> {
    let saved = Saved::read(&args.predictor)?;
    if json {
        output::line(described(&saved));
        return Ok(());
    }
    output::line(format!("labels     {}, target {}", saved.predictor.check().labels, saved.target));
    details(&saved);
    Ok(())
}

fn apply(args: &UsePredictor, json: bool) -> Result<()> {
    let saved = Saved::read(&args.predictor)?;
    let mut networks = Vec::new();
    for source in &args.architectures {
        networks.extend(read(source)?);
    }
    let said = predictions(&saved.predictor, &networks)?;
    let mut places: Vec<usize> = (0..networks.len()).collect();
    places.sort_by(|a, b| said[*b].value.total_cmp(&said[*a].value));
    let interval = |place: usize| {
        let mut ends = said[place].interval.map(|end| saved.as_given(end));
        ends.sort_by(f64::total_cmp);
        ends
    };
    if json {
        for (rank, place) in places.iter().enumerate() {
            output::line(json!({"rank": rank + 1, "id": networks[*place].id(), "target": saved.target,
                "predicted": saved.as_given(said[*place].value), "deviation": said[*place].deviation,
                "interval": interval(*place), "architecture": space::write_architecture(&networks[*place])}));
        }
        return Ok(());
    }
    let row = |place: &usize| {
        let [low, high] = interval(*place);
        let network = &networks[*place];
        vec![
            number(saved.as_given(said[*place].value)),
            number(said[*place].deviation),
            format!("{} to {}", number(low), number(high)),
            short(network.params().total),
            genes(network),
        ]
    };
    let header = [saved.target.as_str(), "deviation", "90 %", "params", "architecture"];
    output::line(output::table(&header, places.iter().map(row).collect()));
    Ok(())
}

/// How many networks suggestions are chosen from.
const POOL: u64 = 4000;

fn suggest(args: &Suggest, json: bool) -> Result<()> {
    let space = space::open(&args.space)?;
    let pool = predict::pool(&*space, &args.limits.limits(), POOL, args.seed)?;
    let places = match &args.predictor {
        Some(path) => proposed(path, &pool, args.n as usize)?,
        None => predict::design(&pool, args.n as usize),
    };
    for place in places {
        match json {
            true => output::line(Value::Object(space::write_architecture(&pool[place]))),
            false => {
                output::line(format!("{:>7}  {}", short(pool[place].params().total), genes(&pool[place])))
            }
        }
    }
    if json {
        return Ok(());
    }
    output::note(
        "\nTrain each and write one line per network with its result, e.g. {…, \"valid_loss\": 3.2}, then\n  \
        foretell predict fit --benchmark RESULTS.jsonl -o predictor.json",
    );
    Ok(())
}

fn proposed(path: &Path, pool: &[Architecture], n: usize) -> Result<Vec<usize>> {
    let saved = Saved::read(path)?;
    pool.first().map_or(Ok(()), |network| saved.predictor.check_family(network))?;
    predict::propose(&saved.predictor, pool, n)
}
