"""Training networks, and whether a search beats chance."""

from __future__ import annotations

from foretell import _native
from foretell._native import Architecture, Study

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    from foretell._types import ArchitectureLike, Path


def data(
    on: Path | None, tokeniser: str, image_size: int | None, recipe: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {"on": on, "tokeniser": tokeniser, "image_size": image_size, "recipe": dict(recipe or {}), "cache": None}


def train(
    architecture: ArchitectureLike,
    *,
    on: Path | None = None,
    tokeniser: str = "bytes",
    image_size: int | None = None,
    recipe: Mapping[str, Any] | None = None,
    output: Path | None = None,
    save_every: float = 20.0,
    precision: Literal["f32", "f64"] = "f32",
    threads: int | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Trains a network on text or images.

    :param on: Data to train on; by default the text that is included.
    :param recipe: Values of the recipe that differ from the default, e.g. ``{"steps": 1000, "rate": 0.01}``.
    :param output: Checkpoint folder; a run there is resumed. Without one nothing is written.
    """
    from foretell._progress import watching

    options = {
        "data": data(on, tokeniser, image_size, recipe),
        "output": output,
        "save_every": save_every,
        "double": {"f32": False, "f64": True}[precision],
        "threads": threads,
    }
    with watching(progress, "steps", "trained") as told:
        return _native.train(Architecture(architecture), options, told)


def verify(
    study: Study,
    *,
    k: int = 5,
    seeds: int = 3,
    on: Path | None = None,
    tokeniser: str = "bytes",
    image_size: int | None = None,
    recipe: Mapping[str, Any] | None = None,
    output: Path | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Trains the best candidates of a study beside random networks of the same size, and says whether the search beats chance.

    :param k: Number of pairs.
    :param seeds: Number of seeds that each network is trained with.
    :param output: Folder of finished runs; by default STUDY.verified in the current folder.
    """
    from foretell._progress import watching

    options = {
        "data": data(on, tokeniser, image_size, recipe),
        "k": k,
        "seeds": seeds,
        "output": output if output is not None else f"{study.name}.verified",
        "threads": threads,
    }
    with watching(progress, "runs", "counted") as told:
        return _native.verify(study, options, told)
