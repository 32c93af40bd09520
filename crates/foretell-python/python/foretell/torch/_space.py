"""Search spaces that are a function from a trial to a module."""

# torch has few annotations.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import Module
from torch.utils._pytree import tree_leaves

from foretell import _native
from foretell.errors import ForetellWarning, OptionError, SpaceError
from foretell.torch._subject import Fed
from foretell.torch._trial import Plain, Reject, Trial

# Draws in a row that a function may reject.
MOST_REJECTED = 1000
# Draws after which answers of parents are let go.
MOST_KEPT = 20

_KNOWN: dict[str, Space] = {}


def known(name: str) -> Space:
    """The space of this name in this process."""
    if name not in _KNOWN:
        raise OptionError(f"space '{name}': is a function that this process does not know: make its Space first")
    return _KNOWN[name]


class Space:
    """A search space that is a function: it asks a trial for values and builds a module from them.

    >>> import torch, foretell as ft
    >>> def build(trial):
    ...     width = trial.suggest_int("width", 8, 64, step=8)
    ...     act = trial.suggest_categorical("act", ["relu", "gelu"])
    ...     between = {"relu": torch.nn.ReLU, "gelu": torch.nn.GELU}[act]()
    ...     return torch.nn.Sequential(torch.nn.Linear(10, width), between, torch.nn.Linear(width, 2))
    >>> space = ft.torch.Space(build)
    >>> study = ft.search(space, proxy="snip", batch=torch.randn(4, 10), max_params=500, budget=20)
    >>> model = space.build(study.best)

    The function may ask for some values only if others have certain answers. It must build the same module from the same
    answers but for the initial weights, which torch draws. :class:`Reject` rejects values that do not go together.

    :param function: Function of a :class:`Trial` that gives a ``torch.nn.Module``.
    :param name: Name of the space; by default that of the function.
    :param roles: Roles of matrices, and ``kind``, ``loss`` and ``output``, as :func:`score` takes them.
    """

    def __init__(
        self,
        function: Callable[[Trial], Module],
        *,
        name: str | None = None,
        roles: Mapping[str, str] | None = None,
        kind: str | None = None,
        loss: Callable[..., Any] | None = None,
        output: Callable[[Any], Any] | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a space is a function from a trial to a module, not {type(function).__name__}")
        own = getattr(function, "__qualname__", type(function).__qualname__)
        self.function = function
        self.name = name if name is not None else re.sub(r"[^A-Za-z0-9_.-]+", "-", own.rpartition(".")[2]).strip("-") or "space"
        self.options: dict[str, Any] = {"roles": roles, "kind": kind, "loss": loss, "output": output}
        self._of = f"{getattr(function, '__module__', '')}.{own}"
        self._device = "meta"
        self._native = self._opened("")
        _KNOWN[self.name] = self

    def __repr__(self) -> str:
        return f"<Space {self.name!r} of {self._of}>"

    def _opened(self, more: str) -> _native.Space:
        return _native.asked_space(self.name, f"What {self._of} builds{more}.", self._draw)

    def _on(self, batch: Any) -> _native.Space:
        """The space with scores on a batch, which is part of what a study is."""
        return self._opened("" if batch is None else f", scored on a batch with the digest {_digest(batch)}")

    def build(self, architecture: _native.Architecture | Mapping[str, Plain], *, seed: int = 0) -> Module:
        """The module of an architecture of this space, or of a dict of answers; torch draws its weights with the seed."""
        answers = architecture if isinstance(architecture, Mapping) else self.choices(architecture)
        trial = Trial(answers, {}, 0, fixed=True)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            made = self._run(trial, "cpu")
        _refuse_idle(answers, trial)
        return made

    def choices(self, architecture: _native.Architecture) -> dict[str, Plain]:
        """What the function was answered."""
        fields = architecture.to_dict()
        if fields.get("space") != self.name or "choices" not in fields:
            raise OptionError(f"architecture {architecture.id}: is of {fields.get('space')}, not of {self.name}")
        return dict(fields["choices"])

    def architecture(self, answers: Mapping[str, Plain]) -> _native.Architecture:
        """The architecture of a dict of answers."""
        trial = Trial(answers, {}, 0, fixed=True)
        parameters = self._counted(trial)
        _refuse_idle(answers, trial)
        return _native.asked_architecture(self.name, trial.params, parameters)

    def _run(self, trial: Trial, device: str) -> Module:
        """Runs the function; everything that it does wrong is a SpaceError."""
        try:
            with torch.device(device):
                made = self.function(trial)
        except (Reject, SpaceError):
            raise
        except Exception as error:
            message = f"{self._of} raised {type(error).__name__}: {error}; it was answered {trial.params}"
            raise SpaceError(message) from error
        if not isinstance(made, Module):
            raise SpaceError(f"{self._of} returned {type(made).__name__}, not a torch.nn.Module; it was answered {trial.params}")
        return made

    def _counted(self, trial: Trial) -> int:
        """Parameters of what the function builds, without memory for them."""
        try:
            made = self._run(trial, self._device)
        except SpaceError as error:
            if self._device != "meta" or error.__cause__ is None:
                raise
            # Some modules compute with numbers while they are built, which the meta device does not have.
            made = self._run(trial, "cpu")
            self._device = "cpu"
            said = f"{self.name}: modules are counted on the CPU, since the meta device cannot build them: {error.__cause__}"
            warnings.warn(said, ForetellWarning, stacklevel=2)
        count = sum(weight.numel() for weight in made.parameters())
        if count == 0:
            raise SpaceError(f"{self._of} built a {type(made).__name__} without parameters; it was answered {trial.params}")
        return count

    def _draw(self, kept: Mapping[str, Plain], changed: Mapping[str, Plain], seed: int) -> tuple[dict[str, Plain], int]:
        reason = ""
        for attempt in range(MOST_REJECTED):
            trial = Trial(kept if attempt < MOST_KEPT else {}, changed, seed + attempt)
            try:
                with torch.random.fork_rng(devices=[]):
                    parameters = self._counted(trial)
            except Reject as error:
                reason = str(error)
                continue
            return trial.params, parameters
        said = f": {reason}" if reason else ""
        raise SpaceError(f"{self._of} rejected {MOST_REJECTED} draws in a row{said}")

    def _scored(self, batch: Any) -> Callable[[_native.Architecture, list[str], int], _native.Module]:
        """A function of an architecture, proxies and a seed that runs their passes."""
        from foretell.torch import passed

        def score(architecture: _native.Architecture, proxies: list[str], seed: int) -> _native.Module:
            return passed(self.build(architecture, seed=seed), batch, proxies=proxies, seed=seed, **self.options)

        return score

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.function, self.name, self.options)


def _restored(function: Callable[[Trial], Module], name: str, options: dict[str, Any]) -> Space:
    return Space(function, name=name, **options)


def _refuse_idle(answers: Mapping[str, Plain], trial: Trial) -> None:
    idle = [name for name in answers if name not in trial.params]
    if idle:
        raise SpaceError(f"{idle[0]}: was not asked for: the architecture is of another function")


def _digest(batch: Any) -> str:
    """A few digits that change with any number of a batch."""
    Fed(batch)  # Refuses what is no batch.
    digest = hashlib.blake2b(digest_size=6)
    for leaf in tree_leaves(batch):
        if isinstance(leaf, torch.Tensor):
            digest.update(f"{leaf.dtype} {tuple(leaf.shape)} ".encode())
            digest.update(leaf.detach().to("cpu").contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        else:
            digest.update(repr(leaf).encode())
    return digest.hexdigest()
