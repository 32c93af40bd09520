"""Python objects as JSON text for the native half."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _other(value: Any) -> Any:
    # Numbers and small arrays of numpy and torch, without importing either.
    for name in ("tolist", "__fspath__"):
        convert = getattr(value, name, None)
        if convert is not None:
            return convert()
    raise TypeError(f"{value!r} of type {type(value).__name__} is not plain data: numbers, texts, lists and dicts are")


def dumps(value: Any) -> str:
    """JSON text; numbers must be finite."""
    return json.dumps(value, default=_other, allow_nan=False)
