//! A proxy as data: two branches, each a statistic and a chain of operators, joined by one more.
//!
//! ```text
//! s = mean_l [ mean(u(x_l)) ∘ mean(v(y_l)) ]        x, y: two statistics of layer l    u, v: chains    ∘: the join
//! ```
//!
//! The text is a nesting of names and is a proxy wherever a name is: `sum(square(negate(head)), log-softmax(norm(activation)))`
//! is LPZero's FlexiBERT winner. The innermost operator is applied first. Every list element is reduced to its mean, lists
//! are joined element by element, the shorter one ending both, and the mean over elements is the score; `total(…)` around
//! the join takes the sum instead, a minus sign in front turns the order round. `late(…)` around the join joins the tensors
//! entry by entry before the mean is taken, LPZero's `late_reduce`; it differs for products alone, since means add up, and
//! tensors of different shapes are reduced first all the same. A branch with `prune` in its chain is left
//! out, and the other passes through alone.
//!
//! - Paper: *LPZero: Language model zero-cost proxy search from zero* (Dong et al., EMNLP 2024).
//! - Direction: as written. Cost: one forward and one backward pass.
//! - Departures from the paper: operators are those of the released code, not those printed. The Jacobian is the gradient
//!   at the embedded input, a list of one. Means are settled to twelve digits, so that what is equal in exact arithmetic
//!   ties.

mod operator;
mod statistic;
mod text;

pub use operator::{Binary, Sheet, Unary};
pub use statistic::{Element, Statistic};
pub(super) use text::call;
pub use text::split;

use super::prelude::*;

pub(super) const ABOUT: &About = &About {
    name: "formula",
    sentence: "A formula over statistics of the network: two branches of operators and a join.",
    formula: "s = mean_l [ mean(u(x_l)) ∘ mean(v(y_l)) ],  written as sum(square(head), softmax(gradient))",
    paper: "LPZero (Dong et al., EMNLP 2024)",
    cost: Cost::Backward,
    departures: "operators as executed by the released code; means settled to twelve digits",
    ..About::SHAPE
};

/// How the joined list becomes one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Aggregate {
    /// The mean over its elements, as executed.
    #[default]
    Mean,
    /// Their sum, as printed.
    Sum,
}

/// A statistic and the operators applied to it, the first one first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Branch {
    /// What is looked at.
    pub input: Statistic,
    /// What is done with it.
    pub chain: Vec<Unary>,
}

impl Branch {
    /// Whether the branch yields nothing.
    pub fn pruned(&self) -> bool {
        self.chain.contains(&Unary::Prune)
    }

    /// What the chain makes of an element.
    pub fn tensor(&self, sheet: Sheet) -> Sheet {
        self.chain.iter().fold(sheet, |sheet, unary| unary.apply(&sheet))
    }

    /// The number that an element comes to, not finite where an operator is not defined.
    pub fn value(&self, sheet: Sheet) -> f64 {
        self.tensor(sheet).mean()
    }
}

/// A proxy as data; see the [module documentation](self).
///
/// ```
/// use foretell_proxy::proxy::Formula;
/// let winner: Formula = "sum(square(negate(head)), log-softmax(norm(activation)))".parse()?;
/// assert_eq!(winner.mathematics(), "mean_l [ mean((−H)²) + mean(log softmax(‖A‖)) ]");
/// assert_eq!(winner.to_string().parse::<Formula>()?, winner);
/// # Ok::<(), foretell_core::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Formula {
    /// Whether the order is turned round.
    pub turned: bool,
    /// How the joined list becomes one number.
    pub aggregate: Aggregate,
    /// Whether tensors are joined entry by entry before they are reduced.
    pub late: bool,
    /// How the branches are joined.
    pub join: Binary,
    /// The branches.
    pub branches: [Branch; 2],
}

impl Formula {
    /// The joined list from the values of both branches, a pruned one having none.
    pub fn joined(&self, left: &[f64], right: &[f64]) -> Vec<f64> {
        match (self.branches[0].pruned(), self.branches[1].pruned()) {
            (false, false) => left.iter().zip(right).map(|(a, b)| self.join.apply(*a, *b)).collect(),
            (false, true) => left.to_vec(),
            (true, false) => right.to_vec(),
            (true, true) => Vec::new(),
        }
    }

    /// What two elements come to if their tensors are joined before they are reduced.
    pub fn joined_late(&self, left: Sheet, right: Sheet) -> f64 {
        let [a, b] = [(left, 0), (right, 1)].map(|(sheet, side)| self.branches[side].tensor(sheet));
        if a.data.len() != b.data.len() || a.lead != b.lead {
            return self.join.apply(a.mean(), b.mean());
        }
        let data = a.data.iter().zip(&b.data).map(|(a, b)| self.join.apply(*a, *b)).collect();
        Sheet { data, lead: a.lead }.mean()
    }

    /// Whether tensors are joined before they are reduced: a pruned branch leaves nothing to join.
    pub fn joins_late(&self) -> bool {
        self.late && !self.branches.iter().any(Branch::pruned)
    }

    /// The score from the joined list, not a number if it is empty.
    pub fn of(&self, joined: &[f64]) -> f64 {
        let sum: f64 = joined.iter().sum();
        let value = match self.aggregate {
            Aggregate::Mean => sum / joined.len() as f64,
            Aggregate::Sum if joined.is_empty() => f64::NAN,
            Aggregate::Sum => sum,
        };
        operator::settled(if self.turned { -value } else { value })
    }

    /// The statistics that are looked at.
    fn inputs(&self) -> impl Iterator<Item = Statistic> {
        self.branches.iter().filter(|branch| !branch.pruned()).map(|branch| branch.input)
    }
}

impl Proxy for Formula {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        self.inputs().filter_map(Statistic::pass).collect()
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let mut lists = [Vec::new(), Vec::new()];
        for (list, branch) in lists.iter_mut().zip(&self.branches).filter(|(_, branch)| !branch.pruned()) {
            *list = branch.input.elements(input)?;
        }
        let joined = if self.joins_late() {
            let pairs = lists[0].iter().zip(&lists[1]);
            pairs.map(|(left, right)| self.joined_late(left.sheet(), right.sheet())).collect()
        } else {
            let [left, right] = [0, 1].map(|side| {
                let value = |element: &Element| self.branches[side].value(element.sheet());
                lists[side].iter().map(value).collect::<Vec<f64>>()
            });
            self.joined(&left, &right)
        };
        let first = lists.iter().find(|list| !list.is_empty()).into_iter().flatten();
        let named = first.map(|element| (element.name.clone(), element.block));
        let terms = named.zip(&joined).map(|((name, block), value)| Term::of(name, block, *value));
        let score = Score::sum(terms.collect());
        let score = if self.turned { score.turned() } else { score };
        Ok(Score { value: self.of(&joined), ..score })
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Squares of the weights have the means (1 + 4) / 2 = 2.5 and 9, the gradients 1 and −2: sums 3.5 and 7, differences 1.5
    /// and 11; their mean is 5.25, minus the sum of the differences −12.5. A pruned branch leaves the other: 5.75.
    #[test]
    fn two_layers_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, -2.0]])
            .matrix("fc1", Role::FfnIn, 1, [[3.0]])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("q", [[4.0, -2.0]]).gradient("fc1", [[-2.0]])
            });
        assert_eq!(toy.value("sum(square(weight), gradient)"), 5.25);
        let turned = toy.score("-total(difference(square(weight), gradient))").unwrap();
        assert_eq!((turned.value, turned.terms[0].value, turned.terms[1].value), (-12.5, -1.5, -11.0));
        assert_eq!(toy.value("sum(square(weight), prune(gradient))"), 5.75);
    }

    /// Entry by entry: (1·4 + −2·−2) / 2 = 4 and 3·−2 = −6, mean −1; of means −½ · 1 and 3·−2, mean −3.25. Sums do not differ.
    /// Tensors of different shapes are reduced first: the norm √5 of the first layer times the mean of its gradient.
    #[test]
    fn late_joins_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, -2.0]])
            .matrix("fc1", Role::FfnIn, 1, [[3.0]])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("q", [[4.0, -2.0]]).gradient("fc1", [[-2.0]])
            });
        assert_eq!(toy.value("late(product(weight, gradient))"), -1.0);
        assert_eq!(toy.value("product(weight, gradient)"), -3.25);
        assert_eq!(toy.value("late(sum(weight, gradient))"), toy.value("sum(weight, gradient)"));
        let mixed = toy.value("total(late(product(norm(weight), gradient)))");
        assert!((mixed - (5f64.sqrt() - 6.0)).abs() < 1e-9, "{mixed}");
    }

    /// Queries alone of the outputs, every activation, attention and the input's gradient: 2 · 5, 3 · 7.
    #[test]
    fn statistics_by_hand() {
        let pass = Pass::backward(Loss::Natural)
            .keep(Signal::Outputs)
            .keep(Signal::Activations)
            .keep(Signal::Attention)
            .keep(Signal::InputGradient);
        let toy = Toy::new().matrix("q", Role::Query, 0, [[1.0]]).matrix("k", Role::Key, 0, [[1.0]]).pass(
            pass,
            |seen| {
                seen.output("q", [[2.0]])
                    .output("k", [[100.0]])
                    .value(Mark::Activation(0), [[5.0]])
                    .value(Mark::Attention(0), [[3.0]])
                    .value_gradient(Mark::Embedded, [[7.0]])
            },
        );
        assert_eq!(toy.value("product(head, activation)"), 10.0);
        assert_eq!(toy.value("product(attention, jacobian)"), 21.0);
    }
}
