"""The page about Python: its examples run, one after the other as a reader would run them."""

import os
import pathlib
import re

import pytest

DOCS = pathlib.Path(os.environ.get("FORETELL_DOCS", pathlib.Path(__file__).parent / "../../../docs"))


def test_the_examples_of_the_page_run(capsys):
    pytest.importorskip("torch")
    pytest.importorskip("pandas")
    page = (DOCS / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {"__name__": "page"}
    assert len(blocks) >= 5
    for block in blocks:
        exec(compile(block, "python.md", "exec"), names)
    assert "did you mean 'gpt2'" in capsys.readouterr().out
