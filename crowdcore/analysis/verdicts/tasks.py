"""A verdict on every task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import gammaincc, ndtr, softmax

from crowdcore.aggregation._confidence import calibrated, flattened, of_posterior
from crowdcore.aggregation._evidence import Evidence, estimate_dependence, first_labels, log_shares, taken_out
from crowdcore.analysis.mistakes.significance import are_grades
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import benjamini_hochberg, check_share, divide
from crowdcore.analysis.verdicts import SURE
from crowdcore.analysis.verdicts.peers import Peers, peer_beliefs
from crowdcore.analysis.workers.lean import places, worker_lean
from crowdcore.core.counts import soft_confusion_counts, vote_counts
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_SHARE = 0.01  # prior share of wrong gold labels
_ROUNDS = 2  # of counting confusions


def wrong_gold(dataset: CrowdDataset, gold: IntArray) -> FloatArray:
    """Probability that each gold label is wrong, by the workers' labels.

    Gold counts as one more labeller, who is wrong on a share ε = 0.01 of the tasks, where each other class has its
    frequency ρ:

    ``q_i(c) ∝ γ_i(c) L_i(c)``, with ``γ_i(g_i) = 1 - ε``, ``γ_i(c) = ε ρ_c / (1 - ρ_{g_i})`` for all others.

    L is the likelihood of the labels by confusions that are counted on the other tasks, and by the dependence η of the
    labels of a task (`Evidence`). So frequent mistakes of the workers do not speak against gold, and labels that depend
    on each other count less. Confusions and η are counted by gold, then again by q, as wrong gold would else hide
    itself.

    Args:
        dataset: the annotations; of a worker's repeats on a task the first one counts.
        gold: (n_tasks,) true classes, -1 unknown.

    Returns:
        (n_tasks,) ``1 - q_i(g_i)``; 0 without gold or without labels.

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore.analysis.verdicts.tasks import wrong_gold
        >>> demo = cc.load_dataset("demo")
        >>> int((wrong_gold(demo, demo.gold) > 0.5).sum())
        0
    """
    doubt = np.zeros(dataset.n_tasks)
    known = np.flatnonzero((gold >= 0) & dataset.annotated)
    if not len(known):
        return doubt
    once = first_labels(dataset)[0]
    judged = once.where((gold >= 0)[once.task])
    at = known, gold[known]
    q = np.zeros((dataset.n_tasks, dataset.n_classes))
    q[at] = 1.0
    for _ in range(_ROUNDS):
        counts = soft_confusion_counts(judged.task, judged.worker, judged.label, q, dataset.n_workers)
        own = log_shares(counts).transpose(0, 2, 1)[judged.worker, judged.label]
        without, change = taken_out(judged, own, counts, q)
        prior = (counts.sum((0, 2)) + 1e-9) * np.exp(change[known])
        prior[np.arange(len(known)), at[1]] = 0
        prior *= _SHARE / np.maximum(prior.sum(1, keepdims=True), 1e-12)
        prior[np.arange(len(known)), at[1]] = 1 - _SHARE
        evidence = Evidence(judged, without).log(estimate_dependence(judged, q))[known]
        q[known] = softmax(evidence + np.log(np.maximum(prior, 1e-12)), 1)
    doubt[known] = 1 - q[at]
    return doubt


TaskVerdict: TypeAlias = Literal["check", "relabel", "ambiguous", "fine", "unlabelled"]
TASK_VERDICTS: Mapping[TaskVerdict, str] = {
    "check": "its gold label may be wrong",
    "relabel": "its label is uncertain",
    "ambiguous": "workers disagree more than their mistakes explain",
    "fine": "its label is certain, or gold is known",
    "unlabelled": "no worker has labelled it",
}
"""Verdicts on tasks, the most urgent first, with what they mean."""
REASONS = (
    "sure enough",
    "not sure enough",
    "only one label",
    "no label yet",
    "gold is known",
    "the labels contradict gold more than the workers' known mistakes explain: look at the gold label",
    "more disagreement than the workers' mistakes explain: it is hard, or two classes fit; more labels may not settle "
    "it",
)
_WRONG_GOLD = 0.5  # probability of wrong gold from which it is to be checked
_MOVED = 0.4  # largest share of a label's probability that moves over a border


@dataclass(frozen=True, eq=False)
class TaskVerdicts(Shown):
    """Verdicts with their evidence; arrays (n_tasks,), NaN and -1 for tasks without labels.

    Attributes:
        verdict: str, a key of `TASK_VERDICTS`.
        reason: index into `REASONS`.
        posterior: (n_tasks, C) probabilities of the classes, from which label, probability and order follow.
        label: the most probable class.
        sure: the probability of that label.
        second: the most frequent other label among those given, -1 without one.
        dissent: share of the second label.
        n_annotations: labels given.
        gold: the true class, -1 unknown; all -1 where the reference is not gold.
        wrong_gold: probability that gold is wrong (`wrong_gold`), 0 where it is unknown.
        q_value: of "the workers' mistakes explain the dissent"; Benjamini–Hochberg over the tasks tested.
        dependence: η of the labels of a task, which the probabilities take into account.
        task_ids: names.
        reference: what confusions were counted against.
        truth: what counted as the truth, in words.
    """

    verdict: AnyArray
    reason: IntArray
    posterior: FloatArray
    label: IntArray
    sure: FloatArray
    second: IntArray
    dissent: FloatArray
    n_annotations: IntArray
    gold: IntArray
    wrong_gold: FloatArray
    q_value: FloatArray
    dependence: float
    task_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str
    truth: str

    def frame(self) -> pd.DataFrame:
        """A row for each task with verdict, reason, label, second label and gold by name, and probability."""
        names = np.array([*self.classes, None], object)
        named = {key: names[getattr(self, key)] for key in ("label", "second", "gold")}
        reason = np.array(REASONS, object)[self.reason]
        table = {"task": self.task_ids, "verdict": self.verdict, "reason": reason, **named}
        return pd.DataFrame({**table, "probability": self.sure, "n_annotations": self.n_annotations})

    @property
    def gain(self) -> FloatArray:
        """(n_tasks,) probability that the label is wrong: ``wrong_gold`` where gold is known, else ``1 - sure``."""
        return np.where(self.gold >= 0, self.wrong_gold, 1 - np.nan_to_num(self.sure, nan=1.0))

    @property
    def order(self) -> IntArray:
        """(n,) numbers of the labelled tasks in which to label again or to check: the likeliest wrong label first."""
        labelled = np.flatnonzero(self.n_annotations > 0)
        return labelled[np.argsort(-self.gain[labelled], kind="stable")]

    @property
    def in_doubt(self) -> float:
        """Expected number of wrong labels over the labelled tasks: Σ_i (1 - sure_i)."""
        return float(np.nansum(1 - self.sure))


@door
def task_verdicts(
    dataset: CrowdDataset,
    reference: ReferenceLike = None,
    *,
    sure: float = SURE,
    split: float = 0.3,
    level: float = 0.05,
    peers: Peers | None = None,
) -> TaskVerdicts:
    """Decide which labels to accept, which tasks to label again, and which tasks are ambiguous.

    Label, probability and order follow from one distribution q_i. For a model as the reference, it is the model's,
    flattened (``q_i^β``, β <= 1) until as many labels are expected to be right as gold says, or without gold
    `crowdcore.aggregation.confidence`. For votes and other hard labels it is the belief by confusions counted on the
    other tasks (`peer_beliefs`), flattened, too. Without gold, a grade may also be the next one, as workers differ in
    strictness. For gold as the reference q_i is the belief by the labels, calibrated on gold (``q_i^t``). c is the most
    probable class:

    - **check**: gold is known, and more likely wrong than right (`wrong_gold`);
    - **ambiguous**: the labels' surprise ``-Σ_r log π^r[c, y_i^r]`` is beyond what the workers' confusions explain,
      and each of the two labels has at least the share ``split`` and two votes. The surprise is compared with a gamma
      distribution of the mean and variance that it has if c is true; Benjamini–Hochberg over the tasks of three
      labels and more;
    - **relabel**: gold is unknown, and ``q_i(c) < sure`` or there is a single label;
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
    total, annotated = dataset.labels_per_task, dataset.annotated
    votes = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
    posterior = _probabilities(dataset, truth, votes, peers)
    label = np.where(annotated, np.nan_to_num(posterior, nan=-1.0).argmax(1), -1)
    here = np.arange(dataset.n_tasks), np.maximum(label, 0)
    belief, first_votes = posterior[here], votes[here]
    votes[here] = 0
    second_votes = votes.max(1)
    second = np.where(second_votes > 0, votes.argmax(1), -1)
    dissent = divide(second_votes, total)
    q_value = benjamini_hochberg(np.where(total >= 3, _surprise(peers, label), np.nan))
    fewer = np.minimum(first_votes, second_votes)
    torn = (q_value <= level) & (fewer >= np.maximum(split * total, 2))
    gold = truth.labels if truth.checked else np.full(dataset.n_tasks, -1, np.int32)
    doubt = wrong_gold(dataset, gold)
    reason = np.select(
        [total == 0, doubt > _WRONG_GOLD, torn, gold >= 0, total == 1, belief < sure], [3, 5, 6, 4, 2, 1], 0
    )
    verdict = np.array(["fine", "relabel", "relabel", "unlabelled", "fine", "check", "ambiguous"], object)[reason]
    return TaskVerdicts(
        verdict,
        reason,
        posterior,
        label,
        belief,
        second,
        dissent,
        total,
        gold,
        doubt,
        q_value,
        peers.dependence,
        dataset.task_ids,
        dataset.classes,
        truth.name,
        peers.sentence,
    )


def _probabilities(dataset: CrowdDataset, truth: Reference, votes: FloatArray, peers: Peers) -> FloatArray:
    """(n_tasks, C) distribution from which label and probability of each task follow, NaN without labels."""
    annotated, held_out = dataset.annotated, peers.held_out
    if truth.checked:
        return calibrated(held_out, annotated, truth.labels)[0]
    own, shares = held_out if truth.posterior is None else truth.posterior, divide(votes, votes.sum(1, keepdims=True))
    of = own[annotated]
    if np.isnan(of).any() or (of.max(1) > 1 - 1e-9).all() or np.allclose(of, shares[annotated]):
        own = held_out
    sureness, own = of_posterior(dataset, own, dataset.gold, held_out), np.where(annotated[:, None], own, np.nan)
    own = own if sureness is None else flattened(own, annotated, sureness.right)
    order = places(dataset)
    return own if order is None or not are_grades(peers.counted[0], order) else _between_grades(dataset, own, order)


def _between_grades(dataset: CrowdDataset, posterior: FloatArray, place: FloatArray) -> FloatArray:
    """Posterior that allows for an error of the borders between grades, which depend on the crowd's mean lean.

    A lean common to all workers is invisible (`worker_lean`), but with leans of standard deviation s, the mean of n
    workers deviates by ``s / √n``. The borders may be off by as much, and a task near one may belong to the next class.
    """
    lean = worker_lean(dataset)
    error = (lean.high - lean.low) / 4
    spread = np.nanvar(lean.shift) - np.nanmean(error**2) if np.isfinite(lean.shift).sum() > 1 else 0.0
    off = np.sqrt(max(spread, 0.0) * (lean.n.astype(float) ** 2).sum()) / max(lean.n.sum(), 1)
    if not off or not lean.leans.any():
        return posterior
    y = place[dataset.label] - np.nan_to_num(lean.shift)[dataset.worker]
    at = divide(np.bincount(dataset.task, y, dataset.n_tasks), dataset.labels_per_task)
    ranked, posterior_between = np.argsort(place), posterior.copy()
    each, label = np.flatnonzero(~np.isnan(at)), place[np.nan_to_num(posterior, nan=-1.0).argmax(1)].astype(int)
    for step in (-1, 1):
        some = each[(label[each] + step >= 0) & (label[each] + step < len(place))]
        here, there = ranked[label[some]], ranked[label[some] + step]
        moved = posterior[some, here] * np.minimum(ndtr((step * (at[some] - label[some]) - 0.5) / off), _MOVED)
        posterior_between[some, here] -= moved
        posterior_between[some, there] += moved
    return posterior_between


def _surprise(peers: Peers, label: IntArray) -> FloatArray:
    """(n_tasks,) p-value of the labels' surprise if ``label`` is true.

    Confusions contain the task: without it, rare labels would be improbable only because their other counts are few,
    and up to twice as many tasks would be significant as the level allows.
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
