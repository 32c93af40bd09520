"""Who scores the candidates of a search: pools of ``concurrent.futures`` here, Dask in ``foretell.dask``, Ray in ``foretell.ray``.

>>> from concurrent.futures import ProcessPoolExecutor
>>> study = ft.search("gpt2", executor=ft.executors.Futures(lambda: ProcessPoolExecutor(4)))   # doctest: +SKIP

Whoever works, a study has the same trials and the same hash. The process that searches alone decides and stores; workers get
candidates in units of some seconds and give rows back. A worker that dies or hangs costs time only.
"""

from __future__ import annotations

import importlib
import time
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, wait

from foretell import _work, errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

__all__ = ["Executor", "Futures"]


def pickled(functions: object) -> bytes:
    """Functions of the user as bytes: by value if cloudpickle is there, which Ray and Dask bring along."""
    for name in ("ray.cloudpickle", "cloudpickle", "pickle"):
        try:
            made: bytes = importlib.import_module(name).dumps(functions)
            break
        except ImportError:
            continue
    return made


class Executor:
    """Hands units to workers. Derived classes say how: they have ``slots``, ``submit``, ``ready``, ``result`` and ``cancel``.

    :param threads: Threads that each unit is computed with.
    :param unit_seconds: Seconds that a unit should take, by the cost of those before it.
    :param time_limit: Seconds after which a unit counts as hanging and is tried elsewhere; by default a minute and twenty times
        what was predicted.
    """

    #: The function that workers run; tests replace it.
    work = staticmethod(_work.work)

    def __init__(self, *, threads: int = 1, unit_seconds: float = 5.0, time_limit: float | None = None) -> None:
        self.threads, self.unit_seconds, self.time_limit = threads, unit_seconds, time_limit
        self._out: dict[int, Any] = {}

    def slots(self) -> int:
        """How many units can be computed at a time."""
        raise NotImplementedError

    def put(self, shared: Any) -> Any:
        """Hands over what all units of a task need; what ``submit`` gets of it."""
        return shared

    def submit(self, shared: Any, unit: bytes, memory: int, guarded: bool) -> Any:
        """Hands out a unit without waiting; something to know it by."""
        raise NotImplementedError

    def ready(self, out: Sequence[Any], seconds: float) -> Iterable[Any]:
        """Which of the units that are out have come back, waiting at most so long for the first."""
        raise NotImplementedError

    def result(self, handle: Any) -> tuple[str, Any]:
        """What became of a unit that came back: what ``work`` gave, or ``lost`` and why."""
        raise NotImplementedError

    def cancel(self, handle: Any) -> None:
        """Stops a unit, if that is possible."""

    # What the native half calls.

    def _share(self, digest: str, task: bytes, functions: list[Any], score: Any) -> None:
        known = pickled((functions, score)) if functions or score is not None else b""
        self._shared = self.put((digest, task, known))

    def _exchange(
        self, units: list[tuple[int, bytes, int, bool]], dropped: list[int], seconds: float
    ) -> list[tuple[int, str, Any]]:
        for number in dropped:
            if (handle := self._out.pop(number, None)) is not None:
                self.cancel(handle)
        told: list[tuple[int, str, Any]] = []
        for number, unit, memory, guarded in units:
            try:
                self._out[number] = self.submit(self._shared, unit, memory, guarded)
            except BrokenExecutor as error:
                told.append((number, "lost", str(error)))
        if not self._out:
            if not told:
                time.sleep(seconds)
            return told
        numbers = {id(handle): number for number, handle in self._out.items()}
        for handle in self.ready(list(self._out.values()), 0.0 if told else seconds):
            number = numbers[id(handle)]
            del self._out[number]
            told.append((number, *self.result(handle)))
        return told

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}()"


class Futures(Executor):
    """Workers of a pool of ``concurrent.futures``, such as processes of this machine or of MPI (``mpi4py.futures``).

    :param pool: The pool, or a function that makes one. A pool of processes is of no use once one of them has died: with a
        function it is made again, and without one the search ends.
    :param workers: Units that can be computed at a time, where the pool does not say.
    """

    def __init__(
        self,
        pool: concurrent.futures.Executor | Callable[[], concurrent.futures.Executor],
        *,
        workers: int | None = None,
        threads: int = 1,
        unit_seconds: float = 5.0,
        time_limit: float | None = None,
    ) -> None:
        super().__init__(threads=threads, unit_seconds=unit_seconds, time_limit=time_limit)
        self._make = pool if callable(pool) else None
        self._pool: Any = pool() if callable(pool) else pool
        self._workers = workers or getattr(self._pool, "_max_workers", None)
        if self._workers is None:
            raise errors.OptionError("workers: is missing: the pool does not say how many it has")

    def slots(self) -> int:
        return int(self._workers or 0)

    def _broken(self, error: BaseException) -> None:
        if self._make is None:
            message = f"pool: is broken ({error}): give a function that makes it, so that it can be made again"
            raise errors.OptionError(message) from error
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._make()

    def submit(self, shared: Any, unit: bytes, memory: int, guarded: bool) -> Any:
        try:
            return self._pool.submit(self.work, shared, unit, self.threads, guarded)
        except BrokenExecutor as error:
            self._broken(error)
            return self._pool.submit(self.work, shared, unit, self.threads, guarded)

    def ready(self, out: Sequence[Any], seconds: float) -> Iterable[Any]:
        return wait(out, timeout=seconds, return_when=FIRST_COMPLETED).done

    def result(self, handle: Any) -> tuple[str, Any]:
        try:
            told: tuple[str, Any] = handle.result()
            return told
        except (BrokenExecutor, CancelledError) as error:
            if self._make is None:
                self._broken(error)
            return "lost", str(error) or type(error).__name__
        except Exception as error:
            return "refused", f"{type(error).__name__}: {error}"

    def cancel(self, handle: Any) -> None:
        handle.cancel()
