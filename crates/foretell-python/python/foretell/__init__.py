"""Ranks and searches Transformer and recurrent architectures before training them.

>>> import foretell as ft
>>> study = ft.search("gpt2", max_params=20e6, proxy="nsc")
>>> study.best.params <= 20_000_000
True

The functions here are those of the command line with the same names. ``foretell.torch`` scores any ``torch.nn.Module``,
``foretell.predict`` predicts results of training from a few, and ``foretell.optuna`` works with Optuna. numpy, torch, pandas
and optuna are imported when they are needed.
"""

from __future__ import annotations

from foretell import errors
from foretell._native import (
    Architecture,
    Candidate,
    Context,
    Space,
    Study,
    __version__,
    algorithms,
    benchmarks,
    presets,
    proxies,
    studies,
)
from foretell._scores import Scores
from foretell._scoring import bench, rank, roles, score
from foretell._search import open_study, plan, search
from foretell._spaces import count, sample, space
from foretell._training import train, verify
from foretell.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from foretell import dask, executors, optuna, predict, ray, torch

__all__ = [
    "Architecture",
    "Candidate",
    "Context",
    "Error",
    "Scores",
    "Space",
    "Study",
    "__version__",
    "algorithms",
    "bench",
    "benchmarks",
    "count",
    "dask",
    "errors",
    "executors",
    "open_study",
    "optuna",
    "plan",
    "predict",
    "presets",
    "proxies",
    "rank",
    "ray",
    "roles",
    "sample",
    "score",
    "search",
    "space",
    "studies",
    "torch",
    "train",
    "verify",
]

_LAZY = ("dask", "executors", "optuna", "predict", "ray", "torch")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return importlib.import_module(f"foretell.{name}")
    raise AttributeError(f"module 'foretell' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
