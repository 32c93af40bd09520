"""Friends: Optuna's trials are pruned by scores, and studies are written where its dashboard reads them."""

import pytest

torch = pytest.importorskip("torch")
optuna = pytest.importorskip("optuna")
import foretell as ft  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


def test_a_gate_prunes_before_the_first_step():
    trained = []
    batch = torch.randn(4, 6), torch.tensor([0, 1, 2, 0])

    def objective(trial):
        width = trial.suggest_int("width", 1, 64)
        torch.manual_seed(trial.number)
        model = torch.nn.Sequential(torch.nn.Linear(6, width), torch.nn.ReLU(), torch.nn.Linear(width, 3))
        value = ft.optuna.gate(trial, model, batch, proxy="params", keep=0.3, warmup=5)
        assert value == trial.user_attrs["foretell:params"]
        trained.append(width)
        return width

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=40)
    states = [trial.state for trial in study.trials]
    pruned = states.count(optuna.trial.TrialState.PRUNED)
    assert len(trained) + pruned == 40 and 18 <= pruned <= 33
    with pytest.raises(ft.errors.OptionError, match="keep"):
        ft.optuna.gate(study.ask(), torch.nn.Linear(6, 3), batch, keep=2)


def test_the_command_line_writes_the_same_journal(tmp_path, tiny, cli, failing):
    store, path = tmp_path / "s.db", tmp_path / "journal.log"
    study = ft.search(tiny, budget=20, searcher="random", store=store)
    cli("export", study.name, "--to-optuna", path, "--top", "7", "--store", store)
    ft.optuna.export(study, tmp_path / "ours.log", n=7)
    assert path.read_bytes() == (tmp_path / "ours.log").read_bytes()
    assert failing("export", study.name, "--to-optuna", path, "--store", store)["kind"] == "exists"
    with pytest.raises(ft.errors.ExistsError, match="exists already"):
        ft.optuna.export(study, path)


def test_a_study_of_modules_is_written_as_a_journal(tmp_path):
    def build(trial):
        return torch.nn.Linear(trial.suggest_int("width", 1, 9), 1)

    study = ft.search(ft.torch.Space(build), proxy=lambda network: network.params, searcher="random", budget=5)
    read = ft.optuna.export(study, tmp_path / "journal.log")
    assert read.best_trial.params["choices.width"] == study.best.to_dict()["choices"]["width"]


def test_a_study_is_written_as_a_journal(tmp_path, tiny):
    study = ft.search(tiny, objectives=["nsc", "params"], budget=40)
    ft.optuna.export(study, tmp_path / "journal.log", n=10)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal.log")))
    read = optuna.load_study(study_name=study.name, storage=storage)
    assert len(read.trials) == 10 and [d.name for d in read.directions] == ["MAXIMIZE", "MINIMIZE"]
    best = read.trials[0]
    assert best.user_attrs["id"] == study.best.id
    assert best.values == list(study.winner.values.values())
    assert best.params["n_layer"] == study.best.to_dict()["n_layer"]
