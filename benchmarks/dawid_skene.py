"""Dawid–Skene, one-coin and GLAD against crowd-kit, against the loop's own floor, and in memory.

``python -m benchmarks.dawid_skene [annotations ...]``: default 10⁶ and 10⁷ annotations, 10 classes, 500 workers,
5 labels per task. Everything is measured in this run. The floor is a compiled loop on the same cores in the same
number type that only gathers the rows of log probabilities and takes the exponentials. peerannot is left out: it
needs torch, and its Dawid–Skene is dense in tasks x workers x classes (8 GB at 10⁶ annotations).
"""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd

import crowdcore as cc
from crowdcore.aggregation import AggregationResult
from crowdcore.core.compiled import LARGE, n_ranges, run_ranges
from crowdcore.core.em import LabelTable, em_step
from crowdcore.data.simulate import large

ITERATIONS = 7


def seconds(call: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Median wall time of a call, and its last value."""
    taken, value = [], None
    for _ in range(repeats):
        began = time.perf_counter()
        value = call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), value


@numba.njit(nogil=True, fastmath=True)
def gather_and_exp(first, last, task_start, cell, rows, prior, out):
    joint = np.empty(len(prior))
    for i in range(first, last):
        joint[:] = prior
        j = task_start[i]
        while j + 4 <= task_start[i + 1]:
            for c in range(len(prior)):
                joint[c] += rows[cell[j], c] + rows[cell[j + 1], c] + (rows[cell[j + 2], c] + rows[cell[j + 3], c])
            j += 4
        while j < task_start[i + 1]:
            for c in range(len(prior)):
                joint[c] += rows[cell[j], c]
            j += 1
        for c in range(len(prior)):
            out[i, c] = math.exp(joint[c])


def per_iteration(dataset: cc.CrowdDataset, result: AggregationResult) -> tuple[float, float]:
    """Median seconds of the floor and of one EM step, measured in turns."""
    table = LabelTable.of(dataset.task_start, dataset.worker, dataset.label, dataset.n_workers, dataset.n_classes)
    rows = np.log(result.counts.transpose(0, 2, 1) + 0.01).reshape(-1, dataset.n_classes)
    rows -= (
        np.log(result.counts.sum(2)[:, None, :] + 0.01 * dataset.n_classes)
        .repeat(dataset.n_classes, 1)
        .reshape(rows.shape)
    )
    prior, out = np.log(result.prior), np.empty_like(result.posterior)
    parts = n_ranges(table.n_annotations, rows.size)

    def floor() -> None:
        run_ranges(
            table.n_tasks, parts, lambda k, a, b: gather_and_exp(a, b, table.task_start, table.cell, rows, prior, out)
        )

    floor()
    pairs = [(seconds(floor)[0], seconds(lambda: em_step(table, rows, prior, out))[0]) for _ in range(9)]
    return statistics.median(f for f, _ in pairs), statistics.median(s for _, s in pairs)


def peer(name: str, frame: pd.DataFrame) -> tuple[float, pd.DataFrame]:
    """crowd-kit's wall time and class probabilities after the same number of iterations."""
    from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene

    model = {"dawid-skene": DawidSkene, "one-coin": OneCoinDawidSkene}[name](n_iter=ITERATIONS, tol=-np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return seconds(lambda: model.fit(frame).probas_)


def peak_memory(n_annotations: int) -> tuple[float, float]:
    """Peak memory in MB of a fit in a fresh process above its imports, and of annotations + posterior."""
    command = [sys.executable, "-m", "benchmarks.dawid_skene", "--memory", str(n_annotations)]
    above, data = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(above), float(data)


def cheap_crowd(n_annotations: int) -> cc.CrowdDataset:
    """Random labels made without temporary arrays, which would raise the measured peak."""
    rng = np.random.default_rng(0)
    task = np.arange(n_annotations, dtype=np.int32)
    task //= 5
    worker, label = (rng.integers(high, size=n_annotations, dtype=np.int32) for high in (500, 10))
    return cc.CrowdDataset(
        "cheap", tuple("abcdefghij"), pd.RangeIndex(n_annotations // 5), pd.RangeIndex(500), task, worker, label
    )


def peak_kilobytes() -> int:
    """Highest resident memory of this process (Linux; ``ru_maxrss`` would start at the parent's)."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def measure_memory(n_annotations: int) -> None:
    """Print the two numbers that `peak_memory` reads."""
    model = cc.aggregation.get("dawid-skene", max_iterations=2)
    model.fit(cheap_crowd(LARGE // 10))  # imports and compiled loops
    before = peak_kilobytes()
    result = model.fit(cheap_crowd(n_annotations))
    above = peak_kilobytes() - before
    print(above / 1024, (12 * n_annotations + result.posterior.nbytes) / 1024**2)


def verdict(claim: str, bound: float, measured: float, least: bool) -> None:
    met = measured >= bound if least else measured <= bound
    print(
        f"  {claim}: claimed {'≥' if least else '≤'} {bound:g}, measured {measured:.2f}: {'met' if met else 'NOT MET'}"
    )


def compare(n_annotations: int) -> None:
    """Print times, equality, floor and memory for one size."""
    dataset = large(n_tasks=n_annotations // 5)
    frame = pd.DataFrame({k: dataset.annotations[k].astype(str) for k in ("task", "worker", "label")})
    print(
        f"\n{n_annotations:.0e} annotations, {dataset.n_workers} workers, {dataset.n_classes} classes, "
        f"{ITERATIONS} iterations"
    )
    for name, bound in (("dawid-skene", 40.0), ("one-coin", 100.0)):
        model = cc.aggregation.get(name, smoothing=0, tolerance=0, max_iterations=ITERATIONS)
        model.fit(dataset)
        opened, result = seconds(lambda model=model: model.fit(dataset), 5)
        strings, from_strings = seconds(lambda model=model: model.fit(cc.from_frame(frame)), 3)
        theirs, probabilities = peer(name, frame)
        expected = probabilities.loc[dataset.task_ids, list(dataset.classes)].to_numpy()
        difference = np.abs(result.posterior - expected).max()
        print(
            f"  {name}: crowd-kit {theirs:.1f} s, ours {opened:.3f} s opened, {strings:.2f} s from strings; "
            f"largest difference of a posterior {difference:.1e}"
        )
        assert len(result.log_likelihood) == len(from_strings.log_likelihood) == ITERATIONS
        verdict("same posterior", 1e-6, difference, False)
        verdict("times crowd-kit, opened dataset", bound, theirs / opened, True)
        if name == "dawid-skene":
            verdict("times crowd-kit, from strings", 20, theirs / strings, True)
            floor, step = per_iteration(dataset, result)
            print(
                f"  one iteration {step * 1e3:.1f} ms, gathering log rows and exponentials alone {floor * 1e3:.1f} ms"
            )
            verdict("times the floor, one iteration", 2, step / floor, False)
            verdict("times the floor, whole fit", 2, opened / ITERATIONS / floor, False)
    above, data = peak_memory(n_annotations)
    print(f"  peak memory {above:.0f} MB above the imports; annotations and posterior {data:.0f} MB")
    verdict("times annotations + posterior", 2, above / data, False)


def compare_glad(n_annotations: int = 10_000, iterations: int = 2) -> None:
    """Ours until it converges against so few iterations of crowd-kit's, which needs 15 s for one at 10⁵."""
    from crowdkit.aggregation import GLAD

    dataset = large(n_tasks=n_annotations // 5, n_workers=100)
    frame = dataset.annotations.astype(str)
    ours, result = seconds(lambda: cc.aggregation.get("glad").fit(dataset), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _ = seconds(lambda: GLAD(n_iter=iterations, tol=-np.inf).fit(frame))
    print(
        f"\n{n_annotations:.0e} annotations, 100 workers\n  glad: crowd-kit {theirs:.1f} s for {iterations} rounds, "
        f"ours {ours:.3f} s for all {len(result.log_likelihood)}"
    )
    verdict("times crowd-kit (a lower bound)", 100, theirs / ours, True)


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        return measure_memory(int(sys.argv[2]))
    for size in sys.argv[1:] or ["1e6", "1e7"]:
        compare(int(float(size)))
    compare_glad()
    return None


if __name__ == "__main__":
    main()
