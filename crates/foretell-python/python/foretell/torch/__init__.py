"""Scores of any ``torch.nn.Module``: torch runs the passes on whatever device the model is on, and the formulas are those of
the library.

>>> import foretell as ft
>>> scores = ft.score(model, (images, labels), proxies=["snip", "synflow", "dss"])   # doctest: +SKIP
>>> ft.roles(model, images)                                                         # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.nn import Module

from foretell import _native
from foretell._scores import Scores
from foretell.torch._passes import Runner
from foretell.torch._roles import Roles
from foretell.torch._space import Space
from foretell.torch._subject import Subject
from foretell.torch._trial import Reject, Trial

__all__ = ["Module", "Reject", "Roles", "Space", "Trial", "roles", "score"]


def roles(
    model: Module,
    batch: Any,
    *,
    roles: Mapping[str, str] | None = None,
    kind: str | None = None,
) -> Roles:
    """What each matrix and table of a model does, found by following the data through one forward pass.

    :param batch: What the model is fed: a tensor, a pair of inputs and labels, or a dict of arguments.
    :param roles: Roles to set, by regular expressions over the names of weights; the last one that matches counts.
    :param kind: What the model is: vision, encoder, decoder or recurrent. By default it follows from the batch and the head.
    """
    return _subject(model, batch, kind, roles, None).roles()


def _subject(model: Module, batch: Any, kind: str | None, roles: Mapping[str, str] | None, output: Any) -> Subject:
    was = {module: module.training for module in model.modules()}
    model.eval()
    try:
        return Subject(model, batch, kind, roles, output)
    finally:
        for module, mode in was.items():
            module.training = mode


def score(
    model: Module,
    batch: Any,
    *,
    proxies: str | Sequence[str] = "all",
    roles: Mapping[str, str] | None = None,
    kind: str | None = None,
    loss: Callable[..., Any] | None = None,
    output: Callable[[Any], Any] | None = None,
    seed: int = 0,
    terms: bool = False,
    threads: int | None = None,
) -> Scores:
    """Scores a model by proxies, without training it. The model is as before afterwards.

    A proxy that needs to know what a matrix does refuses while one that it needs is not placed; see :func:`roles`.

    :param batch: What the model is fed: a tensor, a pair of inputs and labels, or a dict of arguments. Labels are drawn if there
        are none.
    :param loss: The loss as a function of what the model gives and the labels; by default what suits the kind of model.
    :param output: The tensor of what the model gives that scores are taken of.
    :param seed: Seed of random signs and labels.
    """
    native = passed(model, batch, proxies=proxies, roles=roles, kind=kind, loss=loss, output=output, seed=seed)
    return Scores(native.score(terms, threads))


def passed(
    model: Module,
    batch: Any,
    *,
    proxies: str | Sequence[str],
    roles: Mapping[str, str] | None,
    kind: str | None,
    loss: Callable[..., Any] | None,
    output: Callable[[Any], Any] | None,
    seed: int,
) -> _native.Module:
    """A model with all that passes saw that proxies need: what :func:`score` reads."""
    subject = _subject(model, batch, kind, roles, output)
    names = [proxies] if isinstance(proxies, str) else list(proxies)
    native = _native.Module(subject.described(), names)
    runner = Runner(subject, native, loss, seed)
    if native.needs_weights():
        runner.weights()
        runner.run()
    return native
