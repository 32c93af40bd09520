//! A golden case on disk: architecture, inputs, weights, expected values.

use foretell::architecture::Architecture;
use foretell::engine::matmul::Mat;
use foretell::engine::scalar::Scalar;
use foretell::network::Weights;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::path::PathBuf;

/// Which of the two recorded computations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Precision {
    F64,
    F32,
}

pub struct Case {
    pub name: String,
    pub arch: Map<String, Value>,
    pub expected: Value,
    pub folder: PathBuf,
}

thread_local! {
    static WRONG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes a disagreement; a test that ends with some fails and lists all of them.
pub fn disagree(what: String) {
    WRONG.with_borrow_mut(|wrong| wrong.push(what));
}

/// The disagreements that were noted by this test.
pub fn disagreements() -> Vec<String> {
    WRONG.take()
}

/// The cases in the repository, and those of `FORETELL_GOLDEN` (default: beside the checkout) where they are.
pub fn all() -> Vec<Case> {
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/golden"));
    let set = std::env::var_os("FORETELL_GOLDEN").map(PathBuf::from);
    let more = set.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/golden").into());
    let inside = |folder: &PathBuf| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|case| case.join("expected.json").is_file())
            .collect()
    };
    let mut folders = inside(&more);
    if folders.is_empty() {
        eprintln!("only the cases of the repository: there are none at {}", more.display());
    }
    let known: Vec<_> = folders.iter().map(|folder| folder.file_name().unwrap().to_owned()).collect();
    folders.extend(
        inside(&own).into_iter().filter(|case| !known.contains(&case.file_name().unwrap().to_owned())),
    );
    folders.sort();
    folders.into_iter().map(Case::open).collect()
}

impl Case {
    fn open(folder: PathBuf) -> Self {
        let read = |name: &str| -> Value {
            serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
        };
        let Value::Object(arch) = read("arch.json") else { panic!("arch.json is an object") };
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        Case { name, arch, expected: read("expected.json"), folder }
    }

    pub fn family(&self) -> &str {
        self.arch["family"].as_str().unwrap()
    }

    /// An architecture from some keys of the case under other names, and further ones.
    pub fn architecture(&self, family: &str, keys: &[(&str, &str)], more: Value) -> Architecture {
        let mut object = more.as_object().cloned().unwrap_or_default();
        object.insert("family".into(), json!(family));
        for (ours, theirs) in keys {
            object.insert((*ours).into(), self.arch[*theirs].clone());
        }
        foretell::space::read_architecture(&Value::Object(object))
            .unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    pub fn weights<S: Scalar>(&self, architecture: &Architecture) -> Weights<S> {
        self.weights_named(architecture, &|name| name.to_owned())
    }

    /// Weights under names of the case's own.
    pub fn weights_named<S: Scalar>(
        &self,
        architecture: &Architecture,
        rename: &dyn Fn(&str) -> String,
    ) -> Weights<S> {
        let path = self.folder.join("weights.safetensors");
        Weights::read_named(architecture, &path, rename).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    fn input(&self, name: &str) -> (Vec<u8>, safetensors::Dtype) {
        let bytes = std::fs::read(self.folder.join("inputs.safetensors")).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let view = file.tensor(name).unwrap();
        (view.data().to_vec(), view.dtype())
    }

    /// A floating-point input.
    pub fn floats<S: Scalar>(&self, name: &str) -> Vec<S> {
        let (data, dtype) = self.input(name);
        assert_eq!(dtype, safetensors::Dtype::F32);
        data.chunks_exact(4)
            .map(|b| S::from_f64(f64::from(f32::from_le_bytes(b.try_into().unwrap()))))
            .collect()
    }

    /// An integer input.
    pub fn ids(&self, name: &str) -> Vec<u32> {
        let (data, dtype) = self.input(name);
        assert_eq!(dtype, safetensors::Dtype::I64);
        data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as u32).collect()
    }

    /// The expected number at a path.
    pub fn number(&self, path: &[&str]) -> f64 {
        let value = path.iter().fold(&self.expected, |value, key| &value[*key]);
        value.as_f64().unwrap_or_else(|| panic!("{}: {path:?} is {value}", self.name))
    }
}

impl Precision {
    /// Agreement to 1e-9 in f64 and, of f32 against the f64 value, to 1e-5.
    pub fn tolerance(self) -> f64 {
        if self == Precision::F64 { 1e-9 } else { 1e-5 }
    }

    pub fn near(self, found: f64, expected: f64, what: &str) {
        let scale = expected.abs().max(1e-12);
        let error = (found - expected).abs() / scale;
        if error.is_nan() || error > self.tolerance() {
            disagree(format!("{what}: {found} is not {expected} ({self:?}, off by {error:.1e})"));
        }
    }

    /// Sum, norm and largest magnitude of a tensor; the sum is compared on the scale of the norm.
    pub fn checksum<S: Scalar>(self, found: Mat<'_, S>, expected: &Value, what: &str) -> usize {
        let values: Vec<f64> =
            (0..found.rows()).flat_map(|i| found.row(i).iter().map(|x| x.to_f64())).collect();
        let norm = values.iter().map(|x| x * x).sum::<f64>().sqrt();
        let sum: f64 = values.iter().sum();
        let target =
            |key: &str| expected[key].as_f64().unwrap_or_else(|| panic!("{what} has no {key}: {expected}"));
        let shape: u64 = expected["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).product();
        if values.len() as u64 != shape {
            disagree(format!("{what}: {} values, not {shape}", values.len()));
        }
        self.near(norm, target("l2"), what);
        let scale = target("l2") * (values.len() as f64).sqrt();
        let off = (sum - target("sum")).abs();
        if off.is_nan() || off > self.tolerance() * scale {
            disagree(format!("{what}: sum {sum} is not {} ({self:?})", target("sum")));
        }
        2
    }
}
