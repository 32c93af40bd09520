//! Stores under attack: cut off, bits flipped, written by others, by newer releases, in places that cannot be written.

use foretell::error::Error;
use foretell::score::Options;
use foretell::seed::Seed;
use foretell::space;
use foretell::store::{Store, Trial};
use foretell::study::{self, Settings};
use rand::RngExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("foretell-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(budget: u64) -> Settings {
    let space = space::preset("autoformer-tiny").unwrap();
    Settings { budget: Some(budget), ..Settings::new(space, "evolution[population=10]", "nsc") }
}

/// A sound store of 40 trials, its bytes, and its trials without their times.
fn sound(path: &Path) -> (Vec<u8>, Vec<Trial>) {
    let mut store = Store::open(path).unwrap();
    study::run(&settings(40), Options::default(), &mut store, Some("a"), "", &()).unwrap();
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
        Err(Error::Corrupt { .. } | Error::Store { .. } | Error::StoreVersion { .. }) => true,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn damage_is_an_error_and_never_a_wrong_answer() {
    let folder = Folder::new("damage");
    let path = folder.0.join("store.db");
    let (bytes, written) = sound(&path);
    let mut rng = Seed(1).stream("damage", 0);
    let (mut cut, mut flipped) = (0, 0);
    for _ in 0..100 {
        cut += u32::from(attack(&path, &bytes[..rng.random_range(0..bytes.len())], &written));
    }
    for round in 0..300 {
        let mut damaged = bytes.clone();
        for _ in 0..1 << (round % 7) {
            let at = rng.random_range(0..damaged.len());
            damaged[at] ^= 1 << rng.random_range(0..8);
        }
        flipped += u32::from(attack(&path, &damaged, &written));
    }
    println!("refused: {cut} of 100 cut off, {flipped} of 300 with flipped bits; the others read as written");
    assert!(cut >= 95 && flipped > 150);
    assert!(!attack(&path, &bytes, &written));
}

#[test]
fn newer_schemas_and_other_programs_are_refused() {
    let folder = Folder::new("newer");
    let path = folder.0.join("store.db");
    let (mut bytes, _) = sound(&path);
    // The user version is the big-endian integer at byte 60 of the header.
    bytes[60..64].copy_from_slice(&9_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    for opened in [Store::open(&path), Store::read(&path)] {
        let error = opened.err().unwrap();
        assert!(matches!(error, Error::StoreVersion { found: 9, known: 2, .. }), "{error}");
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
    let folder = Folder::new("writers");
    let path = folder.0.join("store.db");
    let mut first = Store::open(&path).unwrap();
    let study = first.create("a", &settings(1).config().unwrap(), "").unwrap();
    let lease = first.lease(&study).unwrap();
    let start = Instant::now();
    let mut second = Store::open(&path).unwrap();
    let error = study::run(&settings(1), Options::default(), &mut second, Some("a"), "", &()).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(1));
    let pid = i64::from(std::process::id());
    assert!(matches!(&error, Error::Busy { pid: holder, .. } if *holder == pid), "{error}");
    assert!(error.to_string().contains(&pid.to_string()));
    // Another study of the same store is free, and so is this one once the first has left.
    study::run(&settings(1), Options::default(), &mut second, Some("b"), "", &()).unwrap();
    drop(lease);
    study::run(&settings(1), Options::default(), &mut second, Some("a"), "", &()).unwrap();
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let folder = Folder::new("places");
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
    let folder = Folder::new("readers");
    let path = folder.0.join("store.db");
    let mut writer = Store::open(&path).unwrap();
    study::run(&settings(20), Options::default(), &mut writer, Some("a"), "", &()).unwrap();
    let reader = Store::read(&path).unwrap();
    assert_eq!(read(&reader).unwrap().len(), 20);
    study::run(&settings(30), Options::default(), &mut writer, Some("a"), "", &()).unwrap();
    assert_eq!(read(&reader).unwrap().len(), 30);
    assert_eq!(reader.verify().unwrap(), (1, 30));
}
