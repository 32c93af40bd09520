//! Auto-Prox: PiT and AutoFormer with accuracies on small image data sets, in torch archives.

use super::{Draft, Imported, Importer, Source, Table, pickle};
use crate::benchmark::row::{self, Hints};
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const SOURCE: Source = Source {
    name: "auto-prox",
    repository: "https://github.com/lilujunai/Auto-Prox-AAAI24",
    branch: None,
    tables: "autoformer-vit, pit-vit",
    further: None,
};

/// Accuracies: column and key of the archive.
const RESULTS: [(&str, &str); 6] = [
    ("cifar100_acc_scratch", "c100_base_acc"),
    ("cifar100_acc_distilled", "c100_kd_acc"),
    ("flowers_acc_scratch", "flower_base_acc"),
    ("flowers_acc_distilled", "flower_kd_acc"),
    ("chaoyang_acc_scratch", "chaoyang_base_acc"),
    ("chaoyang_acc_distilled", "chaoyang_kd_acc"),
];
/// The column of the weights, which the source does not count.
const PARAMS: &str = "params_cifar100";

struct Archive {
    file: &'static str,
    benchmark: &'static str,
    /// Genes, in our order.
    genes: &'static [&'static str],
    /// Further accuracies.
    results: &'static [(&'static str, &'static str)],
}

const ARCHIVES: [Archive; 2] = [
    Archive {
        file: "gt_results/gt_autoformer.pth",
        benchmark: "autoformer-vit",
        genes: &["hidden_dim", "depth", "num_heads", "mlp_ratio"],
        results: &[("imagenet_acc_supernet", "imagenet_super_acc")],
    },
    Archive {
        file: "gt_results/gt_pit.pth",
        benchmark: "pit-vit",
        genes: &["base_dim", "mlp_ratio", "depth", "num_heads"],
        results: &[],
    },
];

pub(super) struct AutoProx;

impl Importer for AutoProx {
    fn source(&self) -> &'static Source {
        &SOURCE
    }

    fn import(&self, clone: &Path, _: Option<&Path>) -> Result<Imported> {
        let (mut tables, mut absent) = (Vec::new(), Vec::new());
        for archive in &ARCHIVES {
            match clone.join(archive.file) {
                path if path.exists() => tables.push(archive.table(&path)?),
                _ => absent.push(format!("{} ({})", archive.file, archive.benchmark)),
            }
        }
        Imported::of(&SOURCE, clone, tables, absent)
    }
}

impl Archive {
    fn table(&self, path: &Path) -> Result<Table> {
        let place = path.display().to_string();
        let found = pickle::torch(path)?;
        let list = found.as_array().ok_or_else(|| Error::data(place, "holds no list of networks"))?;
        let hints = Hints::of(self.benchmark, PathBuf::new(), &[])?;
        let mut draft = Draft { derived: &[PARAMS], ..Draft::default() };
        for (id, entry) in list.iter().enumerate() {
            match self.row(id, entry, &hints) {
                Ok(row) => draft.push(id.to_string(), row),
                Err(reason) => draft.omit(id.to_string(), reason),
            }
        }
        draft.finish(&format!("{}/architectures.jsonl", self.benchmark))
    }

    fn row(&self, id: usize, entry: &Value, hints: &Hints) -> Result<Map<String, Value>, String> {
        let genes = entry.get("arch").ok_or("it has no arch")?;
        let mut row = Map::new();
        row.insert("id".to_owned(), id.into());
        for gene in self.genes {
            let value = genes.get(*gene).ok_or_else(|| format!("its arch does not state {gene}"))?;
            row.insert((*gene).to_owned(), value.clone());
        }
        // The width of a stage of PiT follows from its heads.
        if let (Some(base), Some(heads)) = (row.get("base_dim").and_then(Value::as_u64), row.get("num_heads"))
        {
            let heads = heads.as_array().ok_or("its num_heads is no list")?;
            let widths = heads.iter().map(|heads| heads.as_u64()?.checked_mul(base));
            let widths: Option<Vec<u64>> = widths.collect();
            row.insert("stage_dim".to_owned(), widths.ok_or("its num_heads are no numbers")?.into());
        }
        for (column, key) in RESULTS.iter().chain(self.results) {
            let value = entry.get(*key).filter(|value| value.is_number());
            row.insert((*column).to_owned(), value.ok_or_else(|| format!("it has no {key}"))?.clone());
        }
        // The column says which data set the network is counted for.
        row.insert(PARAMS.to_owned(), Value::Null);
        let network = row::architecture(&row, hints).map_err(|e| e.to_string())?;
        row.insert(PARAMS.to_owned(), network.params().total.into());
        Ok(row)
    }
}
