//! Tables of trained decoders, and the law of the shape that they teach.

use foretell::architecture::Architecture;
use foretell::benchmark::Benchmark;
use foretell::engine::linalg::Cholesky;
use foretell::engine::matmul::Mat;
use foretell::proxy::shape_law_basis;
use std::path::Path;

/// Tables of decoders and the tokens that their networks were trained on, where the table has no column of them.
/// The source of gpt2-wikitext103 does not say how long: it is taken to be as long as its Transformer-XLs, 40,000 steps of
/// 256 x 192.
const TABLES: [(&str, f64); 4] = [
    ("gpt2-pentateuch", 358_400.0),
    ("gpt2-regimes", 0.0),
    ("gpt2-wikitext103", 1_966_080_000.0),
    ("transformer-xl-wikitext103", 1_966_080_000.0),
];
/// How many labels a table counts as.
const ALIKE: f64 = 50.0;
const RIDGE: f64 = 3.0;
pub const N: usize = 11;

/// Networks of one table that were trained alike.
pub struct Table {
    pub name: String,
    pub ratio: f64,
    pub networks: Vec<Architecture>,
    pub rows: Vec<[f64; N]>,
    /// Labels of mean 0 and deviation 1.
    pub truth: Vec<f64>,
}

/// All tables that are there, each budget a table of its own.
pub fn tables(folder: &Path) -> Vec<Table> {
    let mut tables = Vec::new();
    for (name, tokens) in TABLES {
        match Benchmark::load(folder, name) {
            Ok(table) => parts(&table).into_iter().for_each(|part| tables.push(Table::of(&part, tokens))),
            Err(error) => println!("{name} is left out: {error}"),
        }
    }
    tables
}

/// One table for each budget.
fn parts(table: &Benchmark) -> Vec<Benchmark> {
    let budgets = table.budgets();
    let Some(values) = budgets.get("tokens") else { return table.by_family() };
    let mut values = values.clone();
    values.sort_by(|a, b| a.parse::<f64>().unwrap().total_cmp(&b.parse().unwrap()));
    let part = |value: &String| {
        let part = table.filter("tokens", value).expect("a value of the table");
        part.named(format!("{}, {value} tokens", table.name))
    };
    values.iter().map(part).collect()
}

impl Table {
    /// The name of the table without its budget.
    pub fn base(&self) -> &str {
        self.name.split(',').next().unwrap_or_default()
    }

    fn of(table: &Benchmark, tokens: f64) -> Self {
        let target = table.default_target().expect("a target");
        let sign = if target.lower_is_better { -1.0 } else { 1.0 };
        let seen = table.column("tokens").ok();
        let (mut networks, mut rows, mut truth, mut ratio) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for (row, network) in table.architectures.iter().enumerate() {
            let Some(label) = target.values[row] else { continue };
            let tokens = seen.and_then(|column| column.values[row]).unwrap_or(tokens);
            let basis = shape_law_basis(network, Some(tokens)).expect("a decoder");
            ratio += tokens / network.params().decoder() as f64;
            // Perplexities are compared as losses.
            let loss = if target.name.contains("ppl") { label.ln() } else { label };
            rows.push(basis);
            truth.push(sign * loss);
            networks.push(network.clone());
        }
        let n = truth.len() as f64;
        let middle = truth.iter().sum::<f64>() / n;
        let deviation = (truth.iter().map(|y| (y - middle).powi(2)).sum::<f64>() / n).sqrt();
        let truth = truth.iter().map(|y| (y - middle) / deviation).collect();
        Table { name: table.name.clone(), ratio: ratio / n, networks, rows, truth }
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// (XᵀX + λI)⁻¹ Xᵀy over all tables, the columns of each around their mean.
pub fn fit(tables: &[&Table]) -> [f64; N] {
    let (mut squares, mut right) = (vec![0.0; N * N], vec![0.0; N]);
    for table in tables {
        let n = table.rows.len() as f64;
        let mut middle = [0.0; N];
        table.rows.iter().for_each(|row| (0..N).for_each(|i| middle[i] += row[i] / n));
        for (row, truth) in table.rows.iter().zip(&table.truth) {
            for i in 0..N {
                right[i] += ALIKE / n * (row[i] - middle[i]) * truth;
                (0..N).for_each(|j| {
                    squares[i * N + j] += ALIKE / n * (row[i] - middle[i]) * (row[j] - middle[j])
                });
            }
        }
    }
    (0..N).for_each(|i| squares[i * N + i] += RIDGE);
    Cholesky::new(Mat::new(&squares, N, N)).expect("a ridge").solve(&right).try_into().expect("N weights")
}
