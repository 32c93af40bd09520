"""Spaces, architectures and studies as Python objects."""

import copy
import multiprocessing
import pickle
import subprocess
import sys
import threading

import pytest

import foretell as ft


def test_architectures_are_those_of_the_command_line(cli, tmp_path):
    network = ft.sample("gpt2", 1, seed=5)[0]
    path = tmp_path / "a.json"
    path.write_text(network.to_json())
    counted = cli("count", path)
    assert ft.count(network) == counted
    assert counted["id"] == network.id and counted["flops"] == network.flops
    assert ft.Architecture(network.to_dict()) == network == ft.Architecture.read(path)[0]
    assert ft.Architecture(network) == network and hash(ft.Architecture(network.to_json())) == hash(network)


def test_samples_are_those_of_the_command_line(cli):
    words = ["sample", "autoformer-tiny", "-n", "3", "--seed", "2", "--max-params", "6M"]
    drawn = ft.sample("autoformer-tiny", 3, seed=2, max_params=6e6)
    assert drawn[-1].to_dict() == cli(*words)
    assert ft.sample("autoformer-tiny", 5, seed=2, max_params=6e6)[:3] == drawn


def test_fields_can_be_changed():
    network = ft.sample("gpt2")[0]
    changed = network.replace(d_model=128)
    assert changed.to_dict()["d_model"] == 128 and changed != network
    with pytest.raises(ft.errors.UnknownNameError, match="did you mean 'd_model'"):
        network.replace(d_modl=128)


def test_spaces_from_everything(tiny, tmp_path):
    space = ft.space(tiny)
    path = tmp_path / "tiny.toml"
    path.write_text(space.text)
    assert ft.space(path) == ft.space(str(path)) == space != ft.space("gpt2")
    assert space.family == "gpt2" and space.size == 84
    assert ft.space("nasbench-nlp").size is None
    assert ft.sample(space)[0] in space and ft.sample("gpt2")[0] not in space
    assert "gpt2" in ft.presets()
    assert ft.search(tiny, budget=5).space == space


def test_numbers_of_numpy_are_numbers(tiny):
    numpy = pytest.importorskip("numpy")
    choices = {**tiny["choices"], "d_model": numpy.array([16, 32])}
    assert ft.space({**tiny, "choices": choices}).size == ft.space(tiny).size
    assert ft.sample("gpt2", 1, max_params=numpy.int64(20_000_000))[0].params <= 20_000_000


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_objects_pickle(tiny, protocol, tmp_path):
    study = ft.search(tiny, budget=8, searcher="random")
    stored = ft.search(tiny, budget=8, searcher="random", store=tmp_path / "s.db")
    scores = ft.score(study.best, proxies="nsc,hidden-covariance")
    objects = [ft.space("gpt2"), ft.space(tiny), study.best, study.winner, study, stored, scores]
    for before in objects:
        after = pickle.loads(pickle.dumps(before, protocol))
        assert type(after) is type(before) and repr(after) == repr(before)
    again = pickle.loads(pickle.dumps(study, protocol))
    assert again.hash == study.hash and again.best == study.best and again.store != study.store
    assert copy.deepcopy(study.best) == study.best
    label = ft.predict.Predictor().fit(ft.sample("gpt2", 10), range(10))
    network = ft.sample("gpt2", 1, seed=9)
    assert pickle.loads(pickle.dumps(label, protocol)).predict(network) == label.predict(network)


def searched(seed):
    """A whole search in another process or thread."""
    return ft.search("gpt2", max_params=20e6, searcher="random", budget=20, seed=seed).hash


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_work_after_a_search(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    expected = [searched(seed) for seed in range(3)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(searched, range(3)).get(timeout=120) == expected


def test_threads_work_side_by_side():
    expected = {seed: searched(seed) for seed in range(4)}
    found = {}
    threads = [threading.Thread(target=lambda s=seed: found.update({s: searched(s)})) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == expected


def test_the_interpreter_is_free_while_rust_works():
    """Another thread counts on while a search runs."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.wait(0.001):
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    ft.search("gpt2", searcher="random", budget=3000, max_params=20e6)
    stop.set()
    thread.join()
    assert counted[0] > 20


def test_data_frames_and_arrow(tiny):
    study = ft.search(tiny, objectives=["nsc", "params"], budget=30)
    pandas = pytest.importorskip("pandas")
    frame = study.to_pandas()
    assert list(frame.columns)[:4] == ["trial", "id", "nsc", "params"] and len(frame) == len(study)
    assert (frame["params"] == frame["n_params"]).all()
    row = frame.iloc[study.winner.trial]
    assert row["id"] == study.best.id and row["nsc"] == study.winner.values["nsc"]
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(study)
    assert table.num_rows == len(study)
    pandas.testing.assert_frame_equal(table.to_pandas(), frame, check_dtype=False)
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(study)["id"].to_list() == frame["id"].to_list()
    duckdb = pytest.importorskip("duckdb")
    trials = table  # noqa: F841
    assert duckdb.sql("select count(*) from trials").fetchall() == [(len(study),)]


def test_a_report_is_written_once(tiny, tmp_path):
    study = ft.search(tiny, budget=10)
    path = tmp_path / "r.html"
    study.report(path)
    assert study.hash in path.read_text()
    study.report(path)
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        study.report(path)
    study.report(path, force=True)


def test_export_and_torch(tmp_path):
    torch = pytest.importorskip("torch")
    network = ft.Architecture({"family": "vit", "image_size": 32, "patch_size": 8, "num_classes": 10, "embed_dim": 32,
                               "depth": 2, "num_heads": 4, "mlp_ratio": 2})
    files = network.export(tmp_path / "model", target="pytorch")
    assert "model.py" in files
    with pytest.raises(ft.errors.ExistsError, match="exists"):
        network.export(tmp_path / "model", target="pytorch")
    model, other = network.to_torch(), network.to_torch(seed=1)
    assert sum(p.numel() for p in model.parameters()) == sum(
        torch.Size(tensor["shape"]).numel() for tensor in network.tensors())
    assert model(torch.zeros(2, 3, 32, 32))[1].shape == (2, 10)
    assert not torch.equal(next(model.parameters()), next(other.parameters()))
    assert next(network.to_torch(weights=False).parameters()) is not None


def imported(code):
    script = f"import sys, time; start = time.perf_counter(); {code}; took = time.perf_counter() - start\n"
    script += "print(took * 1e3, *(name for name in ('numpy', 'torch', 'pandas', 'optuna', 'tqdm') if name in sys.modules))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_import_is_quick_and_brings_nothing_along():
    found = [imported("import foretell") for _ in range(7)]
    assert all(len(words) == 1 for words in found), found
    best = min(float(words[0]) for words in found)
    print(f"import took {best:.1f} ms")
    assert best < 20
