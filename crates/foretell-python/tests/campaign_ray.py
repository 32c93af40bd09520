"""Faults of a Ray cluster at length: python campaign_ray.py [CASE …]

A cluster of several nodes on this machine runs one study again and again while workers are killed, nodes and heads vanish,
drivers die and memory is full. Every time the hash must be that of the undisturbed study, and no candidate may be scored a
third time. It prints one line for each case. ``KILLS`` sets the number of killed workers (100).
"""

import contextlib
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_worker_niceness"] = "0"
import foretell as ft
import psutil
import ray
from foretell import _work
from ray.cluster_utils import Cluster

KILLS = int(os.environ.get("KILLS", "100"))
SPACE = {
    "name": "campaign",
    "family": "gpt2",
    "fixed": {"vocab_size": 257, "context_len": 128, "cutoffs": []},
    "choices": {"n_layer": [2, 3, 4], "d_model": [64, 128, 192], "n_head": [2, 4], "d_inner": [64, 128, 192, 256, 320, 384]},
}
SEARCH = dict(proxy="snip[batch=4]", searcher="random", budget=400, seeds=1)
QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}


def counted(folder):
    """What workers run: the usual, with a note of every candidate that was scored."""

    def work(shared, unit, threads, guarded):
        told = _work.work(shared, unit, threads, guarded)
        if told[0] == "reply":
            for item in json.loads(unit)["items"]:
                name = hashlib.sha1(json.dumps(item["architecture"]).encode()).hexdigest()
                with open(pathlib.Path(folder) / name, "ab") as notes:
                    notes.write(b".")
        return told

    return work


def most_scored(folder):
    """How often the candidate was scored that was scored most often."""
    return max((file.stat().st_size for file in pathlib.Path(folder).iterdir()), default=0)


def busy():
    """Workers of this campaign that compute a unit."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.cmdline()[:1] == ["ray::foretell"]:
                found.append(process)
    return found


def search(folder, store=None, address=None, **options):
    kind = type("Counted", (ft.ray.Executor,), {"work": staticmethod(counted(folder))})
    told = []
    executor = kind(address, unit_seconds=1.0, **options)
    study = ft.search(SPACE, executor=executor, store=store, progress=told.append, **SEARCH)
    return study, told[-1]["workers"]


class Nodes:
    """A cluster with a head that computes nothing."""

    def __init__(self, nodes=2, cores=2, **head):
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": QUICK, **head},
        )
        self.nodes = [self.cluster.add_node(num_cpus=cores) for _ in range(nodes)]
        self.address = self.cluster.address

    def __enter__(self):
        ray.init(address=self.address, log_to_driver=False, logging_level="error")
        return self

    def __exit__(self, *_):
        ray.shutdown()
        self.cluster.shutdown()


def undisturbed(folder):
    with Nodes() as _:
        return search(folder)


def kills(folder):
    """Workers killed at random, until KILLS of them were at work."""
    killed, over, pick = 0, threading.Event(), random.Random(0)

    def kill():
        nonlocal killed
        while killed < KILLS and not over.is_set():
            time.sleep(pick.uniform(0.05, 0.4))
            if found := busy():
                try:
                    pick.choice(found).kill()
                    killed += 1
                except psutil.NoSuchProcess:
                    pass

    with Nodes() as _:
        killer = threading.Thread(target=kill)
        killer.start()
        study, workers = search(folder)
        over.set()
        killer.join()
    return study, {**workers, "note": f"{killed} killed"}


def node(folder):
    """One of three nodes lost without a word."""
    with Nodes(nodes=3) as nodes:

        def change():
            time.sleep(8)
            nodes.cluster.remove_node(nodes.nodes[0], allow_graceful=False)

        changing = threading.Thread(target=change)
        changing.start()
        told = search(folder)
        changing.join()
        return told


def hang(folder):
    """A worker that is stopped, neither alive nor dead."""
    stopped = []

    def stop():
        while not stopped:
            time.sleep(5)
            if found := busy():
                found[0].suspend()
                stopped.append(found[0])

    with Nodes() as _:
        stopping = threading.Thread(target=stop)
        stopping.start()
        told = search(folder, time_limit=10.0)
        stopping.join()
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            stopped[0].kill()  # Ray may have done so.
    return told


def full(folder):
    """An object store that others have filled."""
    with Nodes(object_store_memory=80 << 20) as _:
        held = []
        try:
            while True:
                held.append(ray.put(os.urandom(1 << 20), _owner=None))
                if len(held) > 400:
                    break
        except ray.exceptions.ObjectStoreFullError:
            pass
        study, workers = search(folder)
        return study, {**workers, "note": f"{len(held)} MB put by others into 80 MB"}


def drive(folder, store, address):
    """Starts a driver of its own."""
    return subprocess.Popen(
        [sys.executable, __file__, "--drive", str(folder), str(store), address], stdout=subprocess.PIPE, text=True
    )


def finish(driver, folder, store, address, before=""):
    """Waits for a driver, and starts it again as often as it dies; its study, and how often that was."""
    again = 0
    while driver.wait() != 0:
        again += 1
        if again > 5:
            raise SystemExit("the driver does not come back")
        driver = drive(folder, store, address)
    told = json.loads(driver.stdout.read().splitlines()[-1])
    return ft.open_study(store), {**told["workers"], "note": f"{before}started again {again} times"}


def driver(folder):
    """The driver killed and started again."""
    with Nodes() as nodes, tempfile.TemporaryDirectory() as place:
        store = pathlib.Path(place) / "study.db"
        first = drive(folder, store, nodes.address)
        time.sleep(15)
        first.kill()
        return finish(first, folder, store, nodes.address)


def head(folder):
    """The head killed and started again at the same address, with new nodes."""
    with tempfile.TemporaryDirectory() as place:
        store, port = pathlib.Path(place) / "study.db", 26379
        nodes = Nodes(gcs_server_port=port)
        first = drive(folder, store, nodes.address)
        time.sleep(15)
        for process in psutil.Process().children(recursive=True):
            if process.name() == "gcs_server":
                process.kill()
        start = time.monotonic()
        nodes.cluster.shutdown()
        nodes = Nodes(gcs_server_port=port)
        try:
            ended = first.wait(timeout=180)
            note = f"the driver ended with {ended} after {time.monotonic() - start:.0f} s, "
            return finish(first, folder, store, nodes.address, note)
        finally:
            nodes.cluster.shutdown()


def crash(folder):
    """A candidate that ends every process: the same failure by Ray as by a pool of processes."""
    from concurrent.futures import ProcessPoolExecutor

    options = dict(proxy=Fatal(), searcher="random", budget=60)
    pool = ft.executors.Futures(lambda: ProcessPoolExecutor(2), unit_seconds=0.05)
    here = ft.search(SPACE, executor=pool, **options)
    with Nodes() as _:
        told = []
        executor = ft.ray.Executor(unit_seconds=0.05)
        there = ft.search(SPACE, executor=executor, progress=told.append, **options)
    assert there.failed == here.failed > 0, (there.failed, here.failed)
    assert there.hash == here.hash
    return None, {**told[-1]["workers"], "note": f"{there.failed} of {len(there)} candidates crash, hash as by processes"}


class Fatal:
    """A proxy that ends the process for some networks, but not that of the driver, which counts uniform networks by itself."""

    def __init__(self):
        self.driver = os.getpid()

    def __call__(self, network):
        if os.getpid() != self.driver and int(network.id[:2], 16) < 8:
            os.kill(os.getpid(), signal.SIGSEGV)
        return network.params


CASES = [undisturbed, kills, node, hang, full, driver, head, crash]


def main(chosen):
    alone = ft.search(SPACE, **SEARCH)
    print(f"undisturbed by threads: {alone.hash}, {len(alone)} candidates", flush=True)
    print("| case | seconds | units | lost | hung | tried again | scored at most | hash | |", flush=True)
    for case in CASES:
        if chosen and case.__name__ not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            study, told = case(folder)
            seconds, most = time.monotonic() - start, most_scored(folder)
        same = study is None or study.hash == alone.hash
        print(
            f"| {case.__name__} | {seconds:.0f} | {told['units']} | {told['lost']} | {told['hung']} | {told['repeated']} | {most} "
            f"| {'equal' if same else 'DIFFERENT'} | {told.get('note', '')} |",
            flush=True,
        )
        if not same or most > 2:
            raise SystemExit(f"{case.__name__}: the study differs, or a candidate was scored {most} times")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        study, workers = search(sys.argv[2], store=sys.argv[3], address=sys.argv[4])
        print(json.dumps({"hash": study.hash, "workers": workers}))
    else:
        main(sys.argv[1:])
