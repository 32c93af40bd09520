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
from foretell.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Literal, Protocol, TypeAlias, overload

    from foretell import optuna, predict, torch
    from foretell._native import Predictor as _NativePredictor

    class Asker(Protocol):
        """A searcher: asked for generations, told what became of them."""

        def ask(self, context: Context) -> Iterable[Architecture]:
            """The next generation; empty if there is nothing left to try."""

        def tell(self, generation: list[tuple[Architecture, list[float] | None]]) -> object:
            """What became of the generation asked for last: a value per objective, larger is better; None if it failed."""

    Path: TypeAlias = str | os.PathLike[str]
    SpaceLike: TypeAlias = Space | str | os.PathLike[str] | Mapping[str, Any]
    ArchitectureLike: TypeAlias = Architecture | str | Mapping[str, Any]
    ArchitectureList: TypeAlias = (
        list[Architecture] | list[dict[str, Any]] | list[str] | tuple[ArchitectureLike, ...]
    )
    ProxyLike: TypeAlias = "str | Callable[[Architecture], float] | predict.Predictor"
    Number: TypeAlias = int | float
else:

    def overload(function):
        return function


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
    "errors",
    "open_study",
    "optuna",
    "plan",
    "predict",
    "presets",
    "proxies",
    "rank",
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

_LAZY = ("optuna", "predict", "torch")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return importlib.import_module(f"foretell.{name}")
    raise AttributeError(f"module 'foretell' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def space(space: SpaceLike) -> Space:
    """Opens a space: a preset by name, a space file by path, or a dict with the content of one."""
    return Space(space)


def _limits(
    min_params: Number | None,
    max_params: Number | None,
    min_flops: Number | None,
    max_flops: Number | None,
    flops: str,
) -> dict[str, Any]:
    return {
        "min_params": min_params,
        "max_params": max_params,
        "min_flops": min_flops,
        "max_flops": max_flops,
        "flops": flops,
    }


def sample(
    space: SpaceLike,
    n: int = 1,
    *,
    seed: int = 0,
    uniform: bool = False,
    min_params: Number | None = None,
    max_params: Number | None = None,
    min_flops: Number | None = None,
    max_flops: Number | None = None,
    flops: Literal["exact", "published"] = "exact",
) -> list[Architecture]:
    """Draws random architectures, inside limits by construction.

    :param n: Number of architectures.
    :param seed: Seed of the draws; the tenth is the same whether or not nine came before it.
    :param uniform: Draw uniformly from all feasible architectures instead of depth and width first.
    :param flops: How multiply-adds are counted for a limit on them.
    """
    limits = _limits(min_params, max_params, min_flops, max_flops, flops)
    return Space(space)._sample({"n": n, "seed": seed, "uniform": uniform, **limits})


def count(architecture: ArchitectureLike) -> dict[str, Any]:
    """Exact parameters by part, multiply-adds and memory of an architecture."""
    return Architecture(architecture).count()


def _proxy(proxy: ProxyLike) -> tuple[str, Callable[[Architecture], float] | None]:
    """How a proxy is asked for, and the function behind it."""
    if isinstance(proxy, str):
        return proxy, None
    request = getattr(proxy, "request", None)
    if request is not None:
        return str(request()), None
    if callable(proxy):
        return "proxy", proxy
    raise TypeError(f"a proxy is a name, a function of an architecture or a fitted Predictor, not {type(proxy).__name__}")


def _data(
    on: Path | None, tokeniser: str, image_size: int | None, recipe: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {"on": on, "tokeniser": tokeniser, "image_size": image_size, "recipe": dict(recipe or {}), "cache": None}


def _call(given: dict[str, Any]) -> str:
    """The call as text, for readers of a stored study."""
    shown = []
    for name, value in given.items():
        if value is None or name in ("store", "name", "threads", "progress"):
            continue
        text = getattr(value, "__qualname__", None) or repr(value)
        shown.append(text if name == "space" else f"{name}={text}")
    return f"foretell.search({', '.join(shown)})"


def _search_options(given: dict[str, Any]) -> tuple[Space, dict[str, Any], dict[str, Any]]:
    """A search as the native half takes it: the space, plain options, callables."""
    space = Space(given["space"])
    label, function = _proxy(given["proxy"])
    objectives = given["objectives"]
    if isinstance(objectives, str):
        objectives = [objectives]
    objectives = [label if entry == "proxy" else entry for entry in (objectives or ["proxy"])]
    searcher, evaluate = given["searcher"], given["evaluate"]
    options = {
        "objectives": objectives,
        "searcher": searcher if isinstance(searcher, str) else "auto",
        "limits": _limits(*(given[key] for key in ("min_params", "max_params", "min_flops", "max_flops", "flops"))),
        "evaluate": evaluate if isinstance(evaluate, str) else None,
        "data": _data(given["on"], given["tokeniser"], given["image_size"], given["recipe"]),
        "command": _call(given),
    }
    plain = (
        "max_memory max_cache max_latency max_token_latency budget seed seeds shard evaluate_top evaluate_lower "
        "retry_failed benchmarks store name threads"
    )
    options.update({key: given[key] for key in plain.split()})
    callables = {
        "proxy": function,
        "searcher": None if isinstance(searcher, str) else searcher,
        "evaluate": None if isinstance(evaluate, str) else evaluate,
    }
    return space, options, callables


def search(
    space: SpaceLike,
    *,
    proxy: ProxyLike = "nsc",
    objectives: str | Sequence[str] | None = None,
    searcher: str | Callable[[], Asker] = "auto",
    min_params: Number | None = None,
    max_params: Number | None = None,
    min_flops: Number | None = None,
    max_flops: Number | None = None,
    flops: Literal["exact", "published"] = "exact",
    max_memory: Number | None = None,
    max_cache: Number | None = None,
    max_latency: float | None = None,
    max_token_latency: float | None = None,
    budget: Number | None = None,
    seed: int = 0,
    seeds: int = 3,
    shard: str | None = None,
    evaluate: str | Callable[[Architecture], float] | None = None,
    evaluate_top: int = 5,
    evaluate_lower: bool = False,
    retry_failed: bool = False,
    on: Path | None = None,
    tokeniser: str = "bytes",
    image_size: int | None = None,
    recipe: Mapping[str, Any] | None = None,
    benchmarks: Path | None = None,
    store: Path | None = None,
    name: str | None = None,
    threads: int | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> Study:
    """Searches a space for the best architecture within limits.

    Ctrl-C stops it within half a second. With ``store`` the same call then resumes; a study without a store is kept in a
    temporary file as long as the result is.

    :param proxy: What to maximise: a name with options in brackets, a function of an architecture, or a fitted predictor.
    :param objectives: Several objectives: ``proxy``, names of other proxies, and costs, which are minimised: params, flops,
        memory, cache, latency, token-latency.
    :param searcher: Name of an algorithm with options in brackets, or a class whose objects have ``ask`` and ``tell``.
    :param max_latency: Most seconds of a pass over a whole input on one thread of this machine.
    :param max_token_latency: Most seconds of one further token; decoders only.
    :param budget: Number of candidates to score; by default as many as the algorithm plans.
    :param seeds: Number of draws that a score is averaged over, if it depends on weights or inputs.
    :param shard: Part of a search that is split, e.g. ``3/16``.
    :param evaluate: Who says how good candidates really are: a function of an architecture, the name of a benchmark, or
        ``train``. A function that raises an exception fails the candidate, and the search goes on.
    :param evaluate_lower: Lower values of ``evaluate`` are better.
    :param on: Text or images to train on, for ``evaluate="train"``; ``tokeniser``, ``image_size`` and ``recipe`` likewise.
    :param store: Study database, the same file that the command line uses.
    :param progress: True for a bar, False for none, or a function that is told a dict now and then. By default there is a bar
        in terminals and notebooks if tqdm is installed.
    """
    from foretell import _native
    from foretell._progress import watching

    space, options, callables = _search_options(locals())
    with watching(progress, "candidates", "searched") as told:
        return _native.search(space, options, progress=told, **callables)


def plan(space: SpaceLike, **options: Any) -> dict[str, Any]:
    """Checks a search and says what it would do, without doing it; takes the arguments of :func:`search`."""
    from foretell import _native

    import inspect

    given = inspect.signature(search).bind(space, **options)
    given.apply_defaults()
    opened, plain, callables = _search_options(dict(given.arguments))
    return _native.plan(opened, plain, **callables)


def open_study(store: Path, name: str | None = None) -> Study:
    """Opens a study of a store; the name may be left out if the store has one study."""
    if name is not None:
        return Study.open(store, name)
    found = studies(store)
    if len(found) != 1:
        names = ", ".join(study.name for study in found) or "none"
        raise errors.OptionError(f"name: the store has {len(found)} studies ({names}): name one")
    return found[0]


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
    from foretell import _native

    names = []
    for proxy in [proxies] if isinstance(proxies, str) or callable(proxies) else proxies:
        label, function = _proxy(proxy)
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
    def score(
        architecture: ArchitectureLike,
        *,
        proxies: str | Sequence[ProxyLike] = "all",
        seed: int = 0,
        seeds: int = 3,
        precision: Literal["f32", "f64"] = "f32",
        weights: Path = "shared",
        inputs: Path | None = None,
        cache: Path | None = None,
        terms: bool = False,
        threads: int | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> Scores: ...

    @overload
    def score(
        architecture: ArchitectureList,
        *,
        proxies: str | Sequence[ProxyLike] = "all",
        seed: int = 0,
        seeds: int = 3,
        precision: Literal["f32", "f64"] = "f32",
        weights: Path = "shared",
        inputs: Path | None = None,
        cache: Path | None = None,
        terms: bool = False,
        threads: int | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> list[Scores]: ...

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
    progress: bool | Callable[[int, int], object] | None = None,
) -> Scores | list[Scores]:
    from foretell import _native
    from foretell._progress import watching

    single = isinstance(architecture, (Architecture, str, dict))
    options = _scoring(proxies, seed, seeds, precision, weights, inputs, cache, threads)
    with watching(progress, "networks", "counted") as told:
        rows = _native.score([architecture] if single else list(architecture), {**options, "terms": terms}, told)
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
    from foretell import _native

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
    progress: bool | Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Measures how well proxies rank the trained networks of a benchmark; see :func:`benchmarks` for names.

    :param target: Column to rank against; by default the first result of training.
    :param limit: Use only so many networks, evenly spread over the table.
    :param where: Use only rows with these values.
    :param set: Fields to set in every architecture.
    """
    from foretell import _native
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
        return _native.bench(benchmark, options, told)


def train(
    architecture: ArchitectureLike,
    *,
    on: Path | None = None,
    tokeniser: str = "bytes",
    image_size: int | None = None,
    recipe: Mapping[str, Any] | None = None,
    output: Path | None = None,
    save_every: float = 20.0,
    precision: Literal["f32", "f64"] = "f32",
    threads: int | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Trains a network on text or images.

    :param on: Data to train on; by default the text that is included.
    :param recipe: Values of the recipe that differ from the default, e.g. ``{"steps": 1000, "rate": 0.01}``.
    :param output: Checkpoint folder; a run there is resumed. Without one nothing is written.
    """
    from foretell import _native
    from foretell._progress import watching

    options = {
        "data": _data(on, tokeniser, image_size, recipe),
        "output": output,
        "save_every": save_every,
        "double": {"f32": False, "f64": True}[precision],
        "threads": threads,
    }
    with watching(progress, "steps", "trained") as told:
        return _native.train(Architecture(architecture), options, told)


def verify(
    study: Study,
    *,
    k: int = 5,
    seeds: int = 3,
    on: Path | None = None,
    tokeniser: str = "bytes",
    image_size: int | None = None,
    recipe: Mapping[str, Any] | None = None,
    output: Path | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Trains the best candidates of a study beside random networks of the same size, and says whether the search beats chance.

    :param k: Number of pairs.
    :param seeds: Number of seeds that each network is trained with.
    :param output: Folder of finished runs; by default STUDY.verified in the current folder.
    """
    from foretell import _native
    from foretell._progress import watching

    options = {
        "data": _data(on, tokeniser, image_size, recipe),
        "k": k,
        "seeds": seeds,
        "output": output if output is not None else f"{study.name}.verified",
        "threads": threads,
    }
    with watching(progress, "runs", "counted") as told:
        return _native.verify(study, options, told)


def roles(model: torch.Module, batch: Any = None, **options: Any) -> torch.Roles:
    """What each weight of a torch module does, found by following the data; see :func:`foretell.torch.roles`."""
    from foretell import torch

    return torch.roles(model, batch, **options)
