//! Everything a searcher was told, and the best of it.

use super::{SearchContext, Told};

/// All points in the order told.
pub(super) struct Archive<P> {
    pub(super) told: Vec<Told<P>>,
}

impl<P> Default for Archive<P> {
    fn default() -> Self {
        Archive { told: Vec::new() }
    }
}

impl<P> Archive<P> {
    pub(super) fn point(&self, index: usize) -> &P {
        &self.told[index].point
    }

    /// Adds a generation; the indices of its members that did not fail.
    pub(super) fn add(&mut self, generation: Vec<Told<P>>) -> Vec<usize> {
        let from = self.told.len();
        self.told.extend(generation);
        (from..self.told.len()).filter(|index| self.told[*index].outcome.is_some()).collect()
    }

    /// The `k` fittest of some members in the first objective, ranked within the whole archive; of equals the earlier.
    pub(super) fn best(&self, context: &dyn SearchContext<P>, mut among: Vec<usize>, k: usize) -> Vec<usize> {
        among.sort_unstable();
        fittest(context, &self.told, &among, k)
    }
}

/// The `k` fittest of some points within all of `told`; of equals the first listed.
pub(super) fn fittest<P>(
    context: &dyn SearchContext<P>,
    told: &[Told<P>],
    among: &[usize],
    k: usize,
) -> Vec<usize> {
    let fitness = context.fitness(0, told, among);
    let mut order: Vec<usize> = (0..among.len()).collect();
    order.sort_by(|a, b| fitness[*b].total_cmp(&fitness[*a]));
    order.into_iter().take(k).map(|place| among[place]).collect()
}
