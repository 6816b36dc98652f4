"""Scores of an aggregation result on gold hidden from it, calibration, and a bound on any method's error."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from crowdcore.aggregation._confidence import confidence
from crowdcore.aggregation.base import AggregationResult
from crowdcore.analysis.labels.disagreement import judging_gold, p_in_words
from crowdcore.analysis.statistics import exact_interval, majority_labels, mcnemar, sparse_votes
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.by_name import ByTask
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.doors import door
from crowdcore.data.report import plural


@dataclass(frozen=True, eq=False)
class Calibration(Shown):
    """Tasks grouped by the probability of their label; empty groups are NaN.

    Attributes:
        reference: method whose posterior this is.
        error: expected calibration error, Σ_b n_b/n · |accuracy_b − confidence_b|.
        accuracy: share of the tasks whose label is the gold one.
        confidence: mean probability of the labels.
        edges: (n_bins + 1,) group b holds probabilities in (edges[b], edges[b + 1]].
        bin_confidence: (n_bins,) mean probability of the labels.
        bin_accuracy: (n_bins,) share that is right.
        low, high: (n_bins,) 95 % Clopper–Pearson interval of ``bin_accuracy``.
        n_tasks: (n_bins,) labels: one per task, or one per task and seed.
    """

    reference: str
    error: float
    accuracy: float
    confidence: float
    edges: FloatArray
    bin_confidence: FloatArray
    bin_accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    n_tasks: IntArray

    def frame(self) -> pd.DataFrame:
        """One row per group."""
        group = {"from": self.edges[:-1], "to": self.edges[1:], "tasks": self.n_tasks}
        observed = {"confidence": self.bin_confidence, "accuracy": self.bin_accuracy}
        return pd.DataFrame({**group, **observed, "low": self.low, "high": self.high})


def calibration(result: AggregationResult, gold: IntArray, n_bins: int = 10) -> Calibration:
    """Compare the probabilities of the chosen labels with how often they are right (Guo et al. 2017, eq. 3).

    Args:
        result: its posterior and labels are judged on the tasks that have both a label and gold.
        gold: (n_tasks,) true class, -1 = unknown; leave out the tasks that were clamped, or they look certain.
        n_bins: equally wide groups of (0, 1].

    Raises:
        SettingError: ``gold`` of another length, or no group.
        DataError: no task has both a label and gold.
    """
    if gold.shape != result.labels.shape:
        raise SettingError("gold", f"have the shape {result.labels.shape}", gold.shape)
    judged = (gold >= 0) & (result.labels >= 0)
    return _reliability(result.method, result.posterior[judged].max(1), (result.labels == gold)[judged], n_bins)


def calibration_of_seeds(name: str, posterior: FloatArray, gold: IntArray, n_bins: int = 15) -> Calibration:
    """Reliability of a classifier's probabilities, all seeds together; ``error`` is the mean of the seeds' errors.

    The intervals count every task once, not once per seed: seeds see the same tasks.

    Args:
        name: the method.
        posterior: (S, n, C) class probabilities; the most probable class is the label.
        gold: (n,) true class, -1 = unknown.
        n_bins: equally wide groups of (0, 1].

    Raises:
        SettingError: ``gold`` of another length, or no group.
        DataError: no task has gold.
    """
    if gold.shape != posterior.shape[1:2]:
        raise SettingError("gold", f"have the shape {posterior.shape[1:2]}", gold.shape)
    judged = gold >= 0
    probabilities = np.asarray(posterior[:, judged], np.float64)
    confidence, right = probabilities.max(-1), probabilities.argmax(-1) == gold[judged]
    pooled = _reliability(name, confidence.ravel(), right.ravel(), n_bins, len(posterior))
    errors = [_reliability(name, c, r, n_bins).error for c, r in zip(confidence, right, strict=True)]
    return replace(pooled, error=float(np.mean(errors)))


def _reliability(name: str, confidence: FloatArray, right: BoolArray, n_bins: int, copies: int = 1) -> Calibration:
    """Group (n,) labels, in which each task occurs ``copies`` times, by their probability."""
    if n_bins < 1:
        raise SettingError("n_bins", "be at least 1", n_bins)
    if not len(right):
        raise DataError("No task has both a label and gold", "A posterior is calibrated against gold labels.")
    group = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    n, n_right = (np.bincount(group, weights, n_bins) for weights in (None, right))
    with np.errstate(invalid="ignore"):  # empty groups
        bin_confidence, bin_accuracy = np.bincount(group, confidence, n_bins) / n, n_right / n
    low, high = exact_interval(n_right / copies, n / copies, 0.95)
    return Calibration(
        reference=name,
        error=float(np.nansum(n * np.abs(bin_accuracy - bin_confidence)) / len(right)),
        accuracy=float(right.mean()),
        confidence=float(confidence.mean()),
        edges=np.linspace(0, 1, n_bins + 1),
        bin_confidence=bin_confidence,
        bin_accuracy=bin_accuracy,
        low=np.where(n > 0, low, np.nan),
        high=np.where(n > 0, high, np.nan),
        n_tasks=n.astype(np.int64),
    )


NAN = float("nan")


@dataclass(frozen=True)
class Judgement(Shown):
    """Scores and warnings of one result; NaN without gold.

    Attributes:
        n_judged: tasks with a label and gold.
        accuracy: share of these whose label is the gold one.
        majority_accuracy: the same of the majority vote (ties to the lowest class) on the same tasks.
        gained: judged tasks that only this result has right, not the majority vote.
        lost: judged tasks that only the majority vote has right.
        p_value: McNemar's exact test that gains and losses are equally frequent.
        calibration_error: expected calibration error of the posterior.
        warnings: sentences, those of the method first.
        reference: source of the accuracies.
    """

    n_judged: int
    accuracy: float
    majority_accuracy: float
    gained: int
    lost: int
    p_value: float
    calibration_error: float
    warnings: tuple[str, ...]
    reference: str = "gold"


@door
def judge(
    dataset: CrowdDataset, result: AggregationResult, gold: ByTask | None = None, *, known: IntArray | None = None
) -> Judgement:
    """Score a result and list its warnings.

    Args:
        dataset: the annotations it was fitted to.
        result: of an aggregator.
        gold: (n_tasks,) classes to judge by, -1 = do not judge; default is the gold of the annotated tasks.
            Leave out the tasks that were clamped, which are right by construction.
        known: (n_tasks,) classes that the aggregator was shown, -1 = none.

    Raises:
        SettingError: a result or gold of another length.
    """
    if result.labels.shape != (dataset.n_tasks,):
        raise SettingError("result", f"label {dataset.n_tasks} tasks", len(result.labels))
    truth = judging_gold(dataset, gold)
    votes = majority_labels(sparse_votes(dataset))
    judged = (truth >= 0) & (result.labels >= 0) & (votes >= 0)
    right, voted = (labels[judged] == truth[judged] for labels in (result.labels, votes))
    gained, lost = int((right & ~voted).sum()), int((voted & ~right).sum())
    some = bool(judged.any())
    p_value = float(mcnemar(np.array(gained), np.array(lost)))
    accuracy, majority = (float(right.mean()), float(voted.mean())) if some else (NAN, NAN)
    warnings = [*result.notes]
    if result.converged is False:
        warnings.append(f"It has not converged: {result.stopped}. Its numbers may still move.")
    sure = confidence(dataset, result, truth, known=known)
    warnings += sure.warnings if sure else ()
    if lost > gained:
        warnings.append(_loses(accuracy, majority, gained, lost, p_value))
    return Judgement(
        n_judged=int(judged.sum()),
        accuracy=accuracy,
        majority_accuracy=majority,
        gained=gained,
        lost=lost,
        p_value=p_value,
        calibration_error=calibration(result, np.where(judged, truth, -1)).error if some else NAN,
        warnings=tuple(warnings),
    )


@door
def show_gold(dataset: CrowdDataset, percent: float, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Split the gold: that of some training tasks is shown to an aggregator, and the rest judges it.

    Args:
        dataset: annotated tasks with gold, of the training split or without split, may be shown.
        percent: share of these, 0 to 100; the tasks of a smaller percentage are among those of a larger one.
        seed: of the choice.

    Returns:
        ``known`` and ``judging``, both (n_tasks,) int32 with -1 elsewhere; no task has both.

    Raises:
        SettingError: an invalid percentage.
    """
    if not 0 <= percent <= 100:
        raise SettingError("percent", "lie between 0 and 100", percent)
    open_to_show = np.flatnonzero(dataset.annotated & (dataset.gold >= 0) & (dataset.split <= SPLITS.index("train")))
    n = round(len(open_to_show) * percent / 100)
    shown = np.random.default_rng(seed).permutation(open_to_show)[:n]
    known = np.full(dataset.n_tasks, -1, np.int32)
    known[shown] = dataset.gold[shown]
    judging = np.where(dataset.annotated, dataset.gold, -1).astype(np.int32)
    judging[shown] = -1
    return known, judging


def _loses(accuracy: float, majority: float, gained: int, lost: int, p_value: float) -> str:
    surely = "" if p_value <= 0.05 else ", which chance can explain"
    return (
        f"It loses to majority vote: {100 * accuracy:.1f} % right against {100 * majority:.1f} %. "
        f"It gains {plural(gained, 'task')} and loses {lost} (McNemar {p_in_words(p_value)}{surely})."
    )


_BLOCK = 4_000_000  # entries of the (annotations, C, C) tables held at once


@dataclass(frozen=True, eq=False)
class MinimaxBound(Shown):
    """CoNAL, Theorem 1.

    Attributes:
        method: the method that estimated classes and confusions.
        value: lower bound on the minimax error rate; at most 1 / N, vacuous where it is 0 or less.
        deficit: (n_tasks,) F_i in nats: entropy of the task's class less the information of its labels; NaN where
            the method knows nothing about the task.
        vacuous: whether the bound is 0 or less.
        sentence: meaning of the bound.
    """

    method: str
    value: float
    deficit: FloatArray
    vacuous: bool
    sentence: str

    def frame(self) -> pd.DataFrame:
        """One row: the bound and its meaning."""
        return pd.DataFrame({"method": [self.method], "bound": [self.value], "meaning": [self.sentence]})


@door
def minimax_bound(
    dataset: CrowdDataset, result: AggregationResult, class_distribution: FloatArray | None = None
) -> MinimaxBound:
    """``(sum_i F_i - log 2) / (N^2 log C)``, with rho_i the class distribution of task i before its labels are seen,

    ``F_i = H(rho_i) - sum_r sum_cc' rho_ic rho_ic' [w_ir KL(pi^g_c || pi^g_c') + (1 - w_ir) KL(pi^r_c || pi^r_c')]``.

    The sum over r goes over the annotations of task i; without a common confusion w_ir is 0. Rows of a confusion
    without evidence (NaN) carry no information.

    Args:
        result: workers' confusions, class prior and, for CoNAL's model, the common confusions and omega; g is the
            worker's group.
        class_distribution: (n_tasks, C) rho, such as a classifier's prediction; default the prior, alike for all tasks.

    Raises:
        SettingError: a result without workers' confusions, rho of another shape, or one class only.
    """
    if result.confusion is None:
        raise SettingError("result", "hold confusions of workers", result.method, "Use 'dawid-skene' or 'conal-em'.")
    n_classes = dataset.n_classes
    if n_classes < 2:
        raise SettingError("n_classes", "be at least 2", n_classes)
    known = ~np.isnan(result.posterior[:, 0])
    if class_distribution is None:
        prior = result.prior if result.prior is not None else result.posterior[known].mean(0)
        class_distribution = np.broadcast_to(prior, result.posterior.shape)
    if class_distribution.shape != result.posterior.shape:
        raise SettingError("class_distribution", f"have the shape {result.posterior.shape}", class_distribution.shape)
    own, own_endless = _divergences(result.confusion)
    if result.omega is not None and result.common_confusion is not None:
        omega = result.omega
        common, common_endless = _divergences(result.common_confusion.reshape(-1, n_classes, n_classes))
    else:
        omega, common, common_endless = np.zeros(dataset.n_annotations), own[:1], own_endless[:1]
    group = np.zeros(dataset.n_workers, np.int32) if len(common) == 1 or result.group is None else result.group
    logs = np.log(np.where(class_distribution > 0, class_distribution, 1.0))
    deficit = np.asarray(-(class_distribution * logs).sum(1))
    step = max(1, _BLOCK // n_classes**2)
    for first in range(0, dataset.n_annotations, step):
        block = slice(first, first + step)
        rho = class_distribution[dataset.task[block]]
        worker, w = dataset.worker[block], omega[block]
        information = (1 - w) * _between(rho, own, worker) + w * _between(rho, common, group[worker])
        endless = (w < 1) & (_between(rho, own_endless, worker) > 0)
        endless |= (w > 0) & (_between(rho, common_endless, group[worker]) > 0)
        np.subtract.at(deficit, dataset.task[block], np.where(endless, np.inf, information))
    deficit[~known] = np.nan
    n = int(known.sum())
    value = float((deficit[known].sum() - np.log(2)) / (n**2 * np.log(n_classes))) if n else np.nan
    vacuous = not value > 0
    return MinimaxBound(result.method, value, deficit, vacuous, _sentence(result.method, value, n))


def _divergences(confusion: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(K, C, C) KL(pi_c || pi_c') with infinite ones as 0, and a mask of these; NaN rows count as 0."""
    blank = np.asarray(np.isnan(confusion).any(2))
    pi = np.where(blank[..., None], 1.0 / confusion.shape[1], confusion)
    logs = np.log(np.where(pi > 0, pi, 1.0))
    endless = np.einsum("kcl,kdl->kcd", pi > 0, pi <= 0, dtype=np.float64) > 0
    divergence = np.einsum("kcl,kcl->kc", pi, logs)[..., None] - np.einsum("kcl,kdl->kcd", pi, logs)
    blind = blank[:, :, None] | blank[:, None, :]
    return np.where(endless | blind, 0.0, divergence), (endless & ~blind).astype(np.float64)


def _between(rho: FloatArray, table: FloatArray, which: IntArray) -> FloatArray:
    """(n,) ``rho^T table[which] rho``."""
    chosen = table if len(table) == 1 else table[which]
    return np.asarray((np.matmul(rho[:, None, :], chosen)[:, 0] * rho).sum(1))


def _sentence(method: str, value: float, n: int) -> str:
    limit = f"it never exceeds 1/N = {100 / n:.2g} %, so it matters only for few tasks" if n else ""
    if value > 0:
        return (
            f"If workers err as {method} finds, no estimator can promise an error rate below {100 * value:.2g} % on "
            f"these {n} tasks ({limit})."
        )
    return (
        "Vacuous: the bound is not above 0, so it allows an error rate of 0. The labels tell more about the classes, "
        f"by the Kullback-Leibler terms, than is uncertain about them{f' ({limit})' if limit else ''}."
    )
