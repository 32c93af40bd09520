//! How a family's networks are run: one generic forward pass per family, compiled here once for every scalar.

use super::{Input, Output, Tape, Value};
use crate::architecture::{self, Architecture, Family, Tensor};
use crate::engine::blank::Blank;
use crate::engine::dual::Dual;
use crate::engine::scalar::{Dispatch, Scalar};
use crate::error::Result;
use std::marker::PhantomData;
use std::sync::RwLock;

/// The networks of a family. Implement it for a family of your own and [`register`] it.
pub trait Model: Sync {
    /// The family.
    fn family(&self) -> &'static dyn Family;

    /// Runs a network forward. The tape records what the backward pass needs.
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output;

    /// What losses other than cross-entropy look at: scores where the network has a head, else its features.
    fn outputs<S: Scalar>(&self, _: &Architecture, output: Output, _: &mut Tape<'_, S>) -> Value {
        output.logits.unwrap_or(output.features)
    }

    /// The name of a tensor in the modules of an exported network.
    fn module_name(&self, _: &Architecture, tensor: &Tensor) -> String {
        tensor.name()
    }

    /// The names of a tensor in transformers' own model of the family: several where it keeps its rows apart.
    fn stock_names(&self, architecture: &Architecture, tensor: &Tensor) -> Vec<String> {
        vec![self.module_name(architecture, tensor)]
    }

    /// Whether [`outputs`](Model::outputs) needs the scores that the forward pass leaves out when nobody asks for them.
    fn outputs_need_scores(&self) -> bool {
        false
    }
}

macro_rules! compiled {
    ($($forward:ident, $outputs:ident: $scalar:ty;)*) => {
        /// A [`Model`] with one entry per scalar, so that it can be an object. Every model is one.
        pub trait CompiledModel: Sync {
            /// The family.
            fn family(&self) -> &'static dyn Family;
            /// See [`Model::outputs_need_scores`].
            fn outputs_need_scores(&self) -> bool;
            /// See [`Model::module_name`].
            fn module_name(&self, a: &Architecture, tensor: &Tensor) -> String;
            /// See [`Model::stock_names`].
            fn stock_names(&self, a: &Architecture, tensor: &Tensor) -> Vec<String>;
            $(
                /// [`Model::forward`] for one scalar.
                fn $forward(&self, a: &Architecture, x: &Input<$scalar>, tape: &mut Tape<'_, $scalar>) -> Output;
                /// [`Model::outputs`] for one scalar.
                fn $outputs(&self, a: &Architecture, output: Output, tape: &mut Tape<'_, $scalar>) -> Value;
            )*
        }

        impl<M: Model> CompiledModel for M {
            fn family(&self) -> &'static dyn Family {
                Model::family(self)
            }
            fn outputs_need_scores(&self) -> bool {
                Model::outputs_need_scores(self)
            }
            fn module_name(&self, a: &Architecture, tensor: &Tensor) -> String {
                Model::module_name(self, a, tensor)
            }
            fn stock_names(&self, a: &Architecture, tensor: &Tensor) -> Vec<String> {
                Model::stock_names(self, a, tensor)
            }
            $(
                fn $forward(&self, a: &Architecture, x: &Input<$scalar>, tape: &mut Tape<'_, $scalar>) -> Output {
                    self.forward(a, x, tape)
                }
                fn $outputs(&self, a: &Architecture, output: Output, tape: &mut Tape<'_, $scalar>) -> Value {
                    self.outputs(a, output, tape)
                }
            )*
        }
    };
}

compiled! {
    forward_f32, outputs_f32: f32;
    forward_f64, outputs_f64: f64;
    forward_dual_f32, outputs_dual_f32: Dual<f32>;
    forward_dual_f64, outputs_dual_f64: Dual<f64>;
    forward_blank, outputs_blank: Blank;
}

/// Every model of the library, in the order of the families.
const MODELS: &[&dyn CompiledModel] = &[
    &super::vit::Network,
    &super::pit::Network,
    &super::shunted::Network,
    &super::bert::Network,
    &super::flexibert::Network,
    &super::gpt2::Network,
    &super::transformer_xl::Network,
    &super::recurrent::Network,
    &super::llama::Network,
];

/// Models that users brought.
static BROUGHT: RwLock<Vec<&'static dyn CompiledModel>> = RwLock::new(Vec::new());

/// Adds the networks of a family, and the family itself: from then on they are read by name, counted, scored, searched
/// and trained like any other.
pub fn register(model: &'static dyn CompiledModel) -> Result<()> {
    architecture::register(model.family())?;
    let mut brought = BROUGHT.write().expect("no holder panics");
    if !brought.iter().any(|known| known.family().is(model.family())) {
        brought.push(model);
    }
    Ok(())
}

/// The model of an architecture's family.
pub(super) fn model(architecture: &Architecture) -> &'static dyn CompiledModel {
    let own = |model: &&&'static dyn CompiledModel| model.family().is(architecture.family());
    let found = MODELS.iter().find(own).copied();
    let found = found.or_else(|| BROUGHT.read().expect("no holder panics").iter().find(own).copied());
    found.unwrap_or_else(|| panic!("family {} has no registered model", architecture.family()))
}

/// Whether an architecture's family says how its networks are run; families that are only counted do not.
pub fn has_model(architecture: &Architecture) -> bool {
    let own = |model: &&'static dyn CompiledModel| model.family().is(architecture.family());
    MODELS.iter().any(own) || BROUGHT.read().expect("no holder panics").iter().any(own)
}

/// Whether [`outputs`] needs the scores of the forward pass.
pub fn outputs_need_scores(architecture: &Architecture) -> bool {
    model(architecture).outputs_need_scores()
}

/// Runs a network forward.
pub fn forward<S: Scalar>(architecture: &Architecture, input: &Input<S>, tape: &mut Tape<'_, S>) -> Output {
    S::dispatch::<Forward<'_, '_>>((architecture, input, tape))
}

/// What losses other than cross-entropy look at: scores where the network has a head, else its features.
pub fn outputs<S: Scalar>(architecture: &Architecture, output: Output, tape: &mut Tape<'_, S>) -> Value {
    S::dispatch::<Outputs<'_, '_>>((architecture, output, tape))
}

struct Forward<'a, 't>(PhantomData<(&'a (), &'t ())>);
struct Outputs<'a, 't>(PhantomData<(&'a (), &'t ())>);

macro_rules! dispatch {
    ($entry:ident: $arguments:ty => $output:ty; $($name:ident($scalar:ty) = $method:ident;)*) => {
        impl<'a, 't: 'a> Dispatch for $entry<'a, 't> {
            type Arguments<S: Scalar> = (&'a Architecture, $arguments, &'a mut Tape<'t, S>);
            type Output = $output;
            $(
                fn $name((a, x, tape): Self::Arguments<$scalar>) -> $output {
                    model(a).$method(a, x, tape)
                }
            )*
        }
    };
}

dispatch! {
    Forward: &'a Input<S> => Output;
    f32(f32) = forward_f32;
    f64(f64) = forward_f64;
    dual_f32(Dual<f32>) = forward_dual_f32;
    dual_f64(Dual<f64>) = forward_dual_f64;
    blank(Blank) = forward_blank;
}
dispatch! {
    Outputs: Output => Value;
    f32(f32) = outputs_f32;
    f64(f64) = outputs_f64;
    dual_f32(Dual<f32>) = outputs_dual_f32;
    dual_f64(Dual<f64>) = outputs_dual_f64;
    blank(Blank) = outputs_blank;
}
