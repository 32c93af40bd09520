"""Scores by a Ray cluster.

>>> study = ft.search("gpt2", executor=ft.ray.Executor("head:6379"))   # doctest: +SKIP

Every machine of the cluster needs the same release of foretell; a worker of another is refused by the name of its machine.
"""

from __future__ import annotations

import os
import socket

from foretell import errors, executors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

__all__ = ["Executor"]

#: Seconds after which an address counts as unreachable.
_REACHED = 5.0
#: Bytes that a worker takes beside the passes: the interpreter and weights that all candidates share.
_BESIDE = 256 << 20


def _ray() -> Any:
    try:
        import ray  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise errors.OptionError("executor: Ray is not installed: pip install 'foretell[ray]'") from error
    return ray


def _reach(address: str) -> None:
    """Refuses an address where nobody listens, which Ray itself takes minutes to say."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise errors.OptionError(f"address: '{address}' is no address: write HOST:PORT, ray://HOST:PORT, local or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED).close()
    except OSError as error:
        message = f"address: no Ray cluster answers at {address} ({error}): start one with 'ray start --head', or correct it"
        raise errors.OptionError(message) from error


def _connect(address: str | None, options: Mapping[str, Any]) -> Any:
    ray = _ray()
    if ray.is_initialized():
        return ray
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address not in ("auto", "local"):
        _reach(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", configure_logging=False, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise errors.OptionError(f"address: cannot join the Ray cluster at {address}: {error}") from error
    return ray


def _rounded(memory: int) -> int:
    """Bytes in few steps, since Ray keeps workers apart that ask for different amounts."""
    step = 64 << 20
    while step < memory:
        step *= 2
    return step


class Executor(executors.Executor):
    """Workers of a Ray cluster. Units ask for the memory that they were predicted to take, so that no machine gets more than
    it holds.

    :param address: ``HOST:PORT``, ``ray://HOST:PORT``, ``auto`` for the cluster that this machine belongs to, or ``local`` for one
        that is started here. By default a connection that exists, then ``RAY_ADDRESS``, then ``local``.
    :param num_cpus: Cores, and threads, of each unit.
    :param num_gpus: GPUs of each unit, for modules of torch whose batch is on one; a fraction shares it.
    :param memory: Bytes of each unit, instead of those that were predicted.
    :param options: Further arguments of ``ray.init``.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        num_cpus: int = 1,
        num_gpus: float = 0,
        memory: int | None = None,
        unit_seconds: float = 5.0,
        time_limit: float | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(threads=num_cpus, unit_seconds=unit_seconds, time_limit=time_limit)
        self.num_gpus, self.memory = num_gpus, memory
        self._ray = _connect(address, options or {})
        self._task = self._ray.remote(self.work)
        # Ray would repeat a unit by itself, and nobody would know.
        self._options = {"name": "foretell", "num_cpus": num_cpus, "num_gpus": num_gpus, "max_retries": 0}
        self._most = 0

    def slots(self) -> int:
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        self._most = max((int(node.get("memory", 0)) for node in alive), default=0)

        def fit(node: Mapping[str, float]) -> int:
            cores = int(node.get("CPU", 0) // self.threads)
            return min(cores, int(node.get("GPU", 0) / self.num_gpus)) if self.num_gpus else cores

        return sum(map(fit, alive))

    def put(self, shared: Any) -> Any:
        try:
            return self._ray.put(shared)
        except self._ray.exceptions.ObjectStoreFullError as error:
            raise errors.OutOfMemoryError(f"the object store of Ray is full: {error}") from error

    def submit(self, shared: Any, unit: bytes, memory: int, guarded: bool) -> Any:
        wanted = self.memory or _rounded(memory + _BESIDE)
        if wanted > self._most > 0:
            needed, most = wanted >> 20, self._most >> 20
            message = f"a unit needs {needed} MB of memory and the largest machine of the cluster has {most} MB: "
            raise errors.OutOfMemoryError(message + "add a larger one, or take a smaller batch")
        return self._task.options(memory=wanted, **self._options).remote(shared, unit, self.threads, guarded)

    def ready(self, out: Sequence[Any], seconds: float) -> Iterable[Any]:
        done, others = self._ray.wait(out, num_returns=1, timeout=seconds)
        if done and others:
            done += self._ray.wait(others, num_returns=len(others), timeout=0)[0]
        # Ray gives equal references back, not the same objects.
        known = {handle: handle for handle in out}
        return [known[handle] for handle in done]

    def result(self, handle: Any) -> tuple[str, Any]:
        known = self._ray.exceptions
        try:
            told: tuple[str, Any] = self._ray.get(handle)
            return told
        except known.RuntimeEnvSetupError as error:
            return "refused", str(error)
        except known.RayTaskError as error:
            return "refused", f"cannot work: {str(error.cause if error.cause else error).strip().splitlines()[-1]}"
        except known.RayError as error:
            return "lost", type(error).__name__

    def cancel(self, handle: Any) -> None:
        try:
            self._ray.cancel(handle, force=True)
        except (ValueError, self._ray.exceptions.RayError):
            pass  # It has just ended.
