//! Steps to a neighbour that keep a network inside its limits, and use what they allow.

use super::constraints::LoadMeter;
use super::operators::SpaceMoves;
use crate::architecture::Architecture;
use crate::search::Step;
use crate::seed::Rng;
use crate::space::Neighbours;
use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};

/// A column of a position that has a choice.
type Place = (usize, usize);

/// How often what a change leaves unused is given to other blocks: not every score grows with size.
const FILL: f64 = 0.75;
/// How often what one block takes is given back in the same column by another.
const SAME_COLUMN: f64 = 0.75;
/// How often a second value outside the positions moves with the first.
const SECOND: f64 = 0.25;
/// Blocks that are offered what an exchange leaves unused.
const OFFERS: usize = 4;

impl SpaceMoves<'_> {
    /// A neighbour of a point.
    pub(super) fn neighbour(
        &self,
        near: &Neighbours,
        parent: &Architecture,
        step: Step,
        rng: &mut Rng,
    ) -> Architecture {
        let places = places(near, parent);
        let Some(&place) = places.choose(rng) else { return self.move_outside(near, parent, rng) };
        let mut point = parent.clone();
        match step {
            Step::Whole => return self.move_outside(near, parent, rng),
            Step::Value => self.move_value(near, &mut point, place, rng),
            Step::Exchange => self.exchange(near, &mut point, place, &places, rng),
            Step::Together => return self.move_together(near, point, place, rng),
            Step::Swap => {
                let other = rng.random_range(0..point.positions());
                let rows = [point.row(place.0).to_vec(), point.row(other).to_vec()];
                near.set_row(&mut point, place.0, &rows[1]);
                near.set_row(&mut point, other, &rows[0]);
            }
        }
        point
    }

    /// Operators one value, as far as the limits allow.
    fn move_value(&self, near: &Neighbours, point: &mut Architecture, place: Place, rng: &mut Rng) {
        let values = near.values(point, place.0, place.1);
        let now = index(values, point.row(place.0)[place.1]);
        let to = distant(now, values.len(), rng);
        let old = point.row(place.0).to_vec();
        let mut meter = LoadMeter::new(&self.constraints, point);
        let mut distance = now.abs_diff(to);
        while distance > 0 {
            let to = if to > now { now + distance } else { now - distance };
            if meter.change(point, place.0, |point| near.set(point, place.0, place.1, values[to])) <= 1.0 {
                return;
            }
            meter.change(point, place.0, |point| near.set_row(point, place.0, &old));
            distance /= 2;
        }
    }

    /// Operators one value freely; other blocks give until the limits hold, or are offered what is left.
    fn exchange(
        &self,
        near: &Neighbours,
        point: &mut Architecture,
        place: Place,
        places: &[Place],
        rng: &mut Rng,
    ) {
        let values = near.values(point, place.0, place.1);
        let now = index(values, point.row(place.0)[place.1]);
        near.set(point, place.0, place.1, values[distant(now, values.len(), rng)]);
        if !self.constraints.limited() {
            return;
        }
        let mut others: Vec<Place> = places.iter().copied().filter(|other| other.0 != place.0).collect();
        others.shuffle(rng);
        if rng.random_bool(SAME_COLUMN) {
            others.sort_by_key(|other| other.1 != place.1);
        }
        let mut meter = LoadMeter::new(&self.constraints, point);
        for other in &others {
            if meter.load() <= 1.0 {
                break;
            }
            lower(near, &mut meter, point, *other);
        }
        if rng.random_bool(FILL) {
            others.iter().take(OFFERS).for_each(|other| raise(near, &mut meter, point, *other, usize::MAX));
        }
    }

    /// Gives some or all blocks the value that one has, or a neighbour of it, and scales them.
    fn move_together(
        &self,
        near: &Neighbours,
        mut point: Architecture,
        (position, column): Place,
        rng: &mut Rng,
    ) -> Architecture {
        let values = near.values(&point, position, column);
        let now = index(values, point.row(position)[column]);
        let value = values[if rng.random_bool(0.5) { distant(now, values.len(), rng) } else { now }];
        let all = 0..point.positions();
        let some = match rng.random_bool(0.5) {
            true => all,
            false => rng.random_range(0..=position)..rng.random_range(position..all.end) + 1,
        };
        for other in some {
            let values = near.values(&point, other, column);
            let nearest = values.iter().min_by_key(|known| known.abs_diff(value)).copied();
            if let Some(value) = nearest {
                near.set(&mut point, other, column, value);
            }
        }
        let fill = rng.random_bool(FILL);
        self.scaled(near, point, fill, rng)
    }

    /// Operators a value outside the positions, now and then two, and scales the blocks.
    fn move_outside(&self, near: &Neighbours, parent: &Architecture, rng: &mut Rng) -> Architecture {
        let mut set = Vec::new();
        for _ in 0..if rng.random_bool(SECOND) { 2 } else { 1 } {
            if let Some(&slot) = self.varying.choose(rng) {
                let values = near.outside(slot);
                let now = index(values, parent.globals()[slot]);
                set.push((slot, values[distant(now, values.len(), rng)]));
            }
        }
        let fill = rng.random_bool(FILL);
        self.scaled(near, near.with_outside(parent, &set), fill, rng)
    }

    /// The point with all blocks moved alike along their choices, in one column or in all: down until it is inside its
    /// limits, with `fill` up as far as they allow. What is then left goes to blocks one by one.
    pub(super) fn scaled(
        &self,
        near: &Neighbours,
        point: Architecture,
        fill: bool,
        rng: &mut Rng,
    ) -> Architecture {
        if !self.constraints.limited() {
            return point;
        }
        let over = self.constraints.load(&point) > 1.0;
        if !over && !fill && self.constraints.excess(&point) == 0.0 {
            return point;
        }
        let mut places = places(near, &point);
        places.shuffle(rng);
        let Some(&(_, column)) = places.first() else { return point };
        let one: Vec<Place> = places.iter().copied().filter(|place| place.1 == column).collect();
        let fitting = |places: &[Place]| self.shifted(near, &point, places, over);
        let alone = if rng.random_bool(0.5) { fitting(&one) } else { None };
        let Some(mut point) = alone.or_else(|| fitting(&places)) else { return point };
        if fill {
            let mut meter = LoadMeter::new(&self.constraints, &point);
            places.iter().for_each(|place| raise(near, &mut meter, &mut point, *place, 1));
        }
        point
    }

    /// The largest point inside the limits whose values at some places are all moved alike: down from one that is over
    /// them, up from one inside.
    fn shifted(
        &self,
        near: &Neighbours,
        point: &Architecture,
        places: &[Place],
        over: bool,
    ) -> Option<Architecture> {
        let choices = |place: &Place| near.values(point, place.0, place.1).len() - 1;
        let finest = places.iter().map(choices).max()? as i64;
        let shift = |by: i64| {
            let mut shifted = point.clone();
            for place in places {
                let values = near.values(point, place.0, place.1);
                let last = values.len() as i64 - 1;
                let now = index(values, point.row(place.0)[place.1]) as i64;
                let moved = (2 * by * last + finest * by.signum()) / (2 * finest);
                near.set(&mut shifted, place.0, place.1, values[(now + moved).clamp(0, last) as usize]);
            }
            shifted
        };
        let fits = |by: i64| Some(shift(by)).filter(|shifted| self.constraints.load(shifted) <= 1.0);
        let (mut low, mut high) = if over { (-finest, 0) } else { (0, finest + 1) };
        let mut best = fits(low)?;
        while low + 1 < high {
            let middle = (low + high).div_euclid(2);
            match fits(middle) {
                Some(point) => (low, best) = (middle, point),
                None => high = middle,
            }
        }
        Some(best)
    }
}

/// Lowers a value by the least that brings the point inside its limits, or to its lowest; not where that saves nothing.
fn lower(near: &Neighbours, meter: &mut LoadMeter, point: &mut Architecture, place: Place) {
    try_values(near, meter, point, place, |now, _, before, set| {
        (now > 0 && set(0) < before).then(|| largest_inside(0, now, set))
    });
}

/// Raises a value as far as the limits allow and by so many choices at most; not where that costs nothing.
fn raise(near: &Neighbours, meter: &mut LoadMeter, point: &mut Architecture, place: Place, most: usize) {
    try_values(near, meter, point, place, |now, count, before, set| {
        let next = now + 1;
        let load = if next < count { set(next) } else { before };
        let costs = load > before && load <= 1.0;
        costs.then(|| largest_inside(next, count.min(next.saturating_add(most)), set))
    });
}

/// Sets the value at a place to what `choose` settles on, or back. `choose` is given the index of the value, how many there
/// are, the load, and a function that sets another index and gives the load then.
fn try_values(
    near: &Neighbours,
    meter: &mut LoadMeter,
    point: &mut Architecture,
    (position, column): Place,
    choose: impl FnOnce(usize, usize, f64, &mut dyn FnMut(usize) -> f64) -> Option<usize>,
) {
    let values = near.values(point, position, column);
    let now = index(values, point.row(position)[column]);
    let (old, before) = (point.row(position).to_vec(), meter.load());
    let mut set = |to: Option<usize>| {
        meter.change(point, position, |point| {
            near.set_row(point, position, &old);
            to.into_iter().for_each(|to| near.set(point, position, column, values[to]));
        })
    };
    let chosen = choose(now, values.len(), before, &mut |to| set(Some(to)));
    set(chosen);
}

/// The largest index from `low` up to below `high` that keeps the limits, if `low` does.
fn largest_inside(mut low: usize, mut high: usize, set: &mut dyn FnMut(usize) -> f64) -> usize {
    while low + 1 < high {
        let middle = low.midpoint(high);
        if set(middle) <= 1.0 { low = middle } else { high = middle }
    }
    low
}

/// Every column of every position that has a choice.
fn places(near: &Neighbours, point: &Architecture) -> Vec<Place> {
    let columns = point.family().row_width();
    let all = (0..point.positions()).flat_map(|position| (0..columns).map(move |column| (position, column)));
    all.filter(|(position, column)| near.values(point, *position, *column).len() > 1).collect()
}

/// Where a value stands among ascending ones.
fn index(values: &[u32], value: u32) -> usize {
    values.partition_point(|known| *known < value).min(values.len() - 1)
}

/// Another of `count` places, near ones as likely as far ones: the distance is drawn on a logarithmic scale.
fn distant(now: usize, count: usize, rng: &mut Rng) -> usize {
    let last = count - 1;
    let scale = rng.random_range(0..=last.max(1).ilog2());
    let distance = rng.random_range(1 << scale..2 << scale);
    let up = (now + distance).min(last);
    let down = now.saturating_sub(distance);
    let (first, second) = if rng.random_bool(0.5) { (up, down) } else { (down, up) };
    if first == now { second } else { first }
}
