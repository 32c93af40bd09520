//! Memory that is used again.
//!
//! A [`Workspace`] hands out buffers and takes them back. A pass that asks for the same sizes a second time finds all
//! of them waiting and allocates nothing. What it holds at most, handed out or waiting, is the memory the pass needs: a
//! buffer that waits while none of its size is asked for is memory all the same.

use super::scalar::Scalar;

/// Reusable buffers of one scalar type.
#[derive(Debug, Default)]
pub struct Workspace<S> {
    /// Buffers that wait, each with the numbers it has room for.
    free: Vec<(usize, Vec<S>)>,
    live: usize,
    held: usize,
    peak: usize,
    /// Length and room of what is out, of numbers that take no space: their buffers do not know their room.
    out: Vec<(usize, usize)>,
}

impl<S: Scalar> Workspace<S> {
    /// Holds nothing yet.
    pub fn new() -> Self {
        Self { free: Vec::new(), live: 0, held: 0, peak: 0, out: Vec::new() }
    }

    /// A buffer of `len` numbers with unspecified content: the smallest free one that fits, the most recently used
    /// among equals, or a new one.
    pub fn take(&mut self, len: usize) -> Vec<S> {
        self.live += len;
        let fits = self.free.iter().enumerate().rev().filter(|(_, (room, _))| *room >= len);
        let (room, mut buffer) = match fits.min_by_key(|(_, (room, _))| *room) {
            Some((place, _)) => self.free.swap_remove(place),
            None => {
                self.held += len;
                self.peak = self.peak.max(self.held);
                (len, vec![S::ZERO; len])
            }
        };
        buffer.resize(len, S::ZERO);
        if size_of::<S>() == 0 {
            self.out.push((len, room));
        }
        buffer
    }

    /// A buffer of `len` zeros.
    pub fn zeros(&mut self, len: usize) -> Vec<S> {
        let mut buffer = self.take(len);
        buffer.fill(S::ZERO);
        buffer
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Vec<S>) {
        self.live = self.live.saturating_sub(buffer.len());
        let mut room = buffer.capacity();
        if size_of::<S>() == 0 {
            let place = self.out.iter().rposition(|(len, _)| *len == buffer.len());
            room = place.map_or(0, |place| self.out.swap_remove(place).1);
        }
        if room > 0 {
            self.free.push((room, buffer));
        }
    }

    /// Takes several buffers back.
    pub fn give_all(&mut self, buffers: impl IntoIterator<Item = Vec<S>>) {
        buffers.into_iter().for_each(|b| self.give(b));
    }

    /// Bytes handed out and not yet given back.
    pub fn live_bytes(&self) -> usize {
        self.live * size_of::<S>()
    }

    /// The most numbers there was room for so far, handed out or waiting, whatever their size.
    pub fn peak_numbers(&self) -> usize {
        self.peak
    }

    /// The most bytes held so far, handed out or waiting.
    pub fn peak_bytes(&self) -> usize {
        self.peak * size_of::<S>()
    }

    /// Bytes waiting to be used again.
    pub fn idle_bytes(&self) -> usize {
        self.free.iter().map(|(room, _)| room * size_of::<S>()).sum()
    }

    /// Frees what is idle and resets the peak, for the next network of another shape.
    pub fn clear(&mut self) {
        self.held -= self.free.drain(..).map(|(room, _)| room).sum::<usize>().min(self.held);
        self.peak = self.held;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back() {
        let mut space = Workspace::<f32>::new();
        let (small, large) = (space.take(10), space.take(100));
        let address = small.as_ptr();
        assert_eq!((space.live_bytes(), space.peak_bytes()), (440, 440));
        space.give_all([large, small]);
        let again = space.take(8);
        assert_eq!((again.as_ptr(), again.len(), space.live_bytes()), (address, 8, 32));
        assert_eq!((space.peak_bytes(), space.idle_bytes()), (440, 400));
        assert!(space.zeros(100).iter().all(|&x| x == 0.0));
    }

    /// Ten numbers in a buffer of 100, which waits for 101 in vain: room for 201 in all, of any kind of number.
    #[test]
    fn what_waits_counts() {
        fn held<S: Scalar>() -> usize {
            let mut space = Workspace::<S>::new();
            let large = space.take(100);
            space.give(large);
            let small = space.take(10);
            space.give(small);
            let larger = space.take(101);
            space.give(larger);
            space.peak_numbers()
        }
        assert_eq!((held::<f32>(), held::<crate::blank::Blank>()), (201, 201));
    }
}
