"""Shared mistakes and confusions on 10 million annotations, against reading the annotations once; and their memory.

2 million tasks, 500 workers, 10 classes, 5 labels a task. The floor is NumPy summing each of the three index arrays.
Claims: `shared_mistakes` and `worker_confusion` each under 10 times the floor, peak memory under 3 times the
annotations' own size (three int32 arrays). Times are medians of calls made in turns; memory is that of fresh
processes, which load the compiled loops first.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import crowdcore as cc
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate import large

TIME_BOUND, MEMORY_BOUND, REPEATS = 10.0, 3.0, 9

STATISTICS: dict[str, Callable[[CrowdDataset], object]] = {
    "shared_mistakes": lambda ds: cc.analysis.shared_mistakes(ds, "gold"),
    "shared_mistakes, no test": lambda ds: cc.analysis.shared_mistakes(ds, "gold", significance=False),
    "worker_confusion": lambda ds: cc.analysis.worker_confusion(ds, "gold"),
}
OTHERS: dict[str, Callable[[CrowdDataset], object]] = {
    "shared_mistakes, soft": lambda ds: cc.analysis.shared_mistakes(ds, "majority-vote"),
    "noise_rates": lambda ds: cc.analysis.noise_rates(ds, "gold"),
    "summary": lambda ds: cc.analysis.summary(ds, "gold"),
    "agreement, 1000 resamples": lambda ds: cc.analysis.agreement(ds, pairs=False),
}


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def read_once(dataset: CrowdDataset) -> int:
    return int(dataset.task.sum() + dataset.worker.sum() + dataset.label.sum())


def peak_mib(name: str) -> float:
    command = [sys.executable, "-m", "benchmarks.statistics", name]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    dataset = large()
    own = sum(part.nbytes for part in (dataset.task, dataset.worker, dataset.label)) / 2**20
    for action in (STATISTICS | OTHERS).values():
        action(dataset)  # loads the compiled loops
    floors, times = [], {name: [] for name in STATISTICS}
    for _ in range(REPEATS):
        floors.append(seconds(lambda: read_once(dataset)))
        for name, action in STATISTICS.items():
            times[name].append(seconds(lambda action=action: action(dataset)))
    floor = statistics.median(floors)
    print(f"{dataset.n_annotations:,} annotations, {own:.0f} MiB; NumPy reads them once in {1000 * floor:.1f} ms")
    for name, timing in times.items():
        median = statistics.median(timing)
        ratio, peak = median / floor, peak_mib(name)
        met = "met" if ratio < TIME_BOUND and peak < MEMORY_BOUND * own else "NOT met"
        print(
            f"  {name:25} {1000 * median:6.0f} ms = {ratio:5.2f} x floor (claim < {TIME_BOUND:g}), "
            f"peak {peak:4.0f} MiB = {peak / own:.2f} x annotations (claim < {MEMORY_BOUND:g}): {met}"
        )
    print("  without a claim:")
    for name, action in OTHERS.items():
        print(f"  {name:25} {seconds(lambda action=action: action(dataset)):6.2f} s")


def report_peak(name: str) -> None:
    """Print the peak of resident memory during one call, above that before it."""
    dataset = large()
    STATISTICS[name](dataset)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak of making the data
    before = memory("VmRSS")
    STATISTICS[name](dataset)
    print(memory("VmHWM") - before)


def memory(kind: str) -> float:
    """MiB of this process, from the kernel."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(kind)) / 1024


if __name__ == "__main__":
    report_peak(sys.argv[1]) if len(sys.argv) == 2 else main()
