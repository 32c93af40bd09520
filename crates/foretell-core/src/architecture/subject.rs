//! What a proxy may ask about any network, ours or foreign.

use super::{Architecture, Block, Counter, NetworkKind, Params, Tensor};

/// A network as proxies see it: sizes, blocks, tensors with their roles. [`Architecture`]s are subjects; so can be
/// networks of others, whose passes somebody else runs.
pub trait Subject: Sync {
    /// What messages call it: the family, or the class of a foreign model.
    fn name(&self) -> &str;
    /// What its results are stored under; equal networks have equal ids.
    fn id(&self) -> String;
    /// What it is.
    fn kind(&self) -> NetworkKind;
    /// Calls `each` with every weight tensor.
    fn tensors(&self, each: &mut dyn FnMut(&Tensor));
    /// Calls `each` with every block, first to last.
    fn blocks(&self, each: &mut dyn FnMut(Block));
    /// Tokens that enter the first block.
    fn tokens(&self) -> u64;
    /// Multiply-adds of one input, if somebody counted them.
    fn flops(&self, counter: Counter) -> Option<u64>;
    /// Whether a training pass drops anything.
    fn has_dropout(&self) -> bool;
    /// Parameters, in all and by part.
    fn params(&self) -> Params {
        let mut params = Params::default();
        self.tensors(&mut |tensor| params.add(tensor));
        params
    }
    /// Number of blocks.
    fn depth(&self) -> u64 {
        let mut depth = 0;
        self.blocks(&mut |_| depth += 1);
        depth
    }
    /// Whether attention reads fewer keys than there are tokens.
    fn pools_keys(&self) -> bool {
        false
    }
    /// Whether masked attention scores are replaced by a finite number.
    fn has_finite_mask(&self) -> bool {
        false
    }
    /// Matrices that the paper on spectral capacity lists, where they are not the weights.
    fn capacity_matrices(&self) -> Option<Vec<(u64, u64)>> {
        None
    }
    /// The architecture behind it, for scores that are defined for one family alone.
    fn architecture(&self) -> Option<&Architecture> {
        None
    }
}

impl Subject for Architecture {
    fn name(&self) -> &str {
        self.family().name()
    }
    fn id(&self) -> String {
        Architecture::id(self)
    }
    fn kind(&self) -> NetworkKind {
        self.family().card().kind
    }
    fn tensors(&self, each: &mut dyn FnMut(&Tensor)) {
        self.visit(each);
    }
    fn blocks(&self, each: &mut dyn FnMut(Block)) {
        self.family().blocks(self, each);
    }
    fn tokens(&self) -> u64 {
        self.family().tokens(self)
    }
    fn flops(&self, counter: Counter) -> Option<u64> {
        Architecture::flops(self, counter)
    }
    fn has_dropout(&self) -> bool {
        self.family().has_dropout(self)
    }
    fn params(&self) -> Params {
        Architecture::params(self)
    }
    fn pools_keys(&self) -> bool {
        self.family().pools_keys()
    }
    fn has_finite_mask(&self) -> bool {
        self.family().has_finite_mask()
    }
    fn capacity_matrices(&self) -> Option<Vec<(u64, u64)>> {
        self.family().capacity_matrices(self)
    }
    fn architecture(&self) -> Option<&Architecture> {
        Some(self)
    }
}
