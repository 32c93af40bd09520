//! Adaptive embedding and softmax, shared by the GPT-2 and Transformer-XL families.
//!
//! The vocabulary is cut into clusters; cluster `i` has embeddings of width `e / k^i` and a projection to the model
//! width. With `k = 1` there is one table, projected only if its width differs. The softmax reuses the tables: its
//! own weights are a bias per word, a row and a bias per further cluster, and the projections that are not tied.

use super::{Init, Role, Visitor};
use serde_json::{Map, Value, json};

/// The sizes of an adaptive embedding.
pub struct Adaptive {
    /// Words.
    pub vocab: u64,
    /// Width of the model.
    pub model: u64,
    /// Width of the first cluster.
    pub embed: u64,
    /// The factor `k` by which widths shrink from cluster to cluster.
    pub div: u64,
    /// Where the vocabulary is cut; 0 or beyond the vocabulary: no cut.
    pub cutoffs: [u64; 3],
    /// Whether the softmax ties all projections but the first to those of the embedding.
    pub tied: bool,
}

/// What the tensors are called.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;

    pub const TABLE: &str = "model.transformer.wte.emb_layers.{}.weight";
    pub const PROJECTION: Names = ["model.transformer.wte.emb_projs.{}", ""];
    pub const WORD_BIAS: &str = "model.lm_head.out_layers_biases.{}";
    pub const OUT_PROJECTION: Names = ["model.lm_head.out_projs.{}", ""];
    pub const ENTRIES: Names = ["model.lm_head.cluster_weight", "model.lm_head.cluster_bias"];
}

/// Cut-offs of the One Billion Word vocabulary, whose softmax ties no projection.
const LM1B_CUTOFFS: [u64; 3] = [59997, 99997, 639997];
/// Sequences of One Billion Word are this long, those of WikiText-103 longer.
const LM1B_TOKENS: u64 = 32;

const NORMAL: Init = Init::Normal(0.02);
const PROJECTION: Init = Init::Normal(0.01);

impl Adaptive {
    /// Adds the cut-offs to a row of a published table, which leaves them out: those of its text, told by the context.
    pub(super) fn complete(row: &mut Map<String, Value>) {
        if row.get("context_len").and_then(Value::as_u64) == Some(LM1B_TOKENS) {
            row.entry("cutoffs").or_insert(json!(LM1B_CUTOFFS));
            row.entry("tie_projs").or_insert(false.into());
        }
    }

    /// Words and embedding width of each cluster.
    pub fn clusters(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut start = 0;
        let mut width = self.embed;
        let ends = self.cutoffs.into_iter().filter(|end| (1..self.vocab).contains(end)).chain([self.vocab]);
        ends.map(move |end| {
            let cluster = (end - start, width);
            start = end;
            width /= self.div;
            cluster
        })
    }

    /// Tables of the embedding: one per cluster, or one in all if widths are equal.
    pub fn tables(&self) -> impl Iterator<Item = (u64, u64)> {
        let whole = (self.div == 1).then_some((self.vocab, self.embed));
        whole.into_iter().chain(self.clusters().filter(|_| self.div > 1))
    }

    /// Whether embeddings are projected to the width of the model.
    pub fn projected(&self) -> bool {
        self.div > 1 || self.embed != self.model
    }

    /// Cuts must rise, and the last cluster must keep a width.
    pub fn check(&self) -> Result<(), String> {
        let cuts: Vec<u64> = self.cutoffs.into_iter().filter(|cut| *cut > 0).collect();
        if !cuts.is_sorted_by(|a, b| a < b) {
            return Err(format!("cutoffs {cuts:?} do not rise"));
        }
        match self.clusters().find(|(_, width)| *width == 0) {
            Some(_) => Err(format!(
                "d_embed {} divided by div_val {} for each cluster leaves no width",
                self.embed, self.div
            )),
            None => Ok(()),
        }
    }

    /// All weights of embedding and softmax.
    pub fn weights(&self, w: &mut Visitor) {
        for (i, (words, width)) in self.tables().enumerate() {
            w.index([i, 0]);
            w.table(names::TABLE, Role::Embedding, &[words, width], NORMAL);
            if self.projected() {
                w.linear(names::PROJECTION, Role::EmbeddingProjection, (width, self.model), PROJECTION);
            }
        }
        for (i, (words, width)) in self.tables().enumerate() {
            w.index([i, 0]);
            w.table(names::WORD_BIAS, Role::Head, &[words], Init::Zeros);
            if self.projected() && (i == 0 || !self.tied) {
                w.linear_transposed(names::OUT_PROJECTION, Role::Head, (self.model, width), PROJECTION);
            }
        }
        let further = self.clusters().count() as u64 - 1;
        if further > 0 {
            w.index([0, 0]);
            w.linear(names::ENTRIES, Role::Head, (self.embed, further), NORMAL);
        }
    }

    /// Multiply-adds for `tokens` tokens: every token from the first cluster, all words scored.
    pub fn flops(&self, tokens: u64) -> u128 {
        let project = |width: u64| if self.projected() { u128::from(self.model * width) } else { 0 };
        let score =
            self.tables().map(|(words, width)| project(width) + u128::from(words * width)).sum::<u128>();
        let further = (self.clusters().count() as u64 - 1) * self.embed;
        u128::from(tokens) * (project(self.embed) + score + u128::from(further))
    }

    /// Numbers kept for `tokens` tokens: embeddings, projected hidden states, all scores.
    pub fn activations(&self, tokens: u64) -> u64 {
        let widths: u64 = self.tables().map(|(_, width)| width).sum();
        tokens * (2 * self.model + self.embed + widths + self.vocab)
    }
}
