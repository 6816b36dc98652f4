"""CoNAL's tables and sweeps, one command each.

    CROWDCORE_DATA=… python -m benchmarks.learning_sweeps table2|table3 [seeds]
    python -m benchmarks.learning_sweeps strength|proportion [crowds] [seeds]

table2: λ on LabelMe and Music. table3: the over-parameterised crowd layer.

strength, proportion: CoNAL's Synthetic (10,000 tasks, 30 workers, 3 labels a task) over common strengths 0.4 … 0.8 at
proportion 0.5, and over proportions 0 … 0.7 at strength 0.4 (Figs. 4 and 6), asymmetric and symmetric. The paper's
"individual strength 0.7" can be read in two ways, and it does not say how much ω varies, so every point comes four
times: individual confusions with 0.7 or 0.3 off the diagonal, the standard deviation of u·v 1 or 4.

Every method is treated alike: two candidates (one where a method has nothing to choose), of which the one with the
best validation accuracy counts; classes named by the validation split's gold; last epoch. Two figures per method: test
accuracy, and the error of the workers' effective confusions (Tanno's recovery error of ω̄ π^g + (1 - ω̄) π^r against the
same of the truth). `dl-true`, trained on gold, is the ceiling.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from crowdcore.analysis import effective_confusion
from crowdcore.core.types import FloatArray
from crowdcore.data import CrowdDataset, load_dataset, simulate
from crowdcore.learning import TrainingResult, sweep, train
from crowdcore.learning.presets import get
from crowdcore.learning.training.metrics import omega_correlation, recovery_error

STRENGTHS, PROPORTIONS = (0.4, 0.5, 0.6, 0.7, 0.8), (0.0, 0.3, 0.4, 0.5, 0.6, 0.7)
TWO_STARTS = [{"start": "dawid-skene"}, {"start": "trace"}]
CANDIDATES: dict[str, list[dict[str, Any]]] = {
    "dl-true": [{}],
    "dl-mv": [{}, {"targets": "hard"}],
    "dl-glad": [{}, {"targets": "hard"}],
    "dl-ds": [{}, {"targets": "hard"}],
    "dl-wc": [{}, {"targets": "hard"}],
    "soft-bootstrap": [{}, {"trust": 0.8}],
    "single-cm": [{}, {"strength": 0.1}],
    "dl-em": [{}, {"e_step": "batch"}],
    "generalized-em": [{}, {"smoothing": 1.0}],
    "crowd-layer": TWO_STARTS,
    "trace": [{"start": "dawid-skene"}, {"start": "identity"}],
    "conal": TWO_STARTS,
}
SYNTHETIC: dict[str, Any] = {
    "epochs": 20,
    "lr": 5e-3,
    "batch_size": 512,
    "schedule": "cosine",
    "names": "validation-gold",
}
WITHIN = 0.5  # points that CoNAL may be behind the best method


def cell(values: FloatArray) -> str:
    return f"{100 * values.mean():6.2f} ± {100 * values.std():4.2f}"


def table2(seeds: int) -> None:
    print("Table 2, selected test accuracy of CoNAL under λ =", *(o["regularisation"] for o in lambdas("labelme")))
    for dataset in ("labelme", "music"):
        over = {"regularisation": [own["regularisation"] for own in lambdas(dataset)]}
        training = get(f"{dataset}-table-2").training
        results = sweep(load_dataset(dataset), "conal", over, seeds=seeds, **training)
        print(f"  {dataset:8s}", " | ".join(cell(r.accuracy("test")) for r in results), flush=True)


def lambdas(dataset: str) -> list[Mapping[str, Any]]:
    return [own for _, own in get(f"{dataset}-table-2").methods]


def table3(seeds: int) -> None:
    print("Table 3, selected test accuracy, and numbers in the noise layers:")
    for dataset in ("labelme", "music"):
        crowd = load_dataset(dataset)
        r, c = crowd.n_workers, crowd.n_classes
        numbers = {"crowd-layer": r * c * c, "crowd-layer-over": 2 * r * c * c, "conal": (r + 1) * c * c}
        for method, settings in get(f"{dataset}-table-3").runs:
            result = train(crowd, method, seeds=seeds, **settings)
            print(f"  {dataset:8s} {method:17s} {numbers[method]:6d}  {cell(result.accuracy('test'))}", flush=True)


def searched(crowd: CrowdDataset, method: str, seeds: int) -> TrainingResult:
    """The candidate with the best validation accuracy."""
    results = [train(crowd, method, seeds=seeds, **{**SYNTHETIC, **own}) for own in CANDIDATES[method]]
    return max(results, key=lambda r: r.accuracy("valid", "last").mean())


def effective_error(crowd: CrowdDataset, result: TrainingResult) -> FloatArray:
    """(S,) error of the workers' effective confusions; NaN for methods without confusions."""
    truth, recovery = crowd.truth, result.recovered_at("last")
    assert truth is not None and truth.worker_confusion is not None
    true = effective_confusion(crowd, truth.worker_confusion, truth.common_confusion, truth.omega)
    if recovery.worker_confusion is not None:
        estimate = effective_confusion(crowd, *recovery, group=result.group)
    elif recovery.common_confusion is not None:
        estimate = np.repeat(recovery.common_confusion[:, None], crowd.n_workers, 1)
    else:
        return np.full(len(result.seeds), np.nan)
    return recovery_error(true, estimate)


def recovery(crowd: CrowdDataset, conal: TrainingResult) -> tuple[float, float, float]:
    """Recovery error of common and individual confusions, correlation of ω, means over seeds."""
    truth, recovery = crowd.truth, conal.recovered_at("last")
    assert truth is not None and truth.common_confusion is not None and truth.worker_confusion is not None
    assert recovery.common_confusion is not None and recovery.worker_confusion is not None
    common = recovery_error(truth.common_confusion[None], recovery.common_confusion[:, None]).mean()
    own = recovery_error(truth.worker_confusion, recovery.worker_confusion).mean()
    if truth.omega is None or recovery.omega is None or np.ptp(truth.omega) == 0:
        return float(common), float(own), np.nan
    return float(common), float(own), float(omega_correlation(truth.omega, recovery.omega).mean())


def synthetic(point: dict[str, Any], crowds: int, seeds: int) -> tuple[bool, bool]:
    """Print one point of a sweep; return whether CoNAL is near the best method, and whether it is first in recovery."""
    began = time.perf_counter()
    accuracy: dict[str, list[FloatArray]] = {m: [] for m in CANDIDATES}
    error: dict[str, list[FloatArray]] = {m: [] for m in CANDIDATES}
    own = []
    for number in range(crowds):
        crowd = simulate.synthetic(**point, seed=number)
        for method in CANDIDATES:
            result = searched(crowd, method, seeds)
            accuracy[method].append(result.accuracy("test", "last"))
            error[method].append(effective_error(crowd, result))
        own.append(recovery(crowd, result))  # CoNAL is the last one
    accuracies = {m: 100 * float(np.mean(v)) for m, v in accuracy.items()}
    errors = {m: float(np.mean(v)) for m, v in error.items() if not np.isnan(v).any()}
    rivals = {m: v for m, v in accuracies.items() if m != "dl-true"}
    best, nearest = max(rivals, key=lambda m: rivals[m]), min(errors, key=lambda m: errors[m])
    common, individual, omega = np.mean(own, 0)
    print("  " + " ".join(f"{k} {v}" for k, v in point.items()))
    print("    accuracy: " + " | ".join(f"{m} {v:.1f}" for m, v in accuracies.items()))
    print("    error of effective confusions: " + " | ".join(f"{m} {v:.4f}" for m, v in errors.items()))
    near, first = rivals["conal"] >= rivals[best] - WITHIN, nearest == "conal"
    print(
        f"    CoNAL {rivals['conal'] - rivals[best]:+.2f} points from the best ({best}): "
        f"{'MET' if near else 'NOT MET'}; "
        f"first in recovery: {'MET' if first else f'NOT MET ({nearest})'}; its own errors: common {common:.3f}, "
        f"individual {individual:.3f}, correlation of ω {omega:.2f} ({time.perf_counter() - began:.0f} s)",
        flush=True,
    )
    return bool(near), first


def sweep_points(over: str) -> list[dict[str, Any]]:
    """Print all points of a figure, in both readings of individual strength and both spreads of ω."""
    values = [{"common_strength": v, "proportion": 0.5} for v in STRENGTHS]
    if over == "proportion":
        values = [{"common_strength": 0.4, "proportion": v} for v in PROPORTIONS]
    return [
        {"pattern": pattern, **value, "individual_strength": individual, "omega_spread": spread}
        for individual in (0.7, 0.3)
        for spread in (1.0, 4.0)
        for pattern in ("asymmetric", "symmetric")
        for value in values
    ]


def figure(over: str, crowds: int, seeds: int) -> None:
    points = sweep_points(over)
    print(f"Over {over}, {crowds} crowds × {seeds} seeds a point:", flush=True)
    near, first = zip(*[synthetic(point, crowds, seeds) for point in points], strict=True)
    print(f"CoNAL within {WITHIN} points of the best method: at {sum(near)} of {len(points)} points")
    print(f"CoNAL first in recovery of effective confusions: at {sum(first)} of {len(points)} points", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    names = [int(a) for a in sys.argv[1:] if a.isdigit()]
    named = [a for a in sys.argv[1:] if not a.isdigit()] or ["table2", "table3", "strength", "proportion"]
    for name in named:
        if name in ("table2", "table3"):
            {"table2": table2, "table3": table3}[name](names[0] if names else 5)
        else:
            figure(name, *(names or [3, 3]))


if __name__ == "__main__":
    main()
