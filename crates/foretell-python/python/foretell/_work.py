"""What a worker does: one unit in, rows out. ``python -m foretell._work`` does it in a process of its own."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys

from foretell import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    #: What all units of a task need: its digest, the task, and the functions of the user, pickled.
    Shared = tuple[str, bytes, bytes]

#: Signals by which machines and their users end processes; they say nothing about a network.
_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_functions: tuple[str, Any] = ("", None)


def _score(shared: Shared) -> Any:
    """Makes the functions of a task known, once in a process; who scores modules of torch, if the task has any."""
    global _functions
    digest, _, pickled = shared
    if _functions[0] != digest:
        proxies, score = pickle.loads(pickled) if pickled else ((), None)
        for function in proxies:
            _native.register_proxy(function)
        _functions = (digest, score)
    return _functions[1]


def work(shared: Shared, unit: bytes, threads: int, guarded: bool) -> tuple[str, Any]:
    """Computes a unit: ``reply`` and rows, ``lost`` and why, or ``refused`` and why."""
    try:
        if guarded:
            return _guarded(shared, unit, threads)
        return "reply", _native.work(shared[1], unit, threads, _score(shared))
    except Exception as error:
        name = "" if isinstance(error, Exception) and hasattr(error, "kind") else f"{type(error).__name__}: "
        return "refused", f"{name}{error}"


def _guarded(shared: Shared, unit: bytes, threads: int) -> tuple[str, Any]:
    """The same in a child, whose end tells a network that crashes from a machine that fails."""
    command = [sys.executable, "-m", "foretell._work"]
    given = pickle.dumps((shared, unit, threads))
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    if done.returncode == 0:
        told: tuple[str, Any] = pickle.loads(done.stdout)
        return told
    if done.returncode > 0:
        return "reply", _native.crashed(shared[1], unit, f"exit code {done.returncode}")
    ended = -done.returncode
    name = signal.Signals(ended).name if ended in signal.Signals._value2member_map_ else str(ended)
    if ended in _OUTSIDE:
        return "lost", f"signal {name}"
    return "reply", _native.crashed(shared[1], unit, f"signal {name}")


def _die_with_parent() -> None:
    """A worker that is killed takes its child along, where the system can do that."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except (AttributeError, OSError):
        pass


def main() -> None:
    """Reads a unit from standard input and writes what became of it to standard output."""
    _die_with_parent()
    # What functions of the user print must not get between.
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        shared, unit, threads = pickle.load(sys.stdin.buffer)
        out.write(pickle.dumps(work(shared, unit, threads, False)))


if __name__ == "__main__":
    main()
