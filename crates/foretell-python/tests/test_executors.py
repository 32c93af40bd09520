"""The same study by threads, processes and Dask; what happens to workers is in test_ray.py."""

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import foretell as ft
import pytest
from foretell import _work, errors

SEARCH = dict(proxy="snip[batch=2]", searcher="random", budget=16, seeds=1)


def crashing(shared, unit, threads, guarded):
    """Ends the worker if the unit holds the sixth candidate, and the guarded child, too."""
    if b'"index":5,' in unit:
        if guarded:
            from foretell import _native

            return "reply", _native.crashed(shared[1], unit, "signal SIGSEGV")
        faulthandler.disable()
        os.kill(os.getpid(), signal.SIGSEGV)
    return _work.work(shared, unit, threads, guarded)


def size(network):
    return network.params


@pytest.fixture(scope="module")
def alone():
    from conftest import TINY

    return ft.search(TINY, **SEARCH)


def test_processes_and_threads_give_the_same_study(tiny, alone):
    told = []
    with ProcessPoolExecutor(2) as pool:
        executor = ft.executors.Futures(pool, unit_seconds=0.05)
        study = ft.search(tiny, executor=executor, progress=told.append, **SEARCH)
    assert study.hash == alone.hash
    assert told[-1]["workers"]["slots"] == 2 and told[-1]["workers"]["units"] > 1
    with ThreadPoolExecutor(2) as pool:
        assert ft.search(tiny, executor=ft.executors.Futures(pool), **SEARCH).hash == alone.hash


def test_functions_travel(tiny):
    alone = ft.search(tiny, proxy=size, searcher="random", budget=12)
    with ProcessPoolExecutor(2) as pool:
        assert ft.search(tiny, proxy=size, searcher="random", budget=12, executor=ft.executors.Futures(pool)).hash == alone.hash


def test_scores_and_benchmarks(tiny):
    networks = ft.sample(tiny, 6)
    with ProcessPoolExecutor(2) as pool:
        executor = ft.executors.Futures(pool)
        assert ft.score(networks, proxies="nsc,snip", executor=executor) == ft.score(networks, proxies="nsc,snip")
        names = ft.benchmarks()
        there, here = (ft.bench(names[0], proxies="nsc", limit=12, executor=who) for who in (executor, None))
    for row in there["proxies"] + here["proxies"]:
        row.pop("seconds_per_architecture")
    assert there == here


def test_a_candidate_that_crashes_its_worker_fails_alone(tiny):
    executor = ft.executors.Futures(lambda: ProcessPoolExecutor(2), unit_seconds=0.05)
    executor.work = crashing
    told = []
    study = ft.search(tiny, executor=executor, progress=told.append, **SEARCH)
    assert (len(study), study.failed, told[-1]["workers"]["crashed"]) == (16, 1, 1)


def test_a_pool_that_breaks_is_named(tiny):
    with ProcessPoolExecutor(2) as pool:
        executor = ft.executors.Futures(pool)
        executor.work = crashing
        with pytest.raises(errors.OptionError, match="pool: is broken"):
            ft.search(tiny, executor=executor, **SEARCH)


def test_the_guard_tells_crashes_from_kills(monkeypatch):
    shared, unit = _captured()
    assert _work.work(shared, unit, 1, True)[0] == "reply"
    # A child that ends by a signal of its own is a crash; one that somebody kills is not.
    for ended, kind in [("SIGSEGV", "reply"), ("SIGABRT", "reply"), ("SIGKILL", "lost")]:
        script = f"import os, signal; os.kill(os.getpid(), signal.{ended})"
        real = _work.subprocess.run
        monkeypatch.setattr(_work.subprocess, "run", lambda command, **o: real([command[0], "-c", script], **o))
        told, said = _work.work(shared, unit, 1, True)
        monkeypatch.undo()
        assert told == kind and (kind == "reply" or said == f"signal {ended}")
        assert kind == "lost" or b'"kind":"crashed"' in said and ended.encode() in said


def test_another_release_is_refused_by_name(tiny):
    executor = Captured()
    executor.change = lambda unit: unit.replace(f'"version":"{ft.__version__}"'.encode(), b'"version":"9.9.9"')
    with pytest.raises(errors.OptionError, match=f"worker on .* has foretell {ft.__version__} .* 9.9.9"):
        ft.search(tiny, executor=executor, **SEARCH)


def test_dask(tiny, alone):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            executor = ft.dask.Executor(client, unit_seconds=0.05)
            assert ft.search(tiny, executor=executor, **SEARCH).hash == alone.hash


class Captured(ft.executors.Executor):
    """Computes on the calling thread and keeps the first unit."""

    first = None
    change = staticmethod(lambda unit: unit)

    def slots(self):
        return 1

    def submit(self, shared, unit, memory, guarded):
        self.first = self.first or (shared, unit)
        return [_work.work(shared, self.change(unit), 1, guarded)]

    def ready(self, out, seconds):
        return out

    def result(self, handle):
        return handle[0]


def _captured():
    from conftest import TINY

    executor = Captured()
    ft.search(TINY, executor=executor, **SEARCH)
    return executor.first


def slow(network):
    import time

    time.sleep(0.2)
    return network.params


def test_a_second_driver_is_named_within_seconds(tiny, tmp_path):
    script = (
        "import test_executors as t, conftest, foretell as ft; from concurrent.futures import ProcessPoolExecutor as P;"
        f"ft.search(conftest.TINY, proxy=t.slow, searcher='random', budget=20, store={str(tmp_path / 's.db')!r}, "
        "executor=ft.executors.Futures(P(1)))"
    )
    first = subprocess.Popen([sys.executable, "-c", script], cwd=os.path.dirname(__file__))
    found = []
    while not found and first.poll() is None:
        time.sleep(0.05)
        with contextlib.suppress(errors.ReadError, errors.StoreError):  # It may be half made.
            found = ft.studies(tmp_path / "s.db")
    start = time.monotonic()
    with ThreadPoolExecutor(1) as pool, pytest.raises(errors.BusyError, match=f"being written by process {first.pid}"):
        options = dict(proxy=slow, searcher="random", budget=20, store=tmp_path / "s.db")
        ft.search(tiny, executor=ft.executors.Futures(pool), **options)
    assert time.monotonic() - start < 5
    assert first.wait() == 0 and len(ft.open_study(tmp_path / "s.db")) == 20


def module(trial):
    import torch

    width = trial.suggest_int("width", 8, 32, step=8)
    return torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.GELU(), torch.nn.Linear(width, 3))


def test_modules_of_torch_travel():
    torch = pytest.importorskip("torch")
    batch = torch.ones(2, 4), torch.tensor([0, 1])
    options = dict(proxy="snip", batch=batch, searcher="random", budget=4, seeds=1)
    with ThreadPoolExecutor(1) as pool:
        there = ft.search(ft.torch.Space(module), executor=ft.executors.Futures(pool), **options)
    here = ft.search(ft.torch.Space(module), **options)
    assert (there.hash, there.failed) == (here.hash, 0)


def test_what_only_this_process_knows_is_refused(tiny):
    model = ft.predict.Predictor().fit(ft.sample(tiny, 8), range(8))
    with ThreadPoolExecutor(1) as pool, pytest.raises(errors.OptionError, match="known to this process only"):
        ft.search(tiny, proxy=model, searcher="random", budget=4, executor=ft.executors.Futures(pool))
