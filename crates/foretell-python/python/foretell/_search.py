"""Searching a space, and reading what was found."""

from __future__ import annotations

from foretell import _native, errors
from foretell._native import Space, Study, studies
from foretell._scoring import requested
from foretell._spaces import limits
from foretell._training import data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from foretell._native import Architecture
    from foretell.executors import Executor
    from foretell._types import Asker, Number, Path, ProxyLike, SpaceLike


def _call(given: dict[str, Any]) -> str:
    """The call as text, for readers of a stored study."""
    shown = []
    for name, value in given.items():
        if value is None or name in ("store", "name", "threads", "executor", "progress", "batch", "on_evaluation"):
            continue
        text = getattr(value, "__qualname__", None) or repr(value)
        shown.append(text if name == "space" else f"{name}={text}")
    return f"foretell.search({', '.join(shown)})"


def _scored(space: Any, batch: Any, proxy: ProxyLike) -> tuple[Space, Callable[..., Any] | None]:
    """The space as the native half takes it and, for modules of torch, who scores its networks."""
    if not hasattr(space, "_scored"):
        if batch is not None:
            raise errors.OptionError("batch: has no effect on architectures, which draw their inputs")
        return Space(space), None
    if batch is None and isinstance(proxy, str):
        raise errors.OptionError("batch: is missing: modules of a torch.Space are scored on a batch")
    return space._on(batch), space._scored(batch)


def _search_options(given: dict[str, Any]) -> tuple[Space, dict[str, Any], dict[str, Any]]:
    """A search as the native half takes it: the space, plain options, callables."""
    space, score = _scored(given["space"], given["batch"], given["proxy"])
    label, function = requested(given["proxy"])
    objectives = given["objectives"]
    if isinstance(objectives, str):
        objectives = [objectives]
    objectives = [label if entry == "proxy" else entry for entry in (objectives or ["proxy"])]
    searcher, evaluate = given["searcher"], given["evaluate"]
    options = {
        "objectives": objectives,
        "searcher": searcher if isinstance(searcher, str) else "auto",
        "limits": limits(*(given[key] for key in ("min_params", "max_params", "min_flops", "max_flops", "flops"))),
        "evaluate": evaluate if isinstance(evaluate, str) else None,
        "data": data(given["on"], given["tokeniser"], given["image_size"], given["recipe"]),
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
        "score": score,
    }
    return space, options, callables


def search(
    space: SpaceLike,
    *,
    proxy: ProxyLike = "nsc",
    batch: Any = None,
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
    on_evaluation: Callable[[dict[str, Any]], object] | None = None,
    on: Path | None = None,
    tokeniser: str = "bytes",
    image_size: int | None = None,
    recipe: Mapping[str, Any] | None = None,
    benchmarks: Path | None = None,
    store: Path | None = None,
    name: str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> Study:
    """Searches a space for the best architecture within limits.

    Ctrl-C stops it within half a second. With ``store`` the same call then resumes; a study without a store is kept in a
    temporary file as long as the result is.

    :param proxy: What to maximise: a name with options in brackets, ``@FILE`` for the proxy or predictor in a file, a function
        of an architecture, or a fitted predictor.
    :param batch: What modules of a :class:`foretell.torch.Space` are fed, as :func:`foretell.torch.score` takes it.
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
    :param on_evaluation: Function that is told of every evaluation as soon as it is stored, for loggers: a dict with
        architecture, trial, value, status, message, seconds and evaluator.
    :param on: Text or images to train on, for ``evaluate="train"``; ``tokeniser``, ``image_size`` and ``recipe`` likewise.
    :param store: Study database, the same file that the command line uses.
    :param executor: Who scores candidates instead of threads of this process: see :class:`foretell.executors.Executor`.
    :param progress: True for a bar, False for none, or a function that is told a dict now and then. By default there is a bar
        in terminals and notebooks if tqdm is installed.
    """
    from foretell._progress import watching

    space, options, callables = _search_options(locals())
    with watching(progress, "candidates", "searched") as told:
        return _native.search(space, options, on_evaluation=on_evaluation, progress=told, executor=executor, **callables)


def plan(space: SpaceLike, **options: Any) -> dict[str, Any]:
    """Checks a search and says what it would do, without doing it; takes the arguments of :func:`search`."""

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
