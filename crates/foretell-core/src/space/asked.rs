//! Spaces that are a function: it asks for values one after the other, and what it asks for may depend on earlier answers.
//!
//! The function belongs to somebody else, who runs it ([`Source`]). A child is made by running it again with answers of its
//! parents; what they do not answer is drawn. Limits are met by rejection: nobody knows the parameters before they are
//! counted.

use super::{Definition, Feasible, Limits, Size, Space};
use crate::architecture::module::{self, Choice, Module};
use crate::architecture::{Architecture, Family, Positions};
use crate::error::{Error, Result};
use crate::seed::{Rng, Seed};
use crate::units::grouped;
use num_bigint::BigUint;
use rand::RngExt;
use rand::seq::IteratorRandom;
use std::sync::Arc;

/// Draws after which limits are taken to be out of reach. Each one builds a network.
const MAX_DRAWS: u64 = 1000;
/// Draws before a network inside limits is changed step by step instead.
const DRAWS: usize = 50;
/// Changes that shuffle it.
const SHUFFLES: usize = 16;

/// Who runs the function.
pub trait Source: Send + Sync {
    /// Runs the function with answers: those of `kept` where they are admissible, others than those of `changed` where there
    /// are others, everything else drawn as a function of the seed.
    fn draw(&self, kept: &[Choice], changed: &[Choice], seed: u64) -> Architecture;
}

/// What a function builds.
pub struct Asked {
    definition: Definition,
    source: Option<Arc<dyn Source>>,
}

impl Asked {
    /// The space of a definition; without its source it can be read, and nothing can be drawn.
    pub fn new(definition: Definition, source: Option<Arc<dyn Source>>) -> Result<Self> {
        match definition.family.card().positions {
            Positions::Choices => Ok(Asked { definition, source }),
            _ => Err(Error::parse(definition.name.as_str(), "is a space of its own, not a function")),
        }
    }

    /// A definition as text, which a study stores.
    pub fn text(name: &str, about: &str) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let family = module::Family.card().name;
        format!("name = {}\nfamily = {}\nabout = {}\n", quoted(name), quoted(family), quoted(about))
    }

    fn draw(&self, kept: &[Choice], changed: &[Choice], rng: &mut Rng) -> Architecture {
        let source = self.source.as_ref().expect("a space without its function is refused before");
        source.draw(kept, changed, rng.random())
    }
}

impl Space for Asked {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_source(&self) -> Result<()> {
        match &self.source {
            Some(_) => Ok(()),
            None => Err(Error::option(
                self.definition.name.as_str(),
                "is a function of Python that is not at hand: search with the function itself",
            )),
        }
    }

    fn sample(&self, rng: &mut Rng) -> Architecture {
        self.draw(&[], &[], rng)
    }

    fn mutate(&self, parent: &Architecture, rate: f64, rng: &mut Rng) -> Architecture {
        self.redraw(parent, &|_| rate, &|_| rate, rng)
    }

    /// Answers each choice otherwise with the probability of its position, at least one.
    fn redraw(&self, parent: &Architecture, _: super::Rate, row: super::Rate, rng: &mut Rng) -> Architecture {
        let choices = Module(parent).choices();
        let mut changes: Vec<bool> =
            (0..choices.len()).map(|place| rng.random_bool(row(place).clamp(0.0, 1.0))).collect();
        if !changes.contains(&true)
            && let Some(one) = (0..choices.len()).choose(rng)
        {
            changes[one] = true;
        }
        let (mut kept, mut changed) = (Vec::new(), Vec::new());
        for (choice, change) in choices.into_iter().zip(changes) {
            if change { changed.push(choice) } else { kept.push(choice) }
        }
        self.draw(&kept, &changed, rng)
    }

    /// Takes each answer from either parent, if both were asked; what one was not asked comes from the other.
    fn cross(&self, a: &Architecture, b: &Architecture, rng: &mut Rng) -> Architecture {
        let (mut kept, others) = (Module(a).choices(), Module(b).choices());
        for (name, value) in others {
            match kept.iter_mut().find(|(known, _)| *known == name) {
                Some(known) if rng.random_bool(0.5) => known.1 = value,
                Some(_) => {}
                None => kept.push((name, value)),
            }
        }
        self.draw(&kept, &[], rng)
    }

    fn validate(&self, architecture: &Architecture) -> Result<()> {
        let (own, given) = (self.definition.name.as_str(), architecture.space());
        match architecture.family().is(self.definition.family) && own == given {
            true => Ok(()),
            false => Err(Error::data(architecture.id(), format!("is a network of {given}, not of {own}"))),
        }
    }

    fn size(&self) -> Size {
        Size::Open
    }

    fn at(&self, _: &BigUint) -> Option<Architecture> {
        None
    }

    fn feasible(&self, limits: &Limits) -> Result<Box<dyn Feasible + '_>> {
        self.check_source()?;
        limits.refuse_work(&self.definition)?;
        let [mut least, mut most] = [u64::MAX, 0];
        for index in 0..MAX_DRAWS {
            let found = self.sample(&mut Seed(0).stream("feasible", index));
            let parameters = found.params().total;
            if (limits.params.min..=limits.params.max).contains(&parameters) {
                return Ok(Box::new(Inside { space: self, limits: *limits, anchor: found }));
            }
            (least, most) = (least.min(parameters), most.max(parameters));
        }
        let reason = format!(
            "{} random networks have {} to {} parameters",
            grouped(MAX_DRAWS),
            grouped(least),
            grouped(most)
        );
        Err(Error::Infeasible { space: self.definition.name.clone(), reason })
    }
}

impl Limits {
    /// Refuses limits on what nobody counts.
    fn refuse_work(&self, definition: &Definition) -> Result<()> {
        match definition.family.counts_work() || self.flops == super::Bound::default() {
            true => Ok(()),
            false => Err(Error::option("limits", "multiply-adds of what a function builds are not counted")),
        }
    }
}

/// What is inside limits.
struct Inside<'s> {
    space: &'s Asked,
    limits: Limits,
    /// A network inside, for when draws find none.
    anchor: Architecture,
}

impl Inside<'_> {
    fn holds(&self, network: &Architecture) -> bool {
        (self.limits.params.min..=self.limits.params.max).contains(&network.params().total)
    }
}

impl Feasible for Inside<'_> {
    /// Draws until one is inside; `uniform` has no meaning for a function and changes nothing.
    fn sample(&self, _uniform: bool, rng: &mut Rng) -> Result<Architecture> {
        for _ in 0..DRAWS {
            let drawn = self.space.sample(rng);
            if self.holds(&drawn) {
                return Ok(drawn);
            }
        }
        let mut network = self.anchor.clone();
        for _ in 0..SHUFFLES {
            let next = self.space.mutate(&network, 0.1, rng);
            if self.holds(&next) {
                network = next;
            }
        }
        Ok(network)
    }

    fn share(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Counter;
    use crate::architecture::module::values;
    use crate::space::read_architecture;
    use serde_json::{Value, json};

    /// Asks for a depth and, if it is 2, for a width.
    struct Function;

    impl Source for Function {
        fn draw(&self, kept: &[Choice], changed: &[Choice], seed: u64) -> Architecture {
            let mut rng = Seed(seed).stream("function", 0);
            let mut ask = |name: &str, among: &[u64]| {
                let of = |list: &[Choice]| list.iter().find(|(known, _)| known == name)?.1.as_u64();
                let answer = of(kept).filter(|value| among.contains(value));
                let other = of(changed);
                answer.unwrap_or_else(|| {
                    *among.iter().filter(|value| Some(**value) != other).choose(&mut rng).unwrap()
                })
            };
            let depth = ask("depth", &[1, 2]);
            let mut choices = vec![("depth".to_owned(), json!(depth))];
            let mut parameters = 10;
            if depth == 2 {
                let width = ask("width", &[1, 2, 3, 4]);
                choices.push(("width".to_owned(), json!(width)));
                parameters = 100 * width;
            }
            let family = &module::Family;
            Architecture::unchecked("mine".into(), family, values(parameters, &choices))
        }
    }

    fn space(source: Option<Arc<dyn Source>>) -> Asked {
        Asked::new(Definition::parse("mine", &Asked::text("mine", "a \"test\"")).unwrap(), source).unwrap()
    }

    #[test]
    fn children_keep_answers_and_choices_that_depend_on_others_come_and_go() {
        let space = space(Some(Arc::new(Function)));
        let mut rng = Seed(1).stream("test", 0);
        let mut parent = space.sample(&mut rng);
        for _ in 0..50 {
            let child = space.redraw(&parent, &|_| 0.0, &|at| f64::from(at == 0), &mut rng);
            let [before, after] = [&parent, &child].map(|network| Module(network).choices());
            assert_ne!(before[0], after[0]);
            assert_eq!(after.len(), if after[0].1 == 2 { 2 } else { 1 });
            parent = child;
        }
        let deep = |width: u64| {
            let choices = [("depth".to_owned(), json!(2)), ("width".to_owned(), json!(width))];
            Architecture::unchecked("mine".into(), parent.family(), values(100 * width, &choices))
        };
        let crossed: Vec<u64> =
            (0..30).map(|_| space.cross(&deep(1), &deep(4), &mut rng).params().total).collect();
        assert!(crossed.contains(&100) && crossed.contains(&400));
        assert!(crossed.iter().all(|total| [100, 400].contains(total)));
        assert!((0..30).all(|_| space.mutate(&deep(1), 0.0, &mut rng) != deep(1)));
    }

    #[test]
    fn limits_hold_or_are_refused() {
        let space = space(Some(Arc::new(Function)));
        let at_most = |max| Limits { params: super::super::Bound { min: 11, max }, ..Limits::default() };
        let inside = space.feasible(&at_most(150)).unwrap();
        let mut rng = Seed(0).stream("test", 0);
        assert!((0..20).all(|_| inside.sample(false, &mut rng).unwrap().params().total == 100));
        let error = space.feasible(&at_most(50)).err().unwrap().to_string();
        assert!(error.contains("10 to 400 parameters"), "{error}");
    }

    #[test]
    fn a_definition_without_its_function_is_read_and_draws_nothing() {
        let stored = super::super::parse("mine", &Asked::text("mine", "")).unwrap();
        assert!(stored.check_source().unwrap_err().to_string().contains("not at hand"));
        assert!(stored.within(&Limits::default()).is_err());
        let network = space(Some(Arc::new(Function))).sample(&mut Seed(0).stream("test", 0));
        stored.validate(&network).unwrap();
        let vit = Definition::parse(
            "x",
            "name = \"x\"\nfamily = \"vit\"\n[fixed]\nembed_dim = 64\ndepth = 2\nnum_heads = 2\nmlp_ratio = 2\n",
        );
        assert!(Asked::new(vit.unwrap(), None).is_err());
    }

    #[test]
    fn choices_read_back_and_the_id_follows_from_what_is_written() {
        let written = json!({"family": "module", "space": "mine", "parameter_count": 5_000_000_000u64,
            "choices": {"layers": 2, "rate": 0.1, "kind": "gelu", "bias": true, "rest": null}});
        let network = read_architecture(&written).unwrap();
        assert_eq!(Value::Object(network.to_json()), written);
        assert_eq!(network.params().total, 5_000_000_000);
        assert_eq!((network.positions(), network.flops(Counter::Exact)), (5, None));
        // Other words come between, so that numbers of this process differ.
        read_architecture(&json!({"family": "module", "parameter_count": 1, "choices": {"other": "x"}}))
            .unwrap();
        assert_eq!(read_architecture(&written).unwrap(), network);
        let mut other = written.clone();
        other["choices"]["layers"] = 3.into();
        assert_ne!(read_architecture(&other).unwrap().id(), network.id());
    }

    #[test]
    fn what_is_no_list_of_choices_is_refused() {
        for (wrong, text) in [
            (json!({"family": "module", "choices": {}}), "parameter_count"),
            (json!({"family": "module", "parameter_count": 1, "choices": [1]}), "table of names"),
            (json!({"family": "module", "parameter_count": 1, "choices": {"a": [1]}}), "not one value"),
            (json!({"family": "module", "parameter_count": 1, "choices": {}, "low": 3}), "unknown key"),
        ] {
            let error = read_architecture(&wrong).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
