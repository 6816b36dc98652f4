"""Ratings: the cost of an EM iteration beside the mean, and how often intervals and tests are right.

python -m benchmarks.ratings            # 10^7 ratings, 300 simulated crowds
python -m benchmarks.ratings --small    # 10^6 ratings, 60 crowds
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd

from crowdcore.aggregation import ratings
from crowdcore.analysis import rating_agreement, rating_truth, rating_workers, shared_bias
from crowdcore.data import RatingDataset

LIMIT = 3.0  # an EM iteration costs at most this many times the mean


def crowd(
    seed: int, n_tasks: int, n_workers: int, per_task: int, busy: float = 0.0
) -> tuple[RatingDataset, np.ndarray]:
    """Truth, individual biases with mean 0, noise; ``busy``: how unequally the workers share the work."""
    rng = np.random.default_rng(seed)
    truth, bias = rng.uniform(size=n_tasks), rng.normal(0, 0.1, n_workers)
    share = np.arange(1, n_workers + 1.0) ** -busy
    task = np.repeat(np.arange(n_tasks, dtype=np.int32), per_task)
    worker = rng.choice(n_workers, len(task), p=share / share.sum()).astype(np.int32)
    rating = truth[task] + bias[worker] + rng.normal(0, 0.1, len(task)) + rng.normal(0, 0.05, n_tasks)[task]
    ids = [pd.RangeIndex(n).astype(str) for n in (n_tasks, n_workers)]
    return RatingDataset("rated", -2, 3, *ids, task, worker, rating, gold=truth), bias


def speed(n: int) -> bool:
    """Processor seconds of the mean and of an EM iteration."""
    large, _ = crowd(0, n // 5, 1000, 5)
    large.labels_per_task, large.labels_per_worker  # noqa: B018  # both need them
    ratings.RaykarEM(max_iterations=1).fit(large)  # compiles

    def seconds(aggregator: ratings.RatingAggregator) -> float:
        times = []
        for _ in range(3):
            began = time.process_time()
            aggregator.fit(large)
            times.append(time.process_time() - began)
        return min(times)

    mean = seconds(ratings.Mean())
    short, long = (seconds(ratings.RaykarEM(max_iterations=k, tolerance=1e-12)) for k in (2, 12))
    iteration = (long - short) / 10
    print(f"{n:,} ratings: mean {mean:.3f} s, an iteration of raykar-em {iteration:.3f} s ({iteration / mean:.2f} ×)")
    return iteration <= LIMIT * mean


def coverage(crowds: int) -> None:
    """Print the coverage of 95 % intervals, and how often the test of shared bias is wrong."""
    hits = {"bias": [0, 0], "scale": [0, 0], "correlation": [0, 0], "mae": [0, 0], "rmse": [0, 0], "ICC(1)": [0, 0]}
    values = {"equal work": [0, 0], "busy workers": [0, 0]}
    noise = np.hypot(0.1, 0.05)
    for seed in range(crowds):
        one, bias = crowd(seed, 400, 40, 5)
        workers = rating_workers(one, rating_truth(one))
        normal = np.random.default_rng(0).normal(size=(100_000, 1)) * noise + bias
        total = np.sqrt(1 / 12 + noise**2)
        truth = {
            "bias": bias,
            "scale": np.ones(40),
            "correlation": np.full(40, np.sqrt(1 / 12) / total),
            "mae": np.abs(normal).mean(0),
            "rmse": np.hypot(bias, noise),
        }
        for name, value in truth.items():
            inside = (workers.low[name] <= value) & (value <= workers.high[name])
            hits[name][0] += int(inside.sum())
            hits[name][1] += len(inside)
        coefficient = rating_agreement(one, n_resamples=200)["ICC(1)"]
        between = 1 / 12 + 0.05**2
        icc = between / (between + bias.var() + 0.1**2)
        hits["ICC(1)"][0] += coefficient.low <= icc <= coefficient.high
        hits["ICC(1)"][1] += 1
        for name, busy in (("equal work", 0.0), ("busy workers", 1.0)):
            alone, _ = crowd(seed + 10_000, 1000, 100, 5, busy)
            p = shared_bias(alone, rating_truth(alone), n_bins=50).p_value
            values[name][0] += int((p < 0.05).sum())
            values[name][1] += int((~np.isnan(p)).sum())
    print(f"\n{crowds} crowds; share of 95 % intervals that hold the truth")
    for name, (inside, n) in hits.items():
        print(f"  {name:<12} {inside / n:.3f} of {n:,}")
    print("Individual biases only; share of bins with p < 0.05 in the test of shared bias")
    for name, (wrong, n) in values.items():
        print(f"  {name:<12} {wrong / n:.3f} of {n:,}")


if __name__ == "__main__":
    small = "--small" in sys.argv
    fine = speed(1_000_000 if small else 10_000_000)
    coverage(60 if small else 300)
    sys.exit(not fine)
