"""Names of types that users and checkers see; nothing here is needed when a program runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from foretell import predict, torch
from foretell._native import Architecture, Context, Space

class Asker(Protocol):
    """A searcher: asked for generations, told what became of them."""

    def ask(self, context: Context) -> Iterable[Architecture]:
        """The next generation; empty if there is nothing left to try."""

    def tell(self, generation: list[tuple[Architecture, list[float] | None]]) -> object:
        """What became of the generation asked for last: a value per objective, larger is better; None if it failed."""


Path: TypeAlias = str | os.PathLike[str]
SpaceLike: TypeAlias = Space | torch.Space | str | os.PathLike[str] | Mapping[str, Any]
ArchitectureLike: TypeAlias = Architecture | str | Mapping[str, Any]
ArchitectureList: TypeAlias = list[Architecture] | list[dict[str, Any]] | list[str] | tuple[ArchitectureLike, ...]
ProxyLike: TypeAlias = str | Callable[[Architecture], float] | predict.Predictor
Number: TypeAlias = int | float
