"""What a function of a space asks for its values, and how they are answered."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from foretell.errors import SpaceError

Plain: TypeAlias = "int | float | str | bool | None"
Choice = TypeVar("Choice")


class Reject(Exception):
    """Raise it in the function of a space for values that go into no module together; others are drawn."""


class _Range:
    """What may be answered: draws, and says whether an answer is admissible."""

    def __init__(self, name: str, kind: str, *about: object) -> None:
        self.name, self.kind, self.about = name, kind, about

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Range) and (self.kind, self.about) == (other.kind, other.about)

    def __repr__(self) -> str:
        return f"{self.kind} {', '.join(map(repr, self.about))}"

    def holds(self, value: object) -> bool:
        """Whether a value is admissible."""
        raise NotImplementedError

    def draw(self, generator: random.Random, other: object) -> Plain:
        """A value, another one if there is another."""
        raise NotImplementedError


def _among(generator: random.Random, count: int) -> int:
    # random() is the one method whose numbers never change between releases of Python.
    return min(int(generator.random() * count), count - 1)


class _List(_Range):
    """One of a few."""

    def __init__(self, name: str, kind: str, values: list[Plain], *about: object, log: bool = False) -> None:
        super().__init__(name, kind, *about)
        self.values, self.log = values, log

    def holds(self, value: object) -> bool:
        return any(value == known and isinstance(value, bool) == isinstance(known, bool) for known in self.values)

    def draw(self, generator: random.Random, other: object) -> Plain:
        left = [value for value in self.values if not (value == other and type(value) is type(other))] or self.values
        if not self.log:
            return left[_among(generator, len(left))]
        low, high = math.log(_number(left[0])), math.log(_number(left[-1]))
        wanted = low + generator.random() * (high - low)
        return min(left, key=lambda value: abs(math.log(_number(value)) - wanted))


class _Line(_Range):
    """Any number between two."""

    def __init__(self, name: str, low: float, high: float, log: bool) -> None:
        super().__init__(name, "float", low, high, log)
        self.low, self.high, self.log = low, high, log

    def holds(self, value: object) -> bool:
        return isinstance(value, (int, float)) and self.low <= value <= self.high

    def draw(self, generator: random.Random, other: object) -> Plain:
        share = generator.random()
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            return min(max(math.exp(low + share * (high - low)), self.low), self.high)
        return self.low + share * (self.high - self.low)


def _number(value: Plain) -> float:
    assert isinstance(value, (int, float))
    return float(value)


class Trial:
    """What a function of a :class:`Space` asks for its values, by the methods that a trial of Optuna has.

    What is asked for may depend on earlier answers. A name that is asked for again has the same answer.
    """

    def __init__(self, kept: Mapping[str, Plain], changed: Mapping[str, Plain], seed: int, fixed: bool = False) -> None:
        self._kept, self._changed, self._fixed = kept, changed, fixed
        self._generator = random.Random(seed)
        self._asked: dict[str, _Range] = {}
        self._answers: dict[str, Plain] = {}

    @property
    def params(self) -> dict[str, Plain]:
        """What was answered so far."""
        return dict(self._answers)

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """A whole number from ``low`` to ``high``, both included; with ``log`` small numbers are as likely as large ones."""
        if not all(isinstance(number, int) and not isinstance(number, bool) for number in (low, high, step)):
            raise SpaceError(f"{name}: {low!r}, {high!r} and {step!r} are not whole numbers")
        if low > high or step < 1 or (log and low < 1):
            raise SpaceError(f"{name}: there is nothing from {low} to {high} in steps of {step}{' on a logarithmic scale' * log}")
        if (high - low) // step >= 1 << 16:
            raise SpaceError(f"{name}: has more than 65,536 choices: take a larger step")
        values: list[Plain] = list(range(low, high + 1, step))
        answer = self._answer(_List(name, "int", values, low, high, step, log, log=log))
        assert isinstance(answer, int)
        return answer

    def suggest_float(self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False) -> float:
        """A number from ``low`` to ``high``, with ``step`` a multiple of it above ``low``."""
        if not all(isinstance(number, (int, float)) and math.isfinite(number) for number in (low, high)):
            raise SpaceError(f"{name}: {low!r} and {high!r} are not finite numbers")
        if low > high or (log and low <= 0) or (step is not None and (step <= 0 or log)):
            raise SpaceError(f"{name}: there is nothing from {low} to {high} in steps of {step}{' on a logarithmic scale' * log}")
        if step is None:
            return float(_number(self._answer(_Line(name, float(low), float(high), log))))
        count = int((high - low) / step * (1 + 1e-12)) + 1
        values: list[Plain] = [min(low + place * step, float(high)) for place in range(count)]
        return float(_number(self._answer(_List(name, "float", values, low, high, step))))

    def suggest_categorical(self, name: str, choices: Sequence[Choice]) -> Choice:
        """One of the choices: numbers, texts, True, False or None."""
        values: list[Any] = [] if isinstance(choices, str) else list(choices)
        if not values:
            raise SpaceError(f"{name}: {choices!r} is not a list of choices")
        strange = [value for value in values if not isinstance(value, (int, float, str, bool, type(None)))]
        if strange:
            raise SpaceError(f"{name}: {strange[0]!r} is neither a number nor a text, True, False or None: choose by a name")
        answer: Any = self._answer(_List(name, "categorical", values, *values))
        return cast(Choice, answer)

    def _answer(self, wanted: _Range) -> Plain:
        name = wanted.name
        if not isinstance(name, str) or not name:
            raise SpaceError(f"{name!r} is not the name of a choice: names are texts")
        before = self._asked.setdefault(name, wanted)
        if before != wanted:
            raise SpaceError(f"{name}: was asked for as {before} and then as {wanted}: give both a name of their own")
        if name not in self._answers:
            self._answers[name] = self._first(wanted)
        return self._answers[name]

    def _first(self, wanted: _Range) -> Plain:
        if wanted.name in self._kept:
            kept = self._kept[wanted.name]
            if wanted.holds(kept):
                return kept
        if self._fixed:
            said = f"is {self._kept[wanted.name]!r}, not {wanted}" if wanted.name in self._kept else "has no answer"
            raise SpaceError(f"{wanted.name}: {said}: the architecture is of another function")
        return wanted.draw(self._generator, self._changed.get(wanted.name, Reject))
