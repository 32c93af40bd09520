//! A thousand workers that do not exist: `cargo bench --bench cluster -- [MS PER UNIT] [MS PER CANDIDATE]`.
//!
//! The desk that hands out units in real searches hands them to simulated workers, event by event. The driver is one queue:
//! handing out and taking back a unit takes it the milliseconds that are given (docs/scale.md says how they were measured).
//! Workers fail once an hour each and are back after a minute; every half hour a machine of 32 is taken away for ten minutes.

use foretell::remote::{Cost, Desk, Limits};
use foretell::seed::{Rng, Seed};
use rand_distr::{Distribution, Exp, LogNormal};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Workers of one machine.
const NODE: usize = 32;
/// Seconds between failures of a worker, and until it is back.
const FAILS: (f64, f64) = (3600.0, 60.0);
/// Seconds between losses of a machine, and until there is another.
const SPOT: (f64, f64) = (1800.0, 600.0);
/// Seconds until a loss is noticed.
const NOTICED: f64 = 5.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    /// A worker is done with a unit.
    Done {
        worker: usize,
        number: u64,
        life: u32,
    },
    /// The driver hears that the worker of a unit is gone.
    Lost {
        number: u64,
    },
    Fails {
        worker: usize,
    },
    Taken,
    Back {
        worker: usize,
    },
}

struct Study {
    workers: usize,
    candidates: usize,
    generation: usize,
    /// Mean seconds of a candidate.
    seconds: f64,
    failing: bool,
}

#[derive(Clone, Default)]
struct Worker {
    life: u32,
    alive: bool,
    /// The unit at work, and since when.
    unit: Option<(u64, f64)>,
}

struct Unit {
    indices: Vec<usize>,
    guarded: bool,
}

struct Simulation<'s> {
    study: &'s Study,
    /// Seconds of the driver per unit and per candidate, both ways together.
    driver_costs: (f64, f64),
    events: BinaryHeap<Reverse<(u64, u64)>>,
    queued: HashMap<u64, Event>,
    workers: Vec<Worker>,
    idle: Vec<usize>,
    alive: usize,
    waiting: VecDeque<(f64, u64)>,
    units: HashMap<u64, Unit>,
    cost: Cost,
    rng: Rng,
    /// When the driver is free, and how long it was busy.
    driver: f64,
    busy: f64,
    useful: f64,
    lost: f64,
    losses: u64,
    next: u64,
    number: u64,
}

impl<'s> Simulation<'s> {
    fn new(study: &'s Study, driver_costs: (f64, f64)) -> Self {
        let mut made = Simulation {
            study,
            driver_costs,
            events: BinaryHeap::new(),
            queued: HashMap::new(),
            workers: vec![Worker { alive: true, ..Worker::default() }; study.workers],
            idle: (0..study.workers).rev().collect(),
            alive: study.workers,
            waiting: VecDeque::new(),
            units: HashMap::new(),
            cost: Cost::default(),
            rng: Seed(0).stream("cluster", 0),
            driver: 0.0,
            busy: 0.0,
            useful: 0.0,
            lost: 0.0,
            losses: 0,
            next: 0,
            number: 0,
        };
        if study.failing {
            (0..study.workers).for_each(|worker| made.fail_later(worker, 0.0));
            made.after(SPOT.0, Event::Taken);
        }
        made
    }

    fn after(&mut self, at: f64, event: Event) {
        self.next += 1;
        self.events.push(Reverse(((at * 1e6) as u64, self.next)));
        self.queued.insert(self.next, event);
    }

    fn fail_later(&mut self, worker: usize, now: f64) {
        let wait = Exp::new(1.0 / FAILS.0).expect("a rate").sample(&mut self.rng);
        self.after(now + wait, Event::Fails { worker });
    }

    /// The driver works for so long, beginning when it is free.
    fn drive(&mut self, now: f64, seconds: f64) -> f64 {
        self.driver = self.driver.max(now) + seconds;
        self.busy += seconds;
        self.driver
    }

    /// Runs the whole study; its seconds.
    fn run(&mut self) -> f64 {
        let (mut now, mut left) = (0.0, self.study.candidates);
        while left > 0 {
            let size = left.min(self.study.generation);
            now = self.generation(size, now);
            left -= size;
        }
        now
    }

    fn generation(&mut self, size: usize, begin: f64) -> f64 {
        let mean = self.study.seconds;
        // One candidate in six takes more than 1.6 times the median, one in ten thousand more than six times.
        let drawn = LogNormal::new(mean.ln() - 0.125, 0.5).expect("a distribution");
        let seconds: Vec<f64> = (0..size).map(|_| drawn.sample(&mut self.rng)).collect();
        let mut desk = Desk::new(vec![1.0; size], Limits::default(), begin);
        let mut now = begin;
        self.hand_out(&mut desk, &seconds, now);
        while !desk.is_done() {
            let Some(Reverse((at, key))) = self.events.pop() else { unreachable!("somebody works") };
            now = at as f64 / 1e6;
            let event = self.queued.remove(&key).expect("every key has an event");
            self.happen(event, &mut desk, &seconds, now);
            self.hand_out(&mut desk, &seconds, now);
        }
        self.units.clear();
        self.waiting.clear();
        now.max(self.driver)
    }

    fn happen(&mut self, event: Event, desk: &mut Desk, seconds: &[f64], now: f64) {
        match event {
            Event::Done { worker, number, life } if self.workers[worker].life == life => {
                self.workers[worker].unit = None;
                self.idle.push(worker);
                let Some(unit) = self.units.remove(&number) else { return };
                let took: f64 = unit.indices.iter().map(|index| seconds[*index]).sum();
                let at = self.drive(
                    now,
                    self.driver_costs.0 / 2.0 + unit.indices.len() as f64 * self.driver_costs.1 / 2.0,
                );
                for index in &unit.indices {
                    if desk.settle(*index) {
                        self.useful += seconds[*index];
                    }
                }
                desk.came_back(number, took, &mut self.cost, at);
            }
            Event::Done { .. } => {}
            Event::Lost { number } => {
                if self.units.remove(&number).is_some() {
                    let at = self.drive(now, self.driver_costs.0 / 2.0);
                    desk.lost(number, "a simulated failure", at).expect("failures are rare");
                }
            }
            Event::Fails { worker } => {
                self.die(worker, FAILS.1, now);
                self.fail_later(worker, now + FAILS.1);
            }
            Event::Taken => {
                let nodes = self.workers.len().div_ceil(NODE) as u64;
                let node = (now / SPOT.0) as u64 % nodes;
                let first = node as usize * NODE;
                (first..self.workers.len().min(first + NODE))
                    .for_each(|worker| self.die(worker, SPOT.1, now));
                self.after(now + SPOT.0, Event::Taken);
            }
            Event::Back { worker } if !self.workers[worker].alive => {
                self.workers[worker].alive = true;
                self.alive += 1;
                self.idle.push(worker);
            }
            Event::Back { .. } => {}
        }
    }

    fn die(&mut self, worker: usize, away: f64, now: f64) {
        if !self.workers[worker].alive {
            return;
        }
        self.losses += 1;
        self.alive -= 1;
        let own = &mut self.workers[worker];
        (own.alive, own.life) = (false, own.life + 1);
        if let Some((number, since)) = own.unit.take() {
            self.lost += now - since;
            self.after(now + NOTICED, Event::Lost { number });
        }
        self.idle.retain(|other| *other != worker);
        self.after(now + away, Event::Back { worker });
    }

    fn hand_out(&mut self, desk: &mut Desk, seconds: &[f64], now: f64) {
        let slots = self.alive;
        loop {
            self.number += 1;
            let at = self.driver.max(now);
            let Some(handed) = desk.hand_out(self.number, slots, &self.cost, at) else { break };
            let count = handed.indices.len() as f64;
            let at = self.drive(now, self.driver_costs.0 / 2.0 + count * self.driver_costs.1 / 2.0);
            self.units.insert(self.number, Unit { indices: handed.indices, guarded: handed.guarded });
            self.waiting.push_back((at, self.number));
        }
        while let Some((arrives, number)) = self.waiting.front().copied() {
            let Some(worker) = self.idle.pop() else { break };
            self.waiting.pop_front();
            let Some(unit) = self.units.get(&number) else { continue };
            // A process of its own takes a moment to start.
            let extra = if unit.guarded { 0.3 } else { 0.0 };
            let takes: f64 = unit.indices.iter().map(|index| seconds[*index]).sum();
            let start = arrives.max(now);
            let life = self.workers[worker].life;
            self.workers[worker].unit = Some((number, start));
            self.after(start + takes + extra, Event::Done { worker, number, life });
        }
    }
}

fn main() {
    let given: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let per_unit = given.first().copied().unwrap_or(1.13) / 1e3;
    let per_candidate = given.get(1).copied().unwrap_or(0.03) / 1e3;
    println!("driver: {:.2} ms per unit, {:.3} ms per candidate\n", 1e3 * per_unit, 1e3 * per_candidate);
    println!(
        "| workers | candidates | generation | seconds each | failures | hours | workers busy with kept work | lost work | driver busy |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let study = |workers, candidates, generation, seconds, failing| Study {
        workers,
        candidates,
        generation,
        seconds,
        failing,
    };
    for study in [
        study(1000, 400_000, 400_000, 10.0, false),
        study(1000, 400_000, 400_000, 10.0, true),
        study(1000, 400_000, 20_000, 10.0, true),
        study(1000, 400_000, 2_000, 10.0, true),
        study(1000, 20_000, 50, 10.0, true),
        study(1000, 1_000_000, 1_000_000, 1.0, true),
        study(1000, 1_000_000, 1_000_000, 0.1, true),
        study(1000, 1_000_000, 1_000_000, 0.01, false),
        study(4000, 1_000_000, 1_000_000, 10.0, true),
        study(100, 100_000, 100_000, 1.0, true),
    ] {
        let mut simulation = Simulation::new(&study, (per_unit, per_candidate));
        let seconds = simulation.run();
        let whole = seconds * study.workers as f64;
        println!(
            "| {} | {} | {} | {} | {} | {:.2} | {:.1} % | {:.2} % | {:.0} % |",
            study.workers,
            study.candidates,
            study.generation,
            study.seconds,
            simulation.losses,
            seconds / 3600.0,
            100.0 * simulation.useful / whole,
            100.0 * simulation.lost / whole,
            100.0 * simulation.busy / seconds
        );
    }
}
