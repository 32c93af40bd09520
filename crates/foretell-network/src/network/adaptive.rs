//! Adaptive embedding and softmax, shared by GPT-2 and Transformer-XL; see [`Adaptive`].

use super::layer::Tied;
use super::{Output, Tape, Value};
use crate::architecture::Adaptive;
use crate::architecture::names::adaptive::*;
use crate::engine::scalar::Scalar;
use std::ops::Range;

/// The words of each part of the vocabulary, from the number of words in each.
fn ranges(sizes: impl Iterator<Item = (u64, u64)>) -> Vec<Range<u32>> {
    let mut start = 0;
    let range = |(words, _): (u64, u64)| {
        let range = start..start + words as u32;
        start = range.end;
        range
    };
    sizes.map(range).collect()
}

/// Where the ids of a range are, and which of its words each of them is.
fn members(ids: &[u32], range: &Range<u32>) -> (Vec<usize>, Vec<u32>) {
    let inside = || ids.iter().enumerate().filter(|(_, id)| range.contains(id));
    let count = inside().count();
    let (mut places, mut words) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (t, id) in inside() {
        places.push(t);
        words.push(id - range.start);
    }
    (places, words)
}

/// `E_i[id] P_iᵀ √d`, i the cluster of the id.
pub(super) fn embed<S: Scalar>(adaptive: &Adaptive, ids: &[u32], tape: &mut Tape<'_, S>) -> Value {
    if tape.unit_words {
        return tape.ones(ids.len(), adaptive.model as usize);
    }
    let mut parts = Vec::new();
    for (i, range) in ranges(adaptive.tables()).iter().enumerate() {
        let (places, words) = members(ids, range);
        if places.is_empty() {
            continue;
        }
        let table = tape.param(TABLE, [i, 0]);
        let mut x = tape.embedding(&words, table, None);
        if adaptive.projected() {
            x = tape.linear(x, PROJECTION, [i, 0]);
        }
        parts.push((x, places));
    }
    let x = tape.merge(parts);
    tape.scale(x, (adaptive.model as f64).sqrt())
}

/// Features with the logits of a whole vocabulary in one cluster, and the loss if there are labels. A pass with a cache
/// scores all words of all clusters for its last token.
pub(super) fn softmax<S: Scalar>(
    adaptive: &Adaptive,
    features: Value,
    labels: &[u32],
    tape: &mut Tape<'_, S>,
) -> Output {
    let whole = adaptive.clusters().count() == 1;
    if tape.cache.is_some() {
        let features = tape.last_if_cached(features);
        return Output { features, logits: Some(next_word(adaptive, features, tape)), loss: None };
    }
    let head = (whole && !tape.headless || !labels.is_empty()).then(|| head_logits(adaptive, features, tape));
    let loss = head.filter(|_| !labels.is_empty()).map(|head| nll(adaptive, features, head, labels, tape));
    Output { features, logits: head.filter(|_| whole), loss }
}

/// Scores of the first cluster: its words, then one entry for each further cluster.
pub(super) fn head_logits<S: Scalar>(adaptive: &Adaptive, features: Value, tape: &mut Tape<'_, S>) -> Value {
    let narrow = project(adaptive, 0, features, tape);
    let words = score(adaptive, 0, narrow, tape);
    if adaptive.clusters().count() == 1 {
        return words;
    }
    let entries = tape.linear(narrow, ENTRIES, [0, 0]);
    tape.beside(words, entries)
}

/// Logits of every word after one row of features. Scores of different clusters have no common scale, so with several
/// clusters they are log-probabilities: `ln p(cluster) + ln p(word | cluster)`.
fn next_word<S: Scalar>(adaptive: &Adaptive, features: Value, tape: &mut Tape<'_, S>) -> Value {
    let clusters = ranges(adaptive.clusters());
    let head = head_logits(adaptive, features, tape);
    if clusters.len() == 1 {
        return head;
    }
    let mut all = tape.space.take(adaptive.vocab as usize);
    let first = clusters[0].len();
    let scores = tape.data(head);
    let norm = log_sum_exp(scores);
    all[..first].copy_from_slice(&scores[..first]);
    let entries: Vec<S> = scores[first..].iter().map(|score| *score - norm).collect();
    shift(&mut all[..first], -norm);
    for (i, words) in clusters.iter().enumerate().skip(1) {
        let narrow = project(adaptive, i, features, tape);
        let tail = score(adaptive, i, narrow, tape);
        let scores = tape.data(tail);
        let part = &mut all[words.start as usize..words.end as usize];
        part.copy_from_slice(scores);
        shift(part, entries[i - 1] - log_sum_exp(scores));
    }
    tape.put(all, 1, adaptive.vocab as usize)
}

fn shift<S: Scalar>(row: &mut [S], by: S) {
    row.iter_mut().for_each(|x| *x += by);
}

/// `ln Σ e^x`: the largest score minus the logarithm of its probability, which is at least 1/n.
fn log_sum_exp<S: Scalar>(scores: &[S]) -> S {
    let mut p = scores.to_vec();
    S::softmax(&mut p);
    let top = (0..scores.len()).max_by(|a, b| scores[*a].to_f64().total_cmp(&scores[*b].to_f64()));
    top.map_or(S::ZERO, |top| scores[top] - p[top].ln())
}

/// The mean over all tokens of −ln p(label): the label among the words of the first cluster, or the entry of its own
/// cluster there and the label among the words of that.
fn nll<S: Scalar>(
    adaptive: &Adaptive,
    features: Value,
    head: Value,
    labels: &[u32],
    tape: &mut Tape<'_, S>,
) -> Value {
    let clusters = ranges(adaptive.clusters());
    let entry = |label: &u32| match clusters.iter().position(|words| words.contains(label)) {
        Some(0) => *label,
        Some(tail) => clusters[0].end + tail as u32 - 1,
        None => panic!("label {label} is beyond the vocabulary"),
    };
    let mut loss = tape.cross_entropy(head, labels.iter().map(entry).collect(), 1.0);
    for (i, range) in clusters.iter().enumerate().skip(1) {
        let (rows, words) = members(labels, range);
        if rows.is_empty() {
            continue;
        }
        let share = rows.len() as f64 / labels.len() as f64;
        let h = tape.select(features, rows);
        let narrow = project(adaptive, i, h, tape);
        let scores = score(adaptive, i, narrow, tape);
        let tail = tape.cross_entropy(scores, words, share);
        loss = tape.add(loss, tail);
    }
    loss
}

/// The table that holds a cluster's words.
fn table_of(adaptive: &Adaptive, cluster: usize) -> usize {
    if adaptive.div == 1 { 0 } else { cluster }
}

/// Hidden states in the width of a cluster's embeddings.
fn project<S: Scalar>(adaptive: &Adaptive, cluster: usize, h: Value, tape: &mut Tape<'_, S>) -> Value {
    let at = [table_of(adaptive, cluster), 0];
    if !adaptive.projected() {
        h
    } else if adaptive.tied && cluster > 0 {
        let projection = tape.param(PROJECTION[0], at);
        tape.tied(h, projection, Tied::Turned, None)
    } else {
        tape.linear(h, OUT_PROJECTION, at)
    }
}

/// Scores of a cluster's words: its embeddings are the weights.
fn score<S: Scalar>(adaptive: &Adaptive, cluster: usize, narrow: Value, tape: &mut Tape<'_, S>) -> Value {
    let words = &ranges(adaptive.clusters())[cluster];
    let at = [table_of(adaptive, cluster), 0];
    let first = if adaptive.div == 1 { words.start as usize } else { 0 };
    let (table, bias) = (tape.param(TABLE, at), tape.param(WORD_BIAS, at));
    tape.tied(narrow, table, Tied::Rows { first, count: words.len() }, Some(bias))
}
