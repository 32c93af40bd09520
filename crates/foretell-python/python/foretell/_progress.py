"""Progress bars in terminals and notebooks, by tqdm if it is installed."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _wanted(progress: object) -> bool:
    if progress is not None:
        return bool(progress)
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


class _Bar:
    """A bar that is made when there is something to show."""

    def __init__(self, make: Callable[..., Any], what: str) -> None:
        self.make, self.what, self.bar = make, what, None

    def show(self, done: int, total: int | None, note: str = "") -> None:
        bar: Any = self.bar
        if bar is None:
            bar = self.bar = self.make(total=total, unit=f" {self.what}", leave=False)
        if total is not None and bar.total != total:
            bar.total = total
        bar.update(done - bar.n)
        if note:
            bar.set_postfix_str(note, refresh=False)

    def searched(self, news: dict[str, Any]) -> None:
        best = news["best"]
        note = "" if best is None else f"best {best:.6g}"
        if news["failed"]:
            note += f", {news['failed']} failed"
        if news["evaluated"]:
            note += f", {news['evaluated']} evaluated"
        if news.get("workers"):
            note += f", {news['workers']['text']}"
        done = max(news["done"], min(news["scored"], news["total"] or news["scored"]))
        self.show(done, news["total"], note.lstrip(", "))

    def counted(self, done: int, total: int) -> None:
        if total:
            self.show(done, total)

    def trained(self, news: dict[str, Any]) -> None:
        self.show(news["step"], None, f"loss {news['loss']:.4f}")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class watching:
    """A context with what the native half calls: the user's function, a bar, or nothing."""

    def __init__(self, progress: object, what: str, form: str) -> None:
        self.bar: _Bar | None = None
        self.call: Callable[..., object] | None = None
        if callable(progress):
            self.call = progress
        elif _wanted(progress):
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
            except ImportError:
                if progress:
                    raise
                return
            self.bar = _Bar(tqdm, what)
            self.call = getattr(self.bar, form)

    def __enter__(self) -> Callable[..., object] | None:
        return self.call

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()
