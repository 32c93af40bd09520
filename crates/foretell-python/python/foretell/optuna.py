"""Works with Optuna: prunes trials by a score before their first step, and writes studies where Optuna reads them."""

from __future__ import annotations

import os

from foretell import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import optuna
    import torch

    from foretell import Study
    from foretell._types import Path

_SCORE = "foretell:"


def gate(
    trial: optuna.Trial,
    model: torch.nn.Module,
    batch: Any,
    *,
    proxy: str = "snip",
    keep: float = 0.3,
    warmup: int = 10,
    **options: Any,
) -> float:
    """Scores the model of a trial before it is trained, and prunes the trial unless the score is among the best so far.

    The score is compared with those of all earlier trials of the study that were gated by the same proxy, pruned ones
    included. It is stored with the trial as a user attribute.

    :param keep: Share of trials that are let through.
    :param warmup: Number of first trials that are always let through.
    :param options: Options of :func:`foretell.torch.score`, such as ``roles``.
    """
    from optuna import TrialPruned

    from foretell import torch as scoring
    from foretell.errors import OptionError

    if not 0 < keep <= 1:
        raise OptionError(f"keep: is {keep}, not more than 0 and at most 1")
    name = f"{_SCORE}{proxy}"
    value = scoring.score(model, batch, proxies=proxy, **options)[proxy]
    others = [other.user_attrs[name] for other in trial.study.get_trials(deepcopy=False)
              if name in other.user_attrs and other.number != trial.number]
    trial.set_user_attr(name, value)
    better = sum(other > value for other in others)
    if len(others) >= warmup and better >= keep * (len(others) + 1):
        raise TrialPruned(f"{proxy} of {value:.6g} is not among the best {keep:.0%} of {len(others) + 1} models")
    return value


def export(study: Study, path: Path, *, n: int = 200, name: str | None = None) -> optuna.Study:
    """Writes the best candidates of a study into an Optuna journal, which optuna-dashboard opens.

    Fields of architectures are parameters, one per entry where they are lists; objectives are the values. The command line does
    the same by ``foretell export STUDY --to-optuna FILE``.

    :param n: Number of candidates.
    :param name: Name of the study in the journal; by default that of the study.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    from foretell.errors import ExistsError

    if not isinstance(study, _native.Study):
        raise TypeError(f"a study is what search() and open_study() give, not {type(study).__name__}")
    text = study._journal(n, name)
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ExistsError(f"{os.fspath(path)}: exists already: choose another file") from None
    return optuna.load_study(study_name=name or study.name, storage=JournalStorage(JournalFileBackend(os.fspath(path))))
