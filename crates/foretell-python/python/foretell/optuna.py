"""Works with Optuna: prunes trials by a score before their first step, and writes studies where Optuna reads them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import optuna
    import torch

    from foretell import Path, Study

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

    Fields of architectures are parameters, one per position where they are lists; objectives are the values.

    :param n: Number of candidates; a trial takes some milliseconds to write.
    :param name: Name of the study in the journal; by default that of the study.
    """
    import optuna
    from optuna.distributions import CategoricalDistribution
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    candidates = [candidate for candidate in study.top(n) if None not in candidate.values.values()]
    rows = [_parameters(candidate.architecture.to_dict()) for candidate in candidates]
    choices: dict[str, dict[Any, None]] = {}
    for row in rows:
        for key, value in row.items():
            choices.setdefault(key, {})[value] = None
    distributions = {key: CategoricalDistribution(list(values)) for key, values in choices.items()}
    costs = {"params", "flops", "memory", "cache", "latency", "token-latency"}
    names = list(candidates[0].values) if candidates else []
    made = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(path))),
        study_name=name or study.name,
        directions=["minimize" if objective in costs else "maximize" for objective in names] or ["maximize"],
    )
    made.set_metric_names(names)
    for candidate, row in zip(candidates, rows, strict=True):
        made.add_trial(
            optuna.trial.create_trial(
                params=row,
                distributions={key: distributions[key] for key in row},
                values=list(candidate.values.values()),
                user_attrs={"id": candidate.architecture.id, "trial": candidate.trial, "params": candidate.architecture.params},
            )
        )
    return made


def _parameters(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields as flat parameters."""
    flat: dict[str, Any] = {}
    for key, value in fields.items():
        if isinstance(value, list) and all(not isinstance(item, (list, dict)) for item in value):
            flat.update({f"{key}.{place}": item for place, item in enumerate(value)})
        elif isinstance(value, (list, dict)):
            flat[key] = str(value)
        else:
            flat[key] = value
    return flat
