"""The recipes of the documentation run, with stand-ins for services."""

import contextlib
import re
import sys
import types

import pytest
from test_docs import DOCS

PAGE = DOCS / "python-recipes.md"


def recipes():
    """Code by heading."""
    found = re.findall(r"^## (.*?)$(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return {title: re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1) for title, text in found}


@pytest.fixture
def logged(monkeypatch):
    """MLflow and Weights & Biases as far as the recipes know them; what they were told."""
    told = []
    mlflow, wandb = types.ModuleType("mlflow"), types.ModuleType("wandb")
    mlflow.start_run = lambda run_name: contextlib.nullcontext(told.append(("run", run_name)))
    mlflow.log_params = lambda params: told.append(("params", params))
    mlflow.log_metric = lambda name, value: told.append((name, value))
    mlflow.set_tag = lambda name, value: told.append((name, value))
    run = types.SimpleNamespace(log=lambda entry: told.append(("log", entry)), finish=lambda: told.append(("finish", None)))
    wandb.init = lambda project: run
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    return told


def test_loggers_are_told_every_evaluation(logged):
    code = recipes()
    names = {}
    exec(compile(code["Log evaluations to MLflow"], PAGE.name, "exec"), names)
    study = names["study"]
    assert [value for kind, value in logged if kind == "status"] == ["ok"] * 3
    assert {value for kind, value in logged if kind == "run"} == {candidate.architecture.id for candidate in study.top(3)}
    assert max(value for kind, value in logged if kind == "value") == study.winner.evaluated
    logged.clear()
    exec(compile(code["Log evaluations to Weights & Biases"], PAGE.name, "exec"), names)
    assert len([entry for kind, entry in logged if kind == "log" and entry["value"] < 0]) == 3 and logged[-1][0] == "finish"


@pytest.mark.parametrize(("title", "needs"), [("Evaluate with the Trainer of transformers", "accelerate"),
                                              ("Evaluate with Lightning", "pytorch_lightning")])
def test_evaluators_train(title, needs):
    torch = pytest.importorskip("torch")
    pytest.importorskip(needs)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    import foretell as ft

    names = {"ft": ft, "torch": torch}
    try:
        exec(compile(recipes()[title], PAGE.name, "exec"), names)
    finally:
        torch.set_num_threads(before)
    study = names["study"]
    assert study.answer["reason"] == "evaluated" and 0 < study.winner.evaluated < 10
    assert sum(candidate.evaluated is not None for candidate in study.top(2)) == 2
