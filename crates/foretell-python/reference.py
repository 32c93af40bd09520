"""Writes docs/python-reference.md from signatures, stubs and doc strings: python reference.py [--check]"""

import ast
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "python-reference.md"
MODULES = [
    ("foretell", "_spaces.py", ["space", "sample", "count"]),
    ("foretell", "_search.py", ["search", "plan", "open_study"]),
    ("foretell", "_scoring.py", ["score", "rank", "bench", "roles"]),
    ("foretell", "_training.py", ["train", "verify"]),
    ("foretell", "_native.pyi", ["Architecture", "Candidate", "Context", "Space", "Study", "algorithms", "benchmarks", "presets",
                                 "proxies", "studies"]),
    ("foretell", "_scores.py", ["Scores"]),
    ("foretell.predict", "predict.py", None),
    ("foretell.torch", "torch/__init__.py", ["roles", "score"]),
    ("foretell.torch", "torch/_space.py", ["Space"]),
    ("foretell.torch", "torch/_trial.py", ["Trial", "Reject"]),
    ("foretell.torch", "torch/_roles.py", ["Roles"]),
    ("foretell.executors", "executors.py", ["Executor", "Futures"]),
    ("foretell.dask", "dask.py", None),
    ("foretell.ray", "ray.py", None),
    ("foretell.optuna", "optuna.py", None),
    ("foretell.errors", "errors.py", None),
]


def text(node):
    """The doc string of a function or class, as paragraphs."""
    doc = ast.get_docstring(node) or ""
    lines = []
    for line in doc.splitlines():
        if line.startswith(":param "):
            name, _, rest = line.removeprefix(":param ").partition(":")
            lines.append(f"- `{name}`:{rest}")
        else:
            lines.append(line)
    return "\n".join(lines).replace(":func:", "").replace(":class:", "").replace("``", "`")


def signature(node):
    """A function as it is called, without annotations of arguments that users need not know."""
    given = ast.unparse(node.args).replace("self, /, ", "").replace("self, /", "").replace("self, ", "").replace("cls, ", "")
    given = "" if given in ("self", "cls") else given
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{node.name}({given}){returns}"


def entries(tree, names):
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            if names is None or node.name in names:
                yield node


def section(node):
    if isinstance(node, ast.FunctionDef):
        return f"### {node.name}\n\n```python\n{signature(node)}\n```\n\n{text(node)}\n"
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    parts = [f"### {node.name}\n\n{text(node)}\n" if not bases else f"### {node.name}({bases})\n\n{text(node)}\n"]
    rows = []
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            property_ = any(ast.unparse(mark) == "property" for mark in member.decorator_list)
            shown = member.name if property_ else signature(member)
            said = text(member).split("\n")[0].replace("|", "\\|")
            rows.append(f"| `{shown.replace('|', chr(92) + '|')}` | {said} |")
    if rows:
        parts.append("| Member | Meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def page():
    parts = ["<!-- Generated: python crates/foretell-python/reference.py. Do not edit. -->\n# Python reference\n"]
    before = None
    for module, file, names in MODULES:
        if module != before:
            parts.append(f"## {module}\n")
            before = module
        tree = ast.parse((HERE / "python" / "foretell" / file).read_text())
        parts += [section(node) for node in entries(tree, names)]
    return "\n".join(parts)


if __name__ == "__main__":
    made = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text() != made:
            sys.exit("docs/python-reference.md is out of date: run python crates/foretell-python/reference.py")
    else:
        PAGE.write_text(made)
