"""Recovery study: train methods on crowds with known confusions, and measure recovery errors with bounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.core.errors import DataError
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.learning.comparison import summary as comparison
from crowdcore.learning.embedding import with_inputs
from crowdcore.learning.recovery.plan import Candidate, Point, RecoveryPlan, plant
from crowdcore.learning.results.predictions import worker_counts
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.training import metrics
from crowdcore.learning.training.events import EpochEvent, Event

BOUNDS = ("identity", "counted with gold")
"""Bounds: perfect workers, whom every method should beat, and counts by the true classes."""
_ALIKE = 0.02  # standard deviation of true skills below which their order means nothing


@dataclass(frozen=True, eq=False)
class Trained:
    """A method on a crowd of a study.

    Args:
        point: point of the plan.
        crowd: number of the crowd at that point.
        candidate: the method.
        learnt: its matrices.
    """

    point: Point
    crowd: int
    candidate: Candidate
    learnt: Learnt


@dataclass(frozen=True, eq=False)
class RecoveryStudy(Shown):
    """Results of a plan.

    Args:
        plan: the plan.
        table: one row per point, method, crowd and seed: varied settings, ``crowd``, ``method``, ``seed``, `MEASURES`
            and ``seconds``; rows without a seed are the `BOUNDS`.
        crowds: one row per point and crowd: varied settings, ``crowd``, shares of right labels and of right majority
            votes, numbers of classes that are mostly labelled otherwise and of annotations.
        trained: matrices of every method on every crowd.
        notes: failures and omissions, one sentence each.
        stopped: True if it was stopped before its end.
    """

    plan: RecoveryPlan
    table: pd.DataFrame
    crowds: pd.DataFrame
    trained: tuple[Trained, ...]
    notes: tuple[str, ...] = ()
    stopped: bool = False

    def summary(self) -> pd.DataFrame:
        """One row per point and method: mean and standard deviation over crowds and seeds."""
        return summary(self.table, list(spelled(self.plan.over)))


def study_recovery(
    plan: RecoveryPlan,
    *,
    device: str = "auto",
    on_progress: Callable[[float, str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> RecoveryStudy:
    """Plant every crowd of a plan, train every method on it, and compare with the truth.

    A method whose training diverges is noted and skipped.

    Args:
        plan: with at least one method.
        device: training device.
        on_progress: called with the share done, 0…1, and the current method and crowd.
        should_stop: called after every epoch; finished methods are kept.

    Raises:
        CrowdError: the plan cannot be carried out; all settings are checked before training.

    Examples:
        >>> plan = RecoveryPlan(
        ...     settings={"n_tasks": 300, "n_valid": 50, "n_test": 50},
        ...     methods=[{"method": "crowd-layer"}],
        ...     training={"epochs": 2},
        ... )
        >>> list(study_recovery(plan, device="cpu").summary()["method"])
        ['crowd-layer', 'identity', 'counted with gold']
    """
    from crowdcore.learning import train  # first: its error names what to install where torch is missing
    from crowdcore.learning.training.loop import DivergedError

    _check(plan)
    report, stop = on_progress or (lambda share, words: None), should_stop or (lambda: False)
    cells = [(point, k) for point in plan.points() for k in range(plan.crowds)]
    rows: list[pd.DataFrame] = []
    crowds: list[dict[str, Any]] = []
    trained: list[Trained] = []
    notes: list[str] = []
    for n, (point, k, candidate) in enumerate((*cell, candidate) for cell in cells for candidate in plan.methods):
        if stop():
            break
        head = {**spelled(point.varied), "crowd": k}
        if candidate is plan.methods[0]:
            planted = _of_classes(plant(plan, point, k))
            crowd = with_inputs(planted, plan.accept, str(plan.training.get("backbone", "mlp")), device)
            notes += [note for note in crowd.notes[len(planted.notes) :] if note not in notes]
            crowds.append(head | facts(crowd))
            rows.append(bounds(crowd).assign(**head))
        words = " · ".join(filter(None, [candidate.name, point.words]))

        def listen(event: Event, n: int = n, words: str = words) -> None:
            if isinstance(event, EpochEvent):
                report((n + event.done) / (len(cells) * len(plan.methods)), words)

        settings, start = {**plan.training, **candidate.settings}, time.perf_counter()
        try:
            result = train(
                crowd, candidate.method, seeds=plan.seeds, device=device, on_event=listen, should_stop=stop, **settings
            )
        except DivergedError as error:
            notes.append(f"{words}: {error}")
            continue
        if stop():
            break
        seconds = (time.perf_counter() - start) / plan.seeds
        rows.append(judge(result, crowd).assign(method=candidate.name, seconds=seconds, **head))
        trained.append(Trained(point, k, candidate, learnt_of(result, crowd)))
    if not rows:
        raise DataError("The study was stopped before the first crowd was simulated", "Let it run longer.")
    table = assembled(rows, list(spelled(plan.over)))
    return RecoveryStudy(plan, table, pd.DataFrame(crowds), tuple(trained), tuple(notes), stop())


def _of_classes(crowd: Labelled) -> CrowdDataset:
    if isinstance(crowd, CrowdDataset):
        return crowd
    raise DataError(
        f"The labels of {crowd.name} are numbers, and a study compares confusions of classes or tags",
        "Leave the methods out to see which aggregators recover what.",
    )


def _check(plan: RecoveryPlan) -> None:
    """Check all settings before training starts."""
    from crowdcore.learning import methods, split_settings

    if not plan.methods:
        raise DataError("There is no method to train", "Name at least one.")
    for candidate in plan.methods:
        split_settings(methods.get(candidate.method), {**plan.training, **candidate.settings})
    for point in plan.points():
        plan.simulator(point)


_PARTS: Mapping[str, Literal["worker_confusion", "common_confusion"]] = {
    "common moved": "common_confusion",
    "own moved": "worker_confusion",
}

MEASURES = {
    "accuracy": "Test accuracy, selected epoch",
    "accuracy last": "Test accuracy, last epoch",
    "F1 of spans": "Test F1 of spans, selected epoch",
    "F1 of spans last": "Test F1 of spans, last epoch",
    "common error": "Error of the common confusion",
    "own error": "Error of the workers' own confusions",
    "effective error": "Error of the workers' effective confusions",
    "skill correlation": "Correlation of the workers' skills",
    "ω correlation": "Correlation of ω",
    "common moved": "Change of the common confusion since the start",
    "own moved": "Change of the workers' confusions since the start",
}
"""Measures of each seed, in words."""

NOTES = (
    "Errors: squared distance between a row of the learnt and of the true matrix, mean over rows and workers; "
    "0 = the same, 2 = the maximum.",
    "Effective confusion: the labels that a worker really gives, in truth the mixture of the common confusion and the "
    "worker's own by ω, of a run what its posterior counts; it can be compared between all methods. Skill: mean of its "
    "diagonal; no correlation is given where the workers are equally skilled.",
    "Moved: half the sum of the absolute changes of a row since training began, mean over rows; 0 = the matrices are "
    "those of the start, whatever their error.",
    "“identity”: error if every worker is assumed to be perfect. “counted with gold”: error of counting labels by "
    "their true class, which no method sees; not 0 because labels are few.",
)
"""Notes for readers of the table, one sentence each."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """Matrices that a method learnt of a crowd; a part that it does not have is None.

    Args:
        common: (S, C, C).
        own: (S, R, C, C).
        effective: (S, R, C, C) counted by the run's posterior; NaN for workers without annotations.
    """

    common: FloatArray | None
    own: FloatArray | None
    effective: FloatArray | None


def learnt_of(result: TrainingResult, dataset: CrowdDataset) -> Learnt:
    """Matrices of a result; methods without confusions have none."""
    common, own = result.common_confusion, result.worker_confusion
    shared = common if common is not None and common.ndim == 3 else None  # several belong to groups of workers
    counts = None if own is None and shared is None else worker_counts(result, dataset)
    effective = None if counts is None else np.stack([analysis.confusion_of_counts(one) for one in counts])
    return Learnt(shared, own, effective)


def true_effective(dataset: CrowdDataset) -> FloatArray | None:
    """(R, C, C) effective confusions of a simulated crowd, by its true ω; NaN for workers without annotations."""
    truth = dataset.truth
    if truth is None or truth.worker_confusion is None:
        return None
    grouped = truth.common_confusion is not None and truth.common_confusion.ndim == 3
    omega = None if truth.common_confusion is None else truth.omega
    effective = analysis.effective_confusion(
        dataset, truth.worker_confusion, truth.common_confusion, omega, truth.group if grouped else None
    ).copy()
    effective[dataset.labels_per_worker == 0] = np.nan
    return effective


def judge(result: TrainingResult, dataset: CrowdDataset) -> pd.DataFrame:
    """One row per seed: ``seed`` and the `MEASURES`, NaN where method or truth lack the part.

    Raises:
        DataError: the crowd's truth is not known.
    """
    truth = dataset.truth
    if truth is None:
        raise DataError(f"{dataset.name} does not say what generated its labels", "Only simulated crowds do.")
    learnt, effective = learnt_of(result, dataset), true_effective(dataset)
    score, (reached,) = comparison.test_scores([result])
    values: dict[str, Any] = {score.measure: reached["selected"], f"{score.measure} last": reached["last"]}
    if truth.common_confusion is not None and learnt.common is not None and truth.common_confusion.ndim == 2:
        values["common error"] = metrics.recovery_error(truth.common_confusion[None], learnt.common[:, None])
    if truth.worker_confusion is not None and learnt.own is not None:
        values["own error"] = metrics.recovery_error(truth.worker_confusion, learnt.own)
    if effective is not None and learnt.effective is not None:
        values["effective error"] = metrics.recovery_error(effective, learnt.effective)
        seen = ~np.isnan(effective).any((1, 2)) & ~np.isnan(learnt.effective).any((0, 2, 3))
        if np.diagonal(effective[seen], axis1=1, axis2=2).mean(1).std() >= _ALIKE:
            values["skill correlation"] = metrics.skill_correlation(effective[seen], learnt.effective[:, seen])
    if truth.omega is not None and result.omega is not None and np.ptp(truth.omega) > 0:
        values["ω correlation"] = metrics.omega_correlation(truth.omega, result.omega)
    for name, part in _PARTS.items():
        moved = result.moved(part)
        if moved is not None:
            values[name] = moved.reshape(len(moved), -1).mean(1)
    frame = pd.DataFrame({"seed": result.seeds, **values})
    return frame.reindex(columns=["seed", *MEASURES])


def bounds(dataset: CrowdDataset) -> pd.DataFrame:
    """Rows "identity" and "counted with gold"."""
    truth, effective = dataset.truth, true_effective(dataset)
    rows: list[dict[str, Any]] = [{"method": name} for name in BOUNDS]
    if truth is not None and effective is not None and truth.worker_confusion is not None:
        one = np.broadcast_to(np.eye(dataset.n_classes), effective.shape)
        rows[0] |= {"own error": float(metrics.recovery_error(truth.worker_confusion, one))}
        rows[0] |= {"effective error": float(metrics.recovery_error(effective, one))}
        counted = analysis.worker_confusion(dataset, "gold").matrices
        counted = np.where(np.isnan(counted), 1 / dataset.n_classes, counted)
        rows[1] |= {"effective error": float(metrics.recovery_error(effective, counted))}
        if truth.common_confusion is not None and truth.common_confusion.ndim == 2:
            rows[0] |= {"common error": float(metrics.recovery_error(truth.common_confusion[None], one[:1]))}
    return pd.DataFrame(rows).reindex(columns=["method", "seed", *MEASURES])


def facts(crowd: CrowdDataset) -> dict[str, Any]:
    """Difficulty of a crowd."""
    stats = analysis.planted(crowd)
    return {
        "right labels": stats.right,
        "right majority votes": stats.majority,
        "misleading classes": len(stats.misleading),
        "annotations": crowd.n_annotations,
    }


def spelled(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under their names in tables; lists become texts."""
    return {k.replace("_", " "): str(v) if isinstance(v, list | tuple) else v for k, v in settings.items()}


def assembled(rows: Sequence[pd.DataFrame], varied: Sequence[str]) -> pd.DataFrame:
    """Join rows of `judge` and `bounds`, each with its varied settings, ``crowd`` and ``method``, to one table.

    Rows are ordered by varied settings, then by method, bounds last.
    """
    columns = [*varied, "crowd", "method", "seed", *MEASURES, "seconds"]
    table = pd.concat([frame.dropna(axis=1, how="all") for frame in rows], ignore_index=True).reindex(columns=columns)
    points = {point: k for k, point in enumerate(dict.fromkeys(table[list(varied)].itertuples(index=False, name=None)))}
    methods = dict.fromkeys(name for name in table["method"] if name not in BOUNDS)
    order = {name: k for k, name in enumerate([*methods, *BOUNDS])}
    at = [points[point] for point in table[list(varied)].itertuples(index=False, name=None)]
    place = np.lexsort((table["method"].map(order).to_numpy(), np.array(at)))
    return table.iloc[place].reset_index(drop=True)


def summary(table: pd.DataFrame, varied: Sequence[str]) -> pd.DataFrame:
    """Means and standard deviations (n − 1) over crowds and seeds, by varied settings and method.

    Measures without any value are left out, as are spreads of single values.
    """
    groups = table.groupby([*varied, "method"], sort=False, dropna=False)
    mean, spread = groups[[*MEASURES, "seconds"]].mean(), groups[list(MEASURES)].std()
    columns: dict[str, Any] = {}
    for name in (*MEASURES, "seconds"):
        if mean[name].notna().any():
            columns[name] = mean[name]
            if name in spread and spread[name].notna().any():
                columns[f"{name} ±"] = spread[name]
    return pd.DataFrame(columns).reset_index()
