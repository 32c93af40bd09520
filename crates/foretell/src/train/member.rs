//! A network that is being trained: its weights, those of its head, and what the optimiser remembers of each.

use super::checkpoint;
use crate::architecture::{Architecture, Tensor};
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{Layout, Supernet, Weights};
use crate::seed::Seed;
use rand::RngExt;
use std::path::Path;

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

    /// Takes the weights of the network, but not of its head, from a file or from the folder of a run.
    pub fn start(&mut self, path: &Path) -> Result<()> {
        let none = || Error::data(path.display().to_string(), "holds no checkpoint to start from");
        let file = if path.is_dir() { checkpoint::weights(path).ok_or_else(none)? } else { path.to_owned() };
        let from: Weights<S> = Weights::read(&self.architecture, &file)?;
        // Tensors of the head lie behind those of the network.
        self.weights.data[..from.data.len()].copy_from_slice(&from.data);
        Ok(())
    }
}
