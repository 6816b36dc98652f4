"""Quality of workers, signs of constant answers, and the majority vote without some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.special import bdtrc, entr, gammaincc, gammaln

from crowdcore import aggregation
from crowdcore.aggregation.base import Aggregator
from crowdcore.analysis.reference import (
    Reference,
    ReferenceLike,
    as_judge,
    note_on_inferred,
    notes_on_unjudged,
    resolve_reference,
)
from crowdcore.analysis.statistics import (
    benjamini_hochberg,
    divide,
    known_mean,
    majority_of_others,
    sparse_votes,
    wilson_interval,
)
from crowdcore.analysis.workers.confusion import worker_confusion
from crowdcore.core.errors import SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.by_name import WorkerLike, worker_numbers
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_INTERVAL = (
    "The accuracy's interval is chance in the worker's own labels, without mistakes of the reference. Agreement with "
    "others and with the others' majority does not use a worker's own labels."
)
_SOFT = "Both accuracies are expected values under the reference's posterior; the rest uses the most probable class."
_LEVEL = 0.05  # of `answers_single`
_BLOCK = 1_000_000  # numbers in the confusions that are processed together


@dataclass(frozen=True, eq=False)
class WorkerQuality(Shown):
    """Measures of each worker, NaN without evidence.

    Attributes:
        n_annotations, n_judged: (n_workers,) labels given, and labels given to tasks whose truth is known.
        accuracy: (n_workers,) share of judged labels that are right.
        accuracy_low, accuracy_high: (n_workers,) ends of its Wilson interval.
        skill: (n_workers,) mean of the diagonal of the confusion over the rows with evidence (Tanno, Fig. 7).
        information: (n_workers,) bits about the truth per label, adjusted for chance (see `information`), for the
            class shares of the reference over the classes that the worker met.
        information_limit: (n_workers,) bits that a perfect worker would give on these classes.
        agreement: (n_workers,) mean share of the task's other workers with the same label.
        agreement_kappa: (n_workers,) the same beyond chance: ``(agreement - e) / (1 - e)``, e from the worker's label
            shares and those of the others on the same tasks.
        majority_agreement: (n_workers,) share of labels equal to the majority vote of the other workers.
        single_label, single_answer: (n_workers,) the most frequent label, -1 without labels, and its share.
        single_answer_q: (n_workers,) q-value of the largest share of a label, against its share on the worker's tasks
            by the others (or the reference, if larger): binomial, times C, Benjamini-Hochberg over workers.
        answers_single: (n_workers,) q <= 0.05, and other labels are at most a fifth as frequent as expected.
        random_answer: (n_workers,) p-value of "labels do not depend on the truth" (see `independence_p_value`). A
            large one accuses nobody, as few labels give one too; see `worker_verdicts` for guessing.
        notes: caveats, one sentence each.
    """

    n_annotations: IntArray
    n_judged: IntArray
    accuracy: FloatArray
    accuracy_low: FloatArray
    accuracy_high: FloatArray
    skill: FloatArray
    information: FloatArray
    information_limit: FloatArray
    agreement: FloatArray
    agreement_kappa: FloatArray
    majority_agreement: FloatArray
    single_label: IntArray
    single_answer: FloatArray
    single_answer_q: FloatArray
    answers_single: BoolArray
    random_answer: FloatArray
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One line per worker, in the dataset's order."""
        about = {"worker_ids", "classes", "reference", "notes"}
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in about}
        columns["single_label"] = pd.Index([*self.classes, ""])[self.single_label]  # the last one is -1
        return pd.DataFrame({"worker": self.worker_ids, **columns})

    def ranking(self, first: BoolArray, by: str = "accuracy") -> IntArray:
        """(n_workers,) numbers of the workers, those in ``first`` before the others, each part from the best by ``by``.

        Accuracy ranks by the lower end of its interval, so that few right labels lead to no high rank.
        """
        values = self.accuracy_low if by == "accuracy" else getattr(self, by)
        return np.asarray(np.lexsort((-values, ~first)))


@door
def worker_quality(dataset: CrowdDataset, reference: ReferenceLike = None, *, level: float = 0.95) -> WorkerQuality:
    """Measure every worker against the reference and against the other workers.

    Args:
        dataset: the annotations; repeats count each.
        reference: what counts as the truth.
        level: of the accuracy's interval.

    Raises:
        DataError: no usable reference, or confusions too large.

    Examples:
        >>> import crowdcore as cc
        >>> quality = cc.analysis.worker_quality(cc.load_dataset("demo")).frame()
        >>> quality.query("answers_single").worker.tolist()
        ['w24']
    """
    truth = as_judge(dataset, resolve_reference(dataset, reference))
    confusion = worker_confusion(dataset, truth)
    hard = worker_confusion(dataset, Reference(truth.name, truth.labels)) if truth.soft else confusion
    n_workers, n_classes = dataset.n_workers, dataset.n_classes
    judged = hard.counts.sum((1, 2))
    right = np.trace(confusion.counts, axis1=1, axis2=2)
    accuracy = divide(right, judged)
    low, high = wilson_interval(accuracy, judged / _dependence(dataset, truth), level)
    known = truth.labels[truth.known & dataset.annotated]
    prior = np.bincount(known, minlength=n_classes) / max(len(known), 1)
    bits, limit, p_random = (np.empty(n_workers) for _ in range(3))
    step = max(1, _BLOCK // n_classes**2)
    for block in (slice(start, start + step) for start in range(0, n_workers, step)):
        bits[block], limit[block] = information(hard.counts[block], prior)
        p_random[block] = independence_p_value(hard.counts[block])
    agreement, kappa, others = _agreement_with_others(dataset)
    given = _by_label(dataset)
    called_for = np.fmax(others, divide(hard.evidence, judged[:, None]))
    called_for = np.where(np.isnan(called_for), given.sum(0) / max(dataset.n_annotations, 1), called_for)
    label, single, q_single = _single_answer(given, called_for)
    varied = 1 - called_for[np.arange(n_workers), label]
    answers_single = (q_single <= _LEVEL) & (1 - single <= varied / 5)
    return WorkerQuality(
        dataset.labels_per_worker,
        judged.astype(np.int64),
        accuracy,
        low,
        high,
        known_mean(np.diagonal(confusion.matrices, axis1=1, axis2=2)),
        bits,
        limit,
        agreement,
        kappa,
        _majority_agreement(dataset),
        np.where(np.isnan(single), -1, label),
        single,
        q_single,
        answers_single,
        p_random,
        dataset.worker_ids,
        dataset.classes,
        truth.name,
        (
            *([_SOFT] if truth.soft else []),
            *([] if truth.checked else [note_on_inferred(truth), _INTERVAL]),
            *notes_on_unjudged(dataset, truth),
        ),
    )


def _dependence(dataset: CrowdDataset, truth: Reference) -> float:
    """Labels that are worth one independent label; above 1 for tags, which depend on each other within sentences.

    The design effect ``Σ (Σ_s e)² / Σ e²`` over all workers' sentences s, with e = right less the worker's mean.
    """
    if dataset.sentences is None:
        return 1.0
    known = np.flatnonzero(truth.known[dataset.task])
    task, worker = dataset.task[known], dataset.worker[known]
    right = (truth.labels[task] == dataset.label[known]).astype(np.float64)
    off = right - divide(np.bincount(worker, right), np.bincount(worker))[worker]
    sentence = np.unique(dataset.sentences.of_task[task] * np.int64(dataset.n_workers) + worker, return_inverse=True)[1]
    together = np.bincount(sentence, off)
    return max(float((together**2).sum() / max((off**2).sum(), 1e-12)), 1.0)


def _agreement_with_others(dataset: CrowdDataset) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(R,) agreement with the other workers on the same tasks, (R,) that beyond chance, (R, C) their label shares."""
    n_workers, n_classes = dataset.n_workers, dataset.n_classes
    task, worker, label = dataset.task.astype(np.int64), dataset.worker, dataset.label
    pair = task * n_workers + worker
    own = _times(pair)
    others = dataset.labels_per_task[task] - own
    weight = np.divide(1.0, others, out=np.zeros(len(task)), where=others > 0)
    same = _times(task * n_classes + label) - _times(pair * n_classes + label)
    met = np.bincount(worker, others > 0, n_workers)
    agreement = divide(np.bincount(worker, same * weight, n_workers), met)
    weighted_votes = scipy.sparse.csr_array(
        (weight, (worker, task)), shape=(n_workers, dataset.n_tasks)
    ) @ sparse_votes(dataset)
    shares = divide(weighted_votes.toarray() - _by_label(dataset, own * weight), met[:, None])
    by_chance = (divide(_by_label(dataset, others > 0), met[:, None]) * shares).sum(1)
    return agreement, divide(agreement - by_chance, np.where(by_chance < 1 - 1e-12, 1 - by_chance, 0)), shares


def _times(key: IntArray) -> IntArray:
    """(n,) occurrences of each entry."""
    _, of, times = np.unique(key, return_inverse=True, return_counts=True)
    return times[of]


def _by_label(dataset: CrowdDataset, weight: FloatArray | IntArray | BoolArray | None = None) -> FloatArray:
    """(R, C) summed weight of each worker's annotations by label."""
    cell = dataset.worker.astype(np.int64) * dataset.n_classes + dataset.label
    size = dataset.n_workers * dataset.n_classes
    return np.bincount(cell, weight, size).reshape(dataset.n_workers, -1).astype(np.float64)


def _single_answer(given: FloatArray, called_for: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """(R,) most frequent label, its share, and q-value of the largest share of a label under ``called_for`` (R, C)."""
    label = given.argmax(1)
    at = np.arange(len(given)), label
    total = given.sum(1)
    p = np.minimum(given.shape[1] * bdtrc(given[at] - 1, total.astype(np.int64), called_for[at]), 1)
    return label, divide(given[at], total), benjamini_hochberg(np.where(total > 0, p, np.nan))


def _majority_agreement(dataset: CrowdDataset) -> FloatArray:
    """(R,) share of labels equal to the majority vote of the other workers, over the tasks that have others."""
    others = majority_of_others(dataset)
    rest = others.without[others.pair_of]
    met = np.bincount(dataset.worker, rest >= 0, dataset.n_workers)
    return divide(np.bincount(dataset.worker, rest == dataset.label, dataset.n_workers), met)


_SUMMED = 50.0  # mean count up to which an expectation is summed exactly


def information(counts: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mutual information of truth and label in bits, adjusted for chance, and its upper limit.

    ``I = H(Σ_a ρ_a π_a) - Σ_a ρ_a H(π_a)`` with the rows π_a of a worker's confusion as counted and the prior ρ over
    the classes that the worker met. Counted from few labels, I is far above 0 even for a worker who guesses. It is
    adjusted by its expectation E under guessing (labels permuted over the worker's tasks: hypergeometric counts, as in
    the adjusted mutual information of Vinh, Epps & Bailey 2010) to ``H(ρ) (I - E) / (H(ρ) - E)``, cut to 0 … H(ρ).
    The mean over guessing workers is then near 0, and a perfect worker has H(ρ), for any number of labels.

    Returns:
        (n_workers,) bits, and (n_workers,) H(ρ) over the classes met. NaN where fewer than two classes were met or
        the labels are too few to tell knowledge from guessing (H(ρ) = E).
    """
    n, k = counts.sum(2), counts.sum(1)
    total = n.sum(1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(n > 0, prior, 0)
        weight /= weight.sum(1, keepdims=True)
        rows = np.where(n[:, :, None] > 0, counts / n[:, :, None], 0)
        mixed = np.einsum("ra,rab->rb", weight, rows)
        seen = entr(mixed).sum(1) - (weight * entr(rows).sum(2)).sum(1)
        by_chance = _chance_information(n, k, total, weight)
        limit = entr(weight).sum(1)
        room = limit - by_chance
        adjusted = np.clip(limit * (seen - by_chance) / room, 0, limit)
    tellable = ((n > 0).sum(1) > 1) & (room > 1e-9)
    return np.where(tellable, adjusted, np.nan) / np.log(2), np.where(tellable, limit, np.nan) / np.log(2)


def _chance_information(n: FloatArray, k: FloatArray, total: FloatArray, weight: FloatArray) -> FloatArray:
    """(n_workers,) expected plug-in information (nats) of independent labels with margins k and classes with n."""
    share = k / total
    rows = _expected_entropy(total[:, :, None], k[:, None, :], n[:, :, None]).sum(2)
    # Second order for the mixture: its variance is that of a weighted mean of rows drawn without replacement.
    spread = (total[:, 0] * np.where(n > 0, weight**2 / n, 0).sum(1) - 1) / (total[:, 0] - 1)
    mixed = entr(share).sum(1) - np.where(k > 0, 1 - share, 0).sum(1) * spread / 2
    return np.asarray(np.maximum(mixed - (weight * rows).sum(1), 0))


def _expected_entropy(total: FloatArray, k: FloatArray, n: FloatArray) -> FloatArray:
    """E[-(X/n) log(X/n)] for hypergeometric X: n draws from ``total`` labels with k successes; 0 if k or n is 0."""
    total, k, n = np.broadcast_arrays(total, k, n)
    out = np.zeros(total.shape)
    mean = n * k / total
    large = mean > _SUMMED
    p = k[large] / total[large]
    out[large] = entr(p) - (1 - p) / (2 * n[large]) * (total[large] - n[large]) / (total[large] - 1)
    cell: IntArray = np.flatnonzero((mean > 0) & ~large)
    N, k, n = (np.ascontiguousarray(v).ravel()[cell] for v in (total, k, n))
    x: FloatArray = np.maximum(0, n + k - N)
    mass = np.exp(_log_choose(k, x) + _log_choose(N - k, n - x) - _log_choose(N, n))
    flat = out.reshape(-1)
    while len(cell):
        flat[cell] += mass * entr(x / n)
        mass = mass * (k - x) * (n - x) / ((x + 1) * (N - k - n + x + 1))
        x = x + 1
        going = (x <= np.minimum(k, n)) & ((mass > 1e-18) | (x < n * k / N))
        cell, N, k, n, x, mass = cell[going], N[going], k[going], n[going], x[going], mass[going]
    return out


def _log_choose(n: FloatArray, k: FloatArray) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def independence_p_value(counts: FloatArray) -> FloatArray:
    """(n_workers,) p-value of "the labels do not depend on the true class", small for a worker with any knowledge.

    Pearson's X² of a worker's table is compared with a gamma distribution of its exact mean and variance under
    permutations of the labels (Dawson 1954); unlike the χ² distribution it holds for sparse tables. 1 for a worker who
    always gives the same label; NaN with fewer than two classes met or four labels.
    """
    n, k = counts.sum(2), counts.sum(1)
    N = n.sum(1)
    rows, columns = (n > 0).sum(1), (k > 0).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = n[:, :, None] * k[:, None, :] / N[:, None, None]
        x2 = np.where(expected > 0, (counts - expected) ** 2 / expected, 0).sum((1, 2))
        v1, v2 = ((m - 1) * (N - m) / (N - 1) for m in (rows, columns))
        w1, w2 = (
            (N * np.where(margin > 0, 1 / margin, 0).sum(1) - m**2) / (N - 2) for margin, m in ((n, rows), (k, columns))
        )
        mean = N / (N - 1) * (rows - 1) * (columns - 1)
        variance = 2 * N / (N - 3) * (v1 - w1) * (v2 - w2) + N**2 / (N - 1) * w1 * w2
        p = gammaincc(mean**2 / variance, mean * x2 / variance)
    p = np.where(variance > 1e-12, p, 1.0)  # the margins leave only one table: nothing was shown
    return np.where((rows > 1) & (N > 3), p, np.nan)


@dataclass(frozen=True, eq=False)
class WhatIf(Shown):
    """Consensus with and without some workers.

    Attributes:
        workers, n_annotations: (n_removed,) numbers of the workers left out, and of their annotations.
        before, after: (n_tasks,) consensus of everyone and of the rest, -1 where there is none.
        changed: tasks whose consensus is another class without them.
        unlabelled: tasks that lose their only labels.
        accuracy_before, accuracy_after: share of the consensus that equals the reference, over the tasks that have
            labels; NaN without reference.
        aggregator: the aggregator in words.
        reference: what counted as the truth, empty if there was none.
    """

    workers: IntArray
    n_annotations: int
    before: IntArray
    after: IntArray
    changed: IntArray
    unlabelled: IntArray
    accuracy_before: float
    accuracy_after: float
    aggregator: str
    reference: str
    task_ids: pd.Index[str]
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One line per task whose consensus changes or is lost: task, before, after (empty if lost)."""
        tasks = np.sort(np.concatenate([self.changed, self.unlabelled]))
        names = pd.Index([*self.classes, ""])  # the last one is -1
        return pd.DataFrame(
            {"task": self.task_ids[tasks], "before": names[self.before[tasks]], "after": names[self.after[tasks]]}
        )


@door
def what_if(
    dataset: CrowdDataset,
    workers: WorkerLike | Sequence[WorkerLike] | IntArray,
    aggregator: str | type[Aggregator] | Aggregator = "majority-vote",
    reference: ReferenceLike = None,
) -> WhatIf:
    """Aggregate with and without some workers.

    Args:
        workers: their ids or numbers, or those of one.
        aggregator: a name or class (default settings) or an aggregator.
        reference: what accuracies are measured against; without any gold labels, "gold" gives NaN.

    Raises:
        SettingError: unknown workers, or nobody's labels would be left.
        DataError: another reference that is not available.

    Examples:
        >>> import crowdcore as cc
        >>> without = cc.analysis.what_if(cc.load_dataset("demo"), ["w24", "w35"])
        >>> len(without.changed), len(without.unlabelled)
        (11, 0)
    """
    gone = worker_numbers(dataset, workers)
    rest = dataset.without_workers(gone)
    if rest.n_annotations == 0:
        raise SettingError("workers", "leave some annotations", f"{len(gone)} workers", "Remove fewer workers.")
    method = aggregation.get(aggregator)
    before, after = method.fit(dataset).labels, method.fit(rest).labels
    truth, name = _truth(dataset, reference)
    return WhatIf(
        gone,
        dataset.n_annotations - rest.n_annotations,
        before,
        after,
        np.flatnonzero((before != after) & (after >= 0)),
        np.flatnonzero((before >= 0) & (after < 0)),
        _accuracy(before, truth),
        _accuracy(after, truth),
        method.name,
        name,
        dataset.task_ids,
        dataset.worker_ids,
        dataset.classes,
    )


@dataclass(frozen=True, eq=False)
class WithoutEach(Shown):
    """Majority vote without each single worker; arrays aligned with the workers.

    Attributes:
        changed: (n_workers,) tasks whose majority vote is another class without the worker.
        unlabelled: (n_workers,) tasks that lose their only labels.
        accuracy_change: (n_workers,) accuracy of the majority vote without the worker minus with everyone, each over
            the tasks that have labels; NaN without reference.
        accuracy: the accuracy with everyone.
        reference: what counted as the truth, empty if there was none.
    """

    changed: IntArray
    unlabelled: IntArray
    accuracy_change: FloatArray
    accuracy: float
    reference: str
    worker_ids: pd.Index[str]

    def frame(self) -> pd.DataFrame:
        """One line per worker."""
        columns = {name: getattr(self, name) for name in ("changed", "unlabelled", "accuracy_change")}
        return pd.DataFrame({"worker": self.worker_ids, **columns})


@door
def without_each(dataset: CrowdDataset, reference: ReferenceLike = None) -> WithoutEach:
    """Leave each worker in turn out of the majority vote (ties to the lowest class).

    Args:
        reference: what accuracies are measured against; without any gold labels, "gold" gives NaN.

    Raises:
        DataError: another reference that is not available.
    """
    others = majority_of_others(dataset)
    truth, name = _truth(dataset, reference)
    before, after, n = others.majority[others.task], others.without, dataset.n_workers

    def per_worker(condition: BoolArray) -> IntArray:
        return np.bincount(others.worker[condition], minlength=n)

    lost = after < 0
    accuracy, change = np.nan, np.full(n, np.nan)
    if truth is not None:
        known = truth >= 0
        right, judged = known & (others.majority == truth), known & (others.majority >= 0)
        accuracy = _accuracy(others.majority, truth)
        here, true = known[others.task], truth[others.task]
        gain = per_worker(here & (after == true)) - per_worker(here & (before == true))
        left = judged.sum() - per_worker(here & lost)
        change = np.divide(right.sum() + gain, left, out=change, where=left > 0) - accuracy
    changed = per_worker((before != after) & ~lost)
    return WithoutEach(changed, per_worker(lost), change, accuracy, name, dataset.worker_ids)


def _truth(dataset: CrowdDataset, reference: ReferenceLike) -> tuple[IntArray | None, str]:
    if isinstance(reference, str) and reference == "gold" and not dataset.has_gold:
        return None, ""
    truth = resolve_reference(dataset, reference)
    return truth.labels, truth.name


def _accuracy(labels: IntArray, truth: IntArray | None) -> float:
    if truth is None:
        return float("nan")
    judged = (labels >= 0) & (truth >= 0)
    return float((labels == truth)[judged].mean()) if judged.any() else float("nan")
