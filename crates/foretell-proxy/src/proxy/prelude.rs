//! What most proxy files name.

pub(super) use super::input::{is_fused, unsolved};
pub(super) use super::{
    About, Cost, Layer, PassView, Proxy, ProxyInput, Range, Score, Term, linearised, ranks,
};
pub(super) use crate::architecture::{Form as Stored, NetworkKind, Part, Role, Subject, Tensor};
pub(super) use crate::engine::linalg;
pub(super) use crate::engine::matmul::Mat;
pub(super) use crate::error::{Error, Result};
pub(super) use crate::network::{Mark, Param};
pub(super) use crate::probe::{Derivative, Fold, Layers, Loss, Pass, Signal, Trace, View, WeightTransform};
pub(super) use serde::Deserialize;
