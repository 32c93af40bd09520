"""How good networks will be, from labels of a few."""

from __future__ import annotations

from foretell import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from foretell._types import ArchitectureLike, Path


class Predictor:
    """Predicts results of training from the architectures and results of a few networks, in the style of scikit-learn.

    >>> import foretell as ft
    >>> archs = ft.sample("gpt2", 12)
    >>> model = ft.predict.Predictor().fit(archs, [arch.params for arch in archs])
    >>> len(model.predict(archs[:3]))
    3

    :param proxies: Scores to use as features, beside the shape of the networks.
    :param lower: Whether lower values are better, such as a loss.
    :param target: What the values are; stored with the predictor.
    """

    def __init__(self, *, proxies: Sequence[str] = (), lower: bool = False, target: str = "value") -> None:
        self.proxies, self.lower, self.target = list(proxies), lower, target
        self._fitted: _native.Predictor | None = None

    def _columns(self, architectures: list[Any], names: Sequence[str]) -> list[list[float]]:
        from foretell import score

        if not names:
            return []
        rows = score(architectures, proxies=list(names))
        return [[row[name] for row in rows] for name in names]

    def fit(self, architectures: Iterable[ArchitectureLike], values: Iterable[float]) -> Predictor:
        """Fits the predictor to networks and their results; the predictor itself."""
        networks = list(architectures)
        columns = self._columns(networks, self.proxies)
        scores = list(zip(self.proxies, columns, strict=True))
        numbers = [float(value) for value in values]
        self._fitted = _native.Predictor.fit(networks, numbers, scores, self.lower, self.target)
        return self

    @property
    def native(self) -> _native.Predictor:
        """The fitted predictor; OptionError if there is none."""
        if self._fitted is None:
            from foretell.errors import OptionError

            raise OptionError("predictor: is not fitted: call fit first")
        return self._fitted

    def predict(self, architectures: Iterable[ArchitectureLike]) -> list[float]:
        """The expected result of each network."""
        return [value for value, *_ in self._said(architectures)]

    def predict_interval(self, architectures: Iterable[ArchitectureLike]) -> list[tuple[float, float]]:
        """For each network the interval that holds nine of ten results."""
        return [(low, high) for _, _, low, high in self._said(architectures)]

    def _said(self, architectures: Iterable[ArchitectureLike]) -> list[tuple[float, float, float, float]]:
        networks = list(architectures)
        return self.native.predict(networks, self._columns(networks, self.native.scores))

    def score(self, architectures: Iterable[ArchitectureLike], values: Iterable[float]) -> float:
        """Kendall's tau of predictions and results; NaN where it is not defined."""
        said, truth = self.predict(architectures), [float(value) for value in values]
        pairs = [(a, b) for i, a in enumerate(zip(said, truth, strict=True)) for b in list(zip(said, truth))[:i]]
        sign = [_sign(a[0] - b[0]) * _sign(a[1] - b[1]) for a, b in pairs]
        ties = [sum(1 for a, b in pairs if a[k] != b[k]) for k in (0, 1)]
        below = (ties[0] * ties[1]) ** 0.5
        return sum(sign) / below if below else float("nan")

    def check(self) -> dict[str, Any]:
        """How well it predicts labels that are left out, and which models it averages."""
        return self.native.check()

    def request(self) -> str:
        """Makes it a proxy of this process, so that a search can maximise it; its name."""
        return self.native.register()

    def save(self, path: Path) -> None:
        """Writes the predictor to a file that the command line reads too."""
        self.native.save(path)

    @classmethod
    def load(cls, path: Path) -> Predictor:
        """Reads a predictor."""
        with open(path, encoding="utf-8") as file:
            native = _native.Predictor.of_json(file.read(), str(path))
        made = cls(proxies=native.scores, lower=native.lower, target=native.target)
        made._fitted = native
        return made


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)
