"""Studies on a real Ray cluster of several nodes on this machine. campaign_ray.py does the same at length."""

import json
import os
import pathlib
import signal
import threading
import time

import foretell as ft
import pytest
from foretell import _work, errors

ray = pytest.importorskip("ray")

SEARCH = dict(proxy="snip[batch=2]", searcher="random", budget=24, seeds=1)


def once(folder, name):
    """Whether this is the first call with this name on the machine."""
    try:
        os.close(os.open(pathlib.Path(folder) / name, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def noted(folder, unit):
    """Notes that a unit was computed: one file for each candidate and time. The first place is left out, since networks that
    are only timed have it, too."""
    for item in json.loads(unit)["items"]:
        if item["index"] > 0:
            next(nth for nth in range(9) if once(folder, f"scored-{item['index']}-{nth}"))


def third_time(folder):
    return [file.name for file in pathlib.Path(folder).iterdir() if file.name.startswith("scored-") and file.name.endswith("-2")]


def faulty(folder, what, node=None):
    """What workers run: the usual, but for one unit that befalls something, or for all of a node."""

    def work(shared, unit, threads, guarded):
        chosen = b'"index":7,' in unit
        if chosen and what == "crash":
            if guarded:
                from foretell import _native

                return "reply", _native.crashed(shared[1], unit, "signal SIGSEGV")
            os.kill(os.getpid(), signal.SIGSEGV)
        if node == ray.get_runtime_context().get_node_id():
            once(folder, "there")
            time.sleep(600)
        told = _work.work(shared, unit, threads, guarded)
        noted(folder, unit)
        if chosen and what == "kill" and once(folder, "killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if chosen and what == "hang" and once(folder, "hung"):
            time.sleep(600)
        return told

    return work


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    # A node that is gone is noticed within seconds.
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 2}
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": quick}
    made = Cluster(initialize_head=True, head_node_args=head)
    made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def alone():
    from conftest import TINY

    return ft.search(TINY, **SEARCH)


def searched(work=None, **options):
    from conftest import TINY

    kind = type("Tried", (ft.ray.Executor,), {"work": staticmethod(work)}) if work else ft.ray.Executor
    executor = kind(unit_seconds=0.05, **options)
    told = []
    study = ft.search(TINY, executor=executor, progress=told.append, **SEARCH)
    return study, told[-1]["workers"]


def test_the_same_study_on_two_nodes(cluster, alone):
    study, workers = searched()
    assert study.hash == alone.hash
    assert (workers["slots"], workers["lost"]) == (2, 0) and workers["units"] > 2


@pytest.mark.parametrize("what", ["kill", "hang"])
def test_a_worker_that_dies_or_hangs_costs_time_only(cluster, alone, tmp_path, what):
    study, workers = searched(faulty(tmp_path, what), time_limit=4.0 if what == "hang" else None)
    assert (study.hash, study.failed) == (alone.hash, 0)
    assert workers["lost" if what == "kill" else "hung"] == 1 and workers["news"]
    assert not third_time(tmp_path)


def test_a_candidate_that_crashes_every_worker_fails_alone(cluster, tmp_path):
    study, workers = searched(faulty(tmp_path, "crash"))
    assert (len(study), study.failed, workers["crashed"], workers["lost"]) == (24, 1, 1, 1)
    assert not third_time(tmp_path)


def test_a_node_that_is_lost_costs_time_only(cluster, alone, tmp_path):
    node = cluster.add_node(num_cpus=2)

    def leave():
        while not (tmp_path / "there").exists():
            time.sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)

    leaving = threading.Thread(target=leave)
    leaving.start()
    study, workers = searched(faulty(tmp_path, "node", node.node_id))
    leaving.join()
    assert (study.hash, study.failed) == (alone.hash, 0) and workers["lost"] > 0
    assert not third_time(tmp_path)


def test_memory_that_no_machine_has_is_named(cluster):
    with pytest.raises(errors.OutOfMemoryError, match="the largest machine of the cluster has"):
        searched(memory=1 << 50)


def test_an_address_where_nobody_answers_is_named_within_seconds():
    script = "import foretell as ft; ft.ray.Executor('127.0.0.1:1')"
    import subprocess
    import sys

    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "no Ray cluster answers at 127.0.0.1:1" in done.stderr.splitlines()[-1]
    assert time.monotonic() - start < 15


def test_the_command_line_searches_on_the_cluster(cluster, cli, failing, tmp_path):
    search = ["search", "--space", "gpt2", "--max-params", "20M", "--algorithm", "random", "--budget", "40"]
    there = cli(*search, "--on-ray", cluster.address, "--store", tmp_path / "there.db")
    assert there["hash"] == cli(*search, "--store", tmp_path / "here.db")["hash"]
    refused = failing(*search, "--on-ray", "127.0.0.1:1", "--store", tmp_path / "none.db")
    assert "no Ray cluster answers at 127.0.0.1:1" in refused["message"]
    assert not (tmp_path / "none.db").exists()
