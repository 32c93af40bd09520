//! Predictive pruning: formulas that need not be evaluated, or are another formula written longer.

use crate::proxy::{Binary, Branch, Formula, Statistic, Unary};
use std::collections::BTreeMap;

/// Why a formula is not evaluated as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// An operator and its inverse: rewritten to the identity, square and root to the magnitude.
    InversePair,
    /// The magnitude before a logarithm of magnitudes: rejected.
    AbsBeforeAbsLog,
    /// The identity, and the rectifier of what is not negative: left out.
    NoEffect,
    /// The normalised sum: rewritten to the mean.
    SumIsMean,
    /// The logarithm of a softmax: rewritten to one operator.
    LogOfSoftmax,
    /// A sign before a norm: left out.
    SignBeforeNorm,
    /// The deviation of z-scores, which is one: rejected.
    DeviationOfZScore,
    /// Z-scores before scaling to 0 and 1: left out.
    ZScoreBeforeMinMax,
    /// Logarithm or root of what is never positive: rejected.
    RootOfNegative,
    /// The reciprocal of what is always zero: rejected.
    ReciprocalOfZero,
    /// A softmax, z-score, scaling or deviation of one number, which is constant: rejected.
    ConstantOfNumber,
    /// Both branches pruned: rejected.
    NothingLeft,
    /// The difference of equal branches: rejected.
    EqualBranches,
    /// The matrix product of numbers, a join with nothing: rewritten to the plain one.
    SameJoin,
    /// Equal to a formula that was evaluated before.
    Known,
    /// Evaluated: some network has no such statistic, or the value is not finite.
    NotFinite,
    /// Evaluated: the value of some network is exactly 0 or −1.
    ZeroOrMinusOne,
    /// Evaluated: the first four networks, or all, have one value.
    Constant,
}

impl Rule {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Rule::InversePair => "inverse pair",
            Rule::AbsBeforeAbsLog => "abs before abslog",
            Rule::NoEffect => "no effect",
            Rule::SumIsMean => "normalised sum is mean",
            Rule::LogOfSoftmax => "log of softmax",
            Rule::SignBeforeNorm => "sign before norm",
            Rule::DeviationOfZScore => "deviation of z-scores",
            Rule::ZScoreBeforeMinMax => "z-score before min-max",
            Rule::RootOfNegative => "log or root of a negative",
            Rule::ReciprocalOfZero => "reciprocal of zero",
            Rule::ConstantOfNumber => "constant of one number",
            Rule::NothingLeft => "both branches pruned",
            Rule::EqualBranches => "difference of equals",
            Rule::SameJoin => "same join",
            Rule::Known => "known formula",
            Rule::NotFinite => "not finite",
            Rule::ZeroOrMinusOne => "zero or minus one",
            Rule::Constant => "constant",
        }
    }
}

/// How often each rule applied.
pub type Census = BTreeMap<Rule, u64>;

/// The shortest form of a formula, the rules that led there added to the census; none if one rejects it.
pub fn canonical(formula: &Formula, census: &mut Census) -> Option<Formula> {
    let mut note = |rule| *census.entry(rule).or_insert(0) += 1;
    let mut formula = formula.clone();
    for branch in &mut formula.branches {
        if branch.pruned() {
            branch.chain = vec![Unary::Prune];
        } else if let Err(rule) = shorten(branch, &mut note) {
            note(rule);
            return None;
        }
    }
    let pruned = formula.branches.iter().filter(|branch| branch.pruned()).count();
    let equal = formula.branches[0] == formula.branches[1];
    if pruned == 2 || formula.join == Binary::Difference && equal && pruned == 0 {
        note(if pruned == 2 { Rule::NothingLeft } else { Rule::EqualBranches });
        return None;
    }
    if pruned == 1 {
        // Which statistic is left out does not matter, nor how it would have been joined.
        let place = formula.branches.iter().position(Branch::pruned).expect("one is pruned");
        let changed = formula.join != Binary::Sum || formula.branches[place].input != Statistic::Activation;
        formula.branches[place].input = Statistic::Activation;
        formula.join = Binary::Sum;
        if changed {
            note(Rule::SameJoin);
        }
    } else if formula.join == Binary::MatrixProduct {
        formula.join = Binary::Product;
        note(Rule::SameJoin);
    }
    if formula.join != Binary::Difference {
        formula.branches.sort();
    }
    Some(formula)
}

/// What is known of a tensor before its entries are.
#[derive(Clone, Copy)]
struct State {
    number: bool,
    nonnegative: bool,
    zero: bool,
}

impl State {
    fn of(input: Statistic) -> Self {
        State { number: false, nonnegative: input == Statistic::Attention, zero: false }
    }

    fn after(self, before: Option<Unary>, unary: Unary) -> Self {
        use Unary::*;
        let nonnegative = match unary {
            Abs | Square | Exp | Relu | Norm | L1 | Softmax | Sigmoid | Sqrt | MinMax | Deviation => true,
            Identity | Mean | NormalisedSum | Reciprocal => self.nonnegative,
            Log | AbsLog | ZScore | LogSoftmax | Negate | Prune => false,
        };
        let centred = before == Some(ZScore) && matches!(unary, Mean | NormalisedSum);
        let kept =
            self.zero && matches!(unary, Abs | Square | Relu | Sqrt | Negate | Mean | Norm | L1 | Identity);
        State { number: self.number || unary.reduces(), nonnegative, zero: centred || kept }
    }
}

/// Rewrites a chain until no rule applies.
fn shorten(branch: &mut Branch, note: &mut impl FnMut(Rule)) -> Result<(), Rule> {
    while let Some((rule, place, length, instead)) = step(branch)? {
        branch.chain.splice(place..place + length, instead);
        note(rule);
    }
    Ok(())
}

type Rewrite = (Rule, usize, usize, Option<Unary>);

/// The first rule that applies: what to put in place of which operators.
fn step(branch: &Branch) -> Result<Option<Rewrite>, Rule> {
    use Unary::*;
    let mut state = State::of(branch.input);
    let mut before = None;
    for (place, unary) in branch.chain.iter().copied().enumerate() {
        let next = branch.chain.get(place + 1).copied();
        match (unary, next) {
            (Log, Some(Exp)) | (Exp, Some(Log)) | (Sqrt, Some(Square)) => {
                return Ok(Some((Rule::InversePair, place, 2, None)));
            }
            (Reciprocal, Some(Reciprocal)) | (Negate, Some(Negate)) => {
                return Ok(Some((Rule::InversePair, place, 2, None)));
            }
            (Square, Some(Sqrt)) => return Ok(Some((Rule::InversePair, place, 2, Some(Abs)))),
            (Abs, Some(AbsLog)) => return Err(Rule::AbsBeforeAbsLog),
            (Softmax, Some(Log)) => return Ok(Some((Rule::LogOfSoftmax, place, 2, Some(LogSoftmax)))),
            (Abs, Some(L1 | Norm)) | (Negate, Some(Norm)) => {
                return Ok(Some((Rule::SignBeforeNorm, place, 1, None)));
            }
            (ZScore, Some(Deviation)) => return Err(Rule::DeviationOfZScore),
            (ZScore, Some(MinMax)) => return Ok(Some((Rule::ZScoreBeforeMinMax, place, 1, None))),
            (Negate, Some(Log | Sqrt)) if state.nonnegative => return Err(Rule::RootOfNegative),
            (Identity, _) => return Ok(Some((Rule::NoEffect, place, 1, None))),
            (Relu, _) if state.nonnegative => return Ok(Some((Rule::NoEffect, place, 1, None))),
            (NormalisedSum, _) => return Ok(Some((Rule::SumIsMean, place, 1, Some(Mean)))),
            (Softmax | LogSoftmax | ZScore | MinMax | Deviation, _) if state.number => {
                return Err(Rule::ConstantOfNumber);
            }
            (Reciprocal, _) if state.zero => return Err(Rule::ReciprocalOfZero),
            _ => {}
        }
        state = state.after(before, unary);
        before = Some(unary);
    }
    Ok(None)
}

/// The rule of the released code that rejects scores, if one does.
pub(super) fn rejected(scores: &[f64]) -> Option<Rule> {
    if scores.iter().any(|score| !score.is_finite()) {
        return Some(Rule::NotFinite);
    }
    if scores.iter().any(|score| *score == 0.0 || *score == -1.0) {
        return Some(Rule::ZeroOrMinusOne);
    }
    scores.iter().take(4).all(|score| *score == scores[0]).then_some(Rule::Constant)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The canonical form as text with the rule that applied last, or the rule that rejected.
    fn of(text: &str) -> (Option<String>, Option<Rule>) {
        let mut census = Census::new();
        let found = canonical(&text.parse().unwrap(), &mut census).map(|formula| formula.to_string());
        (found, census.into_keys().next_back())
    }

    fn rewritten(text: &str, expected: &str, rule: Rule) {
        assert_eq!(of(text), (Some(expected.to_owned()), Some(rule)), "{text}");
    }

    fn refused(text: &str, rule: Rule) {
        assert_eq!(of(text), (None, Some(rule)), "{text}");
    }

    #[test]
    fn every_static_rule_by_hand() {
        rewritten("sum(exp(log(head)), weight)", "sum(head, weight)", Rule::InversePair);
        rewritten("sum(log(exp(head)), weight)", "sum(head, weight)", Rule::InversePair);
        rewritten("sum(sqrt(square(head)), weight)", "sum(abs(head), weight)", Rule::InversePair);
        rewritten("sum(square(sqrt(head)), weight)", "sum(head, weight)", Rule::InversePair);
        rewritten("sum(negate(negate(head)), weight)", "sum(head, weight)", Rule::InversePair);
        rewritten("sum(reciprocal(reciprocal(head)), weight)", "sum(head, weight)", Rule::InversePair);
        refused("sum(abslog(abs(head)), weight)", Rule::AbsBeforeAbsLog);
        rewritten("sum(identity(head), weight)", "sum(head, weight)", Rule::NoEffect);
        rewritten("sum(relu(square(head)), weight)", "sum(square(head), weight)", Rule::NoEffect);
        rewritten("sum(normalised-sum(head), weight)", "sum(mean(head), weight)", Rule::SumIsMean);
        rewritten("sum(log(softmax(head)), weight)", "sum(log-softmax(head), weight)", Rule::LogOfSoftmax);
        rewritten("sum(l1(abs(head)), weight)", "sum(l1(head), weight)", Rule::SignBeforeNorm);
        rewritten("sum(norm(negate(head)), weight)", "sum(norm(head), weight)", Rule::SignBeforeNorm);
        refused("sum(deviation(z-score(head)), weight)", Rule::DeviationOfZScore);
        rewritten(
            "sum(min-max(z-score(head)), weight)",
            "sum(min-max(head), weight)",
            Rule::ZScoreBeforeMinMax,
        );
        refused("sum(log(negate(square(head))), weight)", Rule::RootOfNegative);
        refused("sum(sqrt(negate(attention)), weight)", Rule::RootOfNegative);
        refused("sum(reciprocal(mean(z-score(head))), weight)", Rule::ReciprocalOfZero);
        refused("sum(log-softmax(norm(head)), weight)", Rule::ConstantOfNumber);
        refused("sum(prune(head), square(prune(weight)))", Rule::NothingLeft);
        refused("difference(head, head)", Rule::EqualBranches);
        rewritten("matrix-product(head, weight)", "product(head, weight)", Rule::SameJoin);
        rewritten("product(square(prune(head)), weight)", "sum(prune(activation), weight)", Rule::SameJoin);
    }

    /// The published FlexiBERT winner has a constant branch: pruning would never have evaluated it.
    #[test]
    fn the_published_winner_is_rejected() {
        refused("sum(square(negate(head)), log-softmax(norm(activation)))", Rule::ConstantOfNumber);
    }

    #[test]
    fn what_no_rule_names_stays() {
        let text = "difference(square(head), softmax(gradient))";
        assert_eq!(of(text), (Some(text.to_owned()), None));
        // A negative logarithm may be negated again: nothing is known of its sign.
        assert!(of("sum(sqrt(negate(log(head))), weight)").0.is_some());
    }

    #[test]
    fn every_dynamic_rule_by_hand() {
        assert_eq!(rejected(&[1.0, f64::NAN]), Some(Rule::NotFinite));
        assert_eq!(rejected(&[1.0, 2.0, 0.0]), Some(Rule::ZeroOrMinusOne));
        assert_eq!(rejected(&[1.0, -1.0]), Some(Rule::ZeroOrMinusOne));
        assert_eq!(rejected(&[3.0, 3.0, 3.0, 3.0, 4.0]), Some(Rule::Constant));
        assert_eq!(rejected(&[3.0, 3.0, 3.0, 4.0]), None);
    }
}
