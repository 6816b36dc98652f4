"""Beliefs about each annotation's task without the annotation itself, where labels of a task depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crowdcore.aggregation._statistics import beyond_independent
from crowdcore.analysis.reference import Reference
from crowdcore.analysis.statistics import row_shares
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.beliefs import add_up, equal_labels, expected_labels, judges, log_urns, without_task
from crowdcore.core.counts import confusion_counts, soft_confusion_counts, softmax_rows, vote_counts
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.report import plural

BY_PEERS = (
    "Gold is not used: a label is judged by what the other workers say of the task, weighed by their mistakes on other "
    "tasks (by {name!r})."
)
_SHRINKAGE = 4.0  # pseudo-labels by which a row of a worker's confusion is pulled to the crowd's
_FLOOR = 0.5  # pseudo-labels of each cell of the crowd's own confusion
_SHARE_ROUNDS = 10  # of fitting the class shares of each worker's tasks
_LEAST = 1e-4  # share of a task in a class that is taken out of its counts; less than that would move beliefs as little


@dataclass(frozen=True, eq=False)
class Peers:
    """Beliefs about the truth; of a worker's repeats on a task the first one counts.

    Attributes:
        row, task, worker, label: (P,) int number of the annotation, its task (ascending), worker and label.
        judge: (P, C) belief in each class by all but the worker's own label, rows sum to 1; gold as 0 and 1; NaN where
            there is no gold, or, without gold, no other label.
        crowd: (n_tasks, C) belief by all labels of a task, NaN without labels.
        held_out: (n_tasks, C) the same by confusions that are counted on the other tasks only.
        dependence: η of the labels of a task, 0 where they are independent given its class (`Evidence`).
        log_confusion: (n_workers, C, C) log of the confusions used, row = true class.
        sentence: what is taken for the truth, in words.
    """

    row: IntArray
    task: IntArray
    worker: IntArray
    label: IntArray
    judge: FloatArray
    crowd: FloatArray
    held_out: FloatArray
    dependence: float
    log_confusion: FloatArray
    sentence: str

    @cached_property
    def by_own_shares(self) -> FloatArray:
        """``judge`` (P, C), where each worker's tasks have class shares of their own; gold stays as it is.

        ``judge_j(c) ρ_r(c) / ρ(c)`` for the worker r of label j, with ρ_r its mean over the worker's labels, by EM. In
        a block of tasks where a class is rare, most of those that a few labels say to be of that class are not: else
        all who label the block seem to make one mistake.
        """
        judge, worker, n = np.nan_to_num(self.judge), self.worker, len(self.log_confusion)
        shares = judge.sum(0) + 1e-9
        own = belief = judge
        by_worker = coo_array((np.ones(len(worker)), (worker, np.arange(len(worker)))), (n, len(worker))).tocsr()
        for _ in range(_SHARE_ROUNDS):
            own = by_worker @ belief + _SHRINKAGE * shares / shares.sum()
            belief = judge * (own / shares)[worker]
            belief /= np.maximum(belief.sum(1, keepdims=True), 1e-300)
        return np.where(np.isnan(self.judge), np.nan, belief)

    @cached_property
    def counted(self) -> tuple[FloatArray, FloatArray]:
        """`count` by ``by_own_shares``."""
        return self.count(self.by_own_shares)

    def count(self, judge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n_workers, C, C) labels b on tasks of class a by these beliefs, and the share of b in others' labels there.

        Args:
            judge: (P, C) belief in the class of each label's task.
        """
        votes = vote_counts(self.task, self.label, len(self.crowd), judge.shape[1])
        task, worker, label = (numbers.astype(np.int64) for numbers in (self.task, self.worker, self.label))
        return expected_labels(task, worker, label, judge, votes, len(self.log_confusion))


def peer_beliefs(dataset: CrowdDataset, truth: Reference, dependence: float | None = None) -> Peers:
    """One E-step of Dawid & Skene (1979) by the confusions that the reference shows, with and without each label.

    With counts n^r_ab of the reference (soft or hard) and the crowd's pooled confusion π^g,
    ``π^r_ab = (n^r_ab + 4 π^g_ab) / (n^r_a + 4)``. If labels are independent given the class, the belief in it is
    ``q_i(c) ∝ ρ_c Π_s π^s[c, y_i^s]``, and without worker r ``q_i^{-r}(c) ∝ q_i(c) / π^r[c, y_i^r]``, the cavity
    distribution. It judges r: never by r's own label, and workers with few labels do not get confusions that fit them
    perfectly. Where the reference is gold, gold itself is the judge.

    Those counts contain task i, so q_i contains its gold (or the model's estimate of it) and errs too rarely when
    compared with gold. ``held_out`` is q_i after task i has been taken out of n^s, π^g and ρ: exactly the result of
    counting all other tasks again.

    Labels of a task that is hard, or looks like another class, depend on each other, and the product is overconfident:
    ``crowd`` and ``held_out`` take `Evidence` with the dependence η instead. Judges stay products: verdicts compare
    workers who are judged by the same ones.

    Args:
        dependence: η; default: `fit_dependence`.

    Raises:
        DataError: arrays of annotations times classes that do not fit.
    """
    n_classes, n_workers = dataset.n_classes, dataset.n_workers
    refuse_beyond(
        6 * 8 * dataset.n_annotations * n_classes,
        f"Beliefs about {dataset.n_annotations:,} annotations and {n_classes:,} classes",
        "Merge classes, or look at fewer tasks.",
    )
    once, first = first_labels(dataset)
    labels = task, worker, label = once.task, once.worker, once.label
    if truth.posterior is None:
        q = (np.arange(n_classes) == truth.labels[:, None]).astype(np.float64)
        counts = confusion_counts(*labels, truth.labels, n_workers, n_classes)
    else:
        q = np.nan_to_num(truth.posterior)
        counts = soft_confusion_counts(*labels, truth.posterior, n_workers)
    log_confusion, log_prior = log_shares(counts), np.log(counts.sum((0, 2)) + _FLOOR)
    own = log_confusion.transpose(0, 2, 1)[worker, label]
    without, log_prior_without = taken_out(once, own, counts, q)
    log_prior_without += log_prior
    evidence, elsewhere = Evidence(once, own), Evidence(once, without)
    if dependence is None:
        dependence = fit_dependence(once, elsewhere, log_prior_without)
    if truth.checked:
        known = truth.labels[task]
        judge = np.where(known[:, None] >= 0, np.arange(n_classes) == known[:, None], np.nan)
        sentence = by_gold(dataset, truth)
    else:
        judge = judges(once.task_start, evidence.log(0.0) + log_prior, own)
        sentence = BY_PEERS.format(name=truth.name)
    crowd = evidence.beliefs(dependence, log_prior)
    held_out = elsewhere.beliefs(dependence, log_prior_without)
    return Peers(first, task, worker, label, judge, crowd, held_out, dependence, log_confusion, sentence)


def first_labels(dataset: CrowdDataset) -> tuple[CrowdDataset, IntArray]:
    """The dataset without a worker's repeats on a task, and the numbers of the annotations that are kept."""
    key = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    first = np.sort(np.unique(key, return_index=True)[1])
    return dataset if len(first) == len(key) else dataset.where(np.isin(np.arange(len(key)), first)), first


def log_shares(counts: FloatArray) -> FloatArray:
    """(n_workers, C, C) log of confusions from counts, each row drawn to the crowd's."""
    pooled = row_shares(counts.sum(0) + _FLOOR)
    return np.asarray(np.log((counts + _SHRINKAGE * pooled) / (counts.sum(2, keepdims=True) + _SHRINKAGE)))


def taken_out(once: CrowdDataset, own: FloatArray, counts: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``own`` (A, C) by counts without its task, and (n_tasks, C) the change of the log prior.

    Args:
        once: the annotations, no repeats.
        own: (A, C) log confusions of the labels.
        counts: (n_workers, C, C) that the tasks have added to.
        q: (n_tasks, C) the class that each task has been counted as.
    """
    votes, crowd = vote_counts(once.task, once.label, once.n_tasks, once.n_classes), counts.sum(0)
    of_class = crowd.sum(1)
    given = once.task_start, once.worker, once.label, own, q, votes
    without = without_task(*given, counts, counts.sum(2), crowd, of_class, _LEAST, _FLOOR, _SHRINKAGE)
    return without, np.log1p(-q * once.labels_per_task[:, None] / (of_class + _FLOOR))


def by_gold(dataset: CrowdDataset, truth: Reference) -> str:
    """Sentence that names the truth and the number of labelled tasks where it is known."""
    return f"The truth is {truth.name}, on {plural((truth.known & dataset.annotated).sum(), dataset.task_noun)}."


_CELLS = 1 << 21  # shares of confusions that agreement is expected from at once
_LIKELY = 6  # classes of a task that the expected agreement looks at
_ENOUGH, _TINY = 0.5, 1e-9  # labels of other tasks below which the crowd's row stands for the worker's
_MOST = 0.95  # η
_ROUNDS, _CLOSE = 10, 2e-3  # steps towards η, and the change at which they end


class Evidence:
    """Likelihood of each task's labels under each class, if every task has confusions of its own.

    Rows of a task's confusion are drawn around the workers', ``θ_ic ~ Dirichlet((1 - η) / η · π_c)``, so that labels of
    one task repeat each other: two labels on a task of class c agree with probability ``η + (1 - η) Σ_l π_cl²``. With θ
    summed out (Pólya's urn), a label after k equal ones of its task counts ``(1 - η) g + η k``, and the product over
    the labels, but for a constant, is their likelihood. g is the geometric mean of ``π^r[c, l]`` over the workers who
    gave the task this label, so that the order of labels does not matter. η = 0 is Dawid & Skene's ``Π_r π^r[c, y^r]``.

    Args:
        dataset: the annotations, no repeats.
        log_confusion: (n_annotations, C) log of ``π^r[c, y_i^r]`` for each class c.
    """

    def __init__(self, dataset: CrowdDataset, log_confusion: FloatArray) -> None:
        self._dataset, self._log_confusion = dataset, log_confusion
        self._independent = np.full((dataset.n_tasks, log_confusion.shape[1]), np.nan)
        add_up(dataset.task_start, log_confusion, self._independent)

    def log(self, dependence: float) -> FloatArray:
        """(n_tasks, C) log-likelihoods but for a constant of each task; NaN without labels."""
        if dependence == 0:
            return self._independent
        out = np.full_like(self._independent, np.nan)
        log_urns(self._dataset.task_start, *self._equal_labels, dependence, out)
        return out

    def beliefs(self, dependence: float, log_prior: FloatArray) -> FloatArray:
        """(n_tasks, C) probabilities of the classes, with the log class shares (C,) or (n_tasks, C)."""
        scores = self.log(dependence) + log_prior
        softmax_rows(scores)
        return scores

    @cached_property
    def _equal_labels(self) -> tuple[FloatArray, FloatArray]:
        of = self._dataset
        return equal_labels(of.task_start, of.label, self._log_confusion, of.n_classes)


def estimate_dependence(dataset: CrowdDataset, posterior: FloatArray) -> float:
    """η of a posterior: the share of pairs of labels of one task that agree beyond what independent mistakes explain.

    ``η̂ = Σ_i (agreeing_i - e_i) / (1 + Σ_i (pairs_i - e_i))`` with
    ``e_i = Σ_c q_i(c) Σ_{r<s} Σ_l π^r[c, l] π^s[c, l]``; π are shares of counts without task i, so that under a right
    posterior the sums are 0 on average whatever the number of labels. As noise can only seem to be dependence,
    ``η = (η̂² - s²)₊ / η̂``, with s² the variance of η̂ over tasks.

    Pairs of evenly spaced tasks are enough; counts take all. The dataset must hold no repeats.
    """
    n_classes, task = dataset.n_classes, dataset.task
    counts = soft_confusion_counts(task, dataset.worker, dataset.label, posterior, dataset.n_workers)
    crowd = row_shares(counts.sum(0) + _TINY)
    likely = min(_LIKELY, n_classes)
    step = -(-dataset.n_annotations * likely * n_classes // _CELLS)
    several = (dataset.labels_per_task > 1) & (np.arange(dataset.n_tasks) % max(step, 1) == 0)
    rows = np.flatnonzero(several[task])
    if not len(rows):
        return 0.0
    q = posterior[task[rows]]
    top = np.argsort(-q, axis=1, kind="stable")[:, :likely]  # e_i takes the likeliest classes alone
    weight = np.take_along_axis(q, top, 1)
    shares = counts[dataset.worker[rows, None], top]  # (annotations, likely, C)
    shares[np.arange(len(rows)), :, dataset.label[rows]] -= weight
    total = shares.sum(2)
    few = total <= _ENOUGH
    shares /= np.maximum(total, _ENOUGH)[:, :, None]
    shares[few] = crowd[top[few]]
    number, likeliest = (np.cumsum(several) - 1)[task[rows]], np.flatnonzero(np.diff(task[rows], prepend=-1))
    beyond, room = beyond_independent(number, dataset.label[rows], shares, weight[likeliest], n_classes)
    all_room = 1 + room.sum()  # one pair more, for crowds without any mistake
    eta = beyond.sum() / all_room
    noise = ((beyond - eta * room) ** 2).sum() / all_room**2
    return float(np.clip(eta - noise / eta, 0, _MOST)) if eta > 0 else 0.0


def fit_dependence(dataset: CrowdDataset, evidence: Evidence, log_prior: FloatArray) -> float:
    """Fit η to the beliefs that it leads to: the fixed point of ``η = estimate_dependence(q(η))``, reached from 0.

    Where labels agree beyond what q explains, q is less sure; and as q then explains less of the agreement, η grows a
    little more. ``log_prior`` holds the log class shares, (C,) or (n_tasks, C), up to a constant of each task.
    """
    eta = 0.0
    for _ in range(_ROUNDS):
        before, eta = eta, estimate_dependence(dataset, evidence.beliefs(eta, log_prior))
        if abs(eta - before) < _CLOSE:
            break
    return eta


def only_peers(dataset: CrowdDataset) -> IntArray:
    """(n_workers,) the other worker where two share tasks only with each other, even through others; else -1."""
    n_workers, n = dataset.n_workers, dataset.n_workers + dataset.n_tasks
    links = coo_array((np.ones(dataset.n_annotations), (dataset.worker, n_workers + dataset.task)), shape=(n, n))
    _, component = connected_components(links, directed=False)
    component = component[:n_workers]
    size = np.bincount(component, minlength=component.max(initial=0) + 1)
    workers = np.flatnonzero(size[component] == 2)
    pairs = workers[np.argsort(component[workers], kind="stable")].reshape(-1, 2)
    only = np.full(n_workers, -1)
    only[pairs] = pairs[:, ::-1]
    return only
