"""Uses of the package as type checkers see them; it is checked and not run."""

from typing import Any, assert_type

import foretell as ft


def evaluate(architecture: ft.Architecture) -> float:
    return float(architecture.params)


class Searcher:
    """Random search."""

    def ask(self, context: ft.Context) -> list[ft.Architecture]:
        drawn = context.sample()
        return [] if drawn is None else [drawn]

    def tell(self, generation: list[tuple[ft.Architecture, list[float] | None]]) -> None:
        del generation


study = ft.search("gpt2", max_params=20e6, proxy="nsc", evaluate=evaluate, searcher=Searcher, progress=print)
assert_type(study, ft.Study)
assert_type(study.best, ft.Architecture)
assert_type(study.front, list[ft.Candidate])
assert_type(study.uniform, ft.Architecture | None)
assert_type(study.best.params, int)
assert_type(ft.sample("gpt2", 3), list[ft.Architecture])
assert_type(ft.score(study.best, proxies="nsc"), ft.Scores)
assert_type(ft.score(ft.sample("gpt2", 3), proxies=["nsc", evaluate]), list[ft.Scores])
assert_type(ft.score(study.best)["nsc"], float)
assert_type(ft.count(study.best), dict[str, Any])
assert_type(ft.predict.Predictor().fit([study.best], [1.0]).predict([study.best]), list[float])
assert_type(ft.space({"family": "gpt2"}), ft.Space)
try:
    ft.space("gtp2")
except ft.errors.UnknownNameError as error:
    assert_type(error.kind, str)


def build(trial: ft.torch.Trial) -> ft.torch.Module:
    from torch import nn

    return nn.Linear(trial.suggest_int("width", 1, 9), trial.suggest_categorical("outputs", [1, 2]))


space = ft.torch.Space(build)
assert_type(ft.search(space, batch=[1], on_evaluation=print), ft.Study)
assert_type(ft.sample(space, 2, max_params=10), list[ft.Architecture])
assert_type(space.build(study.best), ft.torch.Module)
