//! Decoding: a pass over the tokens of a prompt, then one token at a time with what earlier tokens left behind.
//!
//! Both are the forward pass of the family, which continues from a [`Cache`]: a prompt fills it, a step adds one row
//! per layer to it.

use super::{Cache, Input, Layout, Tape, Weights, forward};
use crate::architecture::Architecture;
use crate::engine::blank::Blank;
use crate::engine::buffer::Workspace;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};

/// A decoder and what it keeps of the tokens it was fed; one sample.
///
/// ```
/// use foretell_network::network::{Decoder, Weights};
/// let network = foretell_core::space::read_architecture(&serde_json::json!({"family": "gpt2", "vocab_size": 50,
///     "context_len": 8, "n_layer": 2, "d_model": 16, "n_head": 2, "d_inner": 32})).unwrap();
/// let weights: Weights<f32> = Weights::standalone(&network, foretell_core::seed::Seed(0));
/// let mut decoder = Decoder::new(&network, &weights).unwrap();
/// assert_eq!(decoder.feed(&[3, 1, 4]).unwrap().len(), 50); // logits of the fourth token
/// decoder.feed(&[1]).unwrap();
/// assert_eq!(decoder.tokens(), 4);
/// ```
#[derive(Debug)]
pub struct Decoder<'w, S> {
    architecture: &'w Architecture,
    weights: &'w Weights<S>,
    vocabulary: u64,
    cache: Cache<S>,
    space: Workspace<S>,
    logits: Vec<S>,
}

impl<'w, S: Scalar> Decoder<'w, S> {
    /// A decoder that has seen nothing. Encoders and vision networks are refused.
    pub fn new(architecture: &'w Architecture, weights: &'w Weights<S>) -> Result<Self> {
        if !architecture.is_decoder() {
            return Err(Error::NotDecoder { family: architecture.family().to_string() });
        }
        let vocabulary = architecture.to_json().get("vocab_size").and_then(serde_json::Value::as_u64);
        Ok(Decoder {
            architecture,
            weights,
            vocabulary: vocabulary.unwrap_or(0),
            cache: Cache::new(architecture.tokens() as usize),
            space: Workspace::new(),
            logits: Vec::new(),
        })
    }

    /// Feeds further tokens and gives the logits of the one after them.
    ///
    /// With an adaptive softmax of several clusters the logits are log-probabilities. Logits are as the weights make
    /// them: those of a network whose numbers overflow are not finite.
    pub fn feed(&mut self, ids: &[u32]) -> Result<&[S]> {
        self.run(ids, true)
    }

    /// The logits after one further token, which is not kept: the next call starts where this one did.
    pub fn peek(&mut self, id: u32) -> Result<&[S]> {
        self.run(&[id], false)
    }

    /// Tokens fed and kept.
    pub fn tokens(&self) -> usize {
        self.cache.tokens()
    }

    /// Bytes of keys and values, or states, of all tokens so far.
    pub fn cache_bytes(&self) -> u64 {
        self.cache.bytes()
    }

    fn run(&mut self, ids: &[u32], keep: bool) -> Result<&[S]> {
        self.check(ids)?;
        let input = Input::tokens(ids.to_vec(), 1);
        self.cache.begin(keep);
        let mut tape = Tape::new(self.weights, &mut self.space, false);
        tape.resume(&mut self.cache);
        let output = forward(self.architecture, &input, &mut tape);
        let logits = output.logits.expect("a pass with a cache scores its last token");
        self.logits.clear();
        self.logits.extend_from_slice(tape.data(logits));
        tape.close();
        self.cache.finish(ids.len());
        Ok(&self.logits)
    }

    fn check(&self, ids: &[u32]) -> Result<()> {
        let wrong = |message: String| Err(Error::data("tokens", message));
        let (seen, context) = (self.cache.tokens(), self.cache.context());
        if ids.is_empty() {
            return wrong("there are none: feed at least one".into());
        }
        if seen + ids.len() > context {
            return wrong(format!(
                "{} after {seen} exceed the context of {context}: start a new decoder",
                ids.len()
            ));
        }
        match ids.iter().find(|id| u64::from(**id) >= self.vocabulary) {
            Some(id) => wrong(format!("id {id} is beyond the vocabulary of {}", self.vocabulary)),
            None => Ok(()),
        }
    }
}

/// The most bytes that decoding over `S` holds when it is fed a whole context, found without allocating them: weights,
/// cache, and what lies between layers.
pub fn decoding_bytes<S: Scalar>(architecture: &Architecture) -> Result<u64> {
    let weights: Weights<Blank> = Weights::zeros(Layout::of(architecture));
    let mut decoder = Decoder::new(architecture, &weights)?;
    decoder.feed(&vec![0; architecture.tokens() as usize])?;
    let cache = architecture.cache_bytes().unwrap_or(0) / 4;
    let numbers = decoder.space.peak_numbers() + weights.layout.len() + cache as usize;
    Ok((numbers * size_of::<S>()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::space;
    use rand::RngExt;
    use serde_json::json;

    /// Random networks of every decoder family with sizes that differ from layer to layer.
    fn networks(seed: u64) -> Vec<Architecture> {
        let mut rng = Seed(seed).stream("networks", 0);
        let mut pick = |from: &[u32]| from[rng.random_range(0..from.len())];
        let vocabulary = |cuts: &[u32], div: u32, embed: u32| json!({"vocab_size": 29, "cutoffs": cuts, "div_val": div, "d_embed": embed, "tie_projs": div == 2});
        let vocabularies = [
            vocabulary(&[], 1, 24),
            vocabulary(&[11], 1, 12),
            vocabulary(&[7, 19], 2, 24),
            vocabulary(&[7], 2, 12),
        ];
        let mut all = Vec::new();
        for family in ["gpt2", "transformer-xl"] {
            for vocabulary in &vocabularies {
                let mut object = vocabulary.clone();
                let layers = [(); 3].map(|()| (pick(&[1, 2, 3, 4]), pick(&[8, 17, 40])));
                object["family"] = family.into();
                object["context_len"] = 13.into();
                object["d_model"] = 24.into();
                object["n_head"] = layers.iter().map(|layer| layer.0).collect();
                object["d_inner"] = layers.iter().map(|layer| layer.1).collect();
                all.push(object);
            }
        }
        all.push(
            json!({"family": "gpt2", "head": "plain", "vocab_size": 29, "context_len": 9, "d_model": 16,
            "n_head": [pick(&[1, 2]), pick(&[4, 8])], "d_inner": [pick(&[8, 20]), 32]}),
        );
        for rank in [json!(null), json!(3)] {
            all.push(json!({"family": "llama", "vocab_size": 29, "context_len": 13, "hidden_size": 24,
                "num_heads": [4, 6, 2], "num_kv_heads": [pick(&[1, 2, 4]), pick(&[2, 3]), null], "qkv_rank": rank,
                "ffn_dim": [pick(&[9, 30]), 40, 8], "tie_embeddings": rank.is_null(), "attention_bias": true,
                "up_rank": rank, "head_dim": if rank.is_null() { json!(8) } else { json!(null) }}));
        }
        let mut all: Vec<_> = all.iter().map(|object| space::read_architecture(object).unwrap()).collect();
        let cells = space::preset("nasbench-nlp").unwrap();
        for i in 0..4 {
            let cell = cells.sample(&mut Seed(seed).stream("cell", i));
            let small = [("vocab_size", 29), ("embed_dim", 10), ("hidden_size", 14), ("context_len", 12)];
            all.push(small.iter().fold(cell, |cell, (key, value)| cell.with(key, &json!(value)).unwrap()));
        }
        all
    }

    fn weights<S: Scalar>(architecture: &Architecture, seed: u64) -> Weights<S> {
        let mut weights = Weights::standalone(architecture, Seed(seed));
        let mut rng = Seed(seed).stream("perturb", 0);
        // Biases are not zero and attention is not flat. Cells, which have more than three nodes, would explode.
        let (grow, shake) = if architecture.positions() > 3 { (1.0, 0.05) } else { (3.0, 0.2) };
        let noise =
            |w: &mut S| *w = *w * S::from_f64(grow) + S::from_f64(shake * (rng.random::<f64>() - 0.5));
        weights.data.iter_mut().for_each(noise);
        weights
    }

    /// Scores of the whole sequence's last token by a pass that has no cache: logits where the family gives them, else
    /// −ln p of every word as the loss of that label at the last position.
    fn full<S: Scalar>(architecture: &Architecture, weights: &Weights<S>, ids: &[u32]) -> Vec<f64> {
        let run = |labels: Vec<u32>| {
            let mut space = Workspace::new();
            let mut tape = Tape::new(weights, &mut space, false);
            let input = Input::Tokens { ids: ids.to_vec(), types: Vec::new(), labels, batch: 1 };
            let output = forward(architecture, &input, &mut tape);
            let data = |value| tape.data(value).iter().map(|x: &S| x.to_f64()).collect::<Vec<_>>();
            (output.logits.map(data), output.loss.map(data))
        };
        if let Some(logits) = run(Vec::new()).0 {
            return logits[logits.len() - 29..].to_vec();
        }
        let loss = |last: u32| {
            let mut labels = vec![0; ids.len()];
            *labels.last_mut().unwrap() = last;
            run(labels).1.unwrap()[0] * ids.len() as f64
        };
        let losses: Vec<f64> = (0..29).map(loss).collect();
        // The other positions add the same to every loss; Σ p = 1 tells how much.
        let common = -losses.iter().map(|loss| (-loss).exp()).sum::<f64>().ln();
        losses.iter().map(|loss| common - loss).collect()
    }

    fn compare<S: Scalar>(tolerance: f64, decoded: impl Fn(&mut Decoder<'_, S>, &[u32]) -> Vec<S>) {
        let mut compared = std::collections::BTreeMap::new();
        for (i, architecture) in (0..3).flat_map(networks).enumerate() {
            let weights: Weights<S> = weights(&architecture, i as u64);
            let mut rng = Seed(1).stream("ids", i as u64);
            let ids: Vec<u32> = (0..architecture.tokens()).map(|_| rng.random_range(0..29)).collect();
            let expected = full(&architecture, &weights, &ids);
            let size = expected.iter().fold(1.0f64, |size, x| size.max(x.abs()));
            // States of some random cells grow without bound.
            if size > 100.0 || expected.iter().any(|x| x.is_nan()) {
                continue;
            }
            *compared.entry(architecture.family().name()).or_insert(0) += 1;
            let mut decoder = Decoder::new(&architecture, &weights).unwrap();
            let found = decoded(&mut decoder, &ids);
            assert_eq!(found.len(), 29);
            for (a, b) in found.iter().zip(&expected) {
                let off = (a.to_f64() - b).abs() / size;
                assert!(off < tolerance, "off by {off:e}: {architecture:?}");
            }
            let bytes = architecture.cache_bytes().unwrap() / 4 * size_of::<S>() as u64;
            assert_eq!(decoder.cache_bytes(), bytes, "{architecture:?}");
        }
        assert!(compared.len() == 4 && compared.values().all(|count| *count >= 6), "{compared:?}");
    }

    /// All but the last token at once, then the last; a peek in between leaves no trace.
    fn prompt_and_step<S: Scalar>(decoder: &mut Decoder<'_, S>, ids: &[u32]) -> Vec<S> {
        let (last, prompt) = ids.split_last().unwrap();
        decoder.feed(prompt).unwrap();
        let peeked = decoder.peek(*last).unwrap().to_vec();
        assert_eq!(decoder.tokens(), prompt.len());
        let logits = decoder.feed(&[*last]).unwrap().to_vec();
        assert!(peeked.iter().zip(&logits).all(|(a, b)| a.to_f64() == b.to_f64()));
        logits
    }

    #[test]
    fn a_step_gives_what_the_whole_pass_gives() {
        compare::<f64>(1e-9, prompt_and_step);
        compare::<f32>(1e-5, prompt_and_step);
    }

    #[test]
    fn token_by_token() {
        compare::<f64>(1e-9, |decoder, ids| {
            ids.iter().map(|id| decoder.feed(&[*id]).unwrap().to_vec()).last().unwrap()
        });
    }

    #[test]
    fn refuses_what_cannot_be_decoded() {
        let network = |object| space::read_architecture(&object).unwrap();
        let bert = network(json!({"family": "bert", "vocab_size": 4, "context_len": 2, "hidden_size": 4,
            "num_layers": 1, "num_heads": 1, "ffn_dim": 4}));
        let weights: Weights<f32> = Weights::standalone(&bert, Seed(0));
        let error = Decoder::new(&bert, &weights).unwrap_err();
        assert!(error.to_string().contains("bert is not a decoder"), "{error}");
        assert_eq!((error.kind(), bert.cache_bytes()), ("not-decoder", None));

        let gpt2 =
            network(json!({"family": "gpt2", "vocab_size": 5, "context_len": 3, "n_layer": 1, "d_model": 4,
            "n_head": 1, "d_inner": 8}));
        let weights: Weights<f32> = Weights::standalone(&gpt2, Seed(0));
        let mut decoder = Decoder::new(&gpt2, &weights).unwrap();
        for (ids, said) in [(&[5][..], "vocabulary of 5"), (&[], "none"), (&[0; 4], "context of 3")] {
            let error = decoder.feed(ids).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        decoder.feed(&[0; 3]).unwrap();
        assert!(decoder.peek(0).unwrap_err().to_string().contains("1 after 3 exceed the context"));
    }

    /// Weights and cache are part of it, and what a pass really holds is all of it.
    #[test]
    fn bytes_in_advance() {
        for architecture in networks(5) {
            let weights: Weights<f32> = weights(&architecture, 0);
            let mut decoder = Decoder::new(&architecture, &weights).unwrap();
            decoder.feed(&vec![1; architecture.tokens() as usize]).unwrap();
            let held =
                decoder.space.peak_bytes() as u64 + decoder.cache_bytes() + 4 * weights.data.len() as u64;
            // Clusters of the embedding that the prompt does not touch cost nothing.
            let foreseen = decoding_bytes::<f32>(&architecture).unwrap();
            assert!(held <= foreseen + foreseen / 20 && foreseen <= held + held / 20, "{held} {foreseen}");
        }
    }
}
