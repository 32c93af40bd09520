//! What to run and what to keep: plain data, so that equal passes can be told and run once for all who ask.

/// What a network is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feed {
    /// Every pixel one; for language models every word embedding one, positions still added.
    Ones,
    /// Normal pixels.
    Noise,
    /// Uniform token ids, labels as well.
    RandomTokens,
    /// Inputs handed in by the caller.
    Given,
}

/// What is differentiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// Nothing: a forward pass alone.
    None,
    /// Mean cross-entropy with the labels of the input.
    CrossEntropy,
    /// The sum of all outputs. After a layer norm with gain one its gradient is zero in exact arithmetic.
    Sum,
    /// Half the squared norm of the outputs.
    HalfSquare,
    /// The product with fixed random signs: the default where the sum says nothing.
    Projection,
}

/// What is kept of a pass, beside the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// What enters each linear map and convolution.
    Inputs,
    /// What leaves each.
    Outputs,
    /// The gradient at each output: with the inputs, the factors of the weight gradients.
    OutputGradients,
    /// Attention probabilities.
    Attention,
    /// What enters the activation functions.
    PreActivations,
    /// What leaves them.
    Activations,
    /// The output of each block.
    Blocks,
    /// Recurrent states entering each step.
    Hidden,
    /// The gradient at the embedded input: the Jacobian of the loss.
    InputGradient,
}

/// One run through a network.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pass {
    /// What is fed.
    pub feed: Feed,
    /// Samples at once.
    pub batch: usize,
    /// What is differentiated.
    pub loss: Loss,
    /// Whether dropout is drawn, as in training.
    pub train: bool,
    /// Whether every weight is replaced by its magnitude.
    pub absolute: bool,
    /// Whether the gradients of the weights are formed.
    pub weight_gradients: bool,
    /// What is kept.
    pub keep: Vec<Signal>,
    /// Seed of noise, tokens, labels and projections.
    pub seed: u64,
}

impl Pass {
    /// A forward pass that keeps nothing.
    pub fn forward(feed: Feed, batch: usize) -> Self {
        Pass {
            feed,
            batch,
            loss: Loss::None,
            train: false,
            absolute: false,
            weight_gradients: false,
            keep: Vec::new(),
            seed: 0,
        }
    }

    /// The same with a loss and all weight gradients.
    pub fn backward(feed: Feed, batch: usize, loss: Loss) -> Self {
        Pass { loss, weight_gradients: true, ..Self::forward(feed, batch) }
    }

    /// The same, keeping a signal too.
    pub fn keep(mut self, signal: Signal) -> Self {
        self.keep.push(signal);
        self
    }
}
