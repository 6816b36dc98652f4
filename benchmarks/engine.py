"""Claims: two minutes after the last run nothing of the engine is left, and Dask alone would not keep its queue.

Memory is each process's share (PSS), summed over the engine, its worker, the forkserver and a training process. The
queue: four tasks of eight seconds for the one slot of a worker; as soon as they wait, a second worker joins.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from distributed import Client, Nanny, Scheduler, SpecCluster, get_worker

from crowdcore import runs
from testkit.on_engine import processes, spec, until, workspace_at

LOOKS = (5, 60, 120)  # seconds after the run
SECONDS, TASKS = 8.0, 4
CONCLUDING = 8  # threads that our workers have beside their slots


def megabytes(workspace: runs.Workspace) -> list[int]:
    """Memory of each living process."""
    sizes = []
    for pid in processes(workspace):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        sizes += [round(int(line.split()[1]) / 1024) for line in lines if line.startswith("Pss:")]
    return sizes


def measure_memory() -> bool:
    """Print the processes left after a run; return whether they end at most 200 MB and two processes."""
    with tempfile.TemporaryDirectory() as folder, workspace_at(Path(folder)) as workspace:
        run = runs.submit(spec(150), workspace=workspace)
        until(lambda: runs.get_run(run.id, workspace=workspace).epoch > 5, 200, "it trains")
        print(f"while it trains: {megabytes(workspace)} MB")
        until(lambda: runs.get_run(run.id, workspace=workspace).has_ended, 200, "it has ended")
        end = time.monotonic()
        for seconds in LOOKS:
            time.sleep(max(0.0, end + seconds - time.monotonic()))
            left = megabytes(workspace)
            print(f"{seconds} s after it: {sum(left)} MB in {len(left)} processes")
    return len(left) <= 2 and sum(left) <= 200


def task(number: int) -> tuple[float, int, str]:
    """Begin, number and worker of a task."""
    began = time.time()
    time.sleep(SECONDS)
    return began, number, str(get_worker().name)


def measure_queue(threads: int) -> None:
    """Print when and where tasks begin that wait for the slot of a worker with so many threads."""
    make: Any = SpecCluster
    one = {"cls": Nanny, "options": {"nthreads": threads, "resources": {"slot": 1}, "dashboard": False}}
    cluster = make(scheduler={"cls": Scheduler, "options": {"dashboard": False}}, workers={"first": one})
    with cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(1)
        start = time.time()
        waiting = [client.submit(task, k, resources={"slot": 1}) for k in range(TASKS)]
        cluster.worker_spec["second"] = one
        cluster.sync(cluster._correct_state)
        client.wait_for_workers(2)
        joined = time.time() - start
        began = sorted(future.result() for future in waiting)
    order = ", ".join(f"task {number} on the {worker} after {at - start:.0f} s" for at, number, worker in began)
    print(f"{threads} threads, the second worker after {joined:.0f} s: {order}")


if __name__ == "__main__":
    for threads in (1, 1 + CONCLUDING):
        measure_queue(threads)
    sys.exit(not measure_memory())
