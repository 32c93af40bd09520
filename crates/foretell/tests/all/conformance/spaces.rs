//! Sampled, mutated and crossed points stay inside and survive the id round trip; sizes agree with enumeration.

use super::{presets, shrunken};
use foretell::architecture::{Architecture, Counter, FAMILIES};
use foretell::seed::Seed;
use foretell::space::{self, Size, Space};
use num_bigint::BigUint;
use proptest::prelude::*;
use std::collections::HashSet;

fn round_trip(space: &dyn Space, architecture: &Architecture) {
    let written = space.write(architecture);
    let again = if space::is_preset(space.name()) {
        space::read_architecture(&written.clone().into()).unwrap()
    } else {
        space.read(&written).unwrap()
    };
    assert_eq!(&again, architecture, "{written:?}");
    assert_eq!(again.id(), architecture.id());
    // The whole of it, without the space, describes the same network.
    let whole = space::read_architecture(&architecture.to_json().into()).unwrap();
    assert_eq!(whole.id(), architecture.id());
}

#[test]
fn samples_mutants_and_children_stay_inside() {
    for space in presets().chain(shrunken()) {
        let mut rng = Seed(1).stream("conformance", 0);
        let mut last = space.sample(&mut rng);
        for i in 0..150 {
            let sample = space.sample(&mut rng);
            let rate = [0.0, 0.1, 0.4, 1.0][i % 4];
            let mutant = space.mutate(&sample, rate, &mut rng);
            let child = space.cross(&sample, &last, &mut rng);
            for point in [&sample, &mutant, &child] {
                space.validate(point).unwrap_or_else(|e| panic!("{}: {e}\n{point:?}", space.name()));
                round_trip(&*space, point);
            }
            last = child;
        }
    }
}

#[test]
fn a_rate_of_zero_keeps_a_grid_point_and_a_child_of_equals_is_equal() {
    for space in presets().chain(shrunken()).filter(|space| space.as_grid().is_some()) {
        let mut rng = Seed(2).stream("conformance", 0);
        let parent = space.sample(&mut rng);
        assert_eq!(space.mutate(&parent, 0.0, &mut rng), parent);
        assert_eq!(space.cross(&parent, &parent, &mut rng), parent);
    }
}

#[test]
fn mutation_moves_and_crossing_mixes() {
    for space in presets() {
        let mut rng = Seed(3).stream("conformance", 0);
        let (a, b) = (space.sample(&mut rng), space.sample(&mut rng));
        let mutants: HashSet<Architecture> = (0..50).map(|_| space.mutate(&a, 0.4, &mut rng)).collect();
        let children: HashSet<Architecture> = (0..50).map(|_| space.cross(&a, &b, &mut rng)).collect();
        assert!(
            mutants.len() > 5 && children.len() > 3,
            "{} {} {}",
            space.name(),
            mutants.len(),
            children.len()
        );
    }
}

#[test]
fn enumeration_is_complete_and_indexed() {
    for space in shrunken().chain([space::preset("pit-ti").unwrap()]) {
        let Size::Exact(size) = space.size() else { panic!("{} is a grid", space.name()) };
        let size = u128::try_from(size).unwrap();
        let mut walk = space.as_grid().unwrap().walk(&BigUint::ZERO, u128::MAX);
        let (mut seen, mut index) = (HashSet::new(), 0u128);
        while let Some(point) = walk.next() {
            space.validate(point).unwrap();
            assert_eq!(space.at(&BigUint::from(index)).as_ref(), Some(point));
            assert!(seen.insert(point.clone()), "twice: {point:?}");
            index += 1;
        }
        assert_eq!(index, size, "{}", space.name());
        assert_eq!(space.at(&BigUint::from(size)), None);
        // The same points in pieces.
        let mut pieces = 0;
        for start in (0..size).step_by(7) {
            let mut walk = space.as_grid().unwrap().walk(&BigUint::from(start), 7);
            while let Some(point) = walk.next() {
                assert!(seen.contains(point));
                pieces += 1;
            }
        }
        assert_eq!(pieces, size);
    }
}

#[test]
fn a_sample_is_found_by_its_index_in_the_largest_spaces() {
    for space in presets().filter(|space| space.as_grid().is_some()) {
        let Size::Exact(size) = space.size() else { continue };
        let last = space.at(&(size - 1u32)).unwrap();
        space.validate(&last).unwrap();
    }
}

#[test]
fn extremes_are_those_of_the_enumeration() {
    for space in shrunken() {
        let mut walk = space.as_grid().unwrap().walk(&BigUint::ZERO, u128::MAX);
        let mut found = [(u64::MAX, 0), (u64::MAX, 0)];
        while let Some(point) = walk.next() {
            for (extreme, value) in
                found.iter_mut().zip([point.params().total, point.flops(Counter::Exact).unwrap()])
            {
                *extreme = (extreme.0.min(value), extreme.1.max(value));
            }
        }
        assert_eq!(space.extremes(), Some(found), "{}", space.name());
    }
}

/// Every tensor has entries, a name of its own, and a block below the depth; parts add up to all weights.
#[test]
fn weights_are_complete_and_named_apart() {
    for space in presets() {
        let mut rng = Seed(4).stream("conformance", 0);
        for _ in 0..20 {
            let architecture = space.sample(&mut rng);
            let tensors = architecture.tensors();
            let names: HashSet<String> = tensors.iter().map(|tensor| tensor.name()).collect();
            assert_eq!(names.len(), tensors.len(), "{}", space.name());
            assert!(tensors.iter().all(|tensor| !tensor.is_empty() && !tensor.name().contains("{}")));
            let depth = architecture.depth().max(3);
            assert!(tensors.iter().all(|tensor| tensor.block.is_none_or(|block| u64::from(block) < depth)));
            let params = architecture.params();
            let parts: u64 = foretell::architecture::Part::ALL.iter().map(|part| params.part(*part)).sum();
            let counted: u64 = tensors.iter().filter(|t| t.counted).map(|t| t.len()).sum();
            assert_eq!(parts, tensors.iter().map(|t| t.len()).sum::<u64>());
            assert_eq!(params.total, counted);
            assert!(architecture.memory().activations > 0);
        }
    }
}

/// Families without a preset, undocumented fields and names that mean two things do not pass.
#[test]
fn every_family_has_a_preset_and_documented_fields() {
    let used: HashSet<&str> = presets().map(|space| space.definition().family.name()).collect();
    for family in FAMILIES {
        assert!(used.contains(family.name()), "{}", family.name());
        let mut names = HashSet::new();
        for field in family.fields() {
            assert!(field.doc.len() > 10 && field.doc.ends_with('.'), "{} {}", family.name(), field.key);
            for name in field.aliases.iter().chain([&field.key]) {
                assert!(names.insert(*name), "{}: '{name}' means two fields", family.name());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random choices: the size is what enumeration finds, or the file is refused; nothing panics.
    #[test]
    fn sizes_of_random_grids(
        dims in proptest::sample::subsequence(vec![8u32, 12, 16, 20, 24], 1..4),
        depths in proptest::sample::subsequence(vec![1u32, 2, 3], 1..3),
        heads in proptest::sample::subsequence(vec![1u32, 2, 3, 4, 5], 1..4),
        widths in proptest::sample::subsequence(vec![8u32, 16, 32, 64], 1..3),
        ratio in 0u32..4,
    ) {
        let text = format!("name = \"random\"\nfamily = \"bert\"\n[choices]\nhidden_size = {dims:?}\nnum_layers = {depths:?}\n\
            num_heads = {heads:?}\nffn_dim = {widths:?}\n[rules]\nmin_ffn_ratio = {ratio}\n");
        match space::parse("random.toml", &text) {
            Err(error) => prop_assert!(error.to_string().contains("random.toml")),
            Ok(space) => {
                let expected: usize = depths.iter().flat_map(|depth| dims.iter().map(move |dim| (depth, dim))).map(|(depth, dim)| {
                    let rows = heads.iter().filter(|h| dim % **h == 0).count() * widths.iter().filter(|w| **w >= ratio * dim).count();
                    rows.pow(*depth)
                }).sum();
                prop_assert_eq!(space.size(), Size::Exact(expected.into()));
                let mut walk = space.as_grid().unwrap().walk(&BigUint::ZERO, u128::MAX);
                let mut found = 0;
                while walk.next().is_some() {
                    found += 1;
                }
                prop_assert_eq!(found, expected);
            }
        }
    }
}
