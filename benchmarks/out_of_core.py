"""Dawid–Skene over Parquet partitions: does the cost of an iteration grow linearly beyond memory?

``python -m benchmarks.out_of_core [annotations ...]``: default 10⁶, 10⁷ and 5·10⁷ annotations in partitions of
10⁶, 10 classes, 500 workers, 5 labels per task, one process within 256 MB of annotations and posteriors. The cost
of an iteration is the median time between M-steps. Files live in a temporary folder.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import crowdcore as cc
from crowdcore.aggregation._em import ConfusionParameters
from crowdcore.aggregation.dawid_skene import DawidSkene
from crowdcore.core.em import Sums

SIZES = (1_000_000, 10_000_000, 50_000_000)
PARTITION = 1_000_000
LIMIT = 256 * 2**20
ITERATIONS = 8

m_steps: list[float] = []


class TimedDawidSkene(DawidSkene):
    def m_step(self, sums: Sums, n_workers: int, before: object = None) -> ConfusionParameters:
        m_steps.append(time.perf_counter())
        return super().m_step(sums, n_workers)


def write_partition(path: Path, first_task: int, n_annotations: int, seed: int) -> None:
    """Labels right with probability 0.7; ids are strings."""
    rng = np.random.default_rng(seed)
    n_tasks = n_annotations // 5
    gold = rng.integers(10, size=n_tasks, dtype=np.int8).repeat(5)
    label = np.where(rng.random(n_annotations) < 0.7, gold, rng.integers(10, size=n_annotations, dtype=np.int8))
    worker = rng.integers(500, size=n_annotations, dtype=np.int16)
    task = pd.RangeIndex(first_task, first_task + n_tasks).astype(str)
    columns = {
        "task": (np.arange(n_annotations, dtype=np.int32) // 5, list(task)),
        "worker": (worker, [f"w{r}" for r in range(500)]),
        "label": (label, [f"class {c}" for c in range(10)]),
    }
    arrays = {name: pa.DictionaryArray.from_arrays(pa.array(codes), names) for name, (codes, names) in columns.items()}
    pq.write_table(pa.table(arrays), path)


def measure(source: str, out: str) -> None:
    """Measure in a fresh process: seconds of the fit and of an iteration, peak memory in MB above the imports."""

    def peak() -> int:
        return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])

    before = peak()
    model = TimedDawidSkene(tolerance=0, max_iterations=ITERATIONS)
    fitted = cc.aggregation.fit_partitions(source, model, out, memory_limit=LIMIT)
    print(fitted.seconds, statistics.median(np.diff(m_steps)), (peak() - before) / 1024)


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        return measure(*sys.argv[2:])
    costs = {}
    for size in [int(float(a)) for a in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "in"
            source.mkdir()
            for k in range(size // PARTITION):
                write_partition(source / f"{k:04d}.parquet", k * PARTITION // 5, PARTITION, k)
            command = [sys.executable, "-m", "benchmarks.out_of_core", "--measure", source, Path(folder) / "out"]
            ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        whole, iteration, above = map(float, ran.stdout.split())
        costs[size] = iteration / size * 1e9
        print(
            f"{size:.0e} annotations: {ITERATIONS} iterations of {iteration:.3f} s, "
            f"{costs[size]:.1f} ns per annotation; "
            f"reading, start and writing {whole - ITERATIONS * iteration:.1f} s; "
            f"peak {above:.0f} MB above the imports (limit {LIMIT >> 20} MB)"
        )
    growth = max(costs.values()) / min(costs.values())
    met = "met" if growth <= 1.5 else "NOT MET"
    print(f"cost per annotation, largest over smallest: claimed ≤ 1.5 (linear), measured {growth:.2f}: {met}")
    return None


if __name__ == "__main__":
    main()
