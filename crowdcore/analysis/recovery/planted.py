"""Errors planted in a crowd, or by gold, beside those by a reference or a network: classes, tags, ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.analysis.ratings.pairs import RatingPairs, rating_pairs
from crowdcore.analysis.ratings.workers import RatingTruth, SharedBias, rating_truth, rating_workers, shared_bias
from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.spans import TaggingScores, span_scores, tagging_scores
from crowdcore.analysis.statistics import group_means, row_shares
from crowdcore.analysis.workers.confusion import WorkerConfusion, worker_confusion
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door
from crowdcore.data.ratings import RatingDataset


@dataclass(frozen=True, eq=False)
class Planted(Shown):
    """A crowd judged by gold.

    Args:
        confusion: (C, C) shares of the labels given to the tasks of each true class; NaN for classes without labels.
        right: share of right labels.
        majority: share of the labelled tasks whose majority vote is right (ties to the lowest class).
        misleading: numbers of the classes whose tasks were given another label most often.
        n_annotations: annotations of tasks with gold.
    """

    confusion: FloatArray
    right: float
    majority: float
    misleading: IntArray
    n_annotations: int
    classes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One sentence: whether labels alone identify the classes."""
        if not len(self.misleading):
            return "In every class the true class is the most frequent label, so labels alone identify the classes."
        swapped = [f"{self.classes[a]} is mostly labelled {self.classes[b]}" for a, b in self._misled_cells()]
        listed = ", ".join(swapped[:3]) + (f" and {len(swapped) - 3} more" if len(swapped) > 3 else "")
        where = f"{len(swapped)} of {len(self.classes)} classes"
        return (
            f"In {where} another label is more frequent than the true one: {listed}. "
            "Labels alone cannot identify the classes; gold on the validation split can."
        )

    def _misled_cells(self) -> list[tuple[int, int]]:
        return [(int(a), int(np.nanargmax(self.confusion[a]))) for a in self.misleading]

    def frame(self) -> pd.DataFrame:
        """One row per class: share of right labels, the most frequent label and its share."""
        known = ~np.isnan(self.confusion).any(1)
        most = np.where(known, np.nan_to_num(self.confusion).argmax(1), 0)
        names = np.array(self.classes, object)
        return pd.DataFrame(
            {
                "class": names,
                "share right": np.diagonal(self.confusion),
                "most frequent label": np.where(known, names[most], "–"),
                "its share": self.confusion[np.arange(len(names)), most],
            }
        )


@door
def planted(dataset: CrowdDataset) -> Planted:
    """Count a crowd's labels by true class.

    Raises:
        DataError: no annotated task has gold.
    """
    true = dataset.gold[dataset.task]
    known = true >= 0
    if not known.any():
        raise DataError(f"{dataset.name} has no annotated task with gold", "Its mistakes cannot be counted.")
    n = dataset.n_classes
    counts = np.bincount(true[known] * n + dataset.label[known], minlength=n * n).reshape(n, n).astype(np.float64)
    confusion = row_shares(counts)
    judged = dataset.annotated & (dataset.gold >= 0)
    vote = resolve_reference(dataset, "majority-vote").labels
    misled = (np.nan_to_num(confusion).max(1) > np.nan_to_num(np.diagonal(confusion))) & counts.any(1)
    return Planted(
        confusion,
        float(np.trace(counts) / counts.sum()),
        float((vote[judged] == dataset.gold[judged]).mean()),
        np.flatnonzero(misled),
        int(known.sum()),
        dataset.classes,
    )


KINDS = ("missed", "boundary", "type")
"""Kinds of errors that are compared, of `SPAN_ERRORS`; an error of both counts as boundary and as type."""


@dataclass(frozen=True, eq=False)
class TagRecovery(Shown):
    """Errors by gold, and by a reference in the place of the truth.

    Args:
        scores: of the reference's own tags, by gold.
        true: confusions of the workers by gold.
        found: confusions of the workers by the reference.
        true_rates: (R, 3) share of the true spans in a worker's sentences, by kind of error (`KINDS`), by gold.
        found_rates: (R, 3) the same by the reference.
    """

    reference: str
    scores: TaggingScores
    true: WorkerConfusion
    found: WorkerConfusion
    true_rates: FloatArray
    found_rates: FloatArray

    @property
    def crowd_error(self) -> float:
        """Squared distance of the crowd's confusion to that by gold, mean over the true tags."""
        return _distance(self.found.crowd, self.true.crowd)

    @property
    def own_error(self) -> float:
        """Squared distance of a worker's confusion to that by gold, mean over workers and the true tags."""
        return _distance(self.found.matrices, self.true.matrices)

    def rate_error(self, kind: str) -> float:
        """Root mean squared difference in the rate of a kind of error, over workers."""
        k = KINDS.index(kind)
        return float(np.sqrt(np.nanmean((self.found_rates[:, k] - self.true_rates[:, k]) ** 2)))

    def frame(self) -> pd.DataFrame:
        """A row for each worker who saw a span: per cent of spans missed, with another boundary, of another type."""
        columns: dict[str, Any] = {"worker": self.true.worker_ids}
        for k, kind in enumerate(KINDS):
            columns |= {f"{kind} %": 100 * self.true_rates[:, k], f"{kind} %, recovered": 100 * self.found_rates[:, k]}
        return pd.DataFrame(columns)[~np.isnan(self.true_rates[:, 0])].reset_index(drop=True)


@door
def tag_recovery(dataset: CrowdDataset, reference: ReferenceLike) -> TagRecovery:
    """Compare the workers' errors by a reference with those by gold.

    Args:
        dataset: tags tokens, with gold.
        reference: what counts as the truth.

    Raises:
        DataError: the crowd does not tag tokens, or has no gold.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.spans(n_sentences=100)
        >>> votes, gold = (tag_recovery(crowd, name) for name in ("majority-vote", "gold"))
        >>> votes.crowd_error > gold.crowd_error == 0
        True
    """
    truth = resolve_reference(dataset, reference)
    return TagRecovery(
        truth.name,
        tagging_scores(dataset, truth.labels),
        worker_confusion(dataset, "gold"),
        worker_confusion(dataset, truth),
        _rates(dataset, "gold"),
        _rates(dataset, truth),
    )


def _rates(dataset: CrowdDataset, reference: ReferenceLike) -> FloatArray:
    scores = span_scores(dataset, reference, n_resamples=0)
    share = scores.outcomes / np.where(scores.n_true > 0, scores.n_true, np.nan)[:, None]
    missed, both, boundary, kind, _ = share.T  # in the order of SPAN_ERRORS
    return np.stack([missed, boundary + both, kind + both], 1)


def _distance(estimate: FloatArray, true: FloatArray) -> float:
    """Mean squared difference over the rows known in both."""
    return float(np.nanmean(((estimate - true) ** 2).sum(-1)))


@dataclass(frozen=True, eq=False)
class RatingBiases(Shown):
    """Biases of R workers in the dataset's unit.

    Args:
        worker_ids: (R,).
        n_ratings: (R,) ratings of tasks with gold.
        true: (R,) mean of rating minus gold, NaN without such ratings.
        learnt: (S, R) of each replica.
        least: ratings from which a worker counts in the correlations.
        correlation: (S,) Pearson's r of learnt and true biases over those workers; NaN where one of them is constant.
        mean_correlation: of the mean over replicas.
    """

    worker_ids: pd.Index[str]
    n_ratings: IntArray
    true: FloatArray
    learnt: FloatArray
    least: int
    correlation: FloatArray
    mean_correlation: float

    def frame(self) -> pd.DataFrame:
        """One row per worker with ratings of tasks with gold: worker, ratings, true, learnt, std (over replicas)."""
        several = len(self.learnt) > 1
        columns = {
            "worker": self.worker_ids,
            "ratings": self.n_ratings,
            "true": self.true,
            "learnt": self.learnt.mean(0),
            "std": self.learnt.std(0, ddof=1) if several else np.full(len(self.true), np.nan),
        }
        return pd.DataFrame(columns)[self.n_ratings > 0].sort_values("ratings", ascending=False, kind="stable")


@door
def rating_biases(dataset: RatingDataset, learnt: FloatArray, least: int = 10) -> RatingBiases:
    """Compare learnt biases with the mean difference of a worker's ratings from the gold.

    Args:
        dataset: with gold on rated tasks.
        learnt: (S, R) in the dataset's unit.
        least: ratings of tasks with gold from which a worker counts in the correlations.

    Raises:
        DataError: no rated task has gold.
        SettingError: biases of other workers.
    """
    if not dataset.has_gold:
        raise DataError(f"No rated task of {dataset.name} has gold", "True biases cannot be known.")
    if learnt.ndim != 2 or learnt.shape[1] != dataset.n_workers:
        raise SettingError("learnt", f"have the shape (S, {dataset.n_workers})", learnt.shape)
    error = dataset.rating - dataset.gold[dataset.task]
    n = np.bincount(dataset.worker[~np.isnan(error)], minlength=dataset.n_workers)
    true = group_means(error, dataset.worker, dataset.n_workers)
    counted = n >= max(least, 1)
    r = np.array([bias_correlation(dataset, true[counted], one[counted]) for one in (*learnt, learnt.mean(0))])
    return RatingBiases(dataset.worker_ids, n, true, learnt, least, r[:-1], float(r[-1]))


def bias_correlation(dataset: RatingDataset, a: FloatArray, b: FloatArray) -> float:
    """Pearson's, of biases of some workers; NaN where they do not vary."""
    varied = len(a) > 1 and min(np.ptp(a), np.ptp(b)) > dataset.rounding
    return float(np.corrcoef(a, b)[0, 1]) if varied else float("nan")


@dataclass(frozen=True, eq=False)
class RatingRecovery(Shown):
    """Planted parameters of ratings, and their estimates by a reference.

    Args:
        worker_ids: (R,) ids.
        worker_role: (R,) words such as "spammer", empty for an ordinary worker.
        n_ratings: (R,) ratings of each.
        planted_bias, bias: (R,) mean over a worker's tasks of line − truth, and of rating − reference.
        planted_scale, scale: (R,) slopes on the truth and on the reference.
        planted_noise, spread: (R,) standard deviation around the line, and of rating − reference.
        pairs: workers with similar errors, by the reference.
        shared: bias of the crowd over the range of the reference.
        planted_shared: (n_bins,) bias of the crowd's mean line in the middle of each bin.
        rmse: root mean squared error of the reference.
    """

    reference: str
    worker_ids: pd.Index[str]
    worker_role: tuple[str, ...]
    n_ratings: IntArray
    planted_bias: FloatArray
    bias: FloatArray
    planted_scale: FloatArray
    scale: FloatArray
    planted_noise: FloatArray
    spread: FloatArray
    pairs: RatingPairs
    shared: SharedBias
    planted_shared: FloatArray
    rmse: float

    @property
    def bias_error(self) -> float:
        """Root mean squared difference of found and planted biases over the workers."""
        return _rms(self.bias - self.planted_bias)

    @property
    def own_bias_error(self) -> float:
        """The same after subtracting the mean bias over workers, which all share."""
        difference = self.bias - self.planted_bias
        return _rms(difference - np.nanmean(difference))

    @property
    def scale_error(self) -> float:
        """Root mean squared difference of found and planted slopes over the workers."""
        return _rms(self.scale - self.planted_scale)

    @property
    def shared_error(self) -> float:
        """Root mean squared difference of found and planted shared bias, over ratings."""
        return _rms(self.shared.bias - self.planted_shared, self.shared.ratings)

    def frame(self) -> pd.DataFrame:
        """One row per worker with ratings."""
        columns = {
            "worker": self.worker_ids,
            "role": self.worker_role,
            "ratings": self.n_ratings,
            "planted bias": self.planted_bias,
            "bias": self.bias,
            "planted scale": self.planted_scale,
            "scale": self.scale,
            "planted noise": self.planted_noise,
            "spread": self.spread,
        }
        return pd.DataFrame(columns)[self.n_ratings > 0].reset_index(drop=True)


@door
def rating_recovery(
    dataset: RatingDataset, truth: RatingTruth | str | None = None, judging: BoolArray | None = None
) -> RatingRecovery:
    """Compare the estimates by a reference with the planted parameters.

    Args:
        dataset: simulated, with its truth.
        truth: the reference, by `rating_truth` or your own.
        judging: (n_tasks,) rated tasks with gold on which the reference is judged; default all.

    Raises:
        DataError: the dataset has no planted parameters.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.ratings(shared_low=2, shared_high=2, spammers=0, copiers=0)
        >>> mean, gold = (cc.analysis.rating_truth(crowd, name) for name in ("mean", "gold"))
        >>> round(rating_recovery(crowd, mean).bias_error), round(rating_recovery(crowd, gold).bias_error)
        (2, 0)
    """
    planted, truth = dataset.truth, rating_truth(dataset, truth)
    at, scale, noise = (getattr(planted, f"worker_{name}", None) for name in ("bias", "scale", "noise"))
    if planted is None or at is None or scale is None or noise is None or not dataset.has_gold:
        raise DataError(f"What was planted in {dataset.name} is not known", "Make it with simulate.ratings.")
    n = dataset.labels_per_worker
    middle = (dataset.low + dataset.high) / 2
    off = dataset.gold[dataset.task] - middle
    line = at[dataset.worker] + (scale[dataset.worker] - 1) * off
    shared = shared_bias(dataset, truth)
    bias, slope = (float(np.average(part, weights=n)) for part in (at, scale))
    workers = rating_workers(dataset, truth)
    judged = dataset.annotated & ~np.isnan(dataset.gold) if judging is None else judging
    return RatingRecovery(
        truth.name,
        dataset.worker_ids,
        planted.worker_role or ("",) * dataset.n_workers,
        n,
        np.bincount(dataset.worker, line, dataset.n_workers) / np.where(n > 0, n, np.nan),
        workers.bias,
        scale,
        workers.scale,
        noise,
        workers.spread,
        rating_pairs(dataset, truth),
        shared,
        bias + (slope - 1) * (shared.centres - middle),
        _rms((truth.rating - dataset.gold)[judged]),
    )


def _rms(values: FloatArray, weights: IntArray | None = None) -> float:
    """Root mean square of the known values; NaN without any."""
    known = ~np.isnan(values)
    return float(np.sqrt(np.average(values[known] ** 2, weights=None if weights is None else weights[known])))
