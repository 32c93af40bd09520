"""Errors are typed, and say what the command line says."""

import pickle

import pytest

import foretell as ft
from foretell import errors


def test_texts_are_those_of_the_command_line(failing, tmp_path):
    (tmp_path / "s.db").write_text("no database at all, but long enough to look at")
    cases = [
        (lambda: ft.space("gtp2"), ["spaces", "gtp2"], errors.UnknownNameError, LookupError),
        (lambda: ft.sample("gpt2", max_params=10), ["sample", "gpt2", "--max-params", "10"],
         errors.InfeasibleError, ValueError),
        (lambda: ft.search("gpt2", proxy="ncs"), ["search", "--space", "gpt2", "--proxy", "ncs", "--store", tmp_path / "t.db"],
         errors.UnknownNameError, LookupError),
        (lambda: ft.search("gpt2", searcher="evolutoin"),
         ["search", "--space", "gpt2", "--algorithm", "evolutoin", "--store", tmp_path / "t.db"],
         errors.UnknownNameError, LookupError),
        (lambda: ft.open_study(tmp_path / "s.db", "x"), ["show", "x", "--store", tmp_path / "s.db"],
         errors.StoreError, errors.Error),
        (lambda: ft.space(tmp_path / "none.toml"), ["spaces", tmp_path / "none.toml"], errors.ReadError, OSError),
        (lambda: ft.bench("gpt3"), ["bench", "gpt3"], errors.UnknownNameError, LookupError),
    ]
    for call, words, kind, base in cases:
        with pytest.raises(kind) as raised:
            call()
        theirs = failing(*words)
        assert isinstance(raised.value, base) and raised.value.kind == theirs["kind"]
        # The command line adds which of its options help. Python has one proxy and one searcher more, and one more proxy once
        # a predictor was used.
        own = str(raised.value).removesuffix(", predicted").removesuffix(", python")
        assert theirs["message"].startswith(own), words


def test_every_kind_has_a_class():
    kinds = {kind.kind for kind in errors._KINDS.values()}
    assert len(kinds) == len(errors._KINDS) and "unknown-name" in kinds
    for kind in errors._KINDS.values():
        made = errors.of_kind(kind.kind, "text")
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is type(made) is kind and str(again) == str(made) == "text"
    assert errors.of_kind("new", "text").kind == "new"


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: ft.Architecture({"family": "gpt3"}), errors.UnknownNameError, "did you mean 'gpt2'"),
        (lambda: ft.Architecture("not json"), errors.ParseError, "is not JSON"),
        (lambda: ft.Architecture({"d_model": 3}), errors.ParseError, "names neither"),
        (lambda: ft.Architecture(3), errors.ParseError, "not a JSON object"),
        (lambda: ft.Architecture({"family": object()}), TypeError, "not plain data"),
        (lambda: ft.space({"family": "gpt2"}), errors.ParseError, ""),
        (lambda: ft.space({"name": "gpt2", "family": "gpt2"}), errors.ParseError, "like a preset"),
        (lambda: ft.search("gpt2", max_params=1.5), errors.OptionError, "whole number"),
        (lambda: ft.search("gpt2", max_params=float("nan")), ValueError, ""),
        (lambda: ft.search("gpt2", proxy=3), TypeError, "a proxy is"),
        (lambda: ft.search("gpt2", seeds=0), errors.OptionError, "seeds"),
        (lambda: ft.search("gpt2", on="x"), errors.OptionError, "has no effect"),
        (lambda: ft.search("gpt2", flops="published"), errors.OptionError, "has no effect"),
        (lambda: ft.search("gpt2", shard="5/3"), errors.Error, "shard"),
        (lambda: ft.sample("gpt2", flops="wrong"), errors.OptionError, "unknown variant"),
        (lambda: ft.score(ft.sample("gpt2")[0], proxies=[]), errors.OptionError, "names no proxy"),
        (lambda: ft.score(ft.sample("gpt2")[0], proxies="nsc", precision="f64"), errors.OptionError, "has no effect"),
        (lambda: ft.score(ft.sample("gpt2")[0], 3, proxies="nsc"), errors.OptionError, "batch"),
        (lambda: ft.rank(ft.sample("gpt2")), errors.OptionError, "two"),
        (lambda: ft.score([{"family": "gpt2"}, {"family": "x"}], proxies="nsc"), errors.Error, "architecture 0"),
        (lambda: ft.predict.Predictor().fit(ft.sample("gpt2", 3), [1, 2]), errors.DataError, "3 networks and 2"),
        (lambda: ft.train({"family": "vit", "image_size": 8, "patch_size": 4, "embed_dim": 8, "depth": 1, "num_heads": 1,
                           "mlp_ratio": 1}), errors.OptionError, "images"),
        (lambda: ft.sample("gpt2")[0].export("/tmp/x", target="onnx"), errors.UnknownNameError, "format"),
    ],
)
def test_bad_input_is_named(call, kind, text):
    with pytest.raises(kind) as raised:
        call()
    assert text in str(raised.value)


def test_a_study_that_another_process_writes_is_busy(tmp_path):
    import subprocess
    import sys

    script = (
        "import foretell as ft, sys, time\n"
        "def wait(n):\n    print('runs', flush=True); sys.stdin.readline(); return 1.0\n"
        "ft.search('gpt2', max_params=20e6, searcher='random', budget=5, store=sys.argv[1], evaluate=wait)"
    )
    store = tmp_path / "s.db"
    child = subprocess.Popen([sys.executable, "-c", script, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline().strip() == "runs"
        with pytest.raises(errors.BusyError, match=f"process {child.pid}"):
            ft.search("gpt2", max_params=20e6, searcher="random", budget=5, store=store)
    finally:
        child.communicate("\n" * 50, timeout=60)
