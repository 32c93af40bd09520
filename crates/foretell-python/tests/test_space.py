"""Spaces that are functions from a trial to a module: sampled, limited, scored, searched, stored and resumed like others."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
import foretell as ft  # noqa: E402

BATCH = torch.linspace(-1, 1, 40).view(4, 10), torch.tensor([0, 1, 2, 0])
EVOLUTION = "evolution[population=8,parents=4,mutants=3,crossovers=3]"


@pytest.fixture(autouse=True)
def one_thread():
    """Modules as small as these are slower on many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def perceptron(trial):
    """Asks for a width inside only if there is a layer inside."""
    depth = trial.suggest_int("depth", 0, 2)
    width = trial.suggest_int("width", 8, 32, step=8)
    act = trial.suggest_categorical("act", ["relu", "gelu"])
    layers = [torch.nn.Linear(10, width)]
    for layer in range(depth):
        inside = trial.suggest_categorical(f"inside{layer}", [4, 8, 16])
        between = torch.nn.ReLU() if act == "relu" else torch.nn.GELU()
        layers += [torch.nn.Linear(width, inside), between, torch.nn.Linear(inside, width)]
    rate = trial.suggest_float("rate", 0.0, 0.5, step=0.25)
    return torch.nn.Sequential(*layers, torch.nn.Dropout(rate), torch.nn.Linear(width, 3))


@pytest.fixture
def space():
    return ft.torch.Space(perceptron)


def test_samples_are_modules_with_so_many_parameters(space):
    drawn = ft.sample(space, 40)
    assert drawn == ft.sample(space, 40) and len(set(drawn)) > 20
    for network in drawn:
        choices = space.choices(network)
        assert [name for name in choices if name.startswith("inside")] == [f"inside{n}" for n in range(choices["depth"])]
        assert network.params == sum(weight.numel() for weight in space.build(network).parameters())
        assert network.flops is None and ft.Architecture(network.to_json()) == network
        assert space.architecture(choices) == network
    inside = ft.sample(space, 20, min_params=300, max_params=600)
    assert all(300 <= network.params <= 600 for network in inside)
    with pytest.raises(ft.errors.InfeasibleError, match="parameters"):
        ft.sample(space, max_params=10)


def test_weights_are_a_function_of_the_seed(space):
    network = ft.sample(space)[0]
    before = torch.random.get_rng_state()
    one, two, other = (space.build(network, seed=seed)[0].weight for seed in (1, 1, 2))
    assert torch.equal(one, two) and not torch.equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(network.to_torch(seed=1)[0].weight, one)


@pytest.mark.parametrize("searcher", ["auto", "random", EVOLUTION, "steady-state[population=6,generations=30]",
                                      "block-wise[population=6,oversample=2,mutants=3,crossovers=3]"])
def test_searchers_search_it_and_the_same_seed_gives_the_same_study(space, searcher):
    options = dict(proxy="snip", batch=BATCH, max_params=600, searcher=searcher, budget=25, seeds=2)
    study, again = ft.search(space, **options), ft.search(space, **options)
    assert (study.hash, len(study), study.failed) == (again.hash, 25, 0)
    assert all(study[trial].architecture.params <= 600 for trial in range(25))
    ids = {study[trial].architecture.id for trial in range(25)}
    assert len(ids) == 25
    means = [ft.score(space.build(study.best, seed=seed), BATCH, proxies="snip", seed=seed)["snip"] for seed in (0, 1)]
    assert study.winner.value == sum(means) / 2
    assert ft.search(space, **{**options, "seed": 1}).hash != study.hash


def test_several_objectives_and_functions(space):
    study = ft.search(space, proxy="snip", objectives=["proxy", "params"], batch=BATCH, budget=30, seeds=1)
    assert len(study.front) > 1 and list(study.front[0].values) == ["snip", "params"]
    seen = []

    def evaluate(network):
        seen.append(space.build(network))
        return -network.params

    least = ft.search(space, proxy=lambda network: network.params, searcher="random", budget=12, evaluate=evaluate, evaluate_top=3)
    assert len(seen) == 3 and least.winner.evaluated == -least.best.params


def test_a_study_resumes_and_other_programs_read_it(space, tmp_path, cli):
    options = dict(proxy="synflow", batch=BATCH, searcher=EVOLUTION, seeds=1)
    whole = ft.search(space, **options, budget=30)
    store = tmp_path / "s.db"
    part = ft.search(space, **options, budget=13, store=store)
    rest = ft.search(space, **options, budget=30, store=store)
    assert (len(part), rest.resumed, rest.hash) == (13, 13, whole.hash)
    # The command line has not the function, and needs none to read.
    assert cli("show", rest.name, "--store", store)
    report = tmp_path / "r.html"
    rest.report(report)
    assert "inside" in report.read_text() or rest.best.to_dict()["choices"]["depth"] == 0
    assert rest.best.id in rest._repr_html_()
    other = torch.ones(4, 10), BATCH[1]
    with pytest.raises(ft.errors.OptionError, match="exists with other settings"):
        ft.search(space, **{**options, "batch": other}, name=rest.name, store=store)
    stored = ft.open_study(store).space
    with pytest.raises(ft.errors.OptionError, match="not at hand"):
        ft.search(stored, searcher="random", budget=3)
    with pytest.raises(ft.errors.OptionError, match="not at hand"):
        ft.sample(stored)


KILLED = """
import os, sys, torch
sys.path.insert(0, sys.argv[2])
torch.set_num_threads(1)
import foretell as ft, test_space

def told(news):
    if news["scored"] >= 8:
        os.kill(os.getpid(), 9)

options = dict(proxy="snip", batch=test_space.BATCH, searcher=test_space.EVOLUTION, seeds=1, budget=30)
ft.search(ft.torch.Space(test_space.perceptron), **options, store=sys.argv[1], progress=told)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_killed_search_resumes_to_the_same_study(space, tmp_path):
    store = tmp_path / "s.db"
    here = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", KILLED, store, here], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    stored = len(ft.open_study(store))
    options = dict(proxy="snip", batch=BATCH, searcher=EVOLUTION, seeds=1, budget=30)
    study = ft.search(ft.torch.Space(perceptron), **options, store=store)
    assert stored < 30 and (study.resumed, len(study)) == (stored, 30)
    assert study.hash == ft.search(space, **options).hash


def test_the_same_function_serves_optuna(space):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    trial = study.ask()
    built = perceptron(trial)
    assert space.architecture(trial.params).params == sum(weight.numel() for weight in built.parameters())


def test_spaces_pickle():
    again = pickle.loads(pickle.dumps(ft.torch.Space(perceptron, name="mine", kind="vision")))
    assert (again.name, again.options["kind"]) == ("mine", "vision")
    assert ft.sample(again, 3) == ft.sample(ft.torch.Space(perceptron, name="mine"), 3)


def test_values_that_do_not_go_together_are_rejected():
    def attention(trial):
        width, heads = trial.suggest_int("width", 4, 16, step=2), trial.suggest_int("heads", 1, 4)
        if width % heads:
            raise ft.torch.Reject("heads must divide the width")
        return torch.nn.MultiheadAttention(width, heads)

    drawn = [ft.torch.Space(attention).choices(network) for network in ft.sample(ft.torch.Space(attention), 30)]
    assert all(choices["width"] % choices["heads"] == 0 for choices in drawn)

    def never(trial):
        trial.suggest_int("x", 1, 2)
        raise ft.torch.Reject("never")

    with pytest.raises(ft.errors.SpaceError, match="rejected 1000 draws in a row: never"):
        ft.sample(ft.torch.Space(never))


def test_logarithmic_and_continuous_ranges():
    def linear(trial):
        trial.suggest_float("rate", 1e-4, 1.0, log=True)
        trial.suggest_float("share", 0.0, 1.0)
        return torch.nn.Linear(trial.suggest_int("width", 1, 1024, log=True), 1)

    space = ft.torch.Space(linear)
    drawn = [space.choices(network) for network in ft.sample(space, 60)]
    assert 10 < sum(choices["width"] < 32 for choices in drawn) < 50
    assert 10 < sum(choices["rate"] < 1e-2 for choices in drawn) < 50
    assert all(ft.Architecture(network.to_json()).id == network.id for network in ft.sample(space, 10))


def test_modules_that_the_meta_device_cannot_build_are_counted_on_the_cpu():
    def computed(trial):
        width = trial.suggest_int("width", 2, 8)
        return torch.nn.Linear(int(torch.linspace(1, width, 3)[-1].item()), 1)

    with pytest.warns(ft.errors.ForetellWarning, match="counted on the CPU"):
        drawn = ft.sample(ft.torch.Space(computed), 5)
    assert all(network.params == network.to_dict()["choices"]["width"] + 1 for network in drawn)


def wrong(function):
    return lambda: ft.sample(ft.torch.Space(function))


def twice(trial):
    trial.suggest_int("x", 1, 2)
    return torch.nn.Linear(trial.suggest_int("x", 1, 3), 1)


def failing(trial):
    trial.suggest_int("x", 7, 7)
    raise KeyError("lost")


LINEAR = torch.nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (wrong(lambda trial: None), ft.errors.SpaceError, "returned NoneType, not a torch.nn.Module"),
        (wrong(failing), ft.errors.SpaceError, "raised KeyError: 'lost'; it was answered {'x': 7}"),
        (wrong(twice), ft.errors.SpaceError, "x: was asked for as int 1, 2, 1, False and then as int 1, 3"),
        (wrong(lambda trial: torch.nn.ReLU()), ft.errors.SpaceError, "without parameters"),
        (wrong(lambda trial: trial.suggest_int("x", 3, 2)), ft.errors.SpaceError, "nothing from 3 to 2"),
        (wrong(lambda trial: trial.suggest_int("x", 1.5, 2)), ft.errors.SpaceError, "not whole numbers"),
        (wrong(lambda trial: trial.suggest_int("x", 0, 1 << 30)), ft.errors.SpaceError, "larger step"),
        (wrong(lambda trial: trial.suggest_int(3, 1, 2)), ft.errors.SpaceError, "names are texts"),
        (wrong(lambda trial: trial.suggest_categorical("x", [])), ft.errors.SpaceError, "not a list of choices"),
        (wrong(lambda trial: trial.suggest_categorical("x", [[1]])), ft.errors.SpaceError, "choose by a name"),
        (wrong(lambda trial: trial.suggest_float("x", 0, float("inf"))), ft.errors.SpaceError, "finite"),
        (wrong(lambda trial: trial.suggest_float("x", 0, 1, log=True)), ft.errors.SpaceError, "logarithmic"),
        (lambda: ft.torch.Space(3), TypeError, "a function from a trial"),
        (lambda: ft.torch.Space(perceptron, name="a b"), ft.errors.ParseError, "64 letters"),
        (lambda: ft.torch.Space(perceptron).build({"depth": 9}), ft.errors.SpaceError, "depth: is 9"),
        (lambda: ft.torch.Space(perceptron).build({}), ft.errors.SpaceError, "depth: has no answer"),
        (lambda: ft.torch.Space(lambda trial: LINEAR).build({"y": 1}), ft.errors.SpaceError, "y: was not asked for"),
        (lambda: ft.torch.Space(perceptron).build(ft.sample("gpt2")[0]), ft.errors.OptionError, "is of gpt2"),
        (lambda: ft.search(ft.torch.Space(perceptron), proxy="snip"), ft.errors.OptionError, "batch: is missing"),
        (lambda: ft.search(ft.torch.Space(perceptron), batch="x"), ft.errors.ModelError, "is a str"),
        (lambda: ft.search("gpt2", batch=BATCH), ft.errors.OptionError, "batch: has no effect"),
        (lambda: ft.search(ft.torch.Space(perceptron), batch=BATCH, max_flops=1e6), ft.errors.OptionError, "only parameters are counted"),
        (lambda: ft.search(ft.torch.Space(perceptron), batch=BATCH, objectives=["memory"]), ft.errors.OptionError, "only parameters"),
        (lambda: ft.search(ft.torch.Space(perceptron), batch=BATCH, proxy="snpi"), ft.errors.UnknownNameError, "did you mean 'snip'"),
        (lambda: ft.Architecture(ft.sample(ft.torch.Space(perceptron))[0].to_dict() | {"space": "lost"}).to_torch(),
         ft.errors.OptionError, "does not know"),
        (lambda: ft.predict.Predictor().fit(ft.sample(ft.torch.Space(perceptron), 12), range(12)), ft.errors.DataError, "no features"),
        (lambda: ft.search({"name": "x", "family": "module"}), ft.errors.OptionError, "not at hand"),
    ],
)
def test_what_is_wrong_is_named(call, kind, text):
    with pytest.raises(kind) as raised:
        call()
    assert text in str(raised.value)


def test_a_function_that_fails_ends_the_search_and_nothing_is_lost(tmp_path):
    built, most = [], [40]

    def build(trial):
        built.append(trial)
        if len(built) > most[0]:
            raise RuntimeError("out of luck")
        return torch.nn.Linear(10, trial.suggest_int("width", 3, 200))

    space, store = ft.torch.Space(build), tmp_path / "s.db"
    options = dict(proxy="snip", batch=BATCH, searcher="random", budget=60, seeds=1, store=store)
    with pytest.raises(ft.errors.SpaceError, match="out of luck"):
        ft.search(space, **options)
    most[0] = 10_000
    assert len(ft.search(space, **options)) == 60


def test_a_batch_that_does_not_fit_fails_its_candidates():
    def build(trial):
        return torch.nn.Sequential(torch.nn.Linear(trial.suggest_categorical("inputs", [9, 10]), 7), torch.nn.Linear(7, trial.suggest_int("o", 3, 12)))

    study = ft.search(ft.torch.Space(build), proxy="snip", batch=BATCH, searcher="random", budget=12, seeds=1)
    bad = [study[trial] for trial in range(12) if study[trial].architecture.to_dict()["choices"]["inputs"] == 9]
    assert study.failed == len(bad) > 0 and all(candidate.value is None for candidate in bad)
