//! What a formula looks at: lists of tensors, one per layer or matrix.

use super::super::prelude::*;
use super::Sheet;
use super::operator::named;

named! {
    /// One of the six inputs of a formula, a list of tensors each.
    Statistic:
    /// A: what leaves the activation functions, by layer.
    Activation = "activation",
    /// J: the gradient of the loss at the embedded input, a list of one.
    Jacobian = "jacobian",
    /// G: the gradients of the linear maps.
    Gradient = "gradient",
    /// H: what leaves the maps that make queries, or a transform's own map, by layer.
    Head = "head",
    /// W: the linear maps.
    Weight = "weight",
    /// S: attention probabilities, and what else a layer passes through a softmax.
    Attention = "attention",
}

/// One tensor of a list.
pub struct Element<'a> {
    /// The tensor or layer.
    pub name: String,
    /// Its block.
    pub block: Option<u32>,
    view: View<'a>,
    lead: usize,
}

impl Element<'_> {
    /// All entries.
    pub fn sheet(&self) -> Sheet {
        Sheet { data: self.view.to_vec(), lead: self.lead }
    }

    /// Entries of some columns, evenly spread, the first axis whole: at most `most` entries, but one column at least.
    pub fn sample(&self, most: usize) -> Sheet {
        let (rows, cols) = (self.view.rows(), self.view.cols());
        let columns = rows * cols / self.lead;
        let taken = (most / self.lead).clamp(1, columns);
        let place = |nth: usize| (nth as u128 * columns as u128 / taken as u128) as usize;
        let entry = |lead: usize, nth: usize| {
            let flat = lead * columns + place(nth);
            self.view.at(flat / cols, flat % cols)
        };
        let data = (0..self.lead).flat_map(|lead| (0..taken).map(move |nth| (lead, nth)));
        Sheet { data: data.map(|(lead, nth)| entry(lead, nth)).collect(), lead: self.lead }
    }
}

impl Statistic {
    /// The pass that shows it; none for the weights.
    pub fn pass(self) -> Option<Pass> {
        match self {
            Statistic::Activation => Some(Pass::forward().keep(Signal::Activations)),
            Statistic::Head => Some(Pass::forward().keep(Signal::Outputs)),
            Statistic::Attention => Some(Pass::forward().keep(Signal::Attention)),
            Statistic::Gradient => Some(Pass::backward(Loss::Natural)),
            Statistic::Jacobian => {
                let pass = Pass { derivative: Derivative::Values, ..Pass::backward(Loss::Natural) };
                Some(pass.keep(Signal::InputGradient))
            }
            Statistic::Weight => None,
        }
    }

    /// The letter that stands for it.
    pub fn letter(self) -> &'static str {
        match self {
            Statistic::Activation => "A",
            Statistic::Jacobian => "J",
            Statistic::Gradient => "G",
            Statistic::Head => "H",
            Statistic::Weight => "W",
            Statistic::Attention => "S",
        }
    }

    /// The list of a network; one that has none is an error.
    pub fn elements<'a>(self, input: &ProxyInput<'a>) -> Result<Vec<Element<'a>>> {
        let stored = |tensor: &Tensor, view: View<'a>| Element {
            name: tensor.name(),
            block: tensor.block,
            view,
            lead: view.rows(),
        };
        let elements: Vec<Element> = match self.pass() {
            None => input.matrices(Layers::Linear).map(|(tensor, view)| stored(tensor, view)).collect(),
            Some(pass) => {
                let observed = input.pass(&pass)?;
                let batch = observed.result.batch;
                let kept = |name: String, block: Option<u32>, view: View<'a>| {
                    let whole = view.len().is_multiple_of(batch.max(1)) && batch > 0;
                    Element { name, block, view, lead: if whole { batch } else { view.rows() } }
                };
                let layer = |(block, view): (u32, View<'a>)| {
                    kept(format!("{} of layer {block}", self.name()), Some(block), view)
                };
                match self {
                    Statistic::Gradient => {
                        let layers = observed.layers(Layers::Linear);
                        layers.map(|layer| stored(layer.tensor, layer.gradient)).collect()
                    }
                    Statistic::Jacobian => {
                        let found = observed.kept_gradients(|mark| (mark == Mark::Embedded).then_some(()));
                        found
                            .into_iter()
                            .map(|((), view)| kept("embedded input".into(), None, view))
                            .collect()
                    }
                    Statistic::Activation => {
                        let block =
                            |mark| if let Mark::Activation(block) = mark { Some(block) } else { None };
                        observed.kept(block).into_iter().map(layer).collect()
                    }
                    Statistic::Attention => {
                        let block = |mark| match mark {
                            Mark::Attention(block) | Mark::Kernel(block) | Mark::Spectrum(block) => {
                                Some(block)
                            }
                            _ => None,
                        };
                        observed.kept(block).into_iter().map(layer).collect()
                    }
                    _ => {
                        let query = |mark| match mark {
                            Mark::Output(param) => {
                                Some(param).filter(|param| is_head(observed.tensor(*param)))
                            }
                            _ => None,
                        };
                        let named = |(param, view): (Param, View<'a>)| {
                            let tensor = observed.tensor(param);
                            kept(tensor.name(), tensor.block, view)
                        };
                        observed.kept(query).into_iter().map(named).collect()
                    }
                }
            }
        };
        if elements.is_empty() {
            return input.undefined(super::ABOUT, format!("there is no {}", self.name()));
        }
        let flat = |element: &Element| element.view.sum(f64::abs) == 0.0;
        if matches!(self, Statistic::Gradient | Statistic::Jacobian) && elements.iter().all(flat) {
            let (place, reason) = (elements[0].name.clone(), "every gradient is exactly zero".to_owned());
            return Err(Error::Degenerate { proxy: super::ABOUT.name, place, reason });
        }
        Ok(elements)
    }
}

/// Whether a map makes queries, alone or with keys and values, or is all that a transform has.
fn is_head(tensor: &Tensor) -> bool {
    matches!(tensor.role, Role::Query | Role::QueryKeyValue | Role::Transform)
}
