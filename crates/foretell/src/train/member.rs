//! A network that is being trained: its weights, those of its head, and what the optimiser remembers of each.

use crate::architecture::{Architecture, Tensor};
use crate::engine::scalar::Scalar;
use crate::network::{Layout, Supernet, Weights};
use crate::seed::Seed;
use rand::RngExt;

pub(super) struct Member<S> {
    pub architecture: Architecture,
    /// Those of the architecture, then those of the head.
    pub weights: Weights<S>,
    /// First and second moment of the gradient.
    pub moments: [Vec<S>; 2],
}

impl<S: Scalar> Member<S> {
    /// A network as it is initialised, with a draw of its own for every architecture and seed.
    pub fn new(architecture: Architecture, head: &[Tensor], seed: Seed) -> Self {
        let layout = Layout::with(&architecture, head);
        let own = Seed(seed.stream(&architecture.id(), 0).random());
        let weights = Supernet::new(own).laid_out(layout);
        let moments = [(); 2].map(|()| vec![S::ZERO; weights.data.len()]);
        Member { architecture, weights, moments }
    }
}
