//! A network drawn to scale, layer by layer: how wide the residual stream, the token mixing and the feed-forward maps are.

use super::chart::{Chart, LETTER, WIDTH};
use super::text::{cut, escape, short};
use crate::architecture::{Architecture, Input, Kind, Positions, Recurrent, Role, Scope, Tensor, Visitor};
use std::fmt::Write;

/// Rows drawn at most; the others are only counted.
const ROWS: usize = 128;
/// The middle of all bars, and the width of the widest.
const MIDDLE: f64 = 120.0;
const SPAN: f64 = 184.0;
/// Where the words of a row begin.
const WORDS: f64 = 222.0;
const BAR: f64 = 10.0;

/// One row of the drawing.
#[derive(Debug, Default, PartialEq)]
struct Row {
    /// Width of the residual stream; none for a cell's node.
    stream: u64,
    /// Heads that share the mixing width.
    heads: u64,
    /// Each map in the order it is applied: its width, and whether it mixes tokens.
    maps: Vec<(u64, bool)>,
    weights: u64,
    /// Choices that are no number: the operation of a layer or node.
    words: String,
}

/// The drawing; `head` is what all layers share, in words.
pub(super) fn chart(architecture: &Architecture, head: &str) -> Chart {
    let nodes = matches!(architecture.family().card().positions, Positions::Nodes);
    let rows = if nodes { nodes_of(architecture) } else { layers_of(architecture) };
    let most =
        rows.iter().flat_map(|row| row.maps.iter().map(|map| map.0).chain([row.stream])).max().unwrap_or(1);
    let scale = SPAN / most.max(1) as f64;
    let inside: u64 = rows.iter().map(|row| row.weights).sum();
    let total = architecture.params().total;
    let mut body = String::new();
    let mut y = 12.0;
    for (i, row) in rows.iter().take(ROWS).enumerate() {
        let height = (2.0 + BAR) * row.maps.len().max(2) as f64 + 10.0;
        draw(&mut body, row, i + 1, y, height, scale);
        y += height;
    }
    let rest = rows.len().saturating_sub(ROWS);
    let more = if rest > 0 { format!("{rest} more of them, ") } else { String::new() };
    let outside = format!("{more}outside the layers: {} weights", short(total.saturating_sub(inside)));
    y += 18.0;
    let _ = write!(body, "<text x=\"28\" y=\"{y:.1}\">{outside}</text>");
    let kind = if nodes { "nodes of the cell" } else { "layers" };
    let label = format!("{} {kind} of {}, {} weights: {head}", rows.len(), architecture.id(), short(total));
    Chart { label, height: y + 12.0, body }
}

fn draw(body: &mut String, row: &Row, number: usize, y: f64, height: f64, scale: f64) {
    let (numbers, words) = (row.numbers(), row.last_line());
    let _ =
        write!(body, "<g class=\"p on\"><title>{number}: {}</title>", escape(&format!("{numbers}\n{words}")));
    let wide = row.stream as f64 * scale;
    let _ = write!(
        body,
        "<rect class=\"stream\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{height:.1}\"/>",
        MIDDLE - wide / 2.0
    );
    for (i, (width, mixes)) in row.maps.iter().enumerate() {
        let (wide, top) = ((*width as f64 * scale).max(1.0), y + 5.0 + (2.0 + BAR) * i as f64);
        let left = MIDDLE - wide / 2.0;
        let class = if *mixes { "a" } else { "b" };
        let _ = write!(
            body,
            "<rect class=\"bar {class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{BAR}\"/>"
        );
        // Heads too thin to be seen are only named in the words.
        let head = wide / row.heads.max(1) as f64;
        if *mixes && head >= 3.0 {
            let cuts: String = (1..row.heads).fold(String::new(), |mut cuts, head_| {
                let _ = write!(cuts, "M{:.1} {top:.1}v{BAR}", left + head * head_ as f64);
                cuts
            });
            let _ = write!(body, "<path class=\"cut\" d=\"{cuts}\"/>");
        }
    }
    let first = y + height / 2.0 - 3.0;
    let room = ((WIDTH - WORDS) / LETTER) as usize;
    let _ = write!(
        body,
        "<text x=\"20\" y=\"{:.1}\" class=\"end\">{number}</text><text x=\"{WORDS}\" y=\"{first:.1}\" class=\"strong\">{}</text>\
         <text x=\"{WORDS}\" y=\"{:.1}\">{}</text></g>",
        first + 8.0,
        escape(&cut(&numbers, room)),
        first + 15.5,
        escape(&cut(&words, room))
    );
}

impl Row {
    /// Heads and feed-forward widths.
    fn numbers(&self) -> String {
        let mixing = self.maps.iter().find(|map| map.1).map(|map| map.0);
        let ffn: Vec<String> = self.maps.iter().filter(|map| !map.1).map(|map| map.0.to_string()).collect();
        let mut words = Vec::new();
        match mixing {
            Some(width) if self.heads > 0 => words.push(format!("{} × {}", self.heads, width / self.heads)),
            Some(width) if self.stream > 0 => words.push(width.to_string()),
            _ => {}
        }
        if !ffn.is_empty() {
            let alike = ffn.len() > 1 && ffn.iter().all(|width| *width == ffn[0]);
            let widths = if alike { format!("{} × {}", ffn.len(), ffn[0]) } else { ffn.join(" ") };
            words.push(format!("ffn {widths}"));
        }
        if self.stream == 0 {
            words = vec![self.words.clone()];
        }
        words.join(" · ")
    }

    /// The operation and the number of weights.
    fn last_line(&self) -> String {
        let weights =
            if self.weights > 0 { format!("{} weights", short(self.weights)) } else { "no weights".into() };
        if self.words.is_empty() || self.stream == 0 {
            weights
        } else {
            format!("{} · {weights}", self.words)
        }
    }
}

/// A row per block: pyramids have several to a stage.
fn layers_of(architecture: &Architecture) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    architecture.blocks(&mut |block| {
        rows.push(Row { stream: block.width, heads: block.heads.unwrap_or(0), ..Row::default() });
    });
    for position in 0..architecture.positions() {
        let words = words_of(architecture, position);
        let mut add = |tensor: &Tensor| {
            let Some(row) = tensor.block.and_then(|block| rows.get_mut(block as usize)) else { return };
            row.words.clone_from(&words);
            row.weights += u64::from(tensor.counted) * tensor.len();
            match (tensor.role, tensor.matrix()) {
                (Role::AttentionOut, Some((_, input))) => row.maps.insert(0, (input, true)),
                (Role::Transform, Some((output, _))) => row.maps.insert(0, (output, true)),
                (Role::FfnIn | Role::FfnMid, Some((output, _))) => row.maps.push((output, false)),
                _ => {}
            }
        };
        architecture.family().position(architecture, position, &mut Visitor::new(&mut add));
    }
    // A transform and the map behind it are one mixing.
    for row in &mut rows {
        let mut mixed = false;
        row.maps.retain(|map| !(map.1 && std::mem::replace(&mut mixed, true)));
    }
    rows
}

/// The names among a position's fields.
fn words_of(architecture: &Architecture, position: usize) -> String {
    let fields = architecture.family().fields().iter().filter(|field| field.scope == Scope::Position);
    let named =
        fields.zip(architecture.row(position)).filter(|(field, _)| matches!(field.kind, Kind::Name(_)));
    let words = named.filter_map(|(field, value)| field.write(*value).as_str().map(str::to_owned));
    words.collect::<Vec<_>>().join(" ")
}

/// A row per node of a recurrent cell, as wide as its weights.
fn nodes_of(architecture: &Architecture) -> Vec<Row> {
    let recipe = Recurrent(architecture).recipe();
    let node = |(position, node): (usize, &crate::architecture::Node)| {
        let mut weights = 0;
        let mut add = |tensor: &Tensor| weights += tensor.len();
        architecture.family().position(architecture, position, &mut Visitor::new(&mut add));
        let input = |input: &Input| match input {
            Input::X => "x".to_owned(),
            Input::Previous(state) => format!("h{state}"),
            Input::Node(node) => (node + 1).to_string(),
        };
        let inputs: Vec<String> = node.inputs.iter().map(input).collect();
        let state = recipe.results.iter().position(|result| *result == position);
        let becomes = state.map_or(String::new(), |state| format!(" → h{state}"));
        let op = format!("{:?}", node.op).to_lowercase();
        let words = format!("{op}({}){becomes}", inputs.join(", "));
        Row { maps: vec![(weights, true)], weights, words, ..Row::default() }
    };
    recipe.nodes.iter().enumerate().map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space;
    use serde_json::json;

    /// Two layers, 128 wide: 2 heads of 64 and 4 of 32.
    #[test]
    fn widths_are_those_of_the_genes() {
        let gpt2 = space::read_architecture(&json!({
            "space": "gpt2", "n_layer": 2, "d_model": 128, "d_embed": 512, "div_val": 1, "n_head": [2, 4],
            "d_inner": [730, 1220],
        }));
        let rows = layers_of(&gpt2.unwrap());
        assert_eq!(rows.iter().map(|row| (row.stream, row.heads)).collect::<Vec<_>>(), [(128, 2), (128, 4)]);
        assert_eq!(rows[0].maps, [(128, true), (730, false)]);
        assert_eq!(rows[1].numbers(), "4 × 32 · ffn 1220");
        // 4 · 128² + 4 · 128 of attention, 2 · 128 · 730 + 730 + 128 of the feed-forward map, 4 · 128 of two norms.
        assert_eq!(rows[0].weights, 66_048 + 187_738 + 512);
    }

    #[test]
    fn equal_maps_are_counted() {
        let row = |ffn: &[u64]| Row {
            stream: 256,
            heads: 4,
            maps: [(256, true)].into_iter().chain(ffn.iter().map(|width| (*width, false))).collect(),
            ..Row::default()
        };
        assert_eq!(row(&[1024, 1024, 1024]).numbers(), "4 × 64 · ffn 3 × 1024");
        assert_eq!(row(&[1024, 512]).numbers(), "4 × 64 · ffn 1024 512");
    }

    #[test]
    fn every_space_is_drawn_and_its_widest_map_spans_the_drawing() {
        for (name, _) in space::PRESETS {
            let space = space::preset(name).unwrap();
            for draw in 0..3 {
                let network = space.sample(&mut crate::seed::Seed(7).stream("drawing", draw));
                let drawn = chart(&network, "");
                let nodes = matches!(network.family().card().positions, Positions::Nodes);
                let rows = if nodes { network.positions() } else { network.depth() as usize };
                assert_eq!(drawn.body.matches("<g class").count(), rows.min(ROWS), "{name}");
                assert!(drawn.body.contains(&format!("width=\"{SPAN:.1}\"")), "{name}: {}", drawn.body);
                if !nodes {
                    let rows = layers_of(&network);
                    assert!(rows.iter().all(|row| row.maps.iter().any(|map| map.1)), "{name}: {rows:?}");
                    assert!(rows.iter().all(|row| row.maps.iter().any(|map| !map.1)), "{name}: {rows:?}");
                }
            }
        }
    }
}
