"""Quality of each worker: accuracy, information, agreement, and signs of constant answers."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.special import bdtrc, ndtri

from crowdcore.analysis.labels.votes import sparse_votes
from crowdcore.analysis.mistakes.significance import benjamini_hochberg
from crowdcore.analysis.reference import Reference, ReferenceLike, as_judge, notes_on_unjudged, resolve_reference
from crowdcore.analysis.workers.confusion import worker_confusion
from crowdcore.analysis.workers.information import independence_p_value, information
from crowdcore.analysis.workers.leave_one_out import majority_of_others
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_CONSENSUS = (
    "The reference {name!r} comes from the same labels, including each worker's own: accuracy is too high, especially "
    "if tasks have few labels. Agreement with others and with the others' majority does not use a worker's own labels."
)
_SOFT = "Both accuracies are expected values under the reference's posterior; the rest uses the most probable class."
_LEVEL = 0.05  # of `answers_single`
_BLOCK = 1_000_000  # numbers in the confusions that are looked at together


@dataclass(frozen=True, eq=False)
class WorkerQuality:
    """One entry per worker, NaN where a worker gave no evidence for it.

    Attributes:
        n_annotations: (n_workers,) labels given.
        n_judged: (n_workers,) ... to tasks whose truth is known.
        accuracy: (n_workers,) share of judged labels that are right.
        accuracy_low: (n_workers,) lower end of its Wilson interval.
        accuracy_high: (n_workers,) upper end.
        skill: (n_workers,) mean of the diagonal of the confusion over the rows with evidence (Tanno, Fig. 7).
        information: (n_workers,) bits about the truth per label, adjusted for chance (see `information`), for the
            class shares of the reference over the classes that the worker met.
        information_limit: (n_workers,) bits that a perfect worker would give on these classes.
        agreement: (n_workers,) mean share of the other workers on a task who gave the same label.
        agreement_kappa: (n_workers,) the same beyond chance: ``(agreement - e) / (1 - e)``, e from the worker's label
            shares and those of the others on the same tasks.
        majority_agreement: (n_workers,) share of labels equal to the majority vote of the other workers.
        single_label: (n_workers,) the label used most, -1 without labels.
        single_answer: (n_workers,) share of that label.
        single_answer_q: (n_workers,) how often chance would show as large a share of any label if the worker's tasks
            called for it as often as the others (or the reference, if more often) say: binomial, times C,
            Benjamini-Hochberg over workers.
        answers_single: (n_workers,) q <= 0.05, and other labels come at most a fifth as often as the tasks call for.
        random_answer: (n_workers,) p-value of "labels do not depend on the truth" (see `independence_p_value`). A
            large one accuses nobody, as few labels give one too: `worker_verdicts` says who is no better than guessing.
        worker_ids: (n_workers,) names.
        reference: what was taken for the truth.
        notes: what to bear in mind, one sentence each.
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


def worker_quality(dataset: CrowdDataset, reference: ReferenceLike = "gold", *, level: float = 0.95) -> WorkerQuality:
    """Measure every worker against the reference and against the other workers.

    Args:
        dataset: the annotations; repeats count each.
        reference: what to take for the truth.
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
    accuracy = _share(right, judged)
    low, high = wilson(accuracy, judged / _dependence(dataset, truth), level)
    known = truth.labels[truth.known & dataset.annotated]
    prior = np.bincount(known, minlength=n_classes) / max(len(known), 1)
    bits, limit, p_random = (np.empty(n_workers) for _ in range(3))
    step = max(1, _BLOCK // n_classes**2)
    for block in (slice(start, start + step) for start in range(0, n_workers, step)):
        bits[block], limit[block] = information(hard.counts[block], prior)
        p_random[block] = independence_p_value(hard.counts[block])
    agreement, kappa, others = _others(dataset)
    given = _by_label(dataset)
    called_for = np.fmax(others, _share(hard.evidence, judged[:, None]))
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
        _skill(confusion.matrices),
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
            *([_CONSENSUS.format(name=truth.name)] if not truth.checked else []),
            *notes_on_unjudged(dataset, truth),
        ),
    )


def _dependence(dataset: CrowdDataset, truth: Reference) -> float:
    """Labels that tell as much as one: of tags, which are right and wrong together within sentences; else 1.

    The design effect ``Σ (Σ_s e)² / Σ e²`` over all workers' sentences s, with e = right less the worker's mean.
    """
    if dataset.sentences is None:
        return 1.0
    known = np.flatnonzero(truth.known[dataset.task])
    task, worker = dataset.task[known], dataset.worker[known]
    right = (truth.labels[task] == dataset.label[known]).astype(np.float64)
    off = right - _share(np.bincount(worker, right), np.bincount(worker))[worker]
    sentence = np.unique(dataset.sentences.of_task[task] * np.int64(dataset.n_workers) + worker, return_inverse=True)[1]
    together = np.bincount(sentence, off)
    return max(float((together**2).sum() / max((off**2).sum(), 1e-12)), 1.0)


def _share(part: AnyArray, whole: AnyArray) -> FloatArray:
    """``part / whole``, NaN where ``whole`` is 0."""
    out: FloatArray = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
    return out


def _skill(matrices: FloatArray) -> FloatArray:
    """(n_workers,) mean of the known part of each diagonal."""
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    known = ~np.isnan(diagonal)
    return _share(np.where(known, diagonal, 0).sum(1), known.sum(1))


def wilson(share: FloatArray, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval (1927) of a share of n; NaN where n is 0."""
    z2 = float(ndtri((1 + level) / 2)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = (share + z2 / (2 * n)) / (1 + z2 / n)
        reach = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return np.clip(middle - reach, 0, 1), np.clip(middle + reach, 0, 1)


def _others(dataset: CrowdDataset) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Agreement with the other workers on the same tasks, the same beyond chance (R,), their labels' shares (R, C)."""
    n_workers, n_classes = dataset.n_workers, dataset.n_classes
    task, worker, label = dataset.task.astype(np.int64), dataset.worker, dataset.label
    pair = task * n_workers + worker
    own = _times(pair)
    others = dataset.labels_per_task[task] - own
    weight = np.divide(1.0, others, out=np.zeros(len(task)), where=others > 0)
    same = _times(task * n_classes + label) - _times(pair * n_classes + label)
    met = np.bincount(worker, others > 0, n_workers)
    agreement = _share(np.bincount(worker, same * weight, n_workers), met)
    weighted_votes = scipy.sparse.csr_array(
        (weight, (worker, task)), shape=(n_workers, dataset.n_tasks)
    ) @ sparse_votes(dataset)
    shares = _share(weighted_votes.toarray() - _by_label(dataset, own * weight), met[:, None])
    by_chance = (_share(_by_label(dataset, others > 0), met[:, None]) * shares).sum(1)
    return agreement, _share(agreement - by_chance, np.where(by_chance < 1 - 1e-12, 1 - by_chance, 0)), shares


def _times(key: IntArray) -> IntArray:
    """(n,) how often each entry occurs."""
    _, of, times = np.unique(key, return_inverse=True, return_counts=True)
    return times[of]


def _by_label(dataset: CrowdDataset, weight: FloatArray | IntArray | BoolArray | None = None) -> FloatArray:
    """(R, C) summed weight of each worker's annotations by label."""
    cell = dataset.worker.astype(np.int64) * dataset.n_classes + dataset.label
    size = dataset.n_workers * dataset.n_classes
    return np.bincount(cell, weight, size).reshape(dataset.n_workers, -1).astype(np.float64)


def _single_answer(given: FloatArray, called_for: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """(R,) label used most, its share, and q-value of as large a share of any label under ``called_for`` (R, C)."""
    label = given.argmax(1)
    at = np.arange(len(given)), label
    total = given.sum(1)
    p = np.minimum(given.shape[1] * bdtrc(given[at] - 1, total.astype(np.int64), called_for[at]), 1)
    return label, _share(given[at], total), benjamini_hochberg(np.where(total > 0, p, np.nan))


def _majority_agreement(dataset: CrowdDataset) -> FloatArray:
    """(R,) share of labels equal to the majority vote of the other workers, over the tasks that have others."""
    others = majority_of_others(dataset)
    rest = others.without[others.pair_of]
    met = np.bincount(dataset.worker, rest >= 0, dataset.n_workers)
    return _share(np.bincount(dataset.worker, rest == dataset.label, dataset.n_workers), met)
