"""Results side by side: accuracies, curves, what may be compared with what, and how near they came to a known truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from crowdcore.analysis.bands import Band, band
from crowdcore.analysis.omega_ranking import omega_ranking
from crowdcore.analysis.recovered import recovered_confusion
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import metrics
from crowdcore.learning.result import At, TrainingResult

__all__ = [
    "AT",
    "METRICS",
    "TEST",
    "accuracies",
    "class_bands",
    "common_seeds",
    "cost",
    "curve_bands",
    "recovered",
    "recovery",
    "row",
    "same_seeds",
    "scores",
    "warnings",
]

TEST = 2
"""The test split among the splits of a result."""
AT: tuple[At, ...] = ("selected", "last", "best")
METRICS = {
    "test_accuracy": "Accuracy, test",
    "valid_accuracy": "Accuracy, validation",
    "train_accuracy": "Accuracy, training",
    "loss": "Loss",
    "worker_recovery_error": "Error of the workers' confusions",
    "common_recovery_error": "Error of the common confusion",
    "test_nll": "Negative log-likelihood, test",
    "valid_nll": "Negative log-likelihood, validation",
    "cross_entropy": "Cross-entropy of the labels",
}
"""The curves that most methods have, in words."""


def accuracies(result: TrainingResult) -> dict[At, FloatArray]:
    """(S,) test accuracies in the three columns that are never mixed; NaN without gold on the test split."""
    try:
        return {at: result.accuracy("test", at=at) for at in AT}
    except DataError:
        return {at: np.full(len(result.seeds), np.nan) for at in AT}


def row(result: TrainingResult) -> dict[str, Any]:
    """What a comparison says of one result, as plain values; standard deviations are those of a sample (n - 1)."""
    reached = accuracies(result)
    return {
        "dataset": result.dataset,
        "method": result.method,
        "seeds": list(result.seeds),
        **{f"{at}_accuracy": values for at, values in reached.items()},
        **{f"{at}_mean": float(values.mean()) for at, values in reached.items()},
        **{
            f"{at}_std": float(values.std(ddof=1)) if len(values) > 1 else float("nan")
            for at, values in reached.items()
        },
        "selected_epoch": result.selected_epoch,
        "validated_on": result.validated_on,
        "seconds": result.seconds,
        "annotations_per_second": result.annotations_per_second,
        "device": result.device,
        "settings": result.settings,
        "training": result.training,
        "versions": result.versions,
        "notes": list(result.notes),
    }


def common_seeds(results: Sequence[TrainingResult]) -> tuple[int, ...]:
    """Seeds that all results have, in the order of the first."""
    return tuple(s for s in results[0].seeds if all(s in r.seeds for r in results)) if results else ()


def same_seeds(results: Mapping[str, TrainingResult], at: At) -> dict[str, FloatArray]:
    """Test accuracies of the seeds that all results have, ready for a paired test; results without any are left out."""
    reached = {name: (r, accuracies(r)[at]) for name, r in results.items()}
    reached = {name: (r, values) for name, (r, values) in reached.items() if not np.isnan(values).any()}
    shared = common_seeds([r for r, _ in reached.values()])
    return {name: values[[r.seeds.index(s) for s in shared]] for name, (r, values) in reached.items()}


def curve_bands(results: Mapping[str, TrainingResult], metric: str) -> list[Band]:
    """A curve of every result that has this metric, over epochs."""
    return [
        band(name, r.method, np.arange(1, len(r.curves[metric]) + 1), r.curves[metric])
        for name, r in results.items()
        if metric in r.curves
    ]


def class_bands(results: Mapping[str, TrainingResult], at: Literal["selected", "last"] = "selected") -> list[Band]:
    """Accuracy among the test tasks of each class; results without gold on the test split are left out."""
    bands = []
    for name, r in results.items():
        rows = r.split == TEST
        if (r.gold[rows] >= 0).any():
            per_class = metrics.class_accuracy(r.probabilities[at][:, rows], r.gold[rows])
            bands.append(band(name, r.method, r.classes, per_class.T))
    return bands


def scores(results: Mapping[str, TrainingResult], at: Literal["selected", "last"] = "selected") -> pd.DataFrame:
    """One row per result: mean and standard deviation of what `TrainingResult.scores` says of the test split."""
    rows = []
    for name, r in results.items():
        try:
            table = r.scores("test", at)[["accuracy", "macro_f1", "nll", "calibration_error"]]
        except DataError:
            continue
        columns: dict[str, Any] = {"run": name}
        for score, values in table.items():
            columns |= {str(score): values.mean(), f"{score} ±": values.std(ddof=1)}
        rows.append(columns)
    return pd.DataFrame(rows)


def cost(results: Mapping[str, TrainingResult]) -> pd.DataFrame:
    """One row per result: where it ran, how long (all seeds together), how fast, for how many epochs."""
    return pd.DataFrame(
        [
            {
                "run": name,
                "device": r.device,
                "seconds": r.seconds,
                "seconds per seed": r.seconds / len(r.seeds),
                "annotations/s": r.annotations_per_second,
                "epochs": int(r.last_epoch.max()),
                "selected epoch": float(np.median(r.selected_epoch)),
                "seeds": len(r.seeds),
                "backbone": r.training.get("backbone", ""),
                "crowdcore": r.versions.get("crowdcore", ""),
            }
            for name, r in results.items()
        ]
    )


def warnings(results: Mapping[str, TrainingResult]) -> list[str]:
    """What to bear in mind when these results stand side by side, one sentence each."""
    said = []
    telling: dict[str, Callable[[TrainingResult], str]] = {
        "their data": lambda r: f"{r.dataset} {r.fingerprint[:8]}",
        "the features": lambda r: r.inputs[:8] or "not recorded",
        "what selected their epoch": lambda r: r.validated_on or "nothing, the last epoch counts",
        "the network": lambda r: f"{r.training.get('backbone')} {r.training.get('backbone_settings') or ''}".rstrip(),
        "crowdcore's version": lambda r: r.versions.get("crowdcore", ""),
    }
    for what, value in telling.items():
        found: dict[str, list[str]] = {}
        for name, r in results.items():
            found.setdefault(value(r), []).append(name)
        if len(found) > 1:
            groups = "; ".join(f"{', '.join(who)}: {said_of}" for said_of, who in found.items())
            said.append(f"These runs differ in {what}: {groups}.")
    shared = common_seeds(list(results.values()))
    if any(len(r.seeds) != len(shared) for r in results.values()):
        said.append(f"The runs have different seeds; {len(shared)} are in all of them, and tests rest on those alone.")
    return said


def recovered(result: TrainingResult, dataset: CrowdDataset) -> dict[str, Any]:
    """What a result says of its crowd, means over seeds; a part that the method does not have is None.

    Returns:
        ``common_confusion`` (C, C), or None for several groups; ``worker_skill``, name -> mean diagonal;
        ``omega``, per true class (by gold, else majority vote) its mean ω̄ and its tasks in both halves of the ranking.
    """
    said: dict[str, Any] = {"common_confusion": None, "worker_skill": None, "omega": None}
    if result.worker_confusion is not None:
        found = recovered_confusion(
            dataset, result.worker_confusion, result.common_confusion, result.omega, result.group, seeds=result.seeds
        )
        said["worker_skill"] = dict(zip(dataset.worker_ids, found.skill.tolist(), strict=True))
        said["common_confusion"] = found.common
    if result.omega is not None and not np.isnan(result.omega).all():
        truth = "gold" if dataset.has_gold else "majority-vote"
        halves = omega_ranking(dataset, result.omega, truth, seeds=result.seeds).halves()
        said["omega"] = halves[["class", "omega", "top", "bottom"]].to_dict("records")
    return said


def recovery(result: TrainingResult, dataset: CrowdDataset) -> dict[str, FloatArray]:
    """(S,) how near a result came to what generated its crowd, for all that both the truth and the method have.

    Recovery errors are `metrics.recovery_error`; of the individual confusions also weighted by annotations, with the
    correlation of the workers' skills and of ω.
    """
    truth, found = dataset.truth, {}
    if truth is None:
        return {}
    common, own = truth.common_confusion, truth.worker_confusion
    if common is not None and result.common_confusion is not None and result.common_confusion.shape[1:] == common.shape:
        shape = (-1, *common.shape[-2:])
        estimate = result.common_confusion.reshape(len(result.seeds), *common.reshape(shape).shape)
        found["common recovery error"] = metrics.recovery_error(common.reshape(shape), estimate)
    if own is not None and result.worker_confusion is not None:
        found["individual recovery error"] = metrics.recovery_error(own, result.worker_confusion)
        found["weighted by annotations"] = metrics.recovery_error(
            own, result.worker_confusion, dataset.labels_per_worker.astype(np.float64)
        )
        found["skill correlation"] = metrics.skill_correlation(own, result.worker_confusion)
    if truth.omega is not None and result.omega is not None and np.ptp(truth.omega) > 0:
        found["ω correlation"] = metrics.omega_correlation(truth.omega, result.omega)
    return found
