"""What a Ray cluster costs, as docs/scale.md prints it: python scale_ray.py [units] [workers] [million]

Needs a release build. The cluster is on this machine; its workers run at the usual priority, since Ray lowers it otherwise.
"""

import contextlib
import os
import sys
import time

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_worker_niceness"] = "0"
import foretell as ft
import psutil
import ray
from campaign_ray import SPACE


def joined(cores):
    ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level="error")


def timed(**options):
    """A search: seconds, CPU seconds of the driver, what was told last, the study."""
    told = []
    cpu, start = time.process_time(), time.perf_counter()
    study = ft.search(progress=told.append, **options)
    return time.perf_counter() - start, time.process_time() - cpu, told[-1], study


def units():
    """The driver's share: units of one candidate, and units of thousands, of a score that takes no time."""
    joined(2)
    shape = dict(space="gpt2", proxy="params", seeds=1)
    timed(**shape, searcher="random[batch=100]", budget=100, executor=ft.ray.Executor())
    seconds, cpu, told, _ = timed(
        **shape, searcher="random[batch=2000]", budget=2000, executor=ft.ray.Executor(unit_seconds=1e-9)
    )
    count = told["workers"]["units"]
    print(f"units of one candidate: {count} units, {1e3 * seconds / count:.2f} ms each, {1e3 * cpu / count:.2f} ms of the driver's CPU")
    for budget, batch in [(100_000, 100_000), (100_000, 10_000), (20_000, 1000)]:
        options = dict(**shape, searcher=f"random[batch={batch}]", budget=budget)
        alone, *_ = timed(**options)
        seconds, cpu, told, _ = timed(**options, executor=ft.ray.Executor())
        count = told["workers"]["units"]
        print(
            f"generations of {batch}: {budget / seconds:.0f} candidates/s in {count} units "
            f"({budget / alone:.0f}/s by threads), {1e3 * cpu / budget:.3f} ms of the driver's CPU each",
            flush=True,
        )
    ray.shutdown()


def spent():
    """CPU seconds of this process and of the workers that it has."""
    total = time.process_time()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::"):
                total += sum(process.cpu_times()[:2])
    return total


def workers():
    """Threads against workers, interleaved: seconds, and CPU seconds of all that compute."""
    options = dict(space=SPACE, proxy="snip[batch=4]", searcher="random[batch=400]", budget=400, seeds=1)
    rows = {}
    for _ in range(3):
        for count in (1, 2, 4):
            if count <= 2:
                seconds, cpu, _, study = timed(**options, threads=count)
                rows.setdefault(f"{count} threads", []).append((seconds, cpu))
            joined(count)
            executor = ft.ray.Executor()
            warm = dict(options, budget=8 * count, searcher=f"random[batch={8 * count}]", seed=1)
            ft.search(executor=executor, **warm)
            before = spent()
            seconds, driver, _, there = timed(**options, executor=executor)
            cpu = spent() - before
            assert there.hash == study.hash
            rows.setdefault(f"{count} workers", []).append((seconds, cpu))
            rows.setdefault(f"{count} workers, driver alone", []).append((seconds, driver))
            ray.shutdown()
    for name, found in rows.items():
        wall, cpu = (sorted(values)[1] for values in zip(*found))
        print(f"{name}: {wall:.1f} s, {cpu:.1f} s of CPU; all: {[(round(a, 1), round(b, 1)) for a, b in found]}", flush=True)


def million():
    """Memory of the driver on the way to a million candidates."""
    joined(2)
    process, seen = psutil.Process(), []

    def note(told):
        done = told["scored"] // 100_000
        if done >= len(seen):
            seen.append(process.memory_info().rss >> 20)

    start = time.perf_counter()
    options = dict(space="gpt2", proxy="params", seeds=1, searcher="random[batch=10000]", budget=1_000_000)
    ft.search(executor=ft.ray.Executor(), progress=note, **options)
    seconds = time.perf_counter() - start
    print(f"a million candidates by Ray in {seconds:.0f} s; MB of the driver at each tenth: {seen}", flush=True)
    ray.shutdown()
    seen.clear()
    ft.search(progress=note, **options)
    print(f"the same by threads, after it in one process: {seen}", flush=True)


if __name__ == "__main__":
    for case in (units, workers, million):
        if not sys.argv[1:] or case.__name__ in sys.argv[1:]:
            case()
