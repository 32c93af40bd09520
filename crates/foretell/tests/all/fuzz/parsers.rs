//! Every parser of the library under mutated inputs.

use super::{corpus, fuzz};
use crate::support::Folder;
use foretell::architecture::{Architecture, Counter};
use foretell::benchmark::{Benchmark, Plan};
use foretell::data::{Data, Tokeniser};
use foretell::network::Weights;
use foretell::probe::Inputs;
use foretell::proxy::{self, Request};
use foretell::seed::Seed;
use foretell::study::{Objective, Shard};
use foretell::train::Recipe;
use foretell::{hub, search, space};
use std::path::Path;

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Whatever is read can also be counted.
fn counted(architecture: &Architecture) -> bool {
    let _ = (
        architecture.id(),
        architecture.params(),
        architecture.flops(Counter::Exact),
        architecture.cache_bytes(),
    );
    true
}

fn presets() -> Vec<Vec<u8>> {
    space::PRESETS.iter().map(|(_, text)| text.as_bytes().to_vec()).collect()
}

fn architectures() -> Vec<Vec<u8>> {
    let sample = |(name, _): &(&str, &str)| {
        let space = space::preset(name).unwrap();
        let architecture = space.sample(&mut Seed(1).stream("sample", 0));
        serde_json::to_vec(&space::write_architecture(&architecture)).unwrap()
    };
    space::PRESETS.iter().map(sample).collect()
}

#[test]
fn architectures_as_json() {
    fuzz("architecture", 600, &architectures(), &|bytes| {
        let Ok(value) = serde_json::from_slice(bytes) else { return false };
        space::read_architecture(&value).is_ok_and(|architecture| counted(&architecture))
    });
}

#[test]
fn spaces_as_toml() {
    fuzz("space", 300, &presets(), &|bytes| {
        text(bytes).is_some_and(|text| space::parse("fuzz", text).is_ok_and(|space| !space.name().is_empty()))
    });
}

#[test]
fn requests_and_other_words() {
    let mut seeds: Vec<Vec<u8>> = corpus("requests.txt")
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    seeds.extend(proxy::CATALOGUE.iter().map(|entry| entry.about.name.as_bytes().to_vec()));
    fuzz("request", 500, &seeds, &|bytes| {
        text(bytes).is_some_and(|text| Request::parse_list(text).is_ok_and(|list| !list.is_empty()))
    });
    let searchers = ["evolution[population=20]", "random", "pareto[population=50]", "memetic"];
    let searchers = searchers.map(|text| text.as_bytes().to_vec());
    fuzz("searcher", 300, &searchers, &|bytes| {
        text(bytes).is_some_and(|text| search::parse::<u8>(text).is_ok())
    });
    let objectives = [b"nsc".to_vec(), b"params".to_vec(), b"snip[batch=2]".to_vec()];
    fuzz("objective", 200, &objectives, &|bytes| {
        text(bytes).is_some_and(|text| Objective::parse(text, "nsc").is_ok())
    });
    let words = [b"3/16".to_vec(), b"1/1".to_vec()];
    fuzz("shard", 200, &words, &|bytes| text(bytes).is_some_and(|text| Shard::parse(text).is_ok()));
    let words = [b"bytes".to_vec(), b"bpe:300".to_vec()];
    fuzz("tokeniser", 200, &words, &|bytes| {
        text(bytes).is_some_and(|text| text.parse::<Tokeniser>().is_ok())
    });
}

#[test]
fn configurations() {
    fuzz("recipe", 300, &[corpus("recipe.toml")], &|bytes| {
        text(bytes).is_some_and(|text| Recipe::parse(text).is_ok())
    });
    let configs = ["gpt2.json", "bert.json", "llama.json", "vit.json"].map(corpus);
    fuzz("hub", 400, &configs, &|bytes| {
        let Ok(value) = serde_json::from_slice(bytes) else { return false };
        hub::read(&value, Path::new("/nowhere")).is_ok_and(|architecture| counted(&architecture))
    });
    let folder = Folder::new("fuzz-build");
    let small = "name = \"small\"\nfamily = \"gpt2\"\n[fixed]\nvocab_size = 257\ncontext_len = 32\ncutoffs = []\ndiv_val = 1\n\
        [choices]\nn_layer = [1, 2, 3]\nd_model = [16, 24, 32]\nn_head = [1, 2, 4]\nd_inner = [16, 32, 48, 64]\n";
    std::fs::write(folder.0.join("space.toml"), small).unwrap();
    let path = folder.0.join("build.toml");
    fuzz("benchmark build", 100, &[corpus("build.toml")], &|bytes| {
        std::fs::write(&path, bytes).unwrap();
        Plan::read(&path).is_ok()
    });
}

#[test]
fn tables() {
    let folder = Folder::new("fuzz-tables");
    let inside = folder.0.join("own");
    std::fs::create_dir(&inside).unwrap();
    let [rows, repeats] = ["architectures.jsonl", "repeats.csv"].map(corpus);
    let load = || Benchmark::load(&folder.0, "own").is_ok();
    std::fs::write(inside.join("repeats.csv"), &repeats).unwrap();
    fuzz("jsonl table", 200, std::slice::from_ref(&rows), &|bytes| {
        std::fs::write(inside.join("architectures.jsonl"), bytes).unwrap();
        load()
    });
    std::fs::write(inside.join("architectures.jsonl"), &rows).unwrap();
    fuzz("csv table", 200, &[repeats], &|bytes| {
        std::fs::write(inside.join("repeats.csv"), bytes).unwrap();
        load()
    });
}

#[test]
fn tensors() {
    let folder = Folder::new("fuzz-tensors");
    let path = folder.0.join("inputs.safetensors");
    fuzz("inputs", 300, &[corpus("inputs.safetensors")], &|bytes| {
        std::fs::write(&path, bytes).unwrap();
        Inputs::read(&path).is_ok()
    });
    let tiny = serde_json::json!({"family": "gpt2", "vocab_size": 5, "context_len": 4, "cutoffs": [], "n_layer": 1, "d_model": 2,
        "n_head": 1, "d_inner": 2});
    let tiny = space::read_architecture(&tiny).unwrap();
    let weights: Weights<f32> = Weights::shared(&tiny, Seed(0));
    let parts = |param| -> Vec<u8> { weights.get(param).iter().flat_map(|x| x.to_le_bytes()).collect() };
    let kept: Vec<_> = weights.layout.tensors().map(|(param, tensor)| (tensor, parts(param))).collect();
    let views = kept.iter().map(|(tensor, bytes)| {
        let shape = tensor.shape.iter().take_while(|n| **n > 0).map(|n| *n as usize).collect();
        (tensor.name(), safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape, bytes).unwrap())
    });
    let seed = foretell::network::sealed(&views.collect::<Vec<_>>(), None).unwrap();
    let path = folder.0.join("weights.safetensors");
    fuzz("weights", 300, &[seed], &|bytes| {
        std::fs::write(&path, bytes).unwrap();
        Weights::<f32>::read(&tiny, &path).is_ok()
    });
}

/// Pictures of the Parquet fixture: the first is a JPEG file.
fn jpeg() -> Vec<u8> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row};
    fn bytes(row: &Row) -> Option<Vec<u8>> {
        row.get_column_iter().find_map(|(_, field)| match field {
            Field::Bytes(found) => Some(found.data().to_vec()),
            Field::Group(group) => bytes(group),
            _ => None,
        })
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parquet/data");
    let files = ["train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"];
    let pictures = files.iter().flat_map(|file| {
        let reader =
            SerializedFileReader::new(std::fs::File::open(path.join(format!("{file}.parquet"))).unwrap())
                .unwrap();
        let rows: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        rows.iter().filter_map(bytes).collect::<Vec<_>>()
    });
    pictures.into_iter().find(|picture| picture.starts_with(&[0xff, 0xd8])).expect("the fixture has a JPEG")
}

#[test]
fn images() {
    let open = |path: &Path| Data::open(path, Tokeniser::Bytes, None, None).is_ok();
    let folder = Folder::new("fuzz-images");
    for class in ["a", "b"] {
        let inside = folder.0.join("classes/train").join(class);
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("0.png"), corpus("rgb.png")).unwrap();
    }
    let picture = folder.0.join("classes/train/a/1.png");
    let seeds = [corpus("rgb.png"), corpus("palette.png"), jpeg()];
    fuzz("picture", 400, &seeds, &|bytes| {
        std::fs::write(&picture, bytes).unwrap();
        open(&folder.0.join("classes"))
    });
    let npz = folder.0.join("images.npz");
    fuzz("npz", 300, &[corpus("images.npz")], &|bytes| {
        std::fs::write(&npz, bytes).unwrap();
        open(&npz)
    });
    for (kind, [images, labels]) in [
        ("npy", ["train_images.npy", "train_labels.npy"]),
        ("idx", ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]),
    ] {
        let inside = folder.0.join(kind);
        std::fs::create_dir_all(&inside).unwrap();
        for (fuzzed, other) in [(images, labels), (labels, images)] {
            std::fs::write(inside.join(other), corpus(other)).unwrap();
            fuzz(fuzzed, 200, &[corpus(fuzzed)], &|bytes| {
                std::fs::write(inside.join(fuzzed), bytes).unwrap();
                open(&inside)
            });
        }
    }
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parquet/data");
    let whole = std::fs::read(fixture.join("train-00000-of-00002.parquet")).unwrap();
    let file = folder.0.join("train.parquet");
    fuzz("parquet", 200, &[whole], &|bytes| {
        std::fs::write(&file, bytes).unwrap();
        open(&file)
    });
}
