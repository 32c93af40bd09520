//! Python callables in the places of evaluators, proxies and searchers. All of them run on the thread that called.

use crate::architecture::Architecture;
use crate::work::Caller;
use foretell::architecture::Architecture as Network;
use foretell::cancel::checkpoint;
use foretell::error::{Error, Result};
use foretell::proxy::{self, Proxy, ProxyInput, Score};
use foretell::search::{self, Build, SearchContext, Searcher, Told, Whole};
use foretell::seed::Rng;
use foretell::study::{Evaluator, Failure, LEAST};
use pyo3::exceptions::{PyException, PyMemoryError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, RwLock};

/// Functions and searchers by the names that studies store.
static KNOWN: LazyLock<RwLock<HashMap<String, Arc<Py<PyAny>>>>> = LazyLock::new(RwLock::default);

/// Makes a callable known under its name in Python.
fn remember(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = name(object)?;
    let known = Arc::new(object.clone().unbind());
    KNOWN.write().expect("no holder panics").insert(name.clone(), known);
    Ok(name)
}

fn recall(name: &str) -> Option<Arc<Py<PyAny>>> {
    KNOWN.read().expect("no holder panics").get(name).cloned()
}

/// Module and name of a callable: what a study stores of it.
fn name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let of = |object: &Bound<'_, PyAny>| -> PyResult<String> {
        Ok(format!("{}.{}", object.getattr("__module__")?, object.getattr("__qualname__")?))
    };
    // An object that can be called, or a partial function, goes by its class.
    let name = of(object).or_else(|_| of(object.get_type().as_any()))?;
    // These mean something where proxies and algorithms are written with options.
    Ok(name.replace(['[', ']', ',', '=', '(', ')', '@'], "_"))
}

/// An exception as a message: its type and text.
pub fn said(error: &PyErr, py: Python<'_>) -> String {
    let kind = error.get_type(py).name().map_or("exception".to_owned(), |name| name.to_string());
    format!("{kind}: {}", error.value(py))
}

/// The number that a callable gave: anything that `float` takes.
fn number(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value.py().get_type::<pyo3::types::PyFloat>().call1((value,))?.extract()
}

/// A function of an architecture as an evaluator.
pub struct Function {
    function: Arc<Py<PyAny>>,
    label: String,
    least: bool,
}

impl Function {
    /// A function that says how good an architecture is; with `least` small values are good.
    pub fn new(function: &Bound<'_, PyAny>, least: bool) -> PyResult<Self> {
        let label = format!("python {}{}", name(function)?, if least { LEAST } else { "" });
        Ok(Function { function: Arc::new(function.clone().unbind()), label, least })
    }
}

impl Evaluator for Function {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn evaluate(&self, architecture: &Network) -> Result<f64, Failure> {
        match call(&self.function, architecture) {
            Ok(value) if value.is_finite() => Ok(if self.least { -value } else { value }),
            Ok(value) => Err(Failure::verdict("non-finite", format!("the function gave {value}"))),
            Err(Raised::Candidate(message)) => Err(Failure::verdict("raised", message)),
            Err(Raised::Machine(error)) => Err(Failure::Machine(error)),
        }
    }
}

/// Why a callable gave no number.
pub enum Raised {
    /// It raised an exception about this candidate.
    Candidate(String),
    /// The machine or its user stopped it.
    Machine(Error),
}

/// What a function says of an architecture.
fn call(function: &Arc<Py<PyAny>>, network: &Network) -> Result<f64, Raised> {
    let (function, argument) = (function.clone(), Architecture(network.clone()));
    judged(move |py| function.bind(py).call1((argument,)).and_then(|value| number(&value)))
}

/// Runs something about one candidate on the calling thread, and tells what concerns the candidate from what does not.
pub fn judged<T: Send + 'static>(
    ask: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
) -> Result<T, Raised> {
    let caller = Caller::current();
    let raised = caller.clone();
    caller
        .run(move |py| {
            Ok(ask(py).map_err(|error| {
                if !error.is_instance_of::<PyException>(py) {
                    raised.stop(error);
                    return Raised::Machine(Error::Cancelled);
                }
                let message = said(&error, py);
                match error.is_instance_of::<PyMemoryError>(py) {
                    true => Raised::Machine(Error::NotEvaluated { reason: message }),
                    false => Raised::Candidate(message),
                }
            }))
        })
        .unwrap_or(Err(Raised::Machine(Error::Cancelled)))
}

/// A function of an architecture as a proxy.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scored {
    function: String,
}

static PROXY: proxy::About = proxy::About {
    name: "python",
    sentence: "What a Python function says of an architecture.",
    formula: "s = f(architecture)",
    paper: "none: a function of the user's",
    options: &[("function", "", "module and name of the function, which must be known to this process")],
    by_name: true,
    ..proxy::About::SHAPE
};

impl Proxy for Scored {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let place = format!("function {}", self.function);
        let Some(function) = recall(&self.function) else {
            return Err(Error::option(
                place,
                "is not known to this process: search with the function itself",
            ));
        };
        let Some(network) = input.subject.architecture() else {
            return Err(Error::NotDefined { proxy: PROXY.name, reason: "it scores architectures".into() });
        };
        match call(&function, network) {
            Ok(value) => Ok(Score::from(value)),
            Err(Raised::Candidate(message)) => Err(Error::data(place, format!("raised {message}"))),
            Err(Raised::Machine(error)) => Err(error),
        }
    }
}

/// Makes a function a proxy of this process; how it is asked for.
pub fn proxy(function: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(format!("{}[function={}]", PROXY.name, remember(function)?))
}

/// The functions behind some proxies.
pub fn functions(proxies: &[String]) -> Vec<Arc<Py<PyAny>>> {
    let prefix = format!("{}[function=", PROXY.name);
    let names = proxies.iter().filter_map(|text| text.strip_prefix(&prefix)?.strip_suffix(']'));
    names.filter_map(recall).collect()
}

/// Whether a proxy is a function of Python.
pub fn is_function(request: &proxy::Request) -> bool {
    request.about().name == PROXY.name
}

/// Makes proxies and searchers of Python known by name, so that studies that used them can be read.
pub fn register() -> Result<()> {
    proxy::register::<Scored>(&PROXY)?;
    search::register::<Network, Walker>(&SEARCHER)
}

/// An object with `ask` and `tell` as a searcher; it is made when it is first asked.
struct Walker {
    options: WalkerOptions,
    object: Option<Arc<Py<PyAny>>>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct WalkerOptions {
    searcher: String,
    planned: u64,
}

static SEARCHER: search::About = search::About {
    name: "python",
    sentence: "A searcher of the user's, written in Python.",
    steps: "asks the object's ask(context) for a generation and tells its tell(generation) what became of it",
    paper: "none: a searcher of the user's",
    several: true,
    options: &[
        ("searcher", "", "module and name of a class or function that gives the searcher"),
        ("planned", "0", "candidates unless a budget is given"),
    ],
    departures: "none",
};

/// Makes a class or function that gives searchers an algorithm of this process; how it is asked for.
pub fn searcher(factory: &Bound<'_, PyAny>) -> PyResult<String> {
    if !factory.is_callable() {
        let message = "a searcher is a class or function without arguments that gives an object with ask and tell, so that \
                       a resumed study can begin it again";
        return Err(PyTypeError::new_err(message));
    }
    let planned: u64 = factory.getattr("planned").and_then(|planned| planned.extract()).unwrap_or(1000);
    Ok(format!("{}[searcher={},planned={planned}]", SEARCHER.name, remember(factory)?))
}

impl Build<Network> for Walker {
    type Options = WalkerOptions;

    fn build(options: WalkerOptions) -> std::result::Result<Self, String> {
        Ok(Walker { options, object: None })
    }
}

impl Walker {
    /// The object; it is made at the first call.
    fn object(&mut self, caller: &Caller) -> PyResult<Arc<Py<PyAny>>> {
        if let Some(object) = &self.object {
            return Ok(object.clone());
        }
        let (name, factory) = (self.options.searcher.clone(), recall(&self.options.searcher));
        let made = caller.run(move |py| {
            let unknown = || PyRuntimeError::new_err(format!("searcher {name} is not known to this process"));
            factory.ok_or_else(unknown)?.bind(py).call0().map(|object| Arc::new(object.unbind()))
        })?;
        self.object = Some(made.clone());
        Ok(made)
    }

    fn try_ask(&mut self, space: &mut dyn SearchContext<Network>, rng: &mut Rng) -> PyResult<Vec<Network>> {
        let caller = Caller::current();
        let object = self.object(&caller)?;
        let (requests, asked) = channel();
        let context = Context { requests: Mutex::new(Some(requests)) };
        let (answer, answered) = channel();
        // The calling thread runs `ask` while this one, which has the space, serves it.
        let waiting = std::thread::scope(|scope| {
            let run = scope.spawn(move || {
                let result = caller.run(move |py| {
                    let context = Py::new(py, context)?;
                    let list = object.bind(py).call_method1("ask", (context.clone_ref(py),));
                    context.get().close();
                    list?
                        .try_iter()?
                        .map(|item| Ok(item?.extract::<Architecture>()?.0))
                        .collect::<PyResult<Vec<_>>>()
                });
                let _ = answer.send(result);
            });
            let handed = serve(&asked, space, rng);
            let result = answered.recv().expect("the calling thread answers");
            let _ = run.join();
            result.map(|list| (list, handed))
        });
        let (list, handed) = waiting?;
        list.into_iter().map(|network| admit(network, &handed, space, rng)).collect()
    }
}

/// A network that the context did not hand out must be new and inside the limits.
fn admit(
    network: Network,
    handed: &HashSet<String>,
    space: &mut dyn SearchContext<Network>,
    rng: &mut Rng,
) -> PyResult<Network> {
    if handed.contains(&network.id()) {
        return Ok(network);
    }
    let found = space.propose(rng, &mut |_, _| network.clone());
    found.filter(|found| *found == network).ok_or_else(|| {
        let id = network.id();
        pyo3::exceptions::PyValueError::new_err(format!(
            "the searcher asked for {id}, which breaks a limit or was asked for before: take architectures from the context"
        ))
    })
}

impl Searcher<Network> for Walker {
    fn ask(&mut self, context: &mut dyn SearchContext<Network>, rng: &mut Rng) -> Vec<Network> {
        self.try_ask(context, rng).unwrap_or_else(|error| stop(error))
    }

    fn tell(&mut self, generation: Vec<Told<Network>>) {
        let caller = Caller::current();
        let told = self.object(&caller).and_then(|object| {
            caller.run(move |py| {
                let row = |told: Told<Network>| {
                    let first = |numbers: Vec<f64>| numbers.first().copied().unwrap_or(f64::NAN);
                    let values =
                        told.outcome.map(|outcome| outcome.objectives.into_iter().map(first).collect());
                    (Architecture(told.point), values)
                };
                let rows: Vec<(Architecture, Option<Vec<f64>>)> = generation.into_iter().map(row).collect();
                object.bind(py).call_method1("tell", (rows,)).map(drop)
            })
        });
        told.unwrap_or_else(|error| stop(error));
    }

    fn planned(&self) -> u64 {
        self.options.planned.max(1)
    }
}

/// Ends the work with an exception: a searcher or a function that builds networks and fails is a program error, not a verdict
/// on a network.
pub fn stop(error: PyErr) -> ! {
    Caller::current().stop(error);
    checkpoint();
    unreachable!("the work was cancelled")
}

enum Ask {
    Sample,
    Mutate(Network, f64),
    Cross(Network, Network),
    Random,
}

enum Given {
    Network(Option<Network>),
    Number(f64),
}

type Request = (Ask, Sender<Given>);

/// Serves a searcher until it is done; the ids of all networks that were handed out.
fn serve(
    asked: &Receiver<Request>,
    space: &mut dyn SearchContext<Network>,
    rng: &mut Rng,
) -> HashSet<String> {
    let mut handed = HashSet::new();
    while let Ok((request, answer)) = asked.recv() {
        let found = match request {
            Ask::Random => Given::Number(rng.random()),
            Ask::Sample => Given::Network(space.propose(rng, &mut |operators, rng| operators.sample(rng))),
            Ask::Mutate(parent, rate) => Given::Network(space.propose(rng, &mut |operators, rng| {
                operators.redraw(&parent, Whole::Each(rate), &|_| rate, rng)
            })),
            Ask::Cross(a, b) => {
                Given::Network(space.propose(rng, &mut |operators, rng| operators.cross(&a, &b, rng)))
            }
        };
        if let Given::Network(Some(network)) = &found {
            handed.insert(network.id());
        }
        let _ = answer.send(found);
    }
    handed
}

/// What a searcher written in Python may ask for while it is asked. Architectures that it gives are new and inside all limits;
/// None means that there are no more.
#[pyclass(frozen, module = "foretell")]
pub struct Context {
    requests: Mutex<Option<Sender<Request>>>,
}

impl Context {
    fn close(&self) {
        self.requests.lock().expect("no holder panics").take();
    }

    fn request(&self, py: Python<'_>, ask: Ask) -> PyResult<Given> {
        let over = || PyRuntimeError::new_err("the context is valid only while ask runs");
        py.detach(|| {
            let (answer, answered) = channel();
            let requests = self.requests.lock().expect("no holder panics").clone().ok_or_else(over)?;
            requests.send((ask, answer)).map_err(|_| over())?;
            answered.recv().map_err(|_| over())
        })
    }

    fn network(&self, py: Python<'_>, ask: Ask) -> PyResult<Option<Architecture>> {
        match self.request(py, ask)? {
            Given::Network(found) => Ok(found.map(Architecture)),
            Given::Number(_) => unreachable!("networks are asked for"),
        }
    }
}

#[pymethods]
impl Context {
    /// A random architecture.
    fn sample(&self, py: Python<'_>) -> PyResult<Option<Architecture>> {
        self.network(py, Ask::Sample)
    }

    /// A child with each value redrawn with this probability.
    #[pyo3(signature = (parent, rate = 0.1))]
    fn mutate(&self, py: Python<'_>, parent: Architecture, rate: f64) -> PyResult<Option<Architecture>> {
        self.network(py, Ask::Mutate(parent.0, rate))
    }

    /// A child that takes each value from either parent.
    fn cross(&self, py: Python<'_>, a: Architecture, b: Architecture) -> PyResult<Option<Architecture>> {
        self.network(py, Ask::Cross(a.0, b.0))
    }

    /// A random number from 0 to 1, a function of the seed of the study: with it a resumed study is the same.
    fn random(&self, py: Python<'_>) -> PyResult<f64> {
        match self.request(py, Ask::Random)? {
            Given::Number(number) => Ok(number),
            Given::Network(_) => unreachable!("a number is asked for"),
        }
    }
}
