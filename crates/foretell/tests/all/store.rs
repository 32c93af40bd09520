//! Stores under attack: cut off, bits flipped, written by others, by newer releases, in places that cannot be written.

use crate::support::Folder;
use foretell::error::Error;
use foretell::seed::Seed;
use foretell::space;
use foretell::store::{Score, Store, Trial, repair};
use foretell::study::{Leaderboard, Objective, Settings, StudyBuilder};
use rand::RngExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn settings(budget: u64) -> Settings {
    let space = space::preset("autoformer-tiny").unwrap();
    Settings {
        budget: Some(budget),
        ..Settings::new(space).search("evolution[population=10]", "nsc").unwrap()
    }
}

/// A sound store of 40 trials, its bytes, and its trials without their times.
fn intact(path: &Path) -> (Vec<u8>, Vec<Trial>) {
    let mut store = Store::open(path).unwrap();
    StudyBuilder::from(settings(40).clone()).in_store(&mut store).name("a").run().unwrap();
    let trials = read(&store).unwrap();
    drop(store);
    (std::fs::read(path).unwrap(), trials)
}

fn read(store: &Store) -> Result<Vec<Trial>, Error> {
    let Some(study) = store.find("a")? else { return Ok(Vec::new()) };
    let mut trials = store.trials(&study)?.0;
    trials.iter_mut().for_each(|trial| trial.seconds = 0.0);
    Ok(trials)
}

/// Whatever happened to the file: a typed error, or a beginning of what was written.
fn attack(path: &Path, bytes: &[u8], written: &[Trial]) -> bool {
    for side in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{side}", path.display()));
    }
    std::fs::write(path, bytes).unwrap();
    let looked = Store::read(path).and_then(|store| {
        let trials = read(&store)?;
        store.verify()?;
        Ok(trials)
    });
    match looked {
        Ok(trials) => {
            assert_eq!(trials, written[..trials.len()], "a wrong answer");
            false
        }
        Err(
            Error::Corrupt { .. } | Error::Store { .. } | Error::Foreign { .. } | Error::StoreVersion { .. },
        ) => true,
        Err(other) => panic!("{other:?}"),
    }
}

/// How many stores are damaged; more with `FORETELL_DAMAGE`.
fn rounds() -> u32 {
    std::env::var("FORETELL_DAMAGE").ok().and_then(|n| n.parse().ok()).unwrap_or(1000)
}

/// Damage is an error and never a wrong answer, and `repair` brings back a beginning of what was written and nothing else.
#[test]
fn damage_is_named_and_repaired() {
    let folder = Folder::new("store-damage");
    let path = folder.0.join("store.db");
    let (bytes, written) = intact(&path);
    let mut rng = Seed(1).stream("damage", 0);
    let (mut cut, mut flipped, mut repaired, mut kept, mut salvaged) = (0, 0, 0, 0, 0);
    for round in 0..rounds() {
        let mut damaged = bytes.clone();
        if round % 4 == 0 {
            damaged.truncate(rng.random_range(0..bytes.len()));
        } else {
            for _ in 0..1 << (round % 7) {
                let at = rng.random_range(0..damaged.len());
                damaged[at] ^= 1 << rng.random_range(0..8);
            }
        }
        if !attack(&path, &damaged, &written) {
            continue;
        }
        *if round % 4 == 0 { &mut cut } else { &mut flipped } += 1;
        let Ok(Some(done)) = repair(&path) else {
            assert_eq!(std::fs::read(&path).unwrap(), damaged, "touched without being repaired");
            continue;
        };
        repaired += 1;
        assert_eq!(std::fs::read(&done.aside).unwrap(), damaged, "what was damaged is not kept");
        std::fs::remove_file(&done.aside).unwrap();
        let store = Store::read(&path).unwrap();
        store.verify().unwrap();
        let trials = read(&store).unwrap();
        assert_eq!(trials, written[..trials.len()]);
        kept += trials.len();
        if let Some(study) = store.find("a-salvaged").unwrap() {
            for mut trial in store.trials(&study).unwrap().0 {
                let original = written.iter().find(|written| written.id == trial.id).unwrap();
                (trial.number, trial.seconds) = (original.number, 0.0);
                assert_eq!(&trial, original);
                salvaged += 1;
            }
        }
        assert!(std::fs::read_dir(&folder.0).unwrap().count() <= 3, "something is left behind");
    }
    println!(
        "{} damaged: {cut} cut off and {flipped} with flipped bits were refused, the others read as written; \
         {repaired} repaired with {kept} of {} trials, and {salvaged} behind gaps",
        rounds(),
        repaired * written.len()
    );
    assert!(cut >= rounds() / 4 * 19 / 20 && flipped > rounds() / 3);
    assert!(repaired as u32 > (cut + flipped) / 2, "{repaired} repaired");
    assert!(!attack(&path, &bytes, &written));
    assert!(repair(&path).unwrap().is_none());
}

/// One page in the middle is lost: the study goes on behind what was before it, and ends as if nothing had happened.
#[test]
fn a_repaired_study_goes_on_to_the_same_end() {
    let folder = Folder::new("store-repaired");
    let path = folder.0.join("store.db");
    let (mut bytes, written) = intact(&path);
    let hash = |store: &Store| store.hash(&store.find("a").unwrap().unwrap()).unwrap();
    let undisturbed = hash(&Store::read(&path).unwrap());
    let id = written[20].id.as_bytes();
    let at = bytes.windows(id.len()).position(|window| window == id).unwrap();
    bytes[at / 4096 * 4096..][..4096].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let done = repair(&path).unwrap().unwrap();
    let found = &done.studies[0];
    assert!(found.kept > 5 && found.kept <= 20 && found.salvaged > 5 && found.lost > 0, "{found:?}");
    assert_eq!(found.kept + found.salvaged + found.lost, 40, "{found:?}");
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.find("a").unwrap().unwrap().stopped, None);
    StudyBuilder::from(settings(40).clone()).in_store(&mut store).name("a").run().unwrap();
    assert_eq!(hash(&store), undisturbed);
}

/// A million trials. `cargo test --release --test store -- --ignored --nocapture`; takes half a gigabyte and minutes.
#[test]
#[ignore = "writes a million trials"]
fn a_million_trials_are_opened_and_ranked_at_once() {
    let folder = Folder::new("store-million");
    let path = folder.0.join("store.db");
    let mut store = Store::open(&path).unwrap();
    let objectives = vec![Objective::proxy("nsc").unwrap(), Objective::Params];
    let config = Settings { objectives: objectives.clone(), ..settings(1) }.config().unwrap();
    let study = store.create("a", &config, "").unwrap();
    let space = space::preset("autoformer-tiny").unwrap();
    let network = space.sample(&mut Seed(0).stream("sample", 0));
    let genes = serde_json::Value::Object(space::write_architecture(&network)).to_string();
    let mut rng = Seed(0).stream("million", 0);
    let mut digest = store.trials(&study).unwrap().1;
    for batch in 0..1000 {
        let trial = |n: u64| {
            let (value, size) = (rng.random_range(5000.0..9000.0), rng.random_range(4e6..9e6_f64).round());
            let score =
                Score { proxy: "nsc".into(), version: 1, status: "ok".into(), value, ..Score::default() };
            let score = Score { blocks: vec![vec![value / 13.0]; 13], ..score };
            let (id, genes) = (format!("{:020x}", batch * 1000 + n), genes.clone());
            let objectives = vec![value, -size];
            Trial { number: batch * 1000 + n, id, genes, objectives, scores: vec![score], seconds: 0.0 }
        };
        let trials: Vec<Trial> = (0..1000).map(trial).collect();
        digest = store.append(&study, &trials, 0, &digest).unwrap();
    }
    drop(store);
    println!("{} MB", std::fs::metadata(&path).unwrap().len() / 1_000_000);
    let time = |what: &str, work: &mut dyn FnMut()| {
        let mut seconds: Vec<f64> =
            (0..9).map(|_| (Instant::now(), work()).0.elapsed().as_secs_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        println!("{what} {:.3} s", seconds[4]);
        seconds[4]
    };
    let open = time("open and list", &mut || {
        assert_eq!(Store::read(&path).unwrap().studies().unwrap()[0].trials, 1_000_000)
    });
    for several in [false, true] {
        let objectives = if several { &objectives[..] } else { &objectives[..1] };
        let best = time("best, front, opening included", &mut || {
            let store = Store::read(&path).unwrap();
            let study = store.find("a").unwrap().unwrap();
            let leaderboard = Leaderboard::new(objectives, &store.ranks(&study).unwrap()).unwrap();
            let best = leaderboard.best(20);
            assert_eq!(store.trial(&study, best[0] as u64).unwrap().number, best[0] as u64);
            leaderboard.front.iter().for_each(|trial| drop(store.trial(&study, *trial as u64).unwrap()));
        });
        assert!(best < 0.3, "best and front took {best} s");
    }
    assert!(open < 0.5, "opening took {open} s");
}

#[test]
fn newer_schemas_and_other_programs_are_refused() {
    let folder = Folder::new("store-newer");
    let path = folder.0.join("store.db");
    let (mut bytes, _) = intact(&path);
    // The user version is the big-endian integer at byte 60 of the header.
    bytes[60..64].copy_from_slice(&9_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    for opened in [Store::open(&path), Store::read(&path)] {
        let error = opened.err().unwrap();
        assert!(matches!(error, Error::StoreVersion { found: 9, known: 4, .. }), "{error}");
    }
    // The application id is at byte 68.
    bytes[68..72].copy_from_slice(&7_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    assert!(Store::open(&path).err().unwrap().to_string().contains("another program"));
    std::fs::write(&path, "no database at all, but a long enough text to be taken for one").unwrap();
    assert!(Store::open(&path).is_err());
}

#[test]
fn a_second_writer_is_refused_at_once_and_named() {
    let folder = Folder::new("store-writers");
    let path = folder.0.join("store.db");
    let mut first = Store::open(&path).unwrap();
    let study = first.create("a", &settings(1).config().unwrap(), "").unwrap();
    let lease = first.lease(&study).unwrap();
    let start = Instant::now();
    let mut second = Store::open(&path).unwrap();
    let error = StudyBuilder::from(settings(1).clone()).in_store(&mut second).name("a").run().unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(1));
    let pid = i64::from(std::process::id());
    assert!(matches!(&error, Error::Busy { pid: holder, .. } if *holder == pid), "{error}");
    assert!(error.to_string().contains(&pid.to_string()));
    // Another study of the same store is free, and so is this one once the first has left.
    StudyBuilder::from(settings(1).clone()).in_store(&mut second).name("b").run().unwrap();
    drop(lease);
    StudyBuilder::from(settings(1).clone()).in_store(&mut second).name("a").run().unwrap();
}

/// Four searches of a cluster start at the same moment with a store that is not there yet.
#[test]
fn a_store_is_created_by_many_at_once() {
    let folder = Folder::new("store-created");
    for round in 0..25 {
        let path = folder.0.join(format!("{round}.db"));
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let open = |name: usize| {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    let mut store = Store::open(path)?;
                    store.create(&format!("study {name}"), &serde_json::json!({}), "")?;
                    store.create("common", &serde_json::json!({}), "")
                })
            };
            let opened: Vec<_> = (0..4).map(open).collect();
            for opened in opened {
                opened.join().unwrap().unwrap_or_else(|error| panic!("round {round}: {error}"));
            }
        });
        assert_eq!(Store::read(&path).unwrap().verify().unwrap(), (5, 0), "round {round}");
    }
}

/// Damage while a search writes: repairing would take the file away from it.
#[test]
fn a_store_in_use_is_not_repaired() {
    let folder = Folder::new("store-in-use");
    let path = folder.0.join("store.db");
    intact(&path);
    let mut writer = Store::open(&path).unwrap();
    let damage = "UPDATE trials SET id = 'another' WHERE number = 5";
    rusqlite::Connection::open(&path).unwrap().execute(damage, []).unwrap();
    let error = repair(&path).unwrap_err();
    assert!(error.to_string().contains("in use by another process"), "{error}");
    let study = writer.find("a").unwrap().unwrap();
    let lease = writer.lease(&study).unwrap();
    let error = repair(&path).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    drop(lease);
    drop(writer);
    assert!(repair(&path).unwrap().is_some());
    // A process that still has the old file open notices that it is no longer the store.
    let mut old = Store::open(&path).unwrap();
    let study = old.find("a").unwrap().unwrap();
    std::fs::rename(&path, folder.0.join("moved.db")).unwrap();
    let error = old.stop(&study, None).unwrap_err();
    assert!(error.to_string().contains("moved, replaced or deleted"), "{error}");
}

/// The tables of another program may even have the same names.
#[test]
fn a_database_of_another_program_is_not_repaired() {
    let folder = Folder::new("store-another");
    let path = folder.0.join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    let tables = "CREATE TABLE studies (id, name, config, provenance, stopped, rejected);
                  CREATE TABLE trials (id, study, value);
                  INSERT INTO studies VALUES (1, 'theirs', '{}', '{}', NULL, 0); INSERT INTO trials VALUES (1, 1, 0.5)";
    other.execute_batch(tables).unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    let error = repair(&path).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

/// Everything that was written is there, or nothing is taken over.
#[test]
fn a_merge_takes_nothing_from_a_damaged_store() {
    let folder = Folder::new("store-laundered");
    let path = folder.0.join("store.db");
    for said in [
        "DELETE FROM trials WHERE number > 10; DELETE FROM ranks",
        "UPDATE studies SET rejected = rejected + 1",
        "UPDATE studies SET stopped = 'converged'",
        "UPDATE trials SET seconds = seconds + 1",
        "DELETE FROM answers",
    ] {
        intact(&path);
        rusqlite::Connection::open(&path).unwrap().execute_batch(said).unwrap();
        let from = Store::read(&path).unwrap();
        let mut into = Store::memory().unwrap();
        let refused = foretell::study::merge(&mut into, &[from], Default::default).unwrap_err();
        assert!(matches!(refused, Error::Corrupt { .. }), "{said}: {refused}");
        assert!(into.studies().unwrap().is_empty());
        assert!(matches!(into.merge(&Store::read(&path).unwrap()), Err(Error::Corrupt { .. })), "{said}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn more_objectives_than_a_store_holds_are_refused() {
    let mut settings = settings(1);
    settings.objectives = vec![Objective::Params; 256];
    let error = settings.check().unwrap_err();
    assert!(error.to_string().contains("1 to 16"), "{error}");
    let mut store = Store::memory().unwrap();
    let study = store.create("a", &serde_json::json!({}), "").unwrap();
    let digest = store.trials(&study).unwrap().1;
    let trial = Trial { objectives: vec![0.0; 256], ..Trial::default() };
    let error = store.append(&study, &[trial], 0, &digest).unwrap_err();
    assert!(error.to_string().contains("256 objectives"), "{error}");
    let set = Score { status: "ok".into(), parts: vec![0.0; 256], ..Score::default() };
    let trial = Trial { objectives: vec![f64::NAN], scores: vec![set], ..Trial::default() };
    assert!(store.append(&study, &[trial], 0, &digest).is_err());
    let misnumbered = Trial { number: u64::MAX, ..Trial::default() };
    assert!(store.append(&study, &[misnumbered], 0, &digest).is_err());
    assert_eq!(store.verify().unwrap(), (1, 0));
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let folder = Folder::new("store-places");
    let file = folder.0.join("file");
    std::fs::write(&file, "").unwrap();
    // Permissions do not bind everyone; a file that is no folder and a folder without files do.
    for path in [file.join("store.db"), PathBuf::from("/proc/store.db"), folder.0.join("no/such/folder.db")] {
        let error = Store::open(&path).err().unwrap();
        assert!(matches!(error, Error::Store { .. }), "{error:?}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
    assert!(matches!(Store::read(&folder.0.join("nothing.db")), Err(Error::Read { .. })));
    assert!(!folder.0.join("nothing.db").exists());
}

/// A reader sees the last whole generation while a writer writes.
#[test]
fn readers_and_writers_do_not_disturb_each_other() {
    let folder = Folder::new("store-readers");
    let path = folder.0.join("store.db");
    let mut writer = Store::open(&path).unwrap();
    StudyBuilder::from(settings(20).clone()).in_store(&mut writer).name("a").run().unwrap();
    let reader = Store::read(&path).unwrap();
    assert_eq!(read(&reader).unwrap().len(), 20);
    StudyBuilder::from(settings(30).clone()).in_store(&mut writer).name("a").run().unwrap();
    assert_eq!(read(&reader).unwrap().len(), 30);
    assert_eq!(reader.verify().unwrap(), (1, 30));
}
