//! Every proxy of the catalogue: a complete card, a finite number or a named error, the same bits every time.

use super::presets;
use foretell::architecture::Positions;
use foretell::proxy::{CATALOGUE, Request};
use foretell::seed::Seed;
use std::collections::HashSet;

#[test]
fn cards_are_complete_and_names_unique() {
    let mut names = HashSet::new();
    for entry in CATALOGUE {
        let about = entry.about;
        assert!(names.insert(about.name), "{} is there twice", about.name);
        assert!(about.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", about.name);
        for text in [about.sentence, about.formula, about.paper, about.departures] {
            assert!(!text.is_empty(), "{}", about.name);
        }
        Request::parse(about.name).unwrap();
    }
}

/// A proxy file that is not in the catalogue would never run.
#[test]
fn every_proxy_file_is_in_the_catalogue() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/proxy");
    let files =
        std::fs::read_dir(folder).unwrap().filter(|f| f.as_ref().unwrap().file_name() != "mod.rs").count();
    assert_eq!(files, CATALOGUE.len());
}

#[test]
fn scores_are_finite_or_named_errors_and_repeat_bit_by_bit() {
    for space in presets() {
        let architecture = space.sample(&mut Seed(1).stream("proxies", 0));
        for request in Request::all().unwrap() {
            match (request.score(&architecture), request.score(&architecture)) {
                (Ok(a), Ok(b)) => assert!(a.is_finite() && a.to_bits() == b.to_bits(), "{}", request.label()),
                (Err(a), Err(_)) => {
                    assert_eq!(a.kind(), "not-defined", "{} on {}: {a}", request.label(), space.name())
                }
                _ => panic!("{} is defined only sometimes", request.label()),
            }
        }
    }
}

/// Layers in another order are another network of the same shape: its score is the same to the last bit.
#[test]
fn shape_proxies_do_not_see_the_order_of_layers() {
    for space in
        presets().filter(|space| matches!(space.definition().family.card().positions, Positions::Layers(_)))
    {
        let architecture = space.sample(&mut Seed(2).stream("proxies", 0));
        let mut object = architecture.to_json();
        for list in object.values_mut().filter_map(|value| value.as_array_mut()) {
            if list.len() == architecture.positions() {
                list.reverse();
            }
        }
        let reversed = foretell::space::read_architecture(&object.into()).unwrap();
        for request in Request::all().unwrap() {
            if let (Ok(a), Ok(b)) = (request.score(&architecture), request.score(&reversed)) {
                assert_eq!(a.to_bits(), b.to_bits(), "{} on {}", request.label(), space.name());
            }
        }
    }
}

#[test]
fn options_are_typed_and_slips_are_named() {
    for (text, part) in [
        ("sept[tokens=-1]", "tokens"),
        ("sept[width=depth]", "unknown variant"),
        ("sept[widht=head]", "did you mean 'width'"),
        ("sept[tokens]", "key=value"),
        ("sept[tokens=2", "closing bracket"),
        ("zerolm[alpha=many]", "alpha"),
        ("", "unknown proxy"),
    ] {
        let error = Request::parse(text).err().unwrap_or_else(|| panic!("{text} was accepted")).to_string();
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
    let list = Request::parse_list("params, sept[width=head,tokens=2],params[mode=published]").unwrap();
    assert_eq!(
        list.iter().map(Request::label).collect::<Vec<_>>(),
        ["params", "sept[width=head,tokens=2]", "params[mode=published]"]
    );
}
