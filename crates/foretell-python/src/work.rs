//! Rust works on threads of its own while the calling thread waits without the interpreter lock: it looks for Ctrl-C, and
//! runs every Python callable that the work asks for. Callables thus run where they would in a Python program, and no
//! thread is left when the call returns, so that a process can fork.

use crate::{errors, logging};
use foretell::cancel::CancelToken;
use foretell::error::{Error, Result};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often the calling thread looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// How often progress is told.
const TELL: Duration = Duration::from_millis(100);

/// How much of some work is done, told to a Python callable.
#[derive(Default)]
pub struct Counts {
    done: AtomicU64,
    total: AtomicU64,
}

impl Counts {
    /// Says how much there is to do.
    pub fn expect(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// One more is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Tells a callable, if there is one, how much is done and how much there is to do.
    pub fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let counts = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        progress.map_or(Ok(()), |progress| progress.bind(py).call1(counts).map(drop))
    }
}

type Job = Box<dyn FnOnce(Python<'_>) + Send>;

enum Event {
    Job(Job),
    Done,
}

/// The thread that called from Python, as the threads that work for it see it.
#[derive(Clone)]
pub struct Caller {
    events: Sender<Event>,
    token: CancelToken,
    raised: Arc<Mutex<Option<PyErr>>>,
}

thread_local! {
    static CALLER: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

impl Caller {
    /// The thread that this one works for.
    pub fn current() -> Self {
        Self::of_thread().expect("Python callables are asked only inside work")
    }

    /// The thread that this one works for, if it works for one.
    pub fn of_thread() -> Option<Self> {
        CALLER.with_borrow(Clone::clone)
    }

    /// Runs a job on the calling thread. What ends programs (KeyboardInterrupt, SystemExit) also cancels the work.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        let (answer, answered) = channel();
        let caller = self.clone();
        let job = move |py: Python<'_>| {
            let result = job(py);
            if let Err(error) = &result
                && !error.is_instance_of::<PyException>(py)
            {
                caller.stop(error.clone_ref(py));
            }
            let _ = answer.send(result);
        };
        self.events.send(Event::Job(Box::new(job))).expect("the calling thread waits for the work");
        answered.recv().expect("the calling thread answers")
    }

    /// Cancels the work; the call ends with this exception.
    pub fn stop(&self, error: PyErr) {
        self.raised.lock().expect("no holder panics").get_or_insert(error);
        self.token.cancel();
    }
}

/// Tells the calling thread that the work has ended, also by a panic.
struct End(Sender<Event>);

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Done);
    }
}

/// What is called now and then while the work runs, and once at its end.
pub type Tell<'t> = &'t (dyn Fn(Python<'_>) -> PyResult<()> + Sync);

/// Runs work without the interpreter lock, on a pool of its own.
pub fn work<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    tell: Tell,
    work: impl FnOnce(&CancelToken) -> Result<T> + Send,
) -> PyResult<T> {
    logging::install();
    let (events, happened) = channel();
    let token = CancelToken::default();
    let caller = Caller { events, token: token.clone(), raised: Arc::default() };
    let raised = caller.raised.clone();
    let result = py.detach(move || {
        std::thread::scope(|scope| {
            let own = caller.clone();
            let worker = scope.spawn(move || {
                let _end = End(own.events.clone());
                let handler = own.clone();
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads.unwrap_or(0))
                    .start_handler(move |_| CALLER.set(Some(handler.clone())))
                    .build()
                    .map_err(|e| Error::option("threads", e.to_string()))?;
                pool.install(|| token.run(|| work(&token)))?
            });
            attend(&caller, &happened, tell);
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    });
    // What was raised ends the call even if the work was done before it noticed.
    if let Some(error) = raised.lock().expect("no holder panics").take() {
        return Err(error);
    }
    let told = logging::tell(py);
    let done = result.map_err(|error| errors::raise(py, &error))?;
    told.map(|()| done)
}

/// Work that nobody watches.
pub fn quietly<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    f: impl FnOnce(&CancelToken) -> Result<T> + Send,
) -> PyResult<T> {
    work(py, threads, &|_| Ok(()), f)
}

/// The calling thread while others work.
fn attend(caller: &Caller, happened: &Receiver<Event>, tell: Tell) {
    let mut told = Instant::now();
    loop {
        let event = happened.recv_timeout(LOOK);
        let done = matches!(event, Ok(Event::Done) | Err(RecvTimeoutError::Disconnected));
        let due = done || told.elapsed() >= TELL;
        Python::attach(|py| {
            if let Ok(Event::Job(job)) = event {
                job(py);
            }
            let mut seen = py.check_signals();
            if due {
                told = Instant::now();
                seen = seen.and_then(|()| tell(py));
            }
            if let Err(error) = seen {
                caller.stop(error);
            }
        });
        if done {
            return;
        }
    }
}
