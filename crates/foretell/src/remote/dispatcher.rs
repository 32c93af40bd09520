//! Units out, rows in: the loop between a study and its workers.

use super::scoring::Header;
use super::task::Answer;
use super::{Carrier, Cost, Desk, Item, Limits, Outcome, Parcel, Task, Unit, VERSION};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the loop waits for something to come back.
const WAIT: Duration = Duration::from_millis(50);
/// How often workers are counted.
const COUNTED: f64 = 2.0;
/// Seconds without a worker after which the run ends.
const PATIENCE: f64 = 120.0;

/// Numbers of units, which no other of the process has.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// How the work of a [`Dispatcher`] goes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// Units that can be computed at a time.
    pub slots: usize,
    /// Units that are handed out.
    pub in_flight: usize,
    /// Units that came back.
    pub units: u64,
    /// Workers that were lost, each with its unit.
    pub lost: u64,
    /// Units that hung and were stopped.
    pub hung: u64,
    /// Candidates that were handed out again.
    pub repeated: u64,
    /// Candidates that failed because they crash every process.
    pub crashed: u64,
    /// Rows of candidates that were known already.
    pub twice: u64,
    /// What happened last.
    pub news: Option<String>,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = if self.slots == 1 { "worker" } else { "workers" };
        write!(f, "{} {workers}, {} units in flight", self.slots, self.in_flight)?;
        for (count, what) in [(self.lost, "lost"), (self.hung, "hung"), (self.crashed, "crashed")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// What the workers are to do, as the loop sees it.
pub(super) trait Run {
    /// What is done with every candidate.
    fn task(&self) -> &Task;
    /// What each candidate costs, in any measure.
    fn weights(&self) -> Vec<f64>;
    /// One candidate as it travels.
    fn item(&self, index: usize) -> Item;
    /// The id of a candidate, if there is one at this place.
    fn id(&self, index: usize) -> Option<String>;
    /// Bytes that the largest of some candidates takes.
    fn memory(&self, indices: &[usize]) -> u64;
}

/// Hands units to workers and takes rows from them; give it to a study as its executor.
pub struct Dispatcher {
    carrier: Box<dyn Carrier>,
    limits: Limits,
    began: Instant,
    state: Mutex<State>,
    status: Mutex<Status>,
}

/// What lasts from one generation to the next.
#[derive(Default)]
struct State {
    cost: Cost,
    /// Digest of the task that the workers know.
    shared: Option<String>,
    /// When workers were counted last, and when there was one last.
    counted: Option<f64>,
    alive: Option<f64>,
}

impl Dispatcher {
    /// Work goes by this carrier.
    pub fn new(carrier: Box<dyn Carrier>, limits: Limits) -> Result<Self> {
        let wrong = |name: &str| Err(Error::option(name, "must be a number of seconds above 0"));
        match limits {
            Limits { seconds, .. } if !(seconds > 0.0 && seconds.is_finite()) => wrong("unit_seconds"),
            Limits { hang: Some(hang), .. } if !(hang > 0.0 && hang.is_finite()) => wrong("time_limit"),
            _ => Ok(Dispatcher {
                carrier,
                limits,
                began: Instant::now(),
                state: Mutex::default(),
                status: Mutex::default(),
            }),
        }
    }

    /// How the work goes.
    pub fn status(&self) -> Status {
        self.status.lock().expect("no holder panics").clone()
    }

    /// Notes what happened, for those who look on.
    pub(super) fn say(&self, news: String) {
        self.status.lock().expect("no holder panics").news = Some(news);
    }

    fn count(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status.lock().expect("no holder panics"));
    }

    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Does the work; `settle` is told what came of each candidate, once, and says whether to go on.
    pub(super) fn run(
        &self,
        run: &dyn Run,
        cancel: &CancelToken,
        settle: &dyn Fn(&Header, Answer) -> bool,
    ) -> Result<()> {
        let mut state = self.state.lock().expect("no holder panics");
        let (task, digest) = run.task().written();
        if state.shared.as_deref() != Some(&*digest) {
            self.carrier.share(&digest, &task)?;
            (state.shared, state.cost) = (Some(digest.clone()), Cost::default());
        }
        let desk = Desk::new(run.weights(), self.limits, self.now());
        let mut going = Going { own: self, run, digest, desk, state: &mut state, dropped: Vec::new() };
        let done = going.go(cancel, settle);
        // Whoever still works on something does it for nobody.
        let numbers = going.desk.numbers();
        if !numbers.is_empty() {
            let stopped = self.carrier.exchange(Vec::new(), &numbers, Duration::ZERO);
            done?;
            stopped?;
        } else {
            done?;
        }
        self.count(|status| status.in_flight = 0);
        Ok(())
    }
}

/// One run of the loop.
struct Going<'g> {
    own: &'g Dispatcher,
    run: &'g dyn Run,
    digest: String,
    desk: Desk,
    state: &'g mut State,
    /// Units that are no longer wanted.
    dropped: Vec<u64>,
}

impl Going<'_> {
    fn go(&mut self, cancel: &CancelToken, settle: &dyn Fn(&Header, Answer) -> bool) -> Result<()> {
        let first = NUMBERS.load(Ordering::Relaxed);
        while !self.desk.is_done() {
            cancel.check()?;
            let slots = self.slots()?;
            let units = self.units(slots);
            let dropped = std::mem::take(&mut self.dropped);
            for (number, outcome) in self.own.carrier.exchange(units, &dropped, WAIT)? {
                // What was asked for by an earlier generation is of no use.
                if number >= first && !self.take(number, outcome, settle)? {
                    return Ok(());
                }
            }
            self.look_for_hanging()?;
        }
        Ok(())
    }

    /// How many units can be computed at a time; nobody for two minutes ends the run.
    fn slots(&mut self) -> Result<usize> {
        let now = self.own.now();
        if self.state.counted.is_none_or(|counted| now - counted > COUNTED) {
            self.state.counted = Some(now);
            let slots = self.own.carrier.slots()?;
            self.own.count(|status| status.slots = slots);
        }
        let slots = self.own.status().slots;
        if slots > 0 {
            self.state.alive = Some(now);
        } else if now - *self.state.alive.get_or_insert(now) > PATIENCE {
            let reason = format!("there was no worker for {PATIENCE:.0} seconds");
            return Err(Error::NotEvaluated { reason });
        }
        Ok(slots)
    }

    fn units(&mut self, slots: usize) -> Vec<Parcel> {
        let (mut parcels, now) = (Vec::new(), self.own.now());
        loop {
            let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
            let Some(handed) = self.desk.hand_out(number, slots, &self.state.cost, now) else { break };
            let unit = Unit {
                version: VERSION.to_owned(),
                task: self.digest.clone(),
                number,
                items: handed.indices.iter().map(|index| self.run.item(*index)).collect(),
            };
            parcels.push(Parcel {
                number,
                unit: serde_json::to_vec(&unit).expect("a unit is plain data"),
                candidates: handed.indices.len(),
                memory: self.run.memory(&handed.indices),
                guarded: handed.guarded,
            });
        }
        let in_flight = self.desk.in_flight();
        self.own.count(|status| status.in_flight = in_flight);
        parcels
    }

    /// Takes what became of a unit; whether to go on.
    fn take(
        &mut self,
        number: u64,
        outcome: Outcome,
        settle: &dyn Fn(&Header, Answer) -> bool,
    ) -> Result<bool> {
        let now = self.own.now();
        match outcome {
            Outcome::Refused(reason) => Err(Error::option("workers", reason)),
            Outcome::Lost(reason) => {
                let lost = self.desk.lost(number, &reason, now)?;
                self.own.count(|status| {
                    (status.lost, status.repeated) =
                        (status.lost + 1, status.repeated + lost.candidates as u64);
                });
                self.own.say(format!(
                    "a worker is gone ({reason}): {} candidates are tried again",
                    lost.candidates
                ));
                Ok(true)
            }
            Outcome::Reply(bytes) => {
                let (header, answers) = Header::of(&bytes)?;
                let going = self.settle(&header, answers, settle)?;
                self.desk.came_back(number, header.seconds, &mut self.state.cost, now);
                self.own.count(|status| status.units += 1);
                Ok(going)
            }
        }
    }

    fn settle(
        &mut self,
        header: &Header,
        answers: Vec<Answer>,
        settle: &dyn Fn(&Header, Answer) -> bool,
    ) -> Result<bool> {
        for answer in answers {
            let index = answer.index;
            if self.run.id(index).as_deref() != Some(&*answer.id) {
                let message = format!("answered for {}, which nobody asked for", answer.id);
                return Err(Error::data(format!("worker on {}", header.host), message));
            }
            // What one machine cannot do another may; what two cannot, the study is told.
            if let Some(fault) = answer.fault().filter(|_| self.desk.losses(index) == 0) {
                let reason = format!("{} on {}", fault, header.host);
                self.desk.repeat(vec![index], &reason)?;
                self.own.count(|status| status.repeated += 1);
                self.own.say(format!("a candidate is tried elsewhere: {reason}"));
                continue;
            }
            if !self.desk.settle(index) {
                self.own.count(|status| status.twice += 1);
                continue;
            }
            if answer.is_crash() {
                self.own.count(|status| status.crashed += 1);
                self.own
                    .say(format!("candidate {} crashes every process that scores it, and fails", answer.id));
            }
            if !settle(header, answer) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn look_for_hanging(&mut self) -> Result<()> {
        let (hanging, lost) = self.desk.hanging(self.own.now())?;
        if !hanging.is_empty() {
            self.own.count(|status| {
                (status.hung, status.repeated) =
                    (status.hung + hanging.len() as u64, status.repeated + lost.candidates as u64);
            });
            self.own.say(format!("{} units hang and are tried elsewhere", hanging.len()));
            self.dropped.extend(hanging);
        }
        Ok(())
    }
}
