"""What proxies said of one network."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from foretell.errors import Error


class Scores(Mapping[str, float]):
    """The scores of one network by proxy, as a mapping from what was asked for to a number.

    A proxy that gave no number is in ``failures`` and not in the mapping; asking for it raises the exception that says why.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: dict[str, dict[str, Any]]) -> None:
        self._entries = entries

    def __getitem__(self, proxy: str) -> float:
        entry = self._entries[proxy]
        if "error" in entry:
            raise self._failure(entry)
        value = entry["value"]
        if value is None:
            from foretell.errors import NotDefinedError

            parts = ", ".join(entry["parts"])
            raise NotDefinedError(f"{proxy} has a value only within a set of networks: see parts ({parts}), or rank")
        return float(value)

    @staticmethod
    def _failure(entry: dict[str, Any]) -> Error:
        from foretell.errors import of_kind

        return of_kind(entry["kind"], entry["error"])

    def __iter__(self) -> Iterator[str]:
        return (proxy for proxy, entry in self._entries.items() if entry.get("value") is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, proxy: object) -> bool:
        return any(proxy == known for known in self)

    @property
    def failures(self) -> dict[str, Error]:
        """Why other proxies gave no number."""
        return {proxy: self._failure(entry) for proxy, entry in self._entries.items() if "error" in entry}

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviation over seeds, for scores that depend on a draw."""
        found = {proxy: entry.get("deviation") for proxy, entry in self._entries.items()}
        return {proxy: value for proxy, value in found.items() if value is not None}

    @property
    def parts(self) -> dict[str, dict[str, float]]:
        """The parts of scores that have a value only within a set of networks."""
        return {proxy: entry["parts"] for proxy, entry in self._entries.items() if entry.get("parts")}

    @property
    def notes(self) -> dict[str, list[str]]:
        """What should be known before a score is trusted."""
        return {proxy: entry["notes"] for proxy, entry in self._entries.items() if entry.get("notes")}

    @property
    def terms(self) -> dict[str, list[dict[str, Any]]]:
        """The terms that each score is the sum of, if they were asked for."""
        return {proxy: entry["terms"] for proxy, entry in self._entries.items() if entry.get("terms")}

    def __repr__(self) -> str:
        failed = "".join(f", {proxy}: {entry['kind']}" for proxy, entry in self._entries.items() if "error" in entry)
        return f"Scores({dict(self)}{failed})"

    def _repr_html_(self) -> str:
        from foretell._display import table

        rows = [
            [proxy, entry["kind"] if "error" in entry else "–" if entry["value"] is None else f"{entry['value']:.6g}"]
            for proxy, entry in self._entries.items()
        ]
        return table(["proxy", "score"], rows)

    def __reduce__(self) -> tuple[type[Scores], tuple[dict[str, dict[str, Any]]]]:
        return Scores, (self._entries,)
