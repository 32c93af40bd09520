//! Networks of torch: Python runs the passes and hands over what they saw, the formulas are the library's.

mod described;

use crate::convert::{from_python, to_python};
use crate::errors::{self, OrRaise};
use crate::score::written;
use crate::work::quietly;
use described::{Described, GUESSES, KindWord, ROLES, TensorWords};
use foretell::architecture::{Block, Init, NetworkKind, Role, Tensor};
use foretell::error::{Error, Result};
use foretell::network::{Layout, Mark, Weights};
use foretell::probe::{self, AnyWeights, KeptValue, Layers, Numbers, Pass, PassResult, Signal};
use foretell::proxy::{Request, Score};
use foretell::score::{Foreign, score_foreign};
use foretell::seed::Seed;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rand::RngExt;
use serde_json::{Value, json};

/// A torch module whose passes Python runs; use `foretell.torch.score`.
#[pyclass(module = "foretell._native")]
pub struct Module {
    subject: Foreign,
    /// Matrices whose role is not known.
    unplaced: Vec<usize>,
    requests: Vec<Request>,
    passes: Vec<Pass>,
    results: Vec<Result<PassResult, String>>,
    /// Signals that a pass could not keep, and why.
    missing: Vec<(usize, Signal, String)>,
    /// Numbers of all tensors in single and in double precision.
    single: Option<Vec<f32>>,
    double: Option<Vec<f64>>,
}

#[pymethods]
impl Module {
    #[new]
    fn new(py: Python<'_>, described: &Bound<'_, PyDict>, proxies: Vec<String>) -> PyResult<Self> {
        let described: Described = crate::convert::options(described, "model")?;
        Self::read(&described, &proxies).or_raise(py)
    }

    /// The passes that the proxies need, as data.
    fn passes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(to_python(py, &json!(self.passes))?.cast_into()?)
    }

    /// What a natural loss means for this kind of network.
    fn natural<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &json!(probe::natural(self.passes[run].loss, &self.subject)))
    }

    /// Whether any proxy looks at weights.
    fn needs_weights(&self) -> bool {
        self.requests.iter().any(|request| request.about().drawn())
    }

    /// The places of the tensors that a selection of layers holds.
    fn select(&self, layers: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let layers: Layers = serde_json::from_value(from_python(layers)?)
            .map_err(|e| Error::parse("layers", e.to_string()))
            .or_raise(layers.py())?;
        let chosen = layers.select(&Layout::new(self.subject.tensors.clone()));
        Ok(chosen.into_iter().map(|param| param.index()).collect())
    }

    /// Sets the numbers of a tensor.
    fn set_weight(&mut self, py: Python<'_>, tensor: usize, numbers: &Bound<'_, PyAny>) -> PyResult<()> {
        let length = self.len();
        let range = self.range(tensor);
        match numbers.cast::<PyArray1<f32>>() {
            Ok(numbers) => {
                let all = self.single.get_or_insert_with(|| vec![0.0; length]);
                copied(py, &numbers.readonly(), &mut all[range])
            }
            Err(_) => {
                let all = self.double.get_or_insert_with(|| vec![0.0; length]);
                copied(py, &numbers.extract()?, &mut all[range])
            }
        }
    }

    /// Sets the gradient of a tensor in a pass.
    fn set_gradient(
        &mut self,
        py: Python<'_>,
        run: usize,
        tensor: usize,
        numbers: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (length, range) = (self.len(), self.range(tensor));
        let result = self.result(run);
        match numbers.cast::<PyArray1<f32>>() {
            Ok(numbers) => {
                let all = result.gradients.get_or_insert_with(|| Numbers::F32(vec![0.0; length]));
                let Numbers::F32(all) = all else { return Err(mixed(py)) };
                copied(py, &numbers.readonly(), &mut all[range])
            }
            Err(_) => {
                let all = result.gradients.get_or_insert_with(|| Numbers::F64(vec![0.0; length]));
                let Numbers::F64(all) = all else { return Err(mixed(py)) };
                copied(py, &numbers.extract()?, &mut all[range])
            }
        }
    }

    /// Keeps a value of a pass, or its gradient: rows one after the other.
    fn keep(
        &mut self,
        py: Python<'_>,
        run: usize,
        mark: &Bound<'_, PyAny>,
        numbers: &Bound<'_, PyAny>,
        rows: usize,
        gradient: bool,
    ) -> PyResult<()> {
        let mark: Mark = serde_json::from_value(from_python(mark)?)
            .map_err(|e| Error::parse("mark", e.to_string()))
            .or_raise(py)?;
        let numbers = match numbers.cast::<PyArray1<f32>>() {
            Ok(numbers) => Numbers::F32(numbers.readonly().as_slice()?.to_vec()),
            Err(_) => Numbers::F64(numbers.extract::<PyReadonlyArray1<f64>>()?.as_slice()?.to_vec()),
        };
        let cols = numbers.len() / rows.max(1);
        let value = KeptValue::new(numbers, rows, cols).or_raise(py)?;
        let result = self.result(run);
        if gradient {
            result.value_gradients.push((mark, value))
        } else {
            result.values.push((mark, value))
        }
        Ok(())
    }

    /// Ends a pass that was run.
    #[pyo3(signature = (run, batch, seconds, loss = None, numbers = None, traces = None))]
    fn done(
        &mut self,
        run: usize,
        batch: usize,
        seconds: f64,
        loss: Option<f64>,
        numbers: Option<Vec<f64>>,
        traces: Option<Vec<Vec<f64>>>,
    ) {
        let result = self.result(run);
        (result.batch, result.seconds, result.loss) = (batch, seconds, loss);
        (result.numbers, result.traces) = (numbers.unwrap_or_default(), traces.unwrap_or_default());
    }

    /// Says why a pass was not run.
    fn refuse(&mut self, run: usize, reason: String) {
        self.results[run] = Err(reason);
    }

    /// Says why a signal was not kept by a pass that was run.
    fn lacks(&mut self, run: usize, signal: &Bound<'_, PyAny>, reason: String) -> PyResult<()> {
        let read =
            serde_json::from_value(from_python(signal)?).map_err(|e| Error::parse("signal", e.to_string()));
        self.missing.push((run, read.or_raise(signal.py())?, reason));
        Ok(())
    }

    /// The scores, an entry per proxy.
    fn score<'py>(
        &mut self,
        py: Python<'py>,
        terms: bool,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let entries = quietly(py, threads, |_| Ok(self.entries(terms)))?;
        let entries: serde_json::Map<String, Value> = entries.into_iter().collect();
        Ok(to_python(py, &Value::Object(entries))?.cast_into()?)
    }
}

impl Module {
    fn read(described: &Described, proxies: &[String]) -> Result<Self> {
        let mut requests = Vec::new();
        for text in proxies {
            requests.extend(Request::parse_list(text)?);
        }
        let tensors = described.tensors.iter().map(TensorWords::tensor).collect::<Result<Vec<Tensor>>>()?;
        let unplaced = described.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role.is_none());
        let unplaced = unplaced.map(|(place, _)| place).collect();
        let kind = match described.kind {
            KindWord::Vision => NetworkKind::Vision,
            KindWord::Encoder => NetworkKind::Encoder,
            KindWord::Decoder => NetworkKind::Decoder,
            KindWord::Recurrent => NetworkKind::Recurrent,
        };
        let blocks = described.blocks.iter().map(|(width, heads)| Block { width: *width, heads: *heads });
        let subject = Foreign {
            name: described.name.clone(),
            id: described.name.clone(),
            kind,
            tensors,
            blocks: blocks.collect(),
            tokens: described.tokens,
            has_dropout: described.dropout,
        };
        let passes = probe::union(requests.iter().flat_map(|request| request.needs(&subject)));
        let results = passes.iter().map(|_| Ok(PassResult::default())).collect();
        Ok(Module {
            subject,
            unplaced,
            requests,
            passes,
            results,
            missing: Vec::new(),
            single: None,
            double: None,
        })
    }

    fn len(&self) -> usize {
        self.subject.tensors.iter().map(|tensor| tensor.len() as usize).sum()
    }

    fn range(&self, tensor: usize) -> std::ops::Range<usize> {
        let before: u64 = self.subject.tensors[..tensor].iter().map(Tensor::len).sum();
        before as usize..(before + self.subject.tensors[tensor].len()) as usize
    }

    fn result(&mut self, pass: usize) -> &mut PassResult {
        if self.results[pass].is_err() {
            self.results[pass] = Ok(PassResult::default());
        }
        self.results[pass].as_mut().expect("it was just set")
    }

    fn entries(&mut self, terms: bool) -> Vec<(String, Value)> {
        let outcomes = self.outcomes();
        let entry = |(request, outcome): (&Request, Result<Score, Refusal>)| {
            let entry = match outcome {
                Ok(score) => written(request, &score, terms),
                Err(Refusal::Failed(error)) => json!({"kind": error.kind(), "error": error.to_string()}),
                Err(Refusal::Role(reason)) => {
                    json!({"kind": "role", "error": format!("{} {reason}", request.label())})
                }
            };
            (request.label().to_owned(), entry)
        };
        self.requests.iter().zip(outcomes).map(entry).collect()
    }

    /// What came of each proxy, in the order asked for.
    pub fn scores(&mut self, py: Python<'_>) -> PyResult<Vec<Result<Score>>> {
        let outcomes = quietly(py, None, |_| Ok(self.outcomes()))?;
        let score = |(request, outcome): (&Request, Result<Score, Refusal>)| {
            outcome.map_err(|refusal| match refusal {
                Refusal::Failed(error) => error,
                Refusal::Role(reason) => Error::NotDefined { proxy: request.about().name, reason },
            })
        };
        Ok(self.requests.iter().zip(outcomes).map(score).collect())
    }

    fn outcomes(&mut self) -> Vec<Result<Score, Refusal>> {
        let (seen, refused) = self.seen();
        let reasons: Vec<Option<String>> =
            self.requests.iter().map(|request| self.lacking(request, &seen, &refused)).collect();
        let able: Vec<usize> = (0..self.requests.len()).filter(|place| reasons[*place].is_none()).collect();
        let guesses: &[Role] = if self.unplaced.is_empty() { &GUESSES[..1] } else { &GUESSES };
        let mut rounds: Vec<Vec<Result<Score>>> = Vec::new();
        for guess in guesses {
            for place in &self.unplaced {
                self.subject.tensors[*place].role = *guess;
            }
            rounds.push(self.round(&seen, &able));
        }
        for place in &self.unplaced {
            self.subject.tensors[*place].role = GUESSES[0];
        }
        let drawn = self.needs_draws(&seen, &able, &rounds[0]);
        let mut rounds: Vec<_> = rounds.into_iter().map(Vec::into_iter).collect();
        let mut outcomes = Vec::new();
        for (place, (request, reason)) in self.requests.iter().zip(reasons).enumerate() {
            let refused =
                |reason| Err(Refusal::Failed(Error::NotDefined { proxy: request.about().name, reason }));
            outcomes.push(match reason {
                Some(reason) => refused(reason),
                None => {
                    let next =
                        |round: &mut std::vec::IntoIter<_>| round.next().expect("every request is scored");
                    let found: Vec<Result<Score>> = rounds.iter_mut().map(next).collect();
                    match drawn.contains(&place) {
                        true => refused(UNKNOWN_DRAW.to_owned()),
                        false => self.agreed(found),
                    }
                }
            });
        }
        outcomes
    }

    /// Passes that were run with what they saw, and why others were not.
    fn seen(&mut self) -> (Seen, Vec<(Pass, String)>) {
        let results = std::mem::take(&mut self.results).into_iter();
        let (mut seen, mut refused) = (Vec::new(), Vec::new());
        for (pass, result) in self.passes.iter().zip(results) {
            match result {
                Ok(result) => seen.push((pass.clone(), Ok(result))),
                Err(reason) => refused.push((pass.clone(), reason)),
            }
        }
        (seen, refused)
    }

    /// Why a request cannot be scored: a pass that it needs was not run, or did not keep what it needs.
    fn lacking(
        &self,
        request: &Request,
        seen: &[(Pass, Result<PassResult>)],
        refused: &[(Pass, String)],
    ) -> Option<String> {
        let why = |need: &Pass| {
            let served = seen.iter().any(|(run, _)| run.serves(need));
            let reason = refused.iter().find(|(run, _)| run.serves(need)).map(|(_, reason)| reason.clone());
            let lacks = |(pass, signal, _): &&(usize, Signal, String)| {
                self.passes[*pass].serves(need) && need.keep.contains(signal)
            };
            let lacking = self.missing.iter().find(lacks).map(|(_, _, reason)| reason.clone());
            if served { lacking } else { reason }
        };
        request.needs(&self.subject).iter().find_map(why)
    }

    /// Requests whose score changes with the distribution that weights are drawn from, which a module does not say.
    fn needs_draws(
        &mut self,
        seen: &[(Pass, Result<PassResult>)],
        able: &[usize],
        first: &[Result<Score>],
    ) -> Vec<usize> {
        // Who runs the network looks at its weights themselves.
        let still: Vec<usize> =
            able.iter().copied().filter(|place| !self.requests[*place].about().runs()).collect();
        let before = self.subject.tensors.clone();
        for tensor in self.subject.tensors.iter_mut().filter(|tensor| tensor.init != Init::Ones) {
            tensor.init = Init::Normal(1.0);
        }
        let other = self.round(seen, &still);
        self.subject.tensors = before;
        let differs = |(place, score): (&usize, &Result<Score>)| {
            let at = able.iter().position(|known| known == place)?;
            (bits(score) != bits(&first[at])).then_some(*place)
        };
        still.iter().zip(&other).filter_map(differs).collect()
    }

    /// All scores with the roles as they are set now.
    fn round(&mut self, seen: &[(Pass, Result<PassResult>)], able: &[usize]) -> Vec<Result<Score>> {
        let layout = Layout::new(self.subject.tensors.clone());
        let single = self.single.take().map(|data| Weights { layout: layout.clone(), data });
        let double = self.double.take().map(|data| Weights { layout, data });
        let (fine, coarse) = (double.as_ref().map(AnyWeights::F64), single.as_ref().map(AnyWeights::F32));
        let requests: Vec<&Request> = able.iter().map(|place| &self.requests[*place]).collect();
        let scores = score_foreign(&self.subject, [coarse.or(fine), fine], seen, &requests);
        self.single = single.map(|weights| weights.data);
        self.double = double.map(|weights| weights.data);
        scores
    }

    /// The score that all guesses agree on, or why there is none.
    fn agreed(&self, mut found: Vec<Result<Score>>) -> Result<Score, Refusal> {
        if found.iter().any(|score| bits(score) != bits(&found[0])) {
            let names: Vec<String> =
                self.unplaced.iter().map(|place| self.subject.tensors[*place].name()).collect();
            let (count, shown) = (names.len(), names.iter().take(5).cloned().collect::<Vec<_>>().join(", "));
            return Err(Refusal::Role(format!(
                "needs to know what every matrix does, and {count} are not placed: {shown}{}; set them by roles",
                if count > 5 { ", …" } else { "" }
            )));
        }
        found.swap_remove(0).map_err(Refusal::Failed)
    }
}

/// Passes that were run, with what they saw.
type Seen = Vec<(Pass, Result<PassResult>)>;

/// Why a proxy gives no score.
enum Refusal {
    Failed(Error),
    /// It needs the role of matrices that were not placed.
    Role(String),
}

/// What two scores are compared by.
fn bits(score: &Result<Score>) -> Result<(u64, Vec<u64>), String> {
    match score {
        Ok(score) => Ok((score.value.to_bits(), score.parts.iter().map(|x| x.to_bits()).collect())),
        Err(error) => Err(error.to_string()),
    }
}

const UNKNOWN_DRAW: &str =
    "it looks at the distribution that weights are drawn from, which a module does not say";

fn mixed(py: Python<'_>) -> PyErr {
    errors::of_kind(py, "data", "gradients of one pass have one precision")
}

/// Copies an array whose entries lie one after the other; others would pair entries wrongly.
fn copied<T: numpy::Element + Copy>(
    py: Python<'_>,
    numbers: &PyReadonlyArray1<'_, T>,
    into: &mut [T],
) -> PyResult<()> {
    let numbers = numbers.as_slice()?;
    if numbers.len() != into.len() {
        let message = format!("{} numbers were given for {}", numbers.len(), into.len());
        return Err(errors::of_kind(py, "data", &message));
    }
    into.copy_from_slice(numbers);
    Ok(())
}

/// Random signs of a stream: those that the engine draws with the same seed for the same purpose.
#[pyfunction]
pub fn signs(py: Python<'_>, seed: u64, purpose: &str, count: usize) -> Py<PyArray1<f64>> {
    let mut rng = Seed(seed).stream(purpose, 0);
    let signs: Vec<f64> = (0..count).map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 }).collect();
    PyArray1::from_vec(py, signs).unbind()
}

/// The words for roles.
#[pyfunction]
pub fn role_names() -> Vec<&'static str> {
    ROLES.iter().map(|(name, _)| *name).collect()
}
