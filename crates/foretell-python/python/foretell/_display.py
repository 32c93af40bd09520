"""Data frames, and what notebooks show."""

from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from foretell._native import Architecture


def frame(columns: dict[str, list[Any]]) -> Any:
    """A pandas data frame of columns."""
    try:
        import pandas  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise ImportError("pandas is needed for to_pandas: pip install 'foretell[pandas]'") from error
    return pandas.DataFrame(columns)


def table(header: list[str], rows: list[list[object]]) -> str:
    """An HTML table of texts."""
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def architecture(shown: Architecture) -> str:
    """The fields of an architecture and its counts."""
    rows: list[list[object]] = [["id", shown.id], ["parameters", f"{shown.params:,}"]]
    if shown.flops is not None:
        rows.append(["multiply-adds", f"{shown.flops:,}"])
    rows += [[key, _short(value)] for key, value in shown.to_dict().items()]
    return table(["field", "value"], rows)

