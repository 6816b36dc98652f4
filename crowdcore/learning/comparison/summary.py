"""Comparison of results: accuracies, curves, cost, and recovery errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.analysis.recovery.omega import omega_ranking
from crowdcore.analysis.recovery.recovered import recovered_confusion
from crowdcore.analysis.recovery.seeds import Band, band
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.comparison.comparability import TEST, Kept, common_seeds, ensemble, features_seen, names_by
from crowdcore.learning.comparison.variation import name_runs
from crowdcore.learning.curve_metrics import ACCURACY, RMSE, SPAN_F1, SelectionScore
from crowdcore.learning.results.predictions import span_scores, worker_counts
from crowdcore.learning.results.result import At, Result, TrainingResult
from crowdcore.learning.training import metrics
from crowdcore.learning.validation import selected_by

AT_WORDS: Mapping[At, str] = {
    "selected": "Selected on validation",
    "last": "Last epoch",
    "best": "Best on test (optimistic)",
}
AT: tuple[At, ...] = tuple(AT_WORDS)
EPOCHS: tuple[Kept, ...] = ("selected", "last")
"""The epochs with stored predictions."""
SCORES = ("accuracy", "macro_f1", "nll", "calibration_error")


def accuracies(result: Result) -> dict[At, FloatArray]:
    """(S,) test accuracies, of ratings RMSE, at three epochs, which are never mixed; NaN without gold there."""
    return {at: result.compared(at) for at in AT}


def spans(result: Any) -> dict[At, FloatArray]:
    """(S,) test F1 of spans at the same epochs, for taggers."""
    kept: dict[At, FloatArray] = {at: span_scores(result, "test", at)["f1"].to_numpy() for at in EPOCHS}
    return {**kept, "best": np.nanmax(result.curves[SPAN_F1.on_test], 0)}


def test_scores(results: Sequence[Result]) -> tuple[SelectionScore, list[dict[At, FloatArray]]]:
    """Score of several results on test, and its values: RMSE for ratings, F1 of spans for taggers, else accuracy."""
    rated = any(r.numeric for r in results)
    tagged = bool(results) and all(SPAN_F1.on_test in r.curves for r in results)
    values = [spans(r) if tagged else accuracies(r) for r in results]
    return RMSE if rated else SPAN_F1 if tagged else ACCURACY, values


def row(result: TrainingResult) -> dict[str, Any]:
    """One result as plain values; standard deviations are those of a sample (n - 1).

    ``ensemble_selected`` and ``ensemble_last`` are accuracies of the mean of the replicas' predictions.
    """
    reached = accuracies(result)
    return {
        "dataset": result.dataset,
        "method": result.method,
        "seeds": list(result.seeds),
        **{f"{at}_accuracy": values for at, values in reached.items()},
        **{f"{at}_mean": float(values.mean()) for at, values in reached.items()},
        **{f"{at}_std": deviation(values) for at, values in reached.items()},
        **{f"ensemble_{at}": ensemble_accuracy(result, at) for at in EPOCHS},
        "selected_epoch": result.selected_epoch,
        "selected_by": selected_by(result.validated_on),
        "validated_on": result.validated_on,
        "features_seen": features_seen(result),
        "names": names_by(result),
        "seconds": result.seconds,
        "annotations_per_second": result.annotations_per_second,
        "device": result.device,
        "settings": result.settings,
        "training": result.training,
        "versions": result.versions,
        "notes": list(result.notes),
    }


def ensemble_accuracy(result: TrainingResult, at: Kept = "selected") -> float:
    """Test accuracy of the mean of the replicas' predictions; NaN without gold on the test split."""
    try:
        return float(result.accuracy("test", at=at, ensemble=True)[0])
    except DataError:
        return float("nan")


def deviation(values: FloatArray) -> float:
    """Sample standard deviation (n - 1); NaN for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def same_seeds(results: Mapping[str, TrainingResult], at: At) -> dict[str, FloatArray]:
    """Test accuracies of shared seeds, ready for a paired test; results without accuracies are left out."""
    reached = {name: (r, accuracies(r)[at]) for name, r in results.items()}
    reached = {name: (r, values) for name, (r, values) in reached.items() if not np.isnan(values).any()}
    shared = common_seeds([r for r, _ in reached.values()])
    return {name: values[[r.seeds.index(s) for s in shared]] for name, (r, values) in reached.items()}


def curve_bands(results: Mapping[str, Result], metric: str) -> list[Band]:
    """Curves of a metric over epochs, of every result with it."""
    return [replace(r.curve(metric), name=name) for name, r in results.items() if metric in r.curves]


def class_bands(results: Mapping[str, TrainingResult], at: Kept = "selected") -> list[Band]:
    """Accuracy among the test tasks of each class; results without gold on the test split are left out."""
    bands = []
    for name, r in results.items():
        rows = r.split == TEST
        if (r.gold[rows] >= 0).any():
            per_class = metrics.class_accuracy(r.probabilities[at][:, rows], r.gold[rows])
            bands.append(band(name, r.method, r.classes, per_class.T))
    return bands


def scores(results: Mapping[str, TrainingResult], at: Kept = "selected") -> pd.DataFrame:
    """Scores on the test split: a row per result, and one for the ensemble of its replicas if there are several.

    Returns:
        ``run``; the mean over seeds of each of `SCORES`, and its standard deviation (none for an ensemble).
    """
    rows: list[dict[str, Any]] = []
    for name, r in results.items():
        try:
            table = r.scores("test", at)
        except DataError:
            continue
        rows.append({"run": name})
        for s in SCORES:
            rows[-1] |= {s: table[s].mean(), f"{s} ±": deviation(table[s].to_numpy())}
        if len(r.seeds) > 1:
            combined = replace(r, seeds=r.seeds[:1], probabilities={at: ensemble(r.probabilities[at])[None]})
            mean = combined.scores("test", at)
            rows.append({"run": ensemble_name(name), **{s: mean[s][0] for s in SCORES}})
    return pd.DataFrame(rows)


def compare(results: Sequence[TrainingResult] | Mapping[str, TrainingResult]) -> pd.DataFrame:
    """`scores` of several results; without names, each is named by what sets it apart."""
    return scores(results if isinstance(results, Mapping) else name_runs(results))


def ensemble_name(name: str) -> str:
    """Name of the ensemble of a run's replicas in tables."""
    return f"{name}, ensemble"


def cost(results: Mapping[str, Result]) -> pd.DataFrame:
    """One row per result: device, time of all seeds together, speed, epochs."""
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


def recovered(result: TrainingResult, dataset: CrowdDataset) -> dict[str, Any]:
    """Recovered parts of a result's crowd; None for parts that the method does not have.

    Returns:
        ``seed``: None for means over seeds, or the shown seed if seeds are not comparable, with ``why``;
        ``common_confusion`` (C, C), or None for several groups; ``worker_skill``, name -> mean diagonal of the
        counted confusion; ``omega``, per true class (by gold, else majority vote) its mean ω̄ and its tasks in both
        halves of the ranking.
    """
    seed, why = result.shown_seed
    parts: dict[str, Any] = {"seed": seed, "why": why, "common_confusion": None, "worker_skill": None, "omega": None}
    if (own := result.worker_confusion) is not None:
        shared = result.common_confusion, result.omega, result.group
        counts = worker_counts(result, dataset)
        recovered = recovered_confusion(dataset, own, *shared, seeds=result.seeds, seed=seed, counts=counts)
        parts["worker_skill"] = dict(zip(dataset.worker_ids, recovered.skill.tolist(), strict=True))
        parts["common_confusion"] = recovered.common
    if result.omega is not None and not np.isnan(result.omega).all():
        truth = "gold" if dataset.has_gold else "majority-vote"
        halves = omega_ranking(dataset, result.omega, truth, seeds=result.seeds, seed=seed).halves()
        parts["omega"] = halves[["class", "omega", "top", "bottom"]].to_dict("records")
    return parts


def recovery(result: TrainingResult, dataset: CrowdDataset) -> dict[str, FloatArray]:
    """(S,) distances between a result and the truth of a simulated crowd, for all parts that both have.

    Recovery errors are `metrics.recovery_error`; for individual confusions also weighted by annotations. Correlations
    are those of the workers' skills and of ω.
    """
    truth, errors = dataset.truth, {}
    if truth is None:
        return {}
    common, own = truth.common_confusion, truth.worker_confusion
    if common is not None and result.common_confusion is not None and result.common_confusion.shape[1:] == common.shape:
        shape = (-1, *common.shape[-2:])
        estimate = result.common_confusion.reshape(len(result.seeds), *common.reshape(shape).shape)
        errors["common recovery error"] = metrics.recovery_error(common.reshape(shape), estimate)
    if own is not None and result.worker_confusion is not None:
        errors["individual recovery error"] = metrics.recovery_error(own, result.worker_confusion)
        errors["weighted by annotations"] = metrics.recovery_error(
            own, result.worker_confusion, dataset.labels_per_worker.astype(np.float64)
        )
        errors["skill correlation"] = metrics.skill_correlation(own, result.worker_confusion)
    if truth.omega is not None and result.omega is not None and np.ptp(truth.omega) > 0:
        errors["ω correlation"] = metrics.omega_correlation(truth.omega, result.omega)
    return errors
