"""Scores by a Dask cluster.

>>> from dask.distributed import Client
>>> study = ft.search("gpt2", executor=ft.dask.Executor(Client("tcp://…")))   # doctest: +SKIP
"""

from __future__ import annotations

from foretell import executors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

__all__ = ["Executor"]


class Executor(executors.Executor):
    """Workers of a Dask cluster. Its scheduler repeats a unit whose worker died three times before the search is told.

    :param client: A client that is connected to the cluster.
    """

    def __init__(
        self, client: Any, *, threads: int = 1, unit_seconds: float = 5.0, time_limit: float | None = None
    ) -> None:
        super().__init__(threads=threads, unit_seconds=unit_seconds, time_limit=time_limit)
        self._client = client

    def slots(self) -> int:
        return int(sum(self._client.nthreads().values())) // self.threads

    def put(self, shared: Any) -> Any:
        return self._client.scatter([shared], broadcast=True, hash=False)[0]

    def submit(self, shared: Any, unit: bytes, memory: int, guarded: bool) -> Any:
        return self._client.submit(self.work, shared, unit, self.threads, guarded, pure=False)

    def ready(self, out: Sequence[Any], seconds: float) -> Iterable[Any]:
        import distributed  # type: ignore[import-not-found, import-untyped, unused-ignore]

        wait: Any = distributed.wait
        try:
            done: Iterable[Any] = wait(out, timeout=seconds, return_when="FIRST_COMPLETED").done
        except distributed.TimeoutError:
            return []
        return done

    def result(self, handle: Any) -> tuple[str, Any]:
        from distributed import KilledWorker  # type: ignore[import-not-found, import-untyped, unused-ignore]

        if handle.status in ("lost", "cancelled"):
            return "lost", f"Dask: {handle.status}"
        try:
            told: tuple[str, Any] = handle.result()
            return told
        except KilledWorker as error:
            return "lost", f"KilledWorker: {error}"
        except Exception as error:
            return "refused", f"{type(error).__name__}: {error}"

    def cancel(self, handle: Any) -> None:
        handle.cancel(force=True)
