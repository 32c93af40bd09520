"""Spaces: opening them, drawing from them, counting."""

from __future__ import annotations

from foretell._native import Architecture, Space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from foretell._types import ArchitectureLike, Number, SpaceLike


def space(space: SpaceLike) -> Space:
    """Opens a space: a preset by name, a space file by path, or a dict with the content of one."""
    return Space(space)


def limits(
    min_params: Number | None,
    max_params: Number | None,
    min_flops: Number | None,
    max_flops: Number | None,
    flops: str,
) -> dict[str, Any]:
    return {
        "min_params": min_params,
        "max_params": max_params,
        "min_flops": min_flops,
        "max_flops": max_flops,
        "flops": flops,
    }


def sample(
    space: SpaceLike,
    n: int = 1,
    *,
    seed: int = 0,
    uniform: bool = False,
    min_params: Number | None = None,
    max_params: Number | None = None,
    min_flops: Number | None = None,
    max_flops: Number | None = None,
    flops: Literal["exact", "published"] = "exact",
) -> list[Architecture]:
    """Draws random architectures, inside limits by construction.

    :param n: Number of architectures.
    :param seed: Seed of the draws; the tenth is the same whether or not nine came before it.
    :param uniform: Draw uniformly from all feasible architectures instead of depth and width first.
    :param flops: How multiply-adds are counted for a limit on them.
    """
    inside = limits(min_params, max_params, min_flops, max_flops, flops)
    return Space(space)._sample({"n": n, "seed": seed, "uniform": uniform, **inside})


def count(architecture: ArchitectureLike) -> dict[str, Any]:
    """Exact parameters by part, multiply-adds and memory of an architecture."""
    return Architecture(architecture).count()
