"""Recovery by training of a simulated crowd's confusions, its users of the common one, and its true classes.

    CROWDCORE_DATA=… python -m benchmarks.learning_recovery [conal [crowds seeds]|gaussians [crowds]|tanno|rodrigues]

conal: CoNAL's Synthetic (Fig. 7) where most labels are wrong: common strength 0.7 with individual strength 0.7
(off-diagonal mass of a row), and 0.8 with 0.3 at two spreads of ω; both starts, of which the lower training loss is
kept, names from the gold of validation, last epoch; bounds hold for the worst crowd and seed. tanno: five pairwise
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

from benchmarks.learning_sweeps import SYNTHETIC
from crowdcore.aggregation import get
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data import CrowdDataset, load_dataset, simulate
from crowdcore.data.simulate.base import as_tasks
from crowdcore.learning import train
from crowdcore.learning.training.metrics import omega_correlation, recovery_error, skill_correlation
from testkit.training import train_as

SEEDS = 2
AS_PUBLISHED: dict[str, Any] = {"start": "identity", "noise_lr": 1.0}  # one learning rate, from the identity
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("trace", AS_PUBLISHED),
    ("trace", {**AS_PUBLISHED, "strength": 0.0}),
    ("crowd-layer", AS_PUBLISHED),
    ("dl-em", {}),
]


def verdict(claim: str, value: float, bound: float, at_least: bool = False) -> None:
    met = value >= bound if at_least else value <= bound
    print(f"    {claim}: {value:.4f} ({'≥' if at_least else '≤'} {bound:g}) {'MET' if met else 'NOT MET'}", flush=True)


def errors(true: FloatArray, learnt: FloatArray) -> tuple[FloatArray, float]:
    """Recovery error of each replica, and that of the identity: (R, C, C), (S, R, C, C)."""
    identity = np.broadcast_to(np.eye(true.shape[-1]), true.shape)
    return recovery_error(true, learnt), float(recovery_error(true, identity))


def likeliest(true: FloatArray, learnt: FloatArray) -> float:
    """Share of rows whose largest entry is the true one."""
    return float((true.argmax(-1) == learnt.argmax(-1)).mean())


def diagonals(confusions: FloatArray) -> FloatArray:
    """(..., R, C, C) -> (..., R·C)."""
    return np.diagonal(confusions, axis1=-2, axis2=-1).reshape(*confusions.shape[:-3], -1)


def conal(crowds: int = 3, seeds: int = 3) -> None:
    points: list[tuple[dict[str, float], dict[str, float]]] = [
        ({"common_strength": 0.7, "individual_strength": 0.7}, {"common": 0.05, "own": 0.1, "ω": 0.7, "accuracy": 94}),
        ({"common_strength": 0.8, "individual_strength": 0.3}, {"common": 0.1, "own": 0.15}),
        ({"common_strength": 0.8, "individual_strength": 0.3, "omega_spread": 4.0}, {"common": 0.1, "own": 0.15}),
    ]
    print(f"  CoNAL's Synthetic, best-of starts, {crowds} crowds × {seeds} seeds, the worst of them against the bound:")
    for point, bounds in points:
        for pattern in ("asymmetric", "symmetric"):
            by_method: dict[str, list[FloatArray]] = {}
            for number in range(crowds):
                crowd = simulate.synthetic(pattern=pattern, **point, seed=number)
                for name, values in conal_run(crowd, seeds).items():
                    by_method.setdefault(name, []).append(values)
            print(f"    {pattern} {' '.join(f'{k} {v:g}' for k, v in point.items())}")
            for name, each in by_method.items():
                values, high = np.concatenate(each), name in ("ω", "accuracy", "accuracy - gold's")
                worst = values.min() if high else values.max()
                bound = -0.5 if name == "accuracy - gold's" else bounds.get(name)
                if bound is None:
                    print(f"    {name}: mean {values.mean():.3f}, worst {worst:.3f}")
                else:
                    verdict(f"{name}: mean {values.mean():.3f}, worst", float(worst), bound, high)


def conal_run(crowd: CrowdDataset, seeds: int) -> dict[str, FloatArray]:
    """(S,) errors of common and own confusions, correlation of ω, test accuracy and its distance from gold's."""
    truth, training = crowd.truth, {**SYNTHETIC, "seeds": seeds}
    result = train(crowd, "conal", start="best-of", **training)
    gold = train(crowd, "dl-true", **training).accuracy("test", "last").mean()
    recovery = result.recovered_at("last")
    assert truth is not None and truth.common_confusion is not None and truth.worker_confusion is not None
    assert recovery.common_confusion is not None and recovery.worker_confusion is not None
    assert truth.omega is not None and recovery.omega is not None
    reached = result.accuracy("test", "last")
    return {
        "common": recovery_error(truth.common_confusion[None], recovery.common_confusion[:, None]),
        "own": recovery_error(truth.worker_confusion, recovery.worker_confusion),
        "ω": omega_correlation(truth.omega, recovery.omega),
        "accuracy": 100 * reached,
        "accuracy - gold's": 100 * np.array([reached.mean() - gold]),
    }


def gaussians(crowds: int = 3) -> None:
    """Print recovery of the same crowds by `gaussian-em` without gold, classes named by the evidence or by votes."""
    heads = ("Synthetic", "", "common error", "correlation of ω", "training tasks right")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for pattern in ("asymmetric", "symmetric"):
        for common, own in ((0.5, 0.5), (0.7, 0.7), (0.8, 0.3)):
            noise = {"pattern": pattern, "common_strength": common, "individual_strength": own}
            rows: dict[str, list[list[float]]] = {}
            for number in range(crowds):
                crowd = simulate.synthetic(**noise, seed=number)
                known = crowd.annotated
                fit = get("conal-em").fit(crowd)
                values = {"conal-em, without features": (fit, (fit.labels == crowd.gold)[known].mean())}
                for name, rename in (("gaussian-em", True), ("gaussian-em, names by votes", False)):
                    how: dict[str, Any] = {"seeds": 1, "epochs": 1, "select_on": "none", "rename": rename}
                    result = train(crowd, "gaussian-em", **how)
                    assert result.q is not None
                    right = (result.q[0].argmax(1) == result.gold[: len(result.q[0])]).mean()
                    values[name] = (result, right)
                for name, (of, right) in values.items():
                    rows.setdefault(name, []).append([*recovered(crowd, of), 100 * float(right)])
            for name, each in rows.items():
                mean = np.mean(each, 0)
                numbers = f"{mean[0]:.4f} | {mean[1]:.2f} | {mean[2]:.1f}"
                print(f"| {pattern} {common} / {own} | {name} | {numbers} |", flush=True)


def recovered(crowd: CrowdDataset, of: Any) -> tuple[float, float]:
    """Error of the common confusion, and the correlation of ω with the use of it."""
    truth = crowd.truth
    assert truth is not None and truth.common_confusion is not None and truth.used_common is not None
    confusion = np.asarray(of.common_confusion)
    error = recovery_error(truth.common_confusion[None], confusion.reshape(1, *confusion.shape[-2:]))
    return float(error), float(np.corrcoef(np.ravel(of.omega), truth.used_common)[0, 1])


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
            result = train_as(
                crowd, method, seeds=SEEDS, epochs=12, lr=0.01, batch_size=64, schedule="cosine", select_on="none",
                stack="all", **settings,
            )  # fmt: skip
            assert result.worker_confusion is not None
            error, identity = errors(true, result.worker_confusion)
            name = f"{method}{' λ=0' if 'strength' in settings else ''}"
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
        "Fashion-MNIST's pullovers and coats": ("fashion_mnist", (2, 4), 6_000, 2_000, {"seeds": 3, **AS_PUBLISHED}),
        "CIFAR-10's cats and dogs": (
            "cifar10_images",
            (3, 5),
            10_000,
            2_000,
            {"seeds": 1, "backbone": "cnn", **AS_PUBLISHED},
        ),
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
        accuracies = diagonals(result.worker_confusion)
        print(
            f"  {title}: test accuracy {100 * result.accuracy('test').mean():.1f} %, recovery error "
            f"{error.mean():.4f} ({identity:.2f}), skill correlation "
            f"{skill_correlation(true, result.worker_confusion).min():.3f}"
        )
        of_weights = min(np.corrcoef(truths, w)[0, 1] for w in weights)
        of_confusions = min(np.corrcoef(truths, d)[0, 1] for d in accuracies)
        verdict("correlation of W's diagonals with the truth (Fig. 2), worst seed", of_weights, 0.95, at_least=True)
        verdict("correlation of the exported confusions' diagonals, worst seed", of_confusions, 0.95, at_least=True)


def main() -> None:
    torch.set_num_threads(1)
    parts = {"conal": conal, "gaussians": gaussians, "tanno": tanno, "rodrigues": rodrigues}
    sizes = [int(a) for a in sys.argv[1:] if a.isdigit()]  # of conal: crowds, seeds
    for name in [a for a in sys.argv[1:] if not a.isdigit()] or parts:
        print(f"== {name}")
        parts[name](*(sizes if name in ("conal", "gaussians") else []))


if __name__ == "__main__":
    main()
