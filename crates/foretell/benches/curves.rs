//! What short training is worth: `cargo bench --bench curves`.
//!
//! The networks of a table with several budgets (gpt2-regimes) are ranked after little training, and compared with what the
//! largest budget gave. Each row has the compute spent, in full trainings; Kendall's tau with the truth; and how much worse
//! than the best network the one on top is, in nats. Strategies that draw networks are means over 20 draws. The law of the shape
//! that predictors lean on is learned without this table.

#[path = "law/fit.rs"]
#[allow(dead_code)]
mod fit;

use foretell::architecture::Architecture;
use foretell::benchmark::{self, Benchmark};
use foretell::predict::{Labels, Predictor};
use foretell::proxy::{Request, shape_law_basis};
use foretell::rank;
use rayon::prelude::*;
use std::collections::HashMap;

const DRAWS: u64 = 20;

/// Networks and their negative losses after each budget, shortest first.
struct Table {
    networks: Vec<Architecture>,
    budgets: Vec<f64>,
    labels: Vec<Vec<f64>>,
    law: [f64; fit::N],
}

fn main() {
    let folder = benchmark::folder(None).expect("FORETELL_BENCHMARKS names a folder");
    let mut table = Table::read(&Benchmark::load(&folder, "gpt2-regimes").expect("a table that ships"));
    let others = fit::tables(&folder);
    table.law =
        fit::fit(&others.iter().filter(|other| !other.name.starts_with("gpt2-regimes")).collect::<Vec<_>>());
    println!("| ranked by | full trainings | tau | best on top, nats worse |\n|---|---|---|---|");
    let full = table.budgets[table.budgets.len() - 1];
    for name in ["params", "width", "nsc", "lpzero-closed", "sept"] {
        let request = Request::parse(name).expect("a proxy");
        let scores: Vec<f64> =
            table.networks.iter().map(|network| request.of_shape(network).expect("a score")).collect();
        table.print(name, 0.0, &scores);
    }
    let law = |network: &Architecture| {
        fit::dot(&shape_law_basis(network, Some(full)).expect("a decoder"), &table.law)
    };
    table.print("law of the shape", 0.0, &table.networks.iter().map(law).collect::<Vec<_>>());
    let n = table.networks.len() as f64;
    for (place, budget) in table.budgets.iter().enumerate().rev().skip(1).rev() {
        table.print(&format!("loss after {budget} tokens"), n * budget / full, &table.labels[place]);
    }
    table.halving();
    for count in [6, 12, 18] {
        table.drawn(&format!("predictor, {count} full trainings"), count, &[]);
    }
    for short in [&[1][..], &[3], &[1, 3], &[3, 5]] {
        for count in [0, 6, 12] {
            let after: Vec<String> = short.iter().map(|place| table.budgets[*place].to_string()).collect();
            let name =
                format!("joint predictor, all after {} tokens, {count} full trainings", after.join(", "));
            table.drawn(&name, count, short);
        }
    }
}

impl Table {
    fn read(table: &Benchmark) -> Self {
        let (loss, tokens) = (table.column("valid_loss").unwrap(), table.budget().unwrap());
        let mut rows: HashMap<String, (Architecture, Vec<(f64, f64)>)> = HashMap::new();
        let mut order = Vec::new();
        for (row, network) in table.architectures.iter().enumerate() {
            let entry = rows.entry(network.id()).or_insert_with(|| {
                order.push(network.id());
                (network.clone(), Vec::new())
            });
            entry.1.push((tokens.values[row].unwrap(), -loss.values[row].unwrap()));
        }
        rows.values_mut().for_each(|(_, labels)| labels.sort_by(|a, b| a.0.total_cmp(&b.0)));
        let budgets: Vec<f64> = rows[&order[0]].1.iter().map(|(tokens, _)| *tokens).collect();
        let labels =
            (0..budgets.len()).map(|place| order.iter().map(|id| rows[id].1[place].1).collect()).collect();
        Table {
            networks: order.iter().map(|id| rows[id].0.clone()).collect(),
            budgets,
            labels,
            law: [0.0; fit::N],
        }
    }

    fn truth(&self) -> &[f64] {
        &self.labels[self.labels.len() - 1]
    }

    fn tau_and_regret(&self, scores: &[f64]) -> (f64, f64) {
        let truth = self.truth();
        let top = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap();
        let best = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (rank::kendall_tau_b(scores, truth).unwrap(), best - truth[top])
    }

    fn print(&self, name: &str, cost: f64, scores: &[f64]) {
        let (tau, regret) = self.tau_and_regret(scores);
        println!("| {name} | {cost:.2} | {tau:.3} | {regret:.3} |");
    }

    /// A third of the networks goes on to about three times the budget: ordered by how far they got, then by the loss there.
    fn halving(&self) {
        let n = self.networks.len();
        let full = self.budgets[self.budgets.len() - 1];
        let (mut alive, mut spent, mut scores) = ((0..n).collect::<Vec<usize>>(), 0.0, vec![0.0; n]);
        let mut rungs = vec![3];
        while let Some(next) = (0..self.budgets.len())
            .find(|place| self.budgets[*place] >= 2.9 * self.budgets[*rungs.last().unwrap()])
        {
            rungs.push(next);
        }
        for (height, place) in rungs.iter().enumerate() {
            spent += alive.len() as f64 * self.budgets[*place] / full;
            alive.sort_by(|a, b| self.labels[*place][*b].total_cmp(&self.labels[*place][*a]));
            alive
                .iter()
                .for_each(|network| scores[*network] = 100.0 * height as f64 + self.labels[*place][*network]);
            alive.truncate(alive.len().div_ceil(3));
        }
        self.print("successive halving, each run from scratch", spent, &scores);
    }

    /// All networks after short budgets, and some chosen at random after the full one. Networks with a full label keep it.
    fn drawn(&self, name: &str, count: usize, short: &[usize]) {
        let n = self.networks.len();
        let last = self.budgets.len() - 1;
        let one = |draw: u64| {
            let mut places: Vec<usize> = (0..n).collect();
            let key = |place: &usize| blake3::hash(format!("{draw} {place}").as_bytes()).to_hex().to_string();
            places.sort_by_key(key);
            let full = &places[..count];
            let mut rows: Vec<(usize, usize)> =
                short.iter().flat_map(|budget| (0..n).map(move |network| (network, *budget))).collect();
            rows.extend(full.iter().map(|network| (*network, last)));
            let networks: Vec<Architecture> =
                rows.iter().map(|(network, _)| self.networks[*network].clone()).collect();
            let values: Vec<f64> =
                rows.iter().map(|(network, budget)| self.labels[*budget][*network]).collect();
            let tokens: Vec<f64> = rows.iter().map(|(_, budget)| self.budgets[*budget]).collect();
            let labels = Labels::at_budgets(&networks, &values, &tokens).unwrap().with_law(self.law);
            let predictor = Predictor::fit(&labels).unwrap().at(self.budgets[last]).unwrap();
            let said = |place: usize| match full.contains(&place) {
                true => self.truth()[place],
                false => predictor.predict(&self.networks[place], &[]).value,
            };
            self.tau_and_regret(&(0..n).map(said).collect::<Vec<f64>>())
        };
        let draws = if count == 0 { 1 } else { DRAWS };
        let found: Vec<(f64, f64)> = (0..draws).into_par_iter().map(one).collect();
        let mean = |pick: fn(&(f64, f64)) -> f64| found.iter().map(pick).sum::<f64>() / draws as f64;
        let full = self.budgets[last];
        let cost =
            count as f64 + short.iter().map(|place| n as f64 * self.budgets[*place] / full).sum::<f64>();
        println!("| {name} | {cost:.2} | {:.3} | {:.3} |", mean(|f| f.0), mean(|f| f.1));
    }
}
