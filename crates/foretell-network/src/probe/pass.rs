//! What to run and what to keep: plain data, so that equal passes can be told and run once for all who ask, and can be
//! sent to another program.

use super::layers::Layers;
use serde::{Deserialize, Serialize};

/// What a network is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// The input that was given; without one, normal pixels or uniform tokens, labels as well.
    #[default]
    Data,
    /// Every pixel one; for language models every word embedding one, positions still added.
    Ones,
    /// Pixels drawn between 0 and 1, whatever was given. Tokens that are drawn are uniform in any case.
    Uniform,
}

/// What is differentiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Nothing: a forward pass alone.
    None,
    /// What suits the family: cross-entropy where there is a head, signs for encoders, half the square for cells.
    #[default]
    Natural,
    /// Mean cross-entropy with the labels of the input.
    CrossEntropy,
    /// The sum of all outputs. After a layer norm with gain one its gradient is zero in exact arithmetic.
    Sum,
    /// Half the squared norm of the outputs.
    HalfSquare,
    /// The product with the given cotangent, else with fixed random signs: the default where the sum says nothing.
    Projection,
    /// The logit of each sample's own class.
    Target,
}

/// What is done to the weights before a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightTransform {
    /// Nothing.
    #[default]
    Keep,
    /// Position tables and class tokens become their magnitudes, as in a released program.
    PositionMagnitudes,
    /// Every stored tensor becomes its magnitudes.
    Magnitudes,
    /// Linear maps and convolutions are redrawn, standard normal.
    Redrawn,
}

/// What is differentiated by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Derivative {
    /// The loss by the marked values only, or nothing without a loss.
    #[default]
    Values,
    /// The loss by the weights.
    Weights,
    /// The loss of each sample apart by the weights, folded into a few numbers.
    Samples(Fold, Layers),
    /// The Hessian of the loss times its gradient, both restricted to some layers.
    Hessian(Layers),
    /// The trace of the tangent kernel of the outputs, by tensor.
    Trace(Trace),
    /// The speed of the features along circles in input space.
    Curve {
        /// Points on a circle.
        points: u32,
        /// How many circles.
        circles: u32,
    },
}

/// What becomes of per-sample gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// All inner products.
    Gram,
    /// The squared norms.
    Norms,
    /// Σ over weights of |Σ over samples of the sign|.
    Signs,
    /// Of each sample, the mean over the first eleven tensors with at least 50 entries of the inner product of entries 1 to
    /// 25 and 26 to 50, each half centred.
    Halves,
}

/// Which kernel, and how its trace is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Trace {
    /// Of the mean over tokens (eq. 12 of ETAS) or of every token apart (eq. 13).
    pub mean: bool,
    /// Of the logits instead of the features.
    pub logits: bool,
    /// Random signs drawn; none: every coordinate in turn, exactly.
    pub probes: Option<u32>,
}

/// What is kept of a pass, beside the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// What enters each linear map and convolution.
    Inputs,
    /// What leaves each.
    Outputs,
    /// The gradient at each input.
    InputGradients,
    /// The gradient at each output: with the inputs, the factors of the weight gradients.
    OutputGradients,
    /// What leaves each normalisation.
    Normed,
    /// Attention probabilities, and whatever else a family passes through a softmax.
    Attention,
    /// What enters the activation functions.
    PreActivations,
    /// What leaves them.
    Activations,
    /// The output of each block.
    Blocks,
    /// The gradient at what enters each block, blocks apart, from random signs at its output.
    BlockGradients,
    /// Recurrent states entering each step.
    Hidden,
    /// The gradients there.
    HiddenGradients,
    /// The gradient at the embedded input: the Jacobian of the loss.
    InputGradient,
}

/// One run through a network.
///
/// It is written and read as data, so that another program can be asked for it; every field is named, names are in
/// kebab-case.
///
/// ```
/// use foretell_network::probe::{Loss, Pass};
/// let text = serde_json::to_string(&Pass::backward(Loss::Sum)).unwrap();
/// assert!(text.contains(r#""loss":"sum","derivative":"weights""#));
/// assert_eq!(serde_json::from_str::<Pass>(&text).unwrap(), Pass::backward(Loss::Sum));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pass {
    /// What is fed.
    pub feed: Feed,
    /// Samples at once; 0: as many as were given, else the family's usual number.
    pub batch: usize,
    /// Tokens of each text that is drawn; 0: the family's usual number.
    pub tokens: usize,
    /// The i-th of so many equal parts of the batch.
    pub part: (usize, usize),
    /// What is differentiated.
    pub loss: Loss,
    /// By what.
    pub derivative: Derivative,
    /// Whether dropout is drawn, as in training.
    pub train: bool,
    /// What is done to the weights first.
    pub weights: WeightTransform,
    /// Whether normalisations are the identity.
    pub unnormed: bool,
    /// Whether masked positions are raised, as a released program does.
    pub leaking: bool,
    /// Noise added to the embedded input: this many tenths of its variance over the batch.
    pub noise: u32,
    /// Whether double precision is needed whatever was asked for.
    pub double: bool,
    /// What is kept.
    pub keep: Vec<Signal>,
}

impl Pass {
    /// A forward pass over data that keeps nothing.
    pub fn forward() -> Self {
        Pass {
            feed: Feed::Data,
            batch: 0,
            tokens: 0,
            part: (0, 1),
            loss: Loss::None,
            derivative: Derivative::Values,
            train: false,
            weights: WeightTransform::Keep,
            unnormed: false,
            leaking: false,
            noise: 0,
            double: false,
            keep: Vec::new(),
        }
    }

    /// Data, a loss and all weight gradients.
    pub fn backward(loss: Loss) -> Self {
        Pass { loss, derivative: Derivative::Weights, ..Self::forward() }
    }

    /// The linearised network of synflow and DSS: magnitudes, one sample of ones, the sum of the outputs.
    pub fn linearised() -> Self {
        let (feed, weights) = (Feed::Ones, WeightTransform::Magnitudes);
        Pass { feed, batch: 1, weights, ..Self::backward(Loss::Sum) }
    }

    /// The same, keeping a signal too.
    pub fn keep(mut self, signal: Signal) -> Self {
        if let Err(place) = self.keep.binary_search(&signal) {
            self.keep.insert(place, signal);
        }
        self
    }

    /// Whether a run of this pass shows what the other would: all is equal but what is kept and whether weights are
    /// differentiated, and the other may do without the loss.
    pub fn serves(&self, other: &Pass) -> bool {
        let plain = |pass: &Pass| match pass.derivative {
            Derivative::Values => Derivative::Weights,
            other => other,
        };
        let rest = |pass: &Pass| Pass {
            keep: Vec::new(),
            derivative: plain(pass),
            loss: if other.only_looks() { Loss::None } else { pass.loss },
            ..pass.clone()
        };
        // Blocks that are apart pass no gradient on: such a run has no loss of its own.
        let apart = |pass: &Pass| pass.keep.contains(&Signal::BlockGradients);
        (self.loss == other.loss || !apart(self) && !apart(other)) && rest(self) == rest(other)
    }

    /// A forward pass and nothing else.
    fn only_looks(&self) -> bool {
        self.loss == Loss::None && self.derivative == Derivative::Values
    }

    /// One pass for both.
    pub fn merge(&mut self, other: &Pass) {
        if self.only_looks() {
            self.loss = other.loss;
        }
        if other.derivative == Derivative::Weights {
            self.derivative = Derivative::Weights;
        }
        for signal in &other.keep {
            *self = std::mem::replace(self, Pass::forward()).keep(*signal);
        }
    }
}
