//! A family of networks of your own: its fields, its weights, its work, and one forward pass. Registered, it is counted,
//! sampled, scored by every proxy that fits, searched and trained like any other.
//!
//! Residual multilayer perceptrons on whole images: `x = embed(image); x += down(gelu(up(x)))`, scores by a linear map.

use foretell::architecture::field::{count, dim, schema};
use foretell::architecture::{
    Block, Card, Family, Init, MAX_LAYERS, Names, NetworkKind, Positions, Role, Visitor,
};
use foretell::engine::activation::Activation;
use foretell::engine::scalar::Scalar;
use foretell::network::{self, Input, Model, Output, Tape};
use foretell::prelude::*;

schema! {
    /// The fields of an architecture of the family.
    Mlp
    whole {
        /// Pixels on a side.
        image_size: dim().or(8);
        /// Colours.
        channels: count(1, 16).or(3);
        /// Classes.
        num_classes: dim().or(10);
        /// Width between the layers.
        width: dim();
        /// Layers.
        depth: count(1, MAX_LAYERS);
    }
    lists {}
    positions {
        /// Width inside a layer.
        hidden: dim();
    }
}

const EMBED: Names = ["embed.weight", "embed.bias"];
const UP: Names = ["layers.{}.up.weight", "layers.{}.up.bias"];
const DOWN: Names = ["layers.{}.down.weight", "layers.{}.down.bias"];
const HEAD: Names = ["head.weight", "head.bias"];
const NORMAL: Init = Init::Normal(0.05);

impl Mlp<'_> {
    fn pixels(&self) -> u64 {
        self.channels() * self.image_size() * self.image_size()
    }
}

struct Perceptrons;

impl Family for Perceptrons {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "mlp",
            about: "residual multilayer perceptron on whole images",
            fields: FIELDS,
            positions: Positions::Layers("depth"),
            kind: NetworkKind::Vision,
        };
        &CARD
    }
    fn check(&self, _: &Architecture) -> std::result::Result<(), String> {
        Ok(())
    }
    fn check_position(&self, _: &Architecture, _: usize) -> std::result::Result<(), String> {
        Ok(())
    }
    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = Mlp(a);
        w.linear(EMBED, Role::PatchEmbedding, (v.pixels(), v.width()), NORMAL);
        w.linear(HEAD, Role::Head, (v.width(), v.num_classes()), NORMAL);
    }
    fn position(&self, a: &Architecture, i: usize, w: &mut Visitor) {
        let v = Mlp(a);
        w.enter(i, [i, 0]);
        w.linear(UP, Role::FfnIn, (v.width(), v.hidden(i)), NORMAL);
        w.linear(DOWN, Role::FfnOut, (v.hidden(i), v.width()), NORMAL);
    }
    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        u128::from(Mlp(a).width() * (Mlp(a).pixels() + Mlp(a).num_classes()))
    }
    fn flops_position(&self, a: &Architecture, i: usize, _: Counter) -> u128 {
        u128::from(2 * Mlp(a).width() * Mlp(a).hidden(i))
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        Mlp(a).pixels() + Mlp(a).width() + Mlp(a).num_classes()
    }
    fn activations_position(&self, a: &Architecture, i: usize) -> u64 {
        2 * Mlp(a).width() + 2 * Mlp(a).hidden(i)
    }
    fn tokens(&self, _: &Architecture) -> u64 {
        1
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        (0..Mlp(a).depth()).for_each(|_| each(Block { width: Mlp(a).width(), heads: None }));
    }
    fn has_dropout(&self, _: &Architecture) -> bool {
        false
    }
}

impl Model for Perceptrons {
    fn family(&self) -> &'static dyn Family {
        &Perceptrons
    }
    fn forward<S: Scalar>(&self, a: &Architecture, input: &Input<S>, tape: &mut Tape<'_, S>) -> Output {
        let Input::Images { pixels, batch, .. } = input else { panic!("a perceptron reads images") };
        let image = tape.input(pixels, *batch, pixels.len() / batch);
        let x = tape.linear(image, EMBED, [0, 0]);
        let mut x = tape.embedded(x);
        for i in 0..a.positions() {
            let h = tape.linear(x, UP, [i, 0]);
            let h = tape.activation(h, Activation::Gelu, i);
            let h = tape.linear(h, DOWN, [i, 0]);
            x = tape.add(x, h);
            x = tape.block(i, x);
        }
        let logits = tape.linear(x, HEAD, [0, 0]);
        Output { features: x, logits: Some(logits), loss: None }
    }
}

const SPACE: &str = r#"
name = "perceptrons"
family = "mlp"
[choices]
width = [16, 24, 32]
depth = [2, 3, 4]
hidden = [16, 32, 64]
"#;

fn main() -> Result<()> {
    network::register(&Perceptrons)?;
    let study = Study::builder(space::parse("perceptrons", SPACE)?)
        .objective(Objective::proxy("grad-norm")?)
        .limits(Limits { params: Bound { min: 0, max: 12_000 }, ..Limits::default() })
        .budget(60)
        .run()?;
    let winner = study.winner.expect("some networks have at most 12,000 parameters");
    println!("{} {:?}", serde_json::Value::Object(winner.architecture.to_json()), winner.values);
    assert_eq!(study.progress.failed, 0);
    Ok(())
}
