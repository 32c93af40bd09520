//! Formulas as text that parses back, and as mathematics.

use super::{Aggregate, Binary, Branch, Formula, Statistic, Unary};
use crate::catalogue;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The word around the join that asks for the sum over elements.
const TOTAL: &str = "total";
/// The word around the join that asks for tensors to be joined before they are reduced.
const LATE: &str = "late";

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chain.iter().rev().try_for_each(|unary| write!(f, "{}(", unary.name()))?;
        write!(f, "{}{}", self.input.name(), ")".repeat(self.chain.len()))
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [left, right] = &self.branches;
        let join = format!("{}({left}, {right})", self.join.name());
        let join = if self.late { format!("{LATE}({join})") } else { join };
        let minus = if self.turned { "-" } else { "" };
        match self.aggregate {
            Aggregate::Mean => write!(f, "{minus}{join}"),
            Aggregate::Sum => write!(f, "{minus}{TOTAL}({join})"),
        }
    }
}

impl Formula {
    /// The formula as mathematics.
    pub fn mathematics(&self) -> String {
        let branch = |branch: &Branch| {
            let inside =
                branch.chain.iter().fold(branch.input.letter().to_owned(), |x, unary| unary.around(&x));
            if self.late {
                return inside;
            }
            let reduced = branch.chain.iter().any(|unary| unary.reduces());
            if reduced && branch.chain.last() == Some(&Unary::Mean) {
                inside
            } else {
                format!("mean({inside})")
            }
        };
        let sides: Vec<String> = self.branches.iter().filter(|side| !side.pruned()).map(branch).collect();
        let inside = match sides.is_empty() {
            true => "nothing".to_owned(),
            false => sides.join(&format!(" {} ", self.join.sign())),
        };
        let inside = if self.late { format!("mean({inside})") } else { inside };
        let outside = if self.aggregate == Aggregate::Sum { "Σ_l" } else { "mean_l" };
        format!("{}{outside} [ {inside} ]", if self.turned { "−" } else { "" })
    }
}

impl FromStr for Formula {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let whole = |e: Error| if matches!(e, Error::Unknown { .. }) { e } else { e.at(text) };
        let mut rest = text.trim();
        let turned = rest.starts_with('-');
        rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
        let (mut name, mut inside) = call(rest).map_err(whole)?;
        let aggregate = if name == TOTAL { Aggregate::Sum } else { Aggregate::Mean };
        if name == TOTAL {
            (name, inside) = call(inside).map_err(whole)?;
        }
        let late = name == LATE;
        if late {
            (name, inside) = call(inside).map_err(whole)?;
        }
        let words = [TOTAL, LATE, super::super::blend::NAME];
        let joins = || Binary::ALL.iter().map(|join| join.name()).chain(words);
        let join = Binary::ALL.iter().find(|join| join.name() == name);
        let join = *join.ok_or_else(|| catalogue::unknown("join", name, joins()))?;
        let sides = split(inside);
        let [left, right] = sides[..] else {
            let message = format!("{name} joins two branches, here are {}", sides.len());
            return Err(Error::option(text, message));
        };
        if late && join == Binary::MatrixProduct {
            let message = "late joins entry by entry, which a matrix product does not: write product";
            return Err(Error::option(text, message));
        }
        let branches = [branch(left).map_err(whole)?, branch(right).map_err(whole)?];
        Ok(Formula { turned, aggregate, late, join, branches })
    }
}

/// The entries of a comma-separated list; commas inside parentheses and brackets separate nothing.
pub fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// The two parts of `name(inside)`.
pub(in crate::proxy) fn call(text: &str) -> Result<(&str, &str)> {
    let wrong = || Error::option("", format!("'{text}' is not of the form name(…)"));
    let (name, rest) = text.trim().split_once('(').ok_or_else(wrong)?;
    let inside = rest.strip_suffix(')').ok_or_else(wrong)?;
    Ok((name.trim(), inside.trim()))
}

fn branch(text: &str) -> Result<Branch> {
    let (mut chain, mut rest) = (Vec::new(), text.trim());
    while rest.contains(['(', ')']) {
        let (name, inside) = call(rest)?;
        let names = || Unary::ALL.iter().map(|unary| unary.name());
        let unary = Unary::ALL.iter().find(|unary| unary.name() == name);
        chain.push(*unary.ok_or_else(|| catalogue::unknown("operator", name, names()))?);
        rest = inside;
    }
    chain.reverse();
    let names = || Statistic::ALL.iter().map(|input| input.name());
    let input = Statistic::ALL.iter().find(|input| input.name() == rest);
    let input = *input.ok_or_else(|| catalogue::unknown("statistic", rest, names()))?;
    Ok(Branch { input, chain })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_branch() -> impl Strategy<Value = Branch> {
        let chain = proptest::collection::vec(proptest::sample::select(Unary::ALL), 0..6);
        (proptest::sample::select(Statistic::ALL), chain).prop_map(|(input, chain)| Branch { input, chain })
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(
            turned: bool, total: bool, whole: bool, join in proptest::sample::select(Binary::ALL),
            left in any_branch(), right in any_branch(),
        ) {
            let aggregate = if total { Aggregate::Sum } else { Aggregate::Mean };
            let late = whole && join != Binary::MatrixProduct;
            let formula = Formula { turned, aggregate, late, join, branches: [left, right] };
            prop_assert_eq!(formula.to_string().parse::<Formula>().unwrap(), formula);
        }

        #[test]
        fn no_text_panics(text in "[-a-z(),\\[ ]{0,40}") {
            let _ = text.parse::<Formula>();
        }
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| text.parse::<Formula>().unwrap_err().to_string();
        assert!(error("sum(square(haed), weight)").contains("did you mean 'head'"));
        assert!(error("sum(sqaure(head), weight)").contains("did you mean 'square'"));
        assert!(error("sum(head)").contains("here are 1"));
        assert!(error("sum(head, square(weight)").contains("name(…)"));
        assert!(error("summ(head, weight)").contains("did you mean 'sum'"));
        assert!(error("late(matrix-product(head, weight))").contains("write product"));
    }
}
