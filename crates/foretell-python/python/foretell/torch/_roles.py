"""What each weight of a module does, as a table, and what users set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch

from foretell._native import role_names
from foretell.errors import OptionError, UnknownNameError


class Roles(Mapping[str, "str | None"]):
    """What each weight does, by name; None where that was not found and not set."""

    def __init__(self, roles: dict[str, str | None], shapes: dict[str, tuple[int, ...]], blocks: dict[str, int | None]) -> None:
        self._roles, self.shapes, self.blocks = roles, shapes, blocks

    def __getitem__(self, name: str) -> str | None:
        return self._roles[name]

    def __iter__(self) -> Any:
        return iter(self._roles)

    def __len__(self) -> int:
        return len(self._roles)

    @property
    def unplaced(self) -> list[str]:
        """Matrices whose role is not known; proxies that need it refuse."""
        return [name for name, role in self._roles.items() if role is None]

    def _rows(self) -> list[list[object]]:
        return [
            [name, role or "not found", "" if self.blocks[name] is None else self.blocks[name], "x".join(map(str, self.shapes[name]))]
            for name, role in self._roles.items()
        ]

    def __repr__(self) -> str:
        rows: list[list[object]] = [["weight", "role", "block", "shape"], *self._rows()]
        widths = [max(len(str(row[column])) for row in rows) for column in range(4)]
        return "\n".join("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        from foretell._display import table

        return table(["weight", "role", "block", "shape"], self._rows())


def overridden(found: dict[str, str], names: list[str], roles: Mapping[str, str] | None) -> dict[str, str]:
    """Roles with those that the user sets by regular expressions."""
    known = role_names()
    result = dict(found)
    for pattern, role in (roles or {}).items():
        if role not in known:
            import difflib

            near = difflib.get_close_matches(role, known, 1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise UnknownNameError(f"unknown role '{role}'{hint}; known: {', '.join(known)}")
        try:
            chosen = [name for name in names if re.search(pattern, name)]
        except re.error as error:
            raise OptionError(f"roles: '{pattern}' is not a regular expression: {error}") from error
        if not chosen:
            raise OptionError(f"roles: '{pattern}' matches no weight")
        result.update(dict.fromkeys(chosen, role))
    return result


def numbered(model: torch.nn.Module, roles: dict[str, str], order: list[str]) -> tuple[dict[str, int | None], list[str]]:
    """The block of each weight, and the module of each block in the order of execution."""
    modules = dict(model.named_modules())

    def prefixes(name: str) -> list[str]:
        parts = name.split(".")
        found = []
        for end in range(1, len(parts)):
            parent = modules.get(".".join(parts[: end - 1]))
            if parts[end - 1].isdigit() and isinstance(parent, (torch.nn.ModuleList, torch.nn.Sequential)):
                found.append(".".join(parts[:end]))
        return found

    inside: dict[str, set[str]] = {}
    for name, role in roles.items():
        for prefix in prefixes(name):
            inside.setdefault(prefix, set()).add(role)
    whole = {prefix for prefix, held in inside.items() if {"attention-out", "ffn-out"} <= held}
    some = {prefix for prefix, held in inside.items() if held & {"attention-out", "ffn-out", "cell"}}
    home: dict[str, str | None] = {}
    for name in [*order, *(name for name in model.state_dict() if name not in order)]:
        own = prefixes(name)
        deep = [prefix for prefix in own if prefix in whole] or [prefix for prefix in own if prefix in some]
        home[name] = deep[-1] if deep else None
    blocks: list[str] = []
    for name in order:
        at = home.get(name)
        if at is not None and at not in blocks:
            blocks.append(at)
    places = {prefix: place for place, prefix in enumerate(blocks)}
    return {name: places.get(prefix) if prefix is not None else None for name, prefix in home.items()}, blocks
