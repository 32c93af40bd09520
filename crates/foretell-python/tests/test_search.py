"""Searches from Python: same bits, same store, resumable."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import foretell as ft

GPT2 = {"max_params": 20e6, "searcher": "random", "budget": 60, "seed": 3}
WORDS = ["--space", "gpt2", "--max-params", "20M", "--algorithm", "random", "--budget", "60", "--seed", "3"]


def test_a_study_has_the_hash_of_the_command_line(cli, tmp_path):
    ours = ft.search("gpt2", **GPT2, store=tmp_path / "ours.db")
    theirs = cli("search", *WORDS, "--store", tmp_path / "theirs.db")
    assert ours.hash == theirs["hash"]
    assert ours.name == theirs["study"]
    assert ours.best.id == theirs["architecture"]["id"]
    assert ours.winner.trial == theirs["trial"]


def test_scores_that_run_networks_have_the_same_bits(cli, tmp_path):
    ours = ft.search("flexibert", proxy="snip[batch=1,tokens=4]", searcher="random", budget=3, seeds=1, threads=2)
    words = ["--space", "flexibert", "--proxy", "snip[batch=1,tokens=4]", "--algorithm", "random", "--budget", "3"]
    theirs = cli("search", *words, "--seeds", "1", "--threads", "1", "--store", tmp_path / "s.db")
    assert ours.hash == theirs["hash"]


def test_both_write_the_same_store(cli, tmp_path):
    """What one began the other resumes."""
    store = tmp_path / "s.db"
    cli("search", *WORDS[:-4], "--budget", "20", "--seed", "3", "--store", store)
    study = ft.search("gpt2", **GPT2, store=store)
    assert (study.resumed, len(study)) == (20, 60)
    shown = cli("show", study.name, "--store", store)
    assert shown
    assert cli("search", *WORDS, "--store", store)["resumed"] == 60
    assert [study.name for study in ft.studies(store)] == [study.name]
    assert ft.open_study(store) == study


def test_what_a_study_knows():
    study = ft.search("gpt2", max_params=20e6)
    assert study.answer["proved"] and study.stopped
    assert study.best == study.winner.architecture == study.front[0].architecture == study.top(1)[0].architecture
    assert study.best.params <= 20_000_000 and study.best in study.space
    assert study.uniform.params <= 20_000_000
    assert study[0].trial == 0 and study[-1].trial == len(study) - 1
    with pytest.raises(IndexError, match="there is no trial"):
        study[len(study)]
    assert study.best.id in study._repr_html_() and "<table>" in study.best._repr_html_()


def test_several_objectives_give_a_front():
    study = ft.search("flexibert", proxy="zerolm", objectives=["proxy", "params"], budget=200)
    assert len(study.front) > 3
    assert list(study.front[0].values) == ["zerolm", "params"]
    scores = [candidate.values["zerolm"] for candidate in study.front]
    assert scores == sorted(scores, reverse=True)


def test_an_evaluator_decides_and_its_exceptions_are_recorded():
    seen = []

    def evaluate(architecture):
        seen.append(architecture)
        if len(seen) == 2:
            raise ValueError("no disk, no luck")
        return -architecture.params

    study = ft.search("gpt2", **GPT2, evaluate=evaluate, evaluate_top=4)
    assert len(seen) == 4
    assert study.answer["reason"] == "evaluated"
    others = [network for place, network in enumerate(seen) if place != 1]
    assert study.best == min(others, key=lambda network: network.params)
    assert study.winner.evaluated == -study.best.params


def test_values_that_are_no_numbers_fail_the_candidate():
    study = ft.search("gpt2", **GPT2, evaluate=lambda _: math.nan, evaluate_top=2)
    assert study.winner.evaluated is None and study.answer["reason"] == "objective"


def test_lower_values_may_be_better():
    loss = lambda architecture: architecture.params  # noqa: E731
    study = ft.search("gpt2", **GPT2, evaluate=loss, evaluate_lower=True, evaluate_top=60)
    assert study.best.params == min(candidate.architecture.params for candidate in study.top(60))
    with pytest.raises(ft.errors.OptionError, match="evaluate_lower"):
        ft.search("gpt2", **GPT2, evaluate_lower=True)


def test_the_searcher_etas_asks_a_function():
    calls = []

    def evaluate(architecture):
        calls.append(architecture.id)
        return architecture.params

    study = ft.search("gpt2", max_params=20e6, searcher="etas[warmup=4,steps=6]", evaluate=evaluate, budget=8)
    assert calls and study.settings["evaluator"].startswith("python ")


def wide(architecture):
    """A score of the tests."""
    return architecture.to_dict()["d_model"]


def test_a_function_is_a_proxy():
    study = ft.search("gpt2", proxy=wide, searcher="random", budget=30)
    assert study.winner.value == max(study[trial].architecture.to_dict()["d_model"] for trial in range(30))
    assert next(iter(study.winner.values)).startswith("python[function=")
    scores = ft.score(study.best, proxies=[wide, "params"])
    assert scores["params"] == study.best.params and list(scores.values())[0] == study.winner.value


def test_a_proxy_that_raises_fails_one_candidate():
    def score(architecture):
        if architecture.params % 2:
            raise RuntimeError("odd")
        return 1.0

    study = ft.search("gpt2", proxy=score, searcher="random", budget=40)
    odd = sum(study[trial].architecture.params % 2 for trial in range(40))
    assert study.failed == odd


class Climber:
    """Children of the best so far."""

    planned = 50

    def __init__(self):
        self.best = None

    def ask(self, context):
        fresh = [context.sample() for _ in range(5)]
        if self.best:
            fresh += [context.mutate(self.best[1], 0.2), context.cross(self.best[1], fresh[0])]
        assert 0 <= context.random() < 1
        return [network for network in fresh if network]

    def tell(self, generation):
        for network, values in generation:
            if values and (self.best is None or values[0] > self.best[0]):
                self.best = (values[0], network)


def test_a_class_is_a_searcher_and_resumes(tmp_path):
    whole = ft.search("gpt2", max_params=20e6, searcher=Climber)
    assert len(whole) == 50 and whole.best.params <= 20e6
    store = tmp_path / "s.db"
    part = ft.search("gpt2", max_params=20e6, searcher=Climber, budget=23, store=store)
    rest = ft.search("gpt2", max_params=20e6, searcher=Climber, store=store)
    assert (len(part), rest.resumed, rest.hash) == (23, 23, whole.hash)


def test_a_searcher_that_fails_ends_the_study():
    class Broken:
        def ask(self, context):
            raise KeyError("lost")

        def tell(self, generation):
            pass

    with pytest.raises(KeyError, match="lost"):
        ft.search("gpt2", searcher=Broken)

    class Strange(Broken):
        def ask(self, context):
            return [ft.sample("gpt2", min_params=100e6)[0]]

    with pytest.raises(ValueError, match="breaks a limit"):
        ft.search("gpt2", max_params=20e6, searcher=Strange)
    with pytest.raises(TypeError, match="without arguments"):
        ft.search("gpt2", searcher=object())


def test_progress_is_told_and_may_stop():
    told = []
    study = ft.search("gpt2", **GPT2, progress=told.append)
    assert told[-1]["done"] == len(study) == told[-1]["total"]

    def stop(news):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ft.search("gpt2", searcher="random", budget=20_000, progress=stop)


def test_a_plan_writes_nothing(tmp_path):
    plan = ft.plan("gpt2", max_params=20e6, store=tmp_path / "s.db")
    assert plan["searcher"] == "dp" and plan["stored"] == 0
    assert not list(tmp_path.iterdir())


VIT = {
    "name": "small-vit",
    "family": "vit",
    "fixed": {"image_size": 64, "patch_size": 8, "num_classes": 10},
    "choices": {"embed_dim": [64, 96, 128], "depth": [4, 5, 6], "num_heads": [2, 4], "mlp_ratio": [2, 3, 4]},
}
INTERRUPTED = textwrap.dedent("""
    import sys, time
    SPACE = SPACE_HERE
    import foretell as ft

    def told(news):
        if news["done"] or news["scored"]:
            print("runs", flush=True)

    options = dict(proxy="dss++", searcher="random", budget=400, store=sys.argv[1], progress=told)
    try:
        ft.search(SPACE, **options)
    except KeyboardInterrupt:
        print("stopped", time.time(), flush=True)
""").replace("SPACE_HERE", repr(VIT))


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_stops_at_once_and_the_study_resumes(tmp_path):
    store = tmp_path / "s.db"
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED, store], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline().strip() == "runs"
    began = time.time()
    child.send_signal(signal.SIGINT)
    words = child.communicate(timeout=60)[0].split()
    assert "stopped" in words and child.returncode == 0
    took = float(words[words.index("stopped") + 1]) - began
    print(f"Ctrl-C took {took:.3f} s")
    assert took < 0.5
    stored = len(ft.open_study(store))
    assert 0 < stored < 400 and ft.open_study(store).stopped is None
    budget = stored + 1
    study = ft.search(VIT, proxy="dss++", searcher="random", budget=budget, store=store)
    assert (study.resumed, len(study)) == (stored, budget)


def test_ctrl_c_in_an_evaluator_is_no_verdict(tmp_path):
    """The candidate stays open."""

    def evaluate(architecture):
        raise KeyboardInterrupt

    options = dict(GPT2, store=tmp_path / "s.db", evaluate_top=2)
    with pytest.raises(KeyboardInterrupt):
        ft.search("gpt2", **options, evaluate=evaluate)
    study = ft.search("gpt2", **options, evaluate=lambda network: network.params)
    assert study.answer["reason"] == "evaluated"


def test_a_predictor_of_a_file_is_a_proxy(cli, tmp_path):
    networks = ft.sample("gpt2", 12)
    model = ft.predict.Predictor().fit(networks, [network.params for network in networks])
    path = tmp_path / "predictor.json"
    model.save(path)
    options = dict(searcher="random", budget=15)
    by_file, by_object = ft.search("gpt2", proxy=f"@{path}", **options), ft.search("gpt2", proxy=model, **options)
    assert by_file.hash == by_object.hash
    words = ["--space", "gpt2", "--proxy", f"@{path}", "--algorithm", "random", "--budget", "15"]
    assert cli("search", *words, "--store", tmp_path / "s.db")["hash"] == by_file.hash
    assert len(ft.score(networks[0], proxies=f"@{path}")) == 1
    with pytest.raises(ft.errors.ReadError, match="none.json"):
        ft.search("gpt2", proxy=f"@{tmp_path / 'none.json'}")


def test_evaluations_are_told_as_they_are_stored(tmp_path):
    told = []

    def evaluate(network):
        if len(told) == 1:
            raise ValueError("no luck")
        return float(network.params)

    options = dict(GPT2, evaluate=evaluate, evaluate_top=3, store=tmp_path / "s.db")
    study = ft.search("gpt2", **options, on_evaluation=told.append)
    assert [entry["status"] for entry in told] == ["ok", "raised", "ok"]
    assert told[0]["value"] == told[0]["architecture"].params == study[told[0]["trial"]].architecture.params
    assert told[1]["value"] is None and "no luck" in told[1]["message"]
    # What is known from before is not told again; a callback that raises ends the search, and its evaluation is kept.
    assert ft.search("gpt2", **options, on_evaluation=told.append).hash == study.hash and len(told) == 3

    def full(entry):
        raise OSError("the logger's disk is full")

    with pytest.raises(OSError, match="disk is full"):
        ft.search("gpt2", **{**options, "evaluate_top": 4}, on_evaluation=full)
    ft.search("gpt2", **{**options, "evaluate_top": 4}, on_evaluation=told.append)
    assert len(told) == 3


def test_notebooks_show_the_cards_of_the_report():
    study = ft.search("gpt2", max_params=20e6)
    shown = study._repr_html_()
    assert "candidates scored" in shown and "proved optimal" in shown and "data:image/svg+xml" in shown
    assert f"{study.best.params:,}" in shown and "<script" not in shown
