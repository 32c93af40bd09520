//! Spaces whose networks a Python function builds (`foretell.torch.Space`): Python answers what the function asks and scores
//! what it builds, everything else is the library's.

use crate::architecture::Architecture;
use crate::callables;
use crate::convert::{from_python, to_python};
use crate::errors::OrRaise;
use crate::foreign::Module;
use crate::space::Space;
use crate::work::Caller;
use foretell::architecture::module::{self, Choice, values};
use foretell::architecture::{Architecture as Network, Family};
use foretell::error::{Error, Result};
use foretell::proxy::Score;
use foretell::score::{Batch, Cell, Executor, Row, Scorer, Workers};
use foretell::space::{Asked, Definition, Source};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// A Python function that answers what a user's function asks: `draw(kept, changed, seed)` gives the choices in the order
/// of asking and the number of parameters.
struct Drawn {
    draw: Arc<Py<PyAny>>,
    space: Arc<str>,
    family: &'static dyn Family,
}

impl Drawn {
    fn call(&self, py: Python<'_>, kept: Value, changed: Value, seed: u64) -> PyResult<(Value, u64)> {
        let given = (to_python(py, &kept)?, to_python(py, &changed)?, seed);
        let (choices, parameters): (Bound<'_, PyAny>, u64) = self.draw.bind(py).call1(given)?.extract()?;
        Ok((from_python(&choices)?, parameters))
    }
}

fn table(choices: &[Choice]) -> Value {
    Value::Object(choices.iter().cloned().collect())
}

impl Source for Drawn {
    fn draw(&self, kept: &[Choice], changed: &[Choice], seed: u64) -> Network {
        let (kept, changed) = (table(kept), table(changed));
        let own = Drawn { draw: self.draw.clone(), space: self.space.clone(), family: self.family };
        let drawn = Caller::current().run(move |py| own.call(py, kept, changed, seed));
        // A function that fails is a program error, not a verdict on a network.
        let (choices, parameters) = drawn.unwrap_or_else(|error| callables::stop(error));
        let choices: Vec<Choice> = choices
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Network::unchecked(self.space.clone(), self.family, values(parameters, &choices))
    }
}

/// The space of a function; see `foretell.torch.Space`.
#[pyfunction]
pub fn asked_space(py: Python<'_>, name: &str, about: &str, draw: Bound<'_, PyAny>) -> PyResult<Space> {
    let made = || -> Result<Space> {
        let definition = Definition::parse(name, &Asked::text(name, about))?;
        let (family, space) = (definition.family, definition.name.as_str().into());
        let source = Drawn { draw: Arc::new(draw.unbind()), space, family };
        Ok(Space(Arc::new(Asked::new(definition, Some(Arc::new(source)))?)))
    };
    made().or_raise(py)
}

/// An architecture with these choices of a space of a function.
#[pyfunction]
pub fn asked_architecture(
    space: &str,
    choices: &Bound<'_, PyDict>,
    parameters: u64,
) -> PyResult<Architecture> {
    let Value::Object(choices) = from_python(choices)? else { unreachable!("a dict is an object") };
    let choices: Vec<Choice> = choices.into_iter().collect();
    Ok(Architecture(Network::unchecked(space.into(), &module::Family, values(parameters, &choices))))
}

/// Scores what a function builds: `score(architecture, labels, seed)` gives a module whose passes torch has run.
pub struct Modules(pub Arc<Py<PyAny>>);

impl Executor for Modules {
    fn score(&self, batch: &Batch, each: &(dyn Fn(usize, Row) -> bool + Sync)) -> Result<()> {
        for (index, network) in batch.architectures.iter().enumerate() {
            batch.scorer.cancel().check()?;
            if !each(index, self.row(batch, network)?) {
                break;
            }
        }
        Ok(())
    }
}

impl Modules {
    fn row(&self, batch: &Batch, network: &Network) -> Result<Row> {
        let requests = batch.scorer.requests();
        let (functions, torch): (Vec<usize>, Vec<usize>) =
            (0..requests.len()).partition(|place| callables::is_function(&requests[*place]));
        let mut row = Row { cells: requests.iter().map(|_| Cell::default()).collect(), passes: Vec::new() };
        let own = functions.iter().map(|place| requests[*place].clone());
        let said = Scorer::new(own, Default::default()).row(network, batch.seeds, &mut Workers::default());
        for (place, cell) in functions.into_iter().zip(said.cells) {
            row.cells[place] = cell;
        }
        for (nth, seed) in batch.seeds.iter().enumerate() {
            let drawn = |place: &usize| nth == 0 || requests[*place].about().drawn();
            let due: Vec<usize> = torch.iter().copied().filter(drawn).collect();
            if due.is_empty() {
                continue;
            }
            let start = Instant::now();
            let labels = due.iter().map(|place| requests[*place].label().to_owned()).collect();
            let scores = self.scores(network, labels, *seed)?;
            let seconds = start.elapsed().as_secs_f64() / (due.len() * batch.seeds.len()) as f64;
            for (place, score) in due.into_iter().zip(scores) {
                row.cells[place].scores.push(score);
                row.cells[place].seconds += seconds;
            }
        }
        Ok(row)
    }

    /// The scores of one candidate with one seed. What Python raises about it is its failure.
    fn scores(&self, network: &Network, labels: Vec<String>, seed: u64) -> Result<Vec<Result<Score>>> {
        let (score, asked) = (self.0.clone(), Architecture(network.clone()));
        let count = labels.len();
        let found = callables::judged(move |py| {
            let labels = PyList::new(py, labels)?;
            let module = score.bind(py).call1((asked, labels, seed))?;
            let mut module: PyRefMut<'_, Module> = module.extract()?;
            module.scores(py)
        });
        match found {
            Ok(scores) => Ok(scores),
            Err(callables::Raised::Machine(error)) => Err(error),
            Err(callables::Raised::Candidate(message)) => {
                let error = Error::data(network.id(), format!("could not be scored: {message}"));
                log::warn!("{error}");
                Ok((0..count).map(|_| Err(error.clone())).collect())
            }
        }
    }
}
