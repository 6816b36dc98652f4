"""A verdict on every task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import gammaincc

from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import benjamini_hochberg, check_share, divide
from crowdcore.analysis.verdicts import SURE
from crowdcore.analysis.verdicts.peers import Peers, peer_beliefs
from crowdcore.core.counts import vote_counts
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

TaskVerdict: TypeAlias = Literal["relabel", "ambiguous", "fine", "unlabelled"]
TASK_VERDICTS: Mapping[TaskVerdict, str] = {
    "relabel": "its label is uncertain or contradicts gold",
    "ambiguous": "workers disagree more than their mistakes explain",
    "fine": "its label is certain",
    "unlabelled": "no worker has labelled it",
}
"""Verdicts on tasks, the most urgent first, with what they mean."""
REASONS = (
    "sure enough",
    "not sure enough",
    "only one label",
    "no label yet",
    "the labels contradict gold",
    "the labels contradict gold with certainty: check the gold label too",
    "more disagreement than the workers' mistakes explain: it is hard, or two classes fit; more labels may not settle "
    "it",
)


@dataclass(frozen=True, eq=False)
class TaskVerdicts:
    """Verdicts with their evidence; arrays (n_tasks,), NaN and -1 for tasks without labels.

    Attributes:
        verdict: str, a key of `TASK_VERDICTS`.
        reason: index into `REASONS`.
        label: most probable class by the labels and the workers' confusions on the other tasks.
        sure: the probability of that label, by the workers' confusions on the other tasks and the labels' dependence.
        second: the most frequent other label among those given, -1 without one.
        dissent: share of the second label.
        n_annotations: labels given.
        gold: the true class, -1 unknown; all -1 where the reference is not gold.
        q_value: of so much dissent by the workers' mistakes alone; Benjamini–Hochberg over the tasks tested.
        dependence: η of the labels of a task, which the probabilities take into account.
        task_ids: names.
        reference: what confusions were counted against.
        truth: what was taken for the truth, in words.
    """

    verdict: AnyArray
    reason: IntArray
    label: IntArray
    sure: FloatArray
    second: IntArray
    dissent: FloatArray
    n_annotations: IntArray
    gold: IntArray
    q_value: FloatArray
    dependence: float
    task_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str
    truth: str

    @property
    def gain(self) -> FloatArray:
        """(n_tasks,) chance that labelling again corrects the label: 1 - sure_i, 1 where it contradicts gold."""
        against = (self.gold >= 0) & (self.label >= 0) & (self.label != self.gold)
        return np.where(against, 1.0, 1 - np.nan_to_num(self.sure, nan=1.0))

    @property
    def in_doubt(self) -> float:
        """Labels to expect wrong among the tasks that have some: Σ_i (1 - sure_i)."""
        return float(np.nansum(1 - self.sure))


def task_verdicts(
    dataset: CrowdDataset,
    reference: ReferenceLike = "gold",
    *,
    sure: float = SURE,
    split: float = 0.3,
    level: float = 0.05,
    peers: Peers | None = None,
) -> TaskVerdicts:
    """Decide which labels to take, which tasks to label again, and which tasks are ambiguous.

    Let q_i be the belief of the labels by confusions counted on the other tasks, as far as the labels of a task are
    independent (`peer_beliefs`), and c its most probable class:

    - **ambiguous**: the labels' surprise ``-Σ_r log π^r[c, y_i^r]`` is beyond what the workers' confusions explain,
      and each of the two labels has at least the share ``split`` and two votes. The surprise is compared with a gamma
      distribution of the mean and variance that it has if c is true; Benjamini–Hochberg over the tasks of three
      labels and more.
    - **relabel**: c contradicts gold; or ``q_i(c) < sure``; or a single label.
    - **fine**: all others that have labels.

    Raises:
        DataError: no usable reference, or arrays too large.
        SettingError: shares outside 0 … 1.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.analysis.task_verdicts(cc.load_dataset("demo"))
        >>> bool((result.verdict[result.n_annotations == 1] == "relabel").all())
        True
    """
    check_share(sure=sure, split=split, level=level)
    truth = resolve_reference(dataset, reference)
    peers = peer_beliefs(dataset, truth) if peers is None else peers
    total, there = dataset.labels_per_task, dataset.annotated
    posterior = peers.held_out
    label = np.where(there, np.nan_to_num(posterior, nan=-1.0).argmax(1), -1)
    votes = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
    here = np.arange(dataset.n_tasks), np.maximum(label, 0)
    belief, first_votes = peers.held_out[here], votes[here]
    votes[here] = 0
    second_votes = votes.max(1)
    second = np.where(second_votes > 0, votes.argmax(1), -1)
    dissent = divide(second_votes, total)
    q_value = benjamini_hochberg(np.where(total >= 3, _surprise(peers, label), np.nan))
    fewer = np.minimum(first_votes, second_votes)
    torn = (q_value <= level) & (fewer >= np.maximum(split * total, 2))
    gold = truth.labels if truth.checked else np.full(dataset.n_tasks, -1, np.int32)
    against = there & (gold >= 0) & (label != gold)
    reason = np.select(
        [total == 0, torn, against & (belief >= sure), against, total == 1, belief < sure], [3, 6, 5, 4, 2, 1], 0
    )
    verdict = np.select([reason == 6, reason == 0], ["ambiguous", "fine"], "relabel")
    verdict = np.where(total == 0, "unlabelled", verdict)
    return TaskVerdicts(
        verdict,
        reason,
        label,
        belief,
        second,
        dissent,
        total,
        gold,
        q_value,
        peers.dependence,
        dataset.task_ids,
        dataset.classes,
        truth.name,
        peers.sentence,
    )


def _surprise(peers: Peers, label: IntArray) -> FloatArray:
    """(n_tasks,) p-value of labels so improbable if ``label`` is true.

    By confusions that contain the task: without it, some labels would be improbable for want of others alone, and up to
    twice as many tasks as the level says would be below it.
    """
    rows = np.exp(peers.log_confusion)
    mean = -(rows * peers.log_confusion).sum(2)
    variance = (rows * peers.log_confusion**2).sum(2) - mean**2
    at = peers.worker, label[peers.task]
    n = len(label)
    seen = np.bincount(peers.task, -peers.log_confusion[(*at, peers.label)], n)
    mu, v = np.bincount(peers.task, mean[at], n), np.bincount(peers.task, variance[at], n)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(v > 1e-12, gammaincc(mu**2 / v, seen * mu / v), np.nan)
