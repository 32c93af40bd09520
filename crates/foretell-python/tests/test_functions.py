"""Scores, ranks, benchmarks, predictions, training: as the command line gives them."""

import logging
import subprocess
import sys
import warnings

import pytest

import foretell as ft


def test_scores_are_those_of_the_command_line(cli, tiny, tmp_path):
    network = ft.sample(tiny, 1)[0]
    path = tmp_path / "a.json"
    path.write_text(network.to_json())
    theirs = cli("score", path, "--proxies", "snip,nsc,hidden-covariance", "--no-cache")["scores"]
    ours = ft.score(network, proxies=["snip", "nsc", "hidden-covariance"])
    assert ours["snip"] == theirs["snip"]["value"] and ours["nsc"] == theirs["nsc"]["value"]
    assert ours.deviations["snip"] == theirs["snip"]["deviation"]
    assert ours.failures["hidden-covariance"].kind == theirs["hidden-covariance"]["kind"]
    assert str(ours.failures["hidden-covariance"]) == theirs["hidden-covariance"]["error"]
    with pytest.raises(ft.errors.NotDefinedError):
        ours["hidden-covariance"]
    with pytest.raises(KeyError):
        ours["synflow"]
    assert set(ours) == {"snip", "nsc"} and "hidden-covariance" not in ours


def test_terms_add_up(tiny):
    scores = ft.score(ft.sample(tiny)[0], proxies="snip", seeds=1, terms=True)
    assert sum(term["value"] for term in scores.terms["snip"]) == pytest.approx(scores["snip"])


def test_a_list_gives_a_list(tiny):
    networks = ft.sample(tiny, 4)
    assert [scores["params"] for scores in ft.score(networks, proxies="params")] == [n.params for n in networks]


def test_set_scores_have_parts(tiny):
    networks = ft.sample(tiny, 3)
    scores = ft.score(networks, proxies="az-nas", seeds=1)
    assert scores[0].parts["az-nas"]
    with pytest.raises(ft.errors.NotDefinedError, match="within a set"):
        scores[0]["az-nas"]
    assert len(ft.rank(networks, proxies="az-nas,params", seeds=1)) == 3


def test_ranks_are_those_of_the_command_line(tmp_path):
    from conftest import command_line
    import json

    networks = ft.sample("gpt2", 6)
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(network.to_json() for network in networks))
    theirs = [json.loads(line) for line in command_line("rank", path, "--json", "--no-cache").stdout.splitlines()]
    ours = ft.rank(networks)
    keys = ("rank", "id", "mean_rank", "ranks")
    assert [[row[key] for key in keys] for row in ours] == [[row[key] for key in keys] for row in theirs]


def test_benchmarks_are_those_of_the_command_line(cli):
    assert "gpt2-pentateuch" in ft.benchmarks()
    theirs = cli("bench", "gpt2-pentateuch", "--proxies", "nsc", "--resamples", "20")
    ours = ft.bench("gpt2-pentateuch", proxies="nsc", resamples=20)
    timed = "seconds_per_architecture"
    for report in (ours, theirs):
        for row in report["proxies"]:
            row.pop(timed)
    assert ours == theirs


def test_predictors(tmp_path, cli):
    networks = ft.sample("gpt2", 16)
    truth = [-(network.params**0.5) for network in networks]
    model = ft.predict.Predictor(lower=True, target="loss").fit(networks[:10], truth[:10])
    assert model.score(networks[10:], truth[10:]) > 0.5
    assert all(low <= value <= high for value, (low, high) in
               zip(model.predict(networks), model.predict_interval(networks)))
    model.save(tmp_path / "p.json")
    again = ft.predict.Predictor.load(tmp_path / "p.json")
    assert again.predict(networks) == model.predict(networks)
    (tmp_path / "a.json").write_text(networks[0].to_json())
    said = cli("predict", "use", tmp_path / "p.json", tmp_path / "a.json")
    assert said["predicted"] == pytest.approx(model.predict(networks[:1])[0])
    study = ft.search("gpt2", proxy=model, searcher="random", budget=5)
    assert study.winner is not None
    with pytest.raises(ft.errors.OptionError, match="call fit first"):
        ft.predict.Predictor().predict(networks)


def test_training_and_verification(tiny, tmp_path):
    network = ft.sample(tiny, 1)[0]
    told = []
    recipe = {"steps": 4, "batch": 2, "part": 2, "warmup": 1}
    outcome = ft.train(network, recipe=recipe, output=tmp_path / "run", progress=told.append)
    assert outcome["steps"] == 4 and outcome["valid_loss"] > 0 and told
    assert ft.train(network, recipe=recipe, output=tmp_path / "run")["valid_loss"] == outcome["valid_loss"]
    study = ft.search(tiny, budget=6, searcher="random", evaluate="train", recipe=recipe, evaluate_top=2)
    assert study.answer["reason"] == "evaluated"
    verdict = ft.verify(study, k=2, seeds=1, recipe=recipe, output=tmp_path / "verified")
    assert len(verdict["pairs"]) == 2 and verdict["verdict"]


def test_the_command_comes_along():
    help = subprocess.run([sys.executable, "-m", "foretell", "--help"], capture_output=True, text=True, check=True)
    assert "search" in help.stdout
    wrong = subprocess.run([sys.executable, "-m", "foretell", "serch"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "search" in wrong.stderr
    version = subprocess.run([sys.executable, "-m", "foretell", "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.split()[-1] == ft.__version__


def test_notes_are_warnings_and_go_to_logging(tiny, tmp_path, caplog):
    """A damaged line of the cache is noted, at the line that called."""
    cache = tmp_path / "scores.jsonl"
    network = ft.sample(tiny)[0]
    ft.score(network, proxies="snip", cache=cache)
    text = cache.read_text()
    cache.write_text("garbage\n" + text)
    with caplog.at_level(logging.INFO, logger="foretell"), pytest.warns(ft.errors.ForetellWarning, match="damaged") as noted:
        ft.score(network, proxies="snip", cache=cache)
    assert noted[0].filename == __file__
    assert any(record.name == "foretell" for record in caplog.records)
    cache.write_text("garbage\n" + text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ft.errors.ForetellWarning):
            ft.score(network, proxies="snip", cache=cache)
