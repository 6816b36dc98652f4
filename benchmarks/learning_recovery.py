"""Whether training finds again what made a simulated crowd: confusions, who used the common one, true classes.

    CROWDCORE_DATA=<folder with mnist and cifar10_images> python -m benchmarks.learning_recovery [conal|tanno|rodrigues]

conal: CoNAL's Synthetic at common strength 0.7, proportion 0.5 (Fig. 7), settings and epoch chosen on validation. At
individual strength 0.7 (off-diagonal mass of a row) only 30 % of all labels are right, and nothing in the labels says
which class is which: errors are also given after renaming the classes as the predictions agree with gold. The paper
calls its workers "of high quality", which individual strength 0.3 would be; both are measured. tanno: five pairwise
flippers on MNIST, all label every image or one does (Fig. 3, 4). rodrigues: the five binary annotators on cats and
dogs of CIFAR-10 with the four-convolution network (Fig. 2), and on two garments of Fashion-MNIST.

Recovery error is ``1/(R·C) Σ_r Σ_ab (π^r_ab - π̂^r_ab)²``, in brackets that of the identity as an estimate. The
bounds are ours, unless a paper is named.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from benchmarks.learning_sweeps import searched
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data import CrowdDataset, load_dataset, simulate
from crowdcore.data.simulate.base import as_tasks
from crowdcore.learning import TrainingResult, train
from crowdcore.learning.metrics import omega_correlation, recovery_error, skill_correlation

CROWDS, SEEDS = 2, 2
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("trace", {}),
    ("trace", {"strength": 0.0}),
    ("crowd-layer", {}),
    ("dl-em", {}),
]


def verdict(claim: str, value: float, bound: float, at_least: bool = False) -> None:
    met = value >= bound if at_least else value <= bound
    print(f"    {claim}: {value:.4f} ({'≥' if at_least else '≤'} {bound:g}) {'MET' if met else 'NOT MET'}", flush=True)


def errors(true: FloatArray, found: FloatArray) -> tuple[FloatArray, float]:
    """Recovery error of each replica, and that of the identity: (R, C, C), (S, R, C, C)."""
    identity = np.broadcast_to(np.eye(true.shape[-1]), true.shape)
    return recovery_error(true, found), float(recovery_error(true, identity))


def likeliest(true: FloatArray, found: FloatArray) -> float:
    """Share of rows whose largest entry is the true one."""
    return float((true.argmax(-1) == found.argmax(-1)).mean())


def diagonals(confusions: FloatArray) -> FloatArray:
    """(..., R, C, C) -> (..., R·C)."""
    return np.diagonal(confusions, axis1=-2, axis2=-1).reshape(*confusions.shape[:-3], -1)


def renamed(result: TrainingResult, s: int) -> IntArray:
    """Model class that stands for each true class, by agreement of predictions and gold on all tasks."""
    known = result.gold >= 0
    n_classes = len(result.classes)
    pair = result.gold[known] * n_classes + result.probabilities["selected"][s][known].argmax(-1)
    agreement = np.bincount(pair, minlength=n_classes**2).reshape(n_classes, n_classes)
    return np.asarray(linear_sum_assignment(-agreement)[1])


def conal() -> None:
    for individual in (0.7, 0.3):
        print(f"  common strength 0.7, proportion 0.5, individual strength {individual}:")
        for pattern in ("asymmetric", "symmetric"):
            found = []
            for number in range(CROWDS):
                crowd = simulate.synthetic(
                    pattern=pattern, common_strength=0.7, individual_strength=individual, proportion=0.5, seed=number
                )
                result = searched(crowd, "conal", SEEDS, epochs=30, batch_size=128)
                found += [conal_run(crowd, result, s, pattern) for s in range(SEEDS)]
            common, own, common_renamed, own_renamed, omega = np.median(found, 0)
            print(f"    {pattern}, medians over {CROWDS} crowds × {SEEDS} seeds:")
            verdict("recovery error of the common confusion", common, 0.05)
            verdict("the same after renaming classes", common_renamed, 0.05)
            verdict("recovery error of the individual confusions", own, 0.1)
            verdict("the same after renaming classes", own_renamed, 0.1)
            verdict("correlation of ω with the truth", omega, 0.5, at_least=True)


def conal_run(crowd: CrowdDataset, result: TrainingResult, s: int, pattern: str) -> tuple[float, ...]:
    """Errors of the common and the individual confusions as they are and after renaming, and ω's correlation."""
    truth = crowd.truth
    assert truth is not None and truth.common_confusion is not None and truth.worker_confusion is not None
    assert result.common_confusion is not None and result.worker_confusion is not None
    assert truth.omega is not None and result.omega is not None
    name = renamed(result, s)
    common, own = result.common_confusion[s], result.worker_confusion[s]
    of_common, of_own = truth.common_confusion[None], truth.worker_confusion
    values = (
        float(recovery_error(of_common, common[None])),
        float(recovery_error(of_own, own)),
        float(recovery_error(of_common, common[None, name])),
        float(recovery_error(of_own, own[:, name])),
        float(omega_correlation(truth.omega, result.omega[s])),
    )
    print(
        f"    {pattern:10s} common {values[0]:.3f} (identity {errors(of_common, common[None])[1]:.2f}), renamed "
        f"{values[2]:.3f}; individual {values[1]:.3f} ({errors(of_own, own)[1]:.2f}), renamed {values[3]:.3f}; ω "
        f"correlates {values[4]:.2f}, mean {np.nanmean(result.omega[s]):.2f}; test accuracy "
        f"{100 * result.accuracy('test')[s]:.1f} %, classes with their own name {(name == np.arange(len(name))).sum()}",
        flush=True,
    )
    return values


def pictures(name: str, classes: tuple[int, ...], n_train: int, n_test: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Images, class numbers and splits of the first images of some classes."""
    tasks = load_dataset(name)
    assert tasks.media is not None and tasks.media.images is not None
    parts = []
    for split, n in ((0, n_train), (2, n_test)):
        parts.append(np.flatnonzero((tasks.split == split) & np.isin(tasks.gold, classes))[:n])
    chosen = np.concatenate(parts)
    gold = np.searchsorted(classes, tasks.gold[chosen])
    return tasks.media.images[chosen], gold, np.repeat(np.array([0, 2], np.int8), [len(p) for p in parts])


def tanno() -> None:
    images, gold, split = pictures("mnist", tuple(range(10)), 6_000, 2_000)
    features = images.reshape(len(images), -1).astype(np.float32) / 255
    source = as_tasks((features, gold), "mnist", split)
    print("  five pairwise flippers on 6,000 images of MNIST, 128 ReLU units, last epoch:")
    for labels, skill in (("dense", 0.6), ("dense", 0.35), ("one", 0.6), ("one", 0.35)):
        crowd = simulate.tanno(source, kind="pairwise-flipper", skill=skill, labels=labels, seed=1)
        assert crowd.truth is not None and crowd.truth.worker_confusion is not None
        true = crowd.truth.worker_confusion
        for method, settings in METHODS:
            result = train(
                crowd, method, seeds=SEEDS, epochs=12, lr=0.01, batch_size=64, schedule="cosine", select_on="none",
                stack="all", **settings,
            )  # fmt: skip
            assert result.worker_confusion is not None
            error, identity = errors(true, result.worker_confusion)
            name = f"{method}{' λ=0' if settings else ''}"
            print(
                f"  {labels:5s} skill {skill:.2f} {name:11s} recovery error {error.mean():.4f} ({identity:.2f}), "
                f"likeliest labels right in {100 * likeliest(true[None], result.worker_confusion):.0f} % of the rows; "
                f"test accuracy {100 * result.accuracy('test').mean():.1f} %",
                flush=True,
            )
            if name == "trace":
                verdict("trace regularisation's recovery error", float(error.mean()), 0.05)


def rodrigues() -> None:
    tasks: dict[str, tuple[str, tuple[int, ...], int, int, dict[str, Any]]] = {
        "Fashion-MNIST's pullovers and coats": ("fashion_mnist", (2, 4), 6_000, 2_000, {"seeds": 3}),
        "CIFAR-10's cats and dogs": ("cifar10_images", (3, 5), 10_000, 2_000, {"seeds": 1, "backbone": "cnn"}),
    }
    for title, (name, classes, n_train, n_test, settings) in tasks.items():
        images, gold, split = pictures(name, classes, n_train, n_test)
        crowd = simulate.rodrigues(as_tasks((images, gold), name, split), seed=0)
        assert crowd.truth is not None and crowd.truth.worker_confusion is not None
        true = crowd.truth.worker_confusion
        result = train(crowd, "crowd-layer", epochs=12, lr=2e-3, batch_size=32, select_on="none", **settings)
        assert result.worker_confusion is not None
        error, identity = errors(true, result.worker_confusion)
        truths, weights = diagonals(true), diagonals(result.model["matrices.weight"])
        found = diagonals(result.worker_confusion)
        print(
            f"  {title}: test accuracy {100 * result.accuracy('test').mean():.1f} %, recovery error "
            f"{error.mean():.4f} ({identity:.2f}), skill correlation "
            f"{skill_correlation(true, result.worker_confusion).min():.3f}"
        )
        of_weights = min(np.corrcoef(truths, w)[0, 1] for w in weights)
        of_confusions = min(np.corrcoef(truths, d)[0, 1] for d in found)
        verdict("correlation of W's diagonals with the truth (Fig. 2), worst seed", of_weights, 0.95, at_least=True)
        verdict("correlation of the exported confusions' diagonals, worst seed", of_confusions, 0.95, at_least=True)


def main() -> None:
    torch.set_num_threads(1)
    parts = {"conal": conal, "tanno": tanno, "rodrigues": rodrigues}
    for name in sys.argv[1:] or parts:
        print(f"== {name}")
        parts[name]()


if __name__ == "__main__":
    main()
