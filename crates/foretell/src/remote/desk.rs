//! Which unit is handed out next, and what is tried again. It knows no clock and no worker: time is told, so that a thousand
//! workers can be simulated.

use super::Cost;
use crate::error::{Error, Result};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// How long units take, and when one hangs.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Seconds that a unit should take.
    pub seconds: f64,
    /// Seconds after which a unit hangs; none: a minute and twenty times what was predicted.
    pub hang: Option<f64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { seconds: 5.0, hang: None }
    }
}

impl Limits {
    fn hang(&self, predicted: f64) -> f64 {
        self.hang.unwrap_or(60.0 + 20.0 * predicted)
    }
}

/// Units that wait at a worker or run, for each worker: while one is computed the next one travels.
const AHEAD: usize = 2;
/// How often a candidate is handed out at most before the run ends; of these, processes that crashed are counted apart.
const MOST_LOSSES: u32 = 10;
/// How often a candidate may hang alone.
const MOST_HANGS: u32 = 2;
/// How far the candidates handed out may be ahead of the first that is open: rows wait in memory for those before them.
const WINDOW: usize = 100_000;

/// A unit that is handed out.
#[derive(Debug, Clone)]
pub struct Handed {
    /// Its number.
    pub number: u64,
    /// Places of its candidates.
    pub indices: Vec<usize>,
    /// Whether the candidate was lost before.
    pub guarded: bool,
}

struct Flight {
    indices: Vec<usize>,
    weight: f64,
    predicted: f64,
    /// When it was handed out.
    at: f64,
    /// When one that was handed out later came back, so that this one must have been running.
    overtaken: Option<f64>,
}

/// What was lost with a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lost {
    /// Candidates that are handed out again.
    pub candidates: usize,
}

/// The work of one generation: what is open, handed out and done.
pub struct Desk {
    weights: Vec<f64>,
    done: Vec<bool>,
    left: usize,
    /// The first candidate that is not done.
    first: usize,
    /// The first that was never handed out.
    next: usize,
    /// Candidates that were lost, to be handed out alone.
    again: VecDeque<usize>,
    flights: BTreeMap<u64, Flight>,
    losses: HashMap<usize, u32>,
    hangs: HashMap<usize, u32>,
    /// When a unit came back last.
    last: f64,
    limits: Limits,
}

impl Desk {
    /// Candidates of these weights are open.
    pub fn new(weights: Vec<f64>, limits: Limits, now: f64) -> Self {
        Desk {
            done: vec![false; weights.len()],
            left: weights.len(),
            first: 0,
            next: 0,
            again: VecDeque::new(),
            flights: BTreeMap::new(),
            losses: HashMap::new(),
            hangs: HashMap::new(),
            last: now,
            limits,
            weights,
        }
    }

    /// Whether every candidate is done.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Units that are out.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Numbers of the units that are out.
    pub fn numbers(&self) -> Vec<u64> {
        self.flights.keys().copied().collect()
    }

    /// The next unit for so many workers; none if there are enough.
    pub fn hand_out(&mut self, number: u64, slots: usize, cost: &Cost, now: f64) -> Option<Handed> {
        if self.flights.len() >= AHEAD * slots {
            return None;
        }
        let mut guarded = true;
        let mut indices: Vec<usize> = Vec::new();
        while let Some(index) = self.again.pop_front() {
            if !self.done[index] {
                indices.push(index);
                break;
            }
        }
        if indices.is_empty() {
            guarded = false;
            indices = self.cut(slots, cost);
        }
        if indices.is_empty() {
            return None;
        }
        let weight = indices.iter().map(|index| self.weights[*index]).sum();
        let predicted = cost.predict(weight).unwrap_or(0.0);
        let flight = Flight { indices: indices.clone(), weight, predicted, at: now, overtaken: None };
        self.flights.insert(number, flight);
        Some(Handed { number, indices, guarded })
    }

    /// Candidates that were never handed out: as many as take the time of a unit, and no more than leaves every worker
    /// something to do in the end.
    fn cut(&mut self, slots: usize, cost: &Cost) -> Vec<usize> {
        let end = self.weights.len().min(self.first + WINDOW);
        let open = end.saturating_sub(self.next);
        let most = cost.most().min(open.div_ceil(AHEAD * slots.max(1)));
        let (mut indices, mut seconds) = (Vec::new(), 0.0);
        while indices.len() < most {
            let more = cost.predict(self.weights[self.next]).unwrap_or(0.0);
            if !indices.is_empty() && seconds + more > self.limits.seconds {
                break;
            }
            seconds += more;
            indices.push(self.next);
            self.next += 1;
        }
        indices
    }

    /// A unit came back after so many seconds of work; its candidates are told by [`settle`](Self::settle).
    pub fn came_back(&mut self, number: u64, seconds: f64, cost: &mut Cost, now: f64) {
        self.last = now;
        for flight in self.flights.range_mut(..number).map(|(_, flight)| flight) {
            flight.overtaken.get_or_insert(now);
        }
        if let Some(flight) = self.flights.remove(&number) {
            cost.learn(flight.indices.len(), flight.weight, seconds);
            // What the worker left out is handed out again, unless it waits for that already.
            let (done, losses) = (&self.done, &self.losses);
            let open = flight.indices.into_iter().filter(|i| !done[*i] && !losses.contains_key(i));
            self.again.extend(open);
        }
    }

    /// Whether this is the first time that something is known of a candidate.
    pub fn settle(&mut self, index: usize) -> bool {
        if index >= self.done.len() || std::mem::replace(&mut self.done[index], true) {
            return false;
        }
        self.left -= 1;
        while self.first < self.done.len() && self.done[self.first] {
            self.first += 1;
        }
        self.losses.remove(&index);
        self.hangs.remove(&index);
        true
    }

    /// The worker of a unit is gone; what is handed out again.
    pub fn lost(&mut self, number: u64, reason: &str, now: f64) -> Result<Lost> {
        self.last = now;
        let Some(flight) = self.flights.remove(&number) else { return Ok(Lost { candidates: 0 }) };
        self.repeat(flight.indices, reason)
    }

    /// Notes that a candidate must be tried on another machine.
    pub fn repeat(&mut self, indices: Vec<usize>, reason: &str) -> Result<Lost> {
        let mut candidates = 0;
        for index in indices.into_iter().filter(|index| !self.done[*index]) {
            let losses = self.losses.entry(index).or_default();
            *losses += 1;
            if *losses >= MOST_LOSSES {
                let reason = format!("its worker was lost {losses} times, the last time by {reason}");
                return Err(Error::NotEvaluated { reason });
            }
            self.again.push_back(index);
            candidates += 1;
        }
        Ok(Lost { candidates })
    }

    /// How often a candidate was lost.
    pub fn losses(&self, index: usize) -> u32 {
        self.losses.get(&index).copied().unwrap_or(0)
    }

    /// Units that hang and are no longer waited for; their candidates are handed out again.
    pub fn hanging(&mut self, now: f64) -> Result<(Vec<u64>, Lost)> {
        let (last, before) = (self.last, self.again.len());
        let hangs = |flight: &Flight| {
            let since = flight.overtaken.unwrap_or(flight.at.max(last));
            now - since > self.limits.hang(flight.predicted)
        };
        let numbers: Vec<u64> =
            self.flights.iter().filter(|(_, flight)| hangs(flight)).map(|(number, _)| *number).collect();
        for number in &numbers {
            let flight = self.flights.remove(number).expect("it was just seen");
            let alone = flight.indices.len() == 1;
            for index in flight.indices.iter().copied().filter(|index| !self.done[*index]) {
                let hangs = self.hangs.entry(index).or_default();
                *hangs += 1;
                if alone && *hangs >= MOST_HANGS {
                    let reason = format!(
                        "it was not done after {:.0} seconds, on two workers: allow more time if it is that slow",
                        self.limits.hang(flight.predicted)
                    );
                    return Err(Error::NotEvaluated { reason });
                }
                self.again.push_back(index);
            }
        }
        if !numbers.is_empty() {
            // The others may have waited for these.
            self.last = now;
        }
        Ok((numbers, Lost { candidates: self.again.len() - before }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk(n: usize) -> Desk {
        Desk::new(vec![1.0; n], Limits { seconds: 4.0, hang: Some(10.0) }, 0.0)
    }

    fn known(seconds: f64) -> Cost {
        let mut cost = Cost::default();
        cost.learn(100, 100.0, 100.0 * seconds);
        cost
    }

    /// One candidate each until the cost is known; then four of a second each, fewer where few are left.
    #[test]
    fn units_take_the_time_that_they_should() {
        let mut desk = desk(60);
        let unknown = Cost::default();
        for number in 0..4 {
            assert_eq!(desk.hand_out(number, 2, &unknown, 0.0).unwrap().indices, [number as usize]);
        }
        assert!(desk.hand_out(4, 2, &unknown, 0.0).is_none(), "two units for each worker");
        assert!((0..4).all(|index| desk.settle(index)));
        (0..4).for_each(|number| desk.came_back(number, 1.0, &mut Cost::default(), 1.0));
        assert_eq!(desk.hand_out(5, 2, &known(1.0), 1.0).unwrap().indices, [4, 5, 6, 7]);
        assert_eq!(desk.hand_out(6, 7, &known(1.0), 1.0).unwrap().indices.len(), 4);
        assert_eq!(desk.hand_out(7, 40, &known(1.0), 1.0).unwrap().indices.len(), 1);
    }

    /// What is lost with a unit is handed out alone and guarded, before anything new; what is done is not.
    #[test]
    fn lost_candidates_come_first_and_alone() {
        let mut desk = desk(40);
        let first = desk.hand_out(0, 2, &known(1.0), 0.0).unwrap();
        assert_eq!((first.indices.len(), first.guarded), (4, false));
        assert!(desk.settle(1) && !desk.settle(1));
        assert_eq!(desk.lost(0, "a signal", 1.0).unwrap(), Lost { candidates: 3 });
        for (number, index) in [(1, 0), (2, 2), (3, 3)] {
            let again = desk.hand_out(number, 2, &known(1.0), 1.0).unwrap();
            assert_eq!((again.indices.as_slice(), again.guarded), ([index].as_slice(), true));
        }
        assert_eq!(desk.hand_out(4, 2, &known(1.0), 1.0).unwrap().indices[0], 4);
    }

    #[test]
    fn a_candidate_whose_workers_always_vanish_ends_the_run() {
        let mut desk = desk(1);
        let lost = |number| {
            desk.hand_out(number, 1, &known(1.0), 0.0).unwrap();
            desk.lost(number, "SIGKILL", 0.0)
        };
        let results: Vec<Result<Lost>> = (0..10).map(lost).collect();
        assert!(results[..9].iter().all(Result::is_ok));
        assert!(
            results[9].as_ref().unwrap_err().to_string().contains("lost 10 times, the last time by SIGKILL")
        );
    }

    /// A unit that waits in a queue does not hang; one that others overtake does, ten seconds later.
    #[test]
    fn waiting_is_not_hanging() {
        let mut desk = desk(40);
        (0..4).for_each(|number| drop(desk.hand_out(number, 2, &known(1.0), 0.0)));
        let mut cost = known(1.0);
        desk.came_back(1, 4.0, &mut cost, 9.0);
        assert!(desk.hanging(18.0).unwrap().0.is_empty());
        desk.came_back(2, 4.0, &mut cost, 18.0);
        let (numbers, lost) = desk.hanging(19.5).unwrap();
        assert_eq!((numbers.as_slice(), lost.candidates), ([0].as_slice(), 4), "overtaken at 9");
        assert!(desk.hanging(28.0).unwrap().0.is_empty());
        assert_eq!(desk.hanging(30.0).unwrap().0, [3], "nothing came back for ten seconds");
    }

    #[test]
    fn a_candidate_that_hangs_twice_alone_ends_the_run() {
        let mut desk = desk(1);
        desk.hand_out(0, 1, &Cost::default(), 0.0).unwrap();
        assert_eq!(desk.hanging(11.0).unwrap().0, [0]);
        desk.hand_out(1, 1, &Cost::default(), 11.0).unwrap();
        assert!(desk.hanging(20.0).unwrap().0.is_empty());
        assert!(desk.hanging(22.0).unwrap_err().to_string().contains("not done after 10 seconds"));
    }
}
