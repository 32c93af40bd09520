"""Scoring, ranking, and how far scores can be trusted."""

from __future__ import annotations

from foretell import _native, errors
from foretell._native import Architecture
from foretell._scores import Scores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Literal, TypedDict, overload

    from typing_extensions import Unpack

    from foretell import torch
    from foretell._types import ArchitectureLike, ArchitectureList, Path, ProxyLike
    from foretell.executors import Executor

    class Options(TypedDict, total=False):
        """What scoring architectures takes; the defaults are those of :func:`_score_architectures`."""

        proxies: str | Sequence[ProxyLike]
        seed: int
        seeds: int
        precision: Literal["f32", "f64"]
        weights: Path
        inputs: Path | None
        cache: Path | None
        terms: bool
        threads: int | None
        executor: Executor | None
        progress: bool | Callable[[int, int], object] | None


def requested(proxy: ProxyLike) -> tuple[str, Callable[[Architecture], float] | None]:
    """How a proxy is asked for, and the function behind it."""
    if isinstance(proxy, str):
        return proxy, None
    request = getattr(proxy, "request", None)
    if request is not None:
        return str(request()), None
    if callable(proxy):
        return "proxy", proxy
    raise TypeError(f"a proxy is a name, a function of an architecture or a fitted Predictor, not {type(proxy).__name__}")


def _scoring(
    proxies: str | Sequence[ProxyLike],
    seed: int,
    seeds: int,
    precision: str,
    weights: Path,
    inputs: Path | None,
    cache: Path | None,
    threads: int | None,
) -> dict[str, Any]:

    names = []
    for proxy in [proxies] if isinstance(proxies, str) or callable(proxies) else proxies:
        label, function = requested(proxy)
        names.append(label if function is None else _native.register_proxy(function))
    return {
        "proxies": names,
        "seed": seed,
        "seeds": seeds,
        "precision": precision,
        "weights": str(weights),
        "inputs": inputs,
        "cache": cache,
        "threads": threads,
    }


if TYPE_CHECKING:

    @overload
    def score(architecture: ArchitectureLike, **options: Unpack[Options]) -> Scores: ...

    @overload
    def score(architecture: ArchitectureList, **options: Unpack[Options]) -> list[Scores]: ...

    @overload
    def score(
        architecture: torch.Module,
        batch: Any,
        *,
        proxies: str | Sequence[str] = "all",
        roles: Mapping[str, str] | None = None,
        loss: Callable[..., Any] | None = None,
        seed: int = 0,
        terms: bool = False,
        threads: int | None = None,
    ) -> Scores: ...


def score(architecture: Any, batch: Any = None, **options: Any) -> Scores | list[Scores]:
    """Scores an architecture, a list of them, or any torch module by proxies, without training.

    For a module, ``batch`` is what it is fed; see :func:`foretell.torch.score`.

    :param proxies: Names with options in brackets, functions of an architecture, or a group: all, or all of one cost (shape,
        weights, forward, backward, passes, samples, hessian).
    :param seeds: Number of draws of weights and inputs that a score is averaged over.
    :param weights: ``shared`` (slices of one super-network), ``standalone``, or a file or folder with weights.
    :param inputs: A safetensors file with inputs; they are drawn by default.
    :param cache: A file that scores are read from and added to.
    :param terms: Keep the terms that each score is the sum of.
    :param executor: Who scores architectures instead of threads of this process.
    """
    if hasattr(architecture, "named_parameters"):
        from foretell import torch

        return torch.score(architecture, batch, **options)
    if batch is not None:
        raise errors.OptionError("batch: has no effect on architectures, which draw their inputs: see inputs")
    return _score_architectures(architecture, **options)


def _score_architectures(
    architecture: Any,
    *,
    proxies: str | Sequence[ProxyLike] = "all",
    seed: int = 0,
    seeds: int = 3,
    precision: str = "f32",
    weights: Path = "shared",
    inputs: Path | None = None,
    cache: Path | None = None,
    terms: bool = False,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Scores | list[Scores]:
    from foretell._progress import watching

    single = isinstance(architecture, (Architecture, str, dict))
    options = _scoring(proxies, seed, seeds, precision, weights, inputs, cache, threads)
    with watching(progress, "networks", "counted") as told:
        rows = _native.score([architecture] if single else list(architecture), {**options, "terms": terms}, told, executor)
    return Scores(rows[0]) if single else [Scores(row) for row in rows]


def rank(
    architectures: Iterable[ArchitectureLike],
    *,
    proxies: str | Sequence[ProxyLike] = "nsc,zerolm,depth-times-width,params",
    seed: int = 0,
    seeds: int = 3,
    precision: Literal["f32", "f64"] = "f32",
    weights: Path = "shared",
    inputs: Path | None = None,
    cache: Path | None = None,
    threads: int | None = None,
) -> list[dict[str, Any]]:
    """Ranks architectures by several proxies, best mean rank first.

    Each row has the place in the list (``index``), the id, the mean rank and the rank by each proxy; 1 is the best.
    """

    return _native.rank(list(architectures), _scoring(proxies, seed, seeds, precision, weights, inputs, cache, threads))


def bench(
    benchmark: str,
    *,
    proxies: str | Sequence[ProxyLike] = "shape,weights",
    target: str | None = None,
    limit: int | None = None,
    where: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    seeds: int = 3,
    precision: Literal["f32", "f64"] = "f32",
    weights: Path = "shared",
    inputs: Path | None = None,
    cache: Path | None = None,
    benchmarks: Path | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Measures how well proxies rank the trained networks of a benchmark; see :func:`benchmarks` for names.

    :param target: Column to rank against; by default the first result of training.
    :param limit: Use only so many networks, evenly spread over the table.
    :param where: Use only rows with these values.
    :param set: Fields to set in every architecture.
    :param executor: Who scores networks instead of threads of this process.
    """
    from foretell._progress import watching

    options = {
        "scoring": _scoring(proxies, seed, seeds, precision, weights, inputs, cache, threads),
        "target": target,
        "limit": limit,
        "filters": dict(where or {}),
        "set": dict(set or {}),
        "resamples": resamples,
        "benchmarks": benchmarks,
    }
    with watching(progress, "networks", "counted") as told:
        return _native.bench(benchmark, options, told, executor)


def roles(model: torch.Module, batch: Any = None, **options: Any) -> torch.Roles:
    """What each weight of a torch module does, found by following the data; see :func:`foretell.torch.roles`."""
    from foretell import torch

    return torch.roles(model, batch, **options)
