"""CoNAL's tables and sweeps, one command each.

    CROWDCORE_DATA=… python -m benchmarks.learning_sweeps table2|table3|strength|proportion [seeds]

table2: λ on LabelMe and Music. table3: the over-parameterised crowd layer. strength, proportion: CoNAL's Synthetic
(10,000 tasks, 30 workers, 3 labels a task, individual strength 0.7) over common strengths 0.4 … 0.8 at proportion
0.5, and over proportions 0 … 0.7 at strength 0.4 (Figs. 4 and 6), asymmetric and symmetric. CoNAL's matrices start at
4·I here (2·I elsewhere), the baselines' as their papers say.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

from benchmarks.learning_labelme import PROTOCOL
from crowdcore.core.types import FloatArray
from crowdcore.data import CrowdDataset, load_dataset, simulate
from crowdcore.learning import TrainingResult, sweep, train
from crowdcore.learning.metrics import omega_correlation, recovery_error

BASELINES = ("dl-mv", "dl-ds", "dl-em", "crowd-layer", "trace")
SYNTHETIC: dict[str, Any] = {"epochs": 30, "lr": 0.01, "batch_size": 128}
CROWDS = 3  # every point is a mean over so many crowds × seeds


def cell(values: FloatArray) -> str:
    return f"{100 * values.mean():6.2f} ± {100 * values.std():4.2f}"


def table2(seeds: int) -> None:
    strengths = [0.0, 1e-4, 1e-5, 1e-6]
    print("Table 2, selected test accuracy of CoNAL under λ =", *strengths)
    for dataset in ("labelme", "music"):
        results = sweep(load_dataset(dataset), "conal", {"regularisation": strengths}, seeds=seeds, **PROTOCOL[dataset])
        print(f"  {dataset:8s}", " | ".join(cell(r.accuracy("test")) for r in results), flush=True)


def table3(seeds: int) -> None:
    print("Table 3, selected test accuracy, and numbers in the noise layers:")
    for dataset in ("labelme", "music"):
        crowd = load_dataset(dataset)
        r, c = crowd.n_workers, crowd.n_classes
        for method, numbers in (
            ("crowd-layer", r * c * c),
            ("crowd-layer-over", 2 * r * c * c),
            ("conal", (r + 1) * c * c),
        ):
            result = train(crowd, method, seeds=seeds, **PROTOCOL[dataset])
            print(f"  {dataset:8s} {method:17s} {numbers:6d}  {cell(result.accuracy('test'))}", flush=True)


def synthetic(pattern: str, strength: float, proportion: float, seeds: int) -> None:
    accuracies: dict[str, list[FloatArray]] = {m: [] for m in (*BASELINES, "conal")}
    recovered = []
    for number in range(CROWDS):
        crowd = simulate.synthetic(pattern=pattern, common_strength=strength, proportion=proportion, seed=number)
        for method in BASELINES:
            accuracies[method].append(train(crowd, method, seeds=seeds, **SYNTHETIC).accuracy("test"))
        conal = train(crowd, "conal", seeds=seeds, initial_scale=4.0, **SYNTHETIC)
        accuracies["conal"].append(conal.accuracy("test"))
        recovered.append(recovery(crowd, conal))
    found = {m: np.concatenate(v) for m, v in accuracies.items()}
    best = max(found[m].mean() for m in BASELINES)
    print(f"  {pattern:10s} strength {strength:.1f} proportion {proportion:.1f}:")
    print("    " + " | ".join(f"{m} {cell(v)}" for m, v in found.items()))
    common, own, omega = np.mean(recovered, 0)
    print(
        f"    CoNAL above every baseline: {'YES' if found['conal'].mean() > best else 'NO'}; recovery error common "
        f"{common:.4f}, individual {own:.4f}; correlation of ω with the truth {omega:.2f}",
        flush=True,
    )


def recovery(crowd: CrowdDataset, conal: TrainingResult) -> tuple[float, float, float]:
    """Recovery error of common and individual confusions, correlation of ω, means over seeds."""
    truth = crowd.truth
    assert truth is not None and truth.omega is not None and conal.omega is not None
    assert truth.common_confusion is not None and conal.common_confusion is not None
    assert truth.worker_confusion is not None and conal.worker_confusion is not None
    common = recovery_error(truth.common_confusion[None], conal.common_confusion[:, None]).mean()
    own = recovery_error(truth.worker_confusion, conal.worker_confusion).mean()
    constant = np.ptp(truth.omega) == 0
    return float(common), float(own), np.nan if constant else float(omega_correlation(truth.omega, conal.omega).mean())


def strength(seeds: int) -> None:
    for pattern in ("asymmetric", "symmetric"):
        for value in np.arange(4, 9) / 10:
            synthetic(pattern, float(value), 0.5, seeds)


def proportion(seeds: int) -> None:
    for pattern in ("asymmetric", "symmetric"):
        for value in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7):
            synthetic(pattern, 0.4, value, seeds)


def main() -> None:
    torch.set_num_threads(1)
    parts = {"table2": table2, "table3": table3, "strength": strength, "proportion": proportion}
    seeds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 5)
    for name in [a for a in sys.argv[1:] if a in parts] or parts:
        parts[name](seeds)


if __name__ == "__main__":
    main()
