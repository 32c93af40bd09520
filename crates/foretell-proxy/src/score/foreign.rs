//! Networks of others: somebody else has the weights and ran the passes, and the formulas are the same.

use crate::architecture::{Block, Counter, NetworkKind, Subject, Tensor};
use crate::error::Result;
use crate::probe::{AnyWeights, Pass, PassResult};
use crate::proxy::{PassOverrides, ProxyInput, Request, Score, Spectra};
use std::sync::atomic::AtomicBool;

/// A network that no family describes, as data.
#[derive(Debug, Clone)]
pub struct Foreign {
    /// What messages call it, such as the class of a model.
    pub name: String,
    /// What its results are stored under.
    pub id: String,
    /// What it is.
    pub kind: NetworkKind,
    /// Its tensors, in the order of weights and gradients.
    pub tensors: Vec<Tensor>,
    /// Its blocks, first to last.
    pub blocks: Vec<Block>,
    /// Tokens that enter the first block.
    pub tokens: u64,
    /// Whether a training pass drops anything.
    pub has_dropout: bool,
}

impl Subject for Foreign {
    fn name(&self) -> &str {
        &self.name
    }
    fn id(&self) -> String {
        self.id.clone()
    }
    fn kind(&self) -> NetworkKind {
        self.kind
    }
    fn tensors(&self, each: &mut dyn FnMut(&Tensor)) {
        self.tensors.iter().for_each(each);
    }
    fn blocks(&self, each: &mut dyn FnMut(Block)) {
        self.blocks.iter().copied().for_each(each);
    }
    fn tokens(&self) -> u64 {
        self.tokens
    }
    fn flops(&self, _: Counter) -> Option<u64> {
        None
    }
    fn has_dropout(&self) -> bool {
        self.has_dropout
    }
}

/// The scores of a network whose passes were run elsewhere: its weights in the precision of the passes and, where passes need
/// it, in double; every pass that the requests need, with what it saw.
pub fn score_foreign(
    subject: &dyn Subject,
    weights: [Option<AnyWeights>; 2],
    passes: &[(Pass, Result<PassResult>)],
    requests: &[&Request],
) -> Vec<Result<Score>> {
    let layout = weights.iter().flatten().next().map(|weights| weights.layout().clone());
    let input = ProxyInput {
        subject,
        weights,
        layout: layout.as_ref(),
        passes,
        pass_overrides: &PassOverrides::default(),
        looked: &AtomicBool::new(false),
        spectra: &Spectra::default(),
    };
    requests.iter().map(|request| request.score(&input)).collect()
}
