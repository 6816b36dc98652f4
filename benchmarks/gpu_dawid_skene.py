"""Dawid–Skene on a GPU against the compiled loop on the CPU, whole fits and single iterations, in one run.

``python -m benchmarks.gpu_dawid_skene [annotations ...]``: default 10⁶ and 10⁷, 10 classes, 500 workers, 5 labels
per task. A GPU fit includes moving the annotations there and the posterior back.
"""

from __future__ import annotations

import statistics
import sys
import time
from importlib.util import find_spec

import numpy as np

import crowdcore as cc
from crowdcore.aggregation import AggregationResult
from crowdcore.core.compiled import cores
from crowdcore.data.simulate import large

ITERATIONS = 21


def timed(dataset: cc.CrowdDataset, device: str) -> tuple[float, float, AggregationResult]:
    """Median seconds of a fit, seconds of one iteration (from fits of two lengths), and the result."""
    taken: dict[int, float] = {}
    for iterations in (1, ITERATIONS):
        model = cc.aggregation.get("dawid-skene", tolerance=0, max_iterations=iterations, device=device)
        model.fit(dataset)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            result = model.fit(dataset)
            times.append(time.perf_counter() - began)
        taken[iterations] = statistics.median(times)
    return taken[ITERATIONS], (taken[ITERATIONS] - taken[1]) / (ITERATIONS - 1), result


def compare(n_annotations: int) -> None:
    dataset = large(n_tasks=n_annotations // 5)
    cpu, gpu = (timed(dataset, device) for device in ("cpu", "cuda"))
    difference = np.abs(cpu[2].posterior - gpu[2].posterior).max()
    print(f"\n{n_annotations:.0e} annotations, {ITERATIONS} iterations")
    print(f"  whole fit: CPU {cpu[0]:.3f} s, GPU {gpu[0]:.3f} s, ratio {cpu[0] / gpu[0]:.1f}")
    print(f"  one iteration: CPU {cpu[1] * 1e3:.2f} ms, GPU {gpu[1] * 1e3:.2f} ms, ratio {cpu[1] / gpu[1]:.1f}")
    met = "met" if difference <= 1e-6 else "NOT MET"
    print(f"  same posterior: claimed ≤ 1e-06, measured {difference:.1e}: {met}")


def main() -> None:
    if find_spec("torch") is None:
        print("torch is not installed: nothing to compare")
        return
    import torch

    if not torch.cuda.is_available():
        print("torch sees no GPU here: nothing to compare")
        return
    print(f"{torch.cuda.get_device_name()} against {cores()} CPU cores, torch {torch.__version__}, float64 on both")
    for size in sys.argv[1:] or ["1e6", "1e7"]:
        compare(int(float(size)))


if __name__ == "__main__":
    main()
