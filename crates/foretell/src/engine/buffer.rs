//! Memory that is used again.
//!
//! A [`Workspace`] hands out buffers and takes them back. A pass that asks for the same sizes a second time finds all
//! of them waiting and allocates nothing; what it held at most is the memory the pass needs.

use super::scalar::Scalar;

/// Reusable buffers of one scalar type.
#[derive(Debug, Default)]
pub struct Workspace<S> {
    free: Vec<Vec<S>>,
    live: usize,
    peak: usize,
}

impl<S: Scalar> Workspace<S> {
    /// Holds nothing yet.
    pub fn new() -> Self {
        Self { free: Vec::new(), live: 0, peak: 0 }
    }

    /// A buffer of `len` numbers with unspecified content: the smallest free one that fits, the most recently used
    /// among equals, or a new one.
    pub fn take(&mut self, len: usize) -> Vec<S> {
        self.live += len;
        self.peak = self.peak.max(self.live);
        let fits = self.free.iter().enumerate().rev().filter(|(_, b)| b.capacity() >= len);
        let Some((place, _)) = fits.min_by_key(|(_, b)| b.capacity()) else { return vec![S::ZERO; len] };
        let mut buffer = self.free.swap_remove(place);
        buffer.resize(len, S::ZERO);
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
        if buffer.capacity() > 0 {
            self.free.push(buffer);
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

    /// The most numbers handed out at once so far, whatever their size.
    pub fn peak_numbers(&self) -> usize {
        self.peak
    }

    /// The largest [`live_bytes`](Self::live_bytes) so far.
    pub fn peak_bytes(&self) -> usize {
        self.peak * size_of::<S>()
    }

    /// Bytes waiting to be used again.
    pub fn idle_bytes(&self) -> usize {
        self.free.iter().map(|b| b.capacity() * size_of::<S>()).sum()
    }

    /// Frees what is idle and starts the peak anew, for the next network of another shape.
    pub fn clear(&mut self) {
        self.free.clear();
        self.peak = self.live;
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
}
