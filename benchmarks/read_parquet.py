"""Reading 10 million rows of Parquet into a dataset, import checks included, against pyarrow reading the same file.

Claim: under 2 times the time pyarrow needs to read the file and dictionary-encode its three columns. The file has
2 million tasks, 500 workers, 10 classes and 5 labels per task, once grouped by task and once with shuffled rows.
Peak memory is of a fresh process each.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import crowdcore as cc

TASKS, WORKERS, CLASSES, PER_TASK = 2_000_000, 500, 10, 5
BOUND, REPEATS = 2.0, 3
COLUMNS = ["task", "worker", "label"]


def write(path: Path, shuffled: bool, tasks: int = TASKS) -> None:
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(tasks), PER_TASK)
    if shuffled:
        task = rng.permutation(task)
    names = {
        "task": (np.char.add("task-", np.char.zfill(np.arange(tasks).astype(str), 7)), task),
        "worker": ([f"w{i:03d}" for i in range(WORKERS)], rng.integers(WORKERS, size=len(task))),
        "label": ([f"class {i}" for i in range(CLASSES)], rng.integers(CLASSES, size=len(task))),
    }
    pq.write_table(pa.table({k: pa.array(v).take(pa.array(codes)) for k, (v, codes) in names.items()}), path)


def encode_after(path: Path) -> object:
    """pyarrow: read, then dictionary-encode."""
    table = pq.read_table(path, columns=COLUMNS)
    return [table[name].dictionary_encode() for name in COLUMNS]


def encode_within(path: Path) -> object:
    """pyarrow: read as dictionaries, then make them one per column."""
    return pq.read_table(path, columns=COLUMNS, read_dictionary=COLUMNS).unify_dictionaries()


WAYS: dict[str, Callable[[Path], object]] = {
    "pyarrow, encode after": encode_after,
    "pyarrow, encode within": encode_within,
    "crowdcore": cc.read_dataset,
}


def seconds(action: Callable[[Path], object], path: Path) -> float:
    start = time.perf_counter()
    action(path)
    return time.perf_counter() - start


def peak_mib(way: str, path: Path) -> float:
    """Peak resident memory that a fresh process needs beyond its imports."""
    command = [sys.executable, "-m", "benchmarks.read_parquet", way, str(path)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for shuffled in (False, True):
            path = Path(folder) / "annotations.parquet"
            write(path, shuffled)
            times: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(REPEATS):  # interleaved, so that a busy moment hits all alike
                for way, action in WAYS.items():
                    times[way].append(seconds(action, path))
            median = {way: statistics.median(timing) for way, timing in times.items()}
            print(f"10 million rows, {'shuffled' if shuffled else 'grouped by task'}:")
            for way, value in median.items():
                print(f"  {way:24} {value:6.2f} s   peak {peak_mib(way, path):6.0f} MiB")
            floor = min(median["pyarrow, encode after"], median["pyarrow, encode within"])
            ratio = median["crowdcore"] / floor
            verdict = "met" if ratio < BOUND else "NOT met"
            print(f"  claim: under {BOUND:g} times pyarrow's faster way; measured {ratio:.2f} times: {verdict}")


def report_peak(way: str, path: str) -> None:
    before = memory("VmRSS")
    WAYS[way](Path(path))
    print(memory("VmHWM") - before)


def memory(kind: str) -> float:
    """MiB of this process, from the kernel (getrusage's peak would include the parent's)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(kind)) / 1024


if __name__ == "__main__":
    report_peak(*sys.argv[1:]) if len(sys.argv) == 3 else main()
