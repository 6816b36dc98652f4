"""CoNAL's tables and sweeps, one command each.

    CROWDCORE_DATA=… python -m benchmarks.learning_sweeps table2|table3|strength|proportion [seeds]

table2: λ on LabelMe and Music. table3: the over-parameterised crowd layer. strength, proportion: CoNAL's Synthetic
(10,000 tasks, 30 workers, 3 labels a task, individual strength 0.7) over common strengths 0.4 … 0.8 at proportion
0.5, and over proportions 0 … 0.7 at strength 0.4 (Figs. 4 and 6), asymmetric and symmetric. As in the paper, settings
are searched and the epoch is chosen on the validation split, for every method alike: on each crowd a method runs with
every candidate below, and the one with the best validation accuracy counts. `dl-true`, trained on gold, is the ceiling.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import torch

from benchmarks.learning_labelme import PROTOCOL
from crowdcore.core.types import FloatArray
from crowdcore.data import CrowdDataset, load_dataset, simulate
from crowdcore.learning import TrainingResult, sweep, train
from crowdcore.learning.metrics import omega_correlation, recovery_error

STRENGTHS, PROPORTIONS = (0.4, 0.5, 0.6, 0.7, 0.8), (0.0, 0.3, 0.4, 0.5, 0.6, 0.7)
CANDIDATES: dict[str, list[dict[str, Any]]] = {
    "dl-true": [{}],
    "dl-mv": [{}],
    "dl-glad": [{}],
    "dl-ds": [{}],
    "dl-wc": [{}],
    "soft-bootstrap": [{}],
    "single-cm": [{}],
    "dl-em": [{}, {"e_step": "batch"}],
    "generalized-em": [{}, {"smoothing": 1.0}],
    "crowd-layer": [{}, {"connection": "vw+b"}],
    "trace": [{}, {"strength": 0.1}],
    "conal": [{}, {"initial_scale": 4.0}],
}
BASELINES = [m for m in CANDIDATES if m not in ("dl-true", "conal")]
SYNTHETIC: dict[str, Any] = {"epochs": 15, "lr": 0.01, "batch_size": 256, "stack": "all"}
CROWDS = 2  # every point is a mean over so many crowds × seeds


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


def searched(crowd: CrowdDataset, method: str, seeds: int, **training: Any) -> TrainingResult:
    """The candidate with the best validation accuracy."""
    results = [train(crowd, method, seeds=seeds, **own, **{**SYNTHETIC, **training}) for own in CANDIDATES[method]]
    return max(results, key=lambda r: r.accuracy("valid").mean())


@cache  # the sweeps meet in one point
def synthetic(pattern: str, strength: float, proportion: float, seeds: int) -> bool:
    """One point of a sweep; whether CoNAL is above every baseline."""
    accuracies: dict[str, list[FloatArray]] = {m: [] for m in CANDIDATES}
    recovered = []
    for number in range(CROWDS):
        crowd = simulate.synthetic(pattern=pattern, common_strength=strength, proportion=proportion, seed=number)
        for method in CANDIDATES:
            result = searched(crowd, method, seeds)
            accuracies[method].append(result.accuracy("test"))
        recovered.append(recovery(crowd, result))  # CoNAL is the last one
    found = {m: np.concatenate(v) for m, v in accuracies.items()}
    best = max(BASELINES, key=lambda m: float(found[m].mean()))
    gap = 100 * (found["conal"].mean() - found[best].mean())
    print(f"  {pattern:10s} strength {strength:.1f} proportion {proportion:.1f}:")
    print("    " + " | ".join(f"{m} {cell(v)}" for m, v in found.items()))
    common, own, omega = np.mean(recovered, 0)
    print(
        f"    CoNAL above every baseline: {'YES' if gap > 0 else 'NO'} ({gap:+.2f} points against {best}); recovery "
        f"error common {common:.3f}, individual {own:.3f}; correlation of ω with the truth {omega:.2f}",
        flush=True,
    )
    return bool(gap > 0)


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
    points = [(p, v, 0.5) for p in ("asymmetric", "symmetric") for v in STRENGTHS]
    conclude("strength", [synthetic(*point, seeds) for point in points])


def proportion(seeds: int) -> None:
    points = [(p, 0.4, v) for p in ("asymmetric", "symmetric") for v in PROPORTIONS]
    conclude("proportion", [synthetic(*point, seeds) for point in points])


def conclude(sweep_name: str, above: list[bool]) -> None:
    print(
        f"CoNAL above every baseline over the {sweep_name} sweep: at {sum(above)} of {len(above)} points "
        f"{'MET' if all(above) else 'NOT MET'}",
        flush=True,
    )


def main() -> None:
    torch.set_num_threads(1)
    parts = {"table2": (table2, 5), "table3": (table3, 5), "strength": (strength, 2), "proportion": (proportion, 2)}
    asked = next((int(a) for a in sys.argv[1:] if a.isdigit()), None)
    for name in [a for a in sys.argv[1:] if a in parts] or parts:
        part, seeds = parts[name]
        part(asked or seeds)


if __name__ == "__main__":
    main()
