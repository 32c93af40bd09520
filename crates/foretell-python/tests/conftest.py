"""What all tests share."""

import json
import os
import subprocess
import sys

import pytest


def command_line(*words, check=True, **options):
    """Runs the command line that comes with the package, or that FORETELL_BIN names."""
    start = [os.environ["FORETELL_BIN"]] if "FORETELL_BIN" in os.environ else [sys.executable, "-m", "foretell"]
    done = subprocess.run([*start, *map(str, words)], capture_output=True, text=True, **options)
    if check:
        assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def cli():
    """The command line; its last line of output as JSON."""

    def run(*words):
        return json.loads(command_line(*words, "--json").stdout.splitlines()[-1])

    return run


@pytest.fixture
def failing():
    """The command line where it fails: kind and message."""

    def run(*words):
        done = command_line(*words, "--json", check=False)
        assert done.returncode != 0
        return json.loads(done.stderr.splitlines()[-1])["error"]

    return run


TINY = {
    "name": "tiny",
    "family": "gpt2",
    "fixed": {"vocab_size": 257, "context_len": 16, "cutoffs": []},
    "choices": {"n_layer": [1, 2], "d_model": [16, 32], "n_head": [2, 4], "d_inner": [32, 48, 64]},
}


@pytest.fixture
def tiny():
    """A small space of small decoders."""
    return TINY
