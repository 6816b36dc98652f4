"""Mistakes that workers share (CoNAL, Fig. 1), with intervals and significance, and the annotations of each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.analysis.mistakes.significance import NULL, sharing_p_values, task_evidence
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import (
    benjamini_hochberg,
    bootstrap_weights,
    known_mean,
    majority_labels,
    percentile_interval,
    sparse_votes,
    tied_votes,
)
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.mistakes import (
    MistakeTriples,
    SoftMistakes,
    carried_sums,
    mistake_triples,
    soft_mistakes,
)
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.by_name import class_number
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

MAX_CLASSES = 2_000  # of a C x C result: 32 MB for each of its arrays

TWO_CLASSES = (
    "With two classes every mistake on a true class is the same mistake, so sharing it proves nothing and no cell is "
    "tested."
)
CONSENSUS = (
    "The reference {name!r} comes from the same labels: where most workers share a mistake, the mistake counts as the "
    "truth. It is then missing from its own cell, and workers who were right appear in the mirrored cell."
)
TAGS = (
    "Tags are not tested: every missed token gets the same tag O, and the tags of a span are wrong together. The page "
    "Spans tests which types many workers take for which."
)
UNTESTED = (
    "Not tested: mistakes on {classes}. Fewer than two workers gave some wrong labels there more often than others."
)
SOFT = "Workers, tasks and annotations are expected numbers under the reference's posterior."
SOFT_TEST = "The test uses each task's most probable class as the truth and leaves out ties."
OVERRULED = "Tasks whose votes tie, or are overruled, are not tested: the same labels decide which of them are wrong."


@dataclass(frozen=True, eq=False)
class SharedMistakes(Shown):
    """Row = true class, column = given label; the diagonal holds correct labels.

    Attributes:
        n_workers: R, all workers of the dataset, the denominator of ``percent``.
        percent: (C, C) ``100 / R * workers``.
        workers: (C, C) workers who gave label b to at least one task of true class a (expected number when soft).
        tasks, annotations: (C, C) tasks and annotations behind each cell (expected numbers when soft).
        low, high: (C, C) ends of the bootstrap interval of ``percent`` over workers; None without one.
        expected: (C, C) number of workers to expect in each cell under ``null``; NaN where not tested.
        carriers: (C, C) effective number of tasks with the cell: their number if all contribute equally, 1 if one
            of them adds nearly all (see `task_evidence`); NaN where not tested.
        p_workers: (C, C) chance that the label ranks at least as high among the workers' wrong labels for the class
            if each worker errs individually and tasks do not mislead (see `sharing_p_values`); NaN on the diagonal and
            where not tested.
        p_value: (C, C) the same under ``null``, where tasks may mislead: at least ``p_workers``.
        q_value: (C, C) the same after Benjamini-Hochberg over the tested cells.
        null: the null hypothesis in one sentence; of tags, the reason why nothing is tested.
        notes: caveats, one sentence each.
    """

    reference: str
    classes: tuple[str, ...]
    n_workers: int
    percent: FloatArray
    workers: FloatArray
    tasks: FloatArray
    annotations: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    expected: FloatArray
    carriers: FloatArray
    p_workers: FloatArray
    p_value: FloatArray
    q_value: FloatArray
    null: str
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per cell, the most shared mistakes first, correct labels last."""
        n = len(self.classes)
        true, given = np.divmod(np.arange(n * n), n)
        names = np.array(self.classes, dtype=object)
        columns: dict[str, object] = {"true": names[true], "given": names[given]}
        counts, tests = ("workers", "expected", "tasks", "carriers", "annotations"), ("p_workers", "p_value", "q_value")
        for key in ("percent", "low", "high", *counts, *tests):
            values = getattr(self, key)
            if values is not None:
                columns[key] = values.ravel()
        order = np.lexsort((-self.tasks.ravel(), -self.percent.ravel(), true == given))
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)


@door
def shared_mistakes(
    dataset: CrowdDataset,
    reference: ReferenceLike = None,
    *,
    significance: bool = True,
    n_resamples: int = 0,
    level: float = 0.95,
    seed: int = 0,
) -> SharedMistakes:
    """``F[a, b] = 100 / R * #{workers who gave label b to at least one task whose true class is a}``.

    With a soft reference q the number is the expected one, ``sum_r 1 - prod_{i: y_i^r = b} (1 - q_i(a))``.

    The bootstrap draws workers with replacement: its interval is that of the percentage for as many other workers of
    the same kind on the same tasks. (Drawing tasks would lose a third of them in each resample and bias "at least one"
    downwards.) Where no worker, or every worker, is in a cell, the exact binomial (Clopper-Pearson) limit replaces the
    bootstrap's.

    Args:
        reference: what counts as the truth.
        significance: test the cells; never those of a crowd that tags tokens.
        n_resamples, level, seed: of the bootstrap; 0 resamples = no interval.

    Raises:
        DataError: the reference is not available, or more than `MAX_CLASSES` classes.

    Examples:
        >>> import crowdcore as cc
        >>> shared = cc.analysis.shared_mistakes(cc.load_dataset("demo"), reference="gold")
        >>> shared.percent.shape
        (10, 10)
        >>> worst = shared.frame().query("true != given").iloc[0]
        >>> f"{worst.percent} % of the workers took {worst.true} for {worst.given}"
        '82.5 % of the workers took one for seven'
    """
    truth = resolve_reference(dataset, reference)
    n, n_workers = dataset.n_classes, dataset.n_workers
    if n > MAX_CLASSES:
        raise DataError(
            f"{dataset.name} has {n} classes, too many for a table of all pairs (at most {MAX_CLASSES})",
            "Use `analysis.mistake_list`, which holds only the mistakes that were made.",
        )
    table = dataset.task, dataset.worker, dataset.label
    decided = _decided(dataset, truth)
    triples = mistake_triples(*table, decided, n_workers, n)
    if truth.posterior is None:
        every = mistake_triples(*table, truth.labels, n_workers, n) if truth.aggregated else triples
        made = _certain(every, n)
    else:
        made = soft_mistakes(*table, truth.posterior, n_workers)
    workers = np.zeros((n, n))
    np.add.at(workers.ravel(), made.cell, made.chance)
    significance &= not dataset.kind.sequential
    p_value, p_workers, expected, carriers = np.full((4, n, n), np.nan)
    if significance:
        test = sharing_p_values(triples.cell, triples.worker, triples.times, n)
        p_workers, expected = test.p_value, test.expected
        p_value, carriers = task_evidence(test, carried_sums(*table, decided, triples, test.score, n_workers, n))
    low, high = _worker_bootstrap(made, n, n_workers, n_resamples, level, seed) if n_resamples else (None, None)
    return SharedMistakes(
        truth.name,
        dataset.classes,
        n_workers,
        100 / max(n_workers, 1) * workers,
        workers,
        made.tasks,
        made.annotations,
        low,
        high,
        expected,
        carriers,
        p_workers,
        p_value,
        benjamini_hochberg(p_value),
        TAGS if dataset.kind.sequential else NULL,
        _notes(truth, dataset.classes, made, p_value if significance else None),
    )


def _certain(triples: MistakeTriples, n_classes: int) -> SoftMistakes:
    """Convert triples with one true class for each task to soft mistakes of probability 1."""
    tasks, annotations = np.zeros(n_classes**2), np.zeros(n_classes**2)
    tasks[triples.cells] = triples.tasks
    np.add.at(annotations, triples.cell, triples.times.astype(np.float64))
    shape = (n_classes, n_classes)
    sure = np.ones(len(triples.cell))
    return SoftMistakes(triples.cell, triples.worker, sure, tasks.reshape(shape), annotations.reshape(shape))


def _decided(dataset: CrowdDataset, truth: Reference) -> IntArray:
    """(n_tasks,) labels of tasks that can be tested, else -1.

    Tasks whose classes tie under the reference are left out: broken by a rule, ties look like mistakes that workers
    share. So do tied votes that a model of the same labels decides, and majorities that it overrules.
    """
    labels = truth.labels
    if truth.posterior is not None:
        top = np.where(truth.known, truth.posterior[np.arange(len(labels)), labels], np.nan)
        tied = (truth.posterior >= top[:, None] - 1e-9).sum(1) > 1
        labels = np.where(tied, -1, labels)
    if not truth.aggregated:
        return labels
    votes = sparse_votes(dataset)
    return np.where((labels == majority_labels(votes)) & ~tied_votes(votes), labels, -1)


def _notes(
    truth: Reference, classes: tuple[str, ...], made: SoftMistakes, p_value: FloatArray | None
) -> tuple[str, ...]:
    untested, tested = "", p_value is not None and len(classes) > 2
    if p_value is not None and tested:
        mistakes = made.tasks.sum(1) - np.diag(made.tasks)
        names = [classes[a] for a in np.flatnonzero(np.isnan(p_value).all(1) & (mistakes > 0))]
        untested = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return (
        *([TWO_CLASSES] if len(classes) == 2 else []),
        *([UNTESTED.format(classes=untested)] if untested else []),
        *([SOFT] if truth.soft else []),
        *([SOFT_TEST] if truth.soft and tested else []),
        *([OVERRULED] if truth.aggregated and tested else []),
        *([CONSENSUS.format(name=truth.name)] if not truth.checked else []),
    )


def _worker_bootstrap(
    made: SoftMistakes, n_classes: int, n_workers: int, resamples: int, level: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Percentile interval of ``percent`` under resampling of workers, (C, C) each."""
    drawn = bootstrap_weights(np.ones(n_workers, np.int64), resamples, np.random.default_rng(seed))
    cells, row = np.unique(made.cell, return_inverse=True)
    chances = scipy.sparse.csr_matrix((made.chance.astype(np.float32), (row, made.worker)), (len(cells), n_workers))
    low, high = np.zeros(n_classes**2), np.zeros(n_classes**2)
    step = max(1, 4_000_000 // resamples)
    for first in range(0, len(cells), step):
        block = slice(first, first + step)
        percent = 100 / n_workers * chances[block].dot(drawn).astype(np.float64)
        low[cells[block]], high[cells[block]] = percentile_interval(percent, level)
    unseen = (1 - level) / 2
    total = np.bincount(made.cell, weights=made.chance, minlength=n_classes**2)
    high[total == 0] = 100 * (1 - unseen ** (1 / n_workers))
    low[total == n_workers] = 100 * unseen ** (1 / n_workers)
    return low.reshape(n_classes, n_classes), high.reshape(n_classes, n_classes)


@dataclass(frozen=True, eq=False)
class MistakeCell(Shown):
    """Annotations that gave one label to tasks of one true class, with their workers and tasks.

    Attributes:
        reference: what counted as the truth; a soft one by its most probable classes.
        true, given: numbers of the true class and the given label.
        annotations: (K,) int64 their numbers in the dataset, in order of tasks.
        workers, worker_times: (W,) distinct workers and their annotations here, the most first.
        worker_labels: (W,) all their annotations on tasks of the true class, right or wrong.
        tasks, task_times: (T,) distinct tasks and their annotations here, the most first.
        task_ids, worker_ids: (K,) task and worker of each annotation.
    """

    reference: str
    true: int
    given: int
    classes: tuple[str, ...]
    annotations: IntArray
    workers: IntArray
    worker_times: IntArray
    worker_labels: IntArray
    tasks: IntArray
    task_times: IntArray
    task_ids: pd.Index[str]
    worker_ids: pd.Index[str]

    def frame(self) -> pd.DataFrame:
        """One row per annotation: task, worker, true class, given label."""
        names = {"true": self.classes[self.true], "given": self.classes[self.given]}
        return pd.DataFrame({"task": self.task_ids, "worker": self.worker_ids}).assign(**names)


@door
def mistake_cell(dataset: CrowdDataset, reference: ReferenceLike, true: str | int, given: str | int) -> MistakeCell:
    """Find the annotations that gave the label ``given`` to tasks whose true class is ``true``.

    Args:
        reference: what counts as the truth; a soft reference counts by each task's most probable class.
        true, given: name or number of the true class and of the given label.

    Raises:
        SettingError: no such class.

    Examples:
        >>> import crowdcore as cc
        >>> cell = cc.analysis.mistake_cell(cc.load_dataset("demo"), "gold", true="one", given="seven")
        >>> len(cell.workers), len(cell.tasks)
        (33, 84)
    """
    truth = resolve_reference(dataset, reference)
    a, b = class_number(dataset, "true", true), class_number(dataset, "given", given)
    of_class = np.flatnonzero(truth.labels[dataset.task] == a)
    annotations = of_class[dataset.label[of_class] == b]
    task, worker = dataset.task[annotations], dataset.worker[annotations]
    workers, times = _most_first(worker)
    labels = np.bincount(dataset.worker[of_class], minlength=dataset.n_workers)
    return MistakeCell(
        truth.name,
        a,
        b,
        dataset.classes,
        annotations,
        workers,
        times,
        labels[workers],
        *_most_first(task),
        dataset.task_ids[task],
        dataset.worker_ids[worker],
    )


def _most_first(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct numbers and their counts, the most frequent first, ties by number."""
    distinct, times = np.unique(numbers, return_counts=True)
    order = np.argsort(-times, kind="stable")
    return distinct[order], times[order]


@door
def mistake_list(dataset: CrowdDataset, reference: ReferenceLike = None) -> pd.DataFrame:
    """List the mistakes, most shared first; for any number of classes, in O(A) memory.

    Args:
        reference: what counts as the truth; a soft reference counts by each task's most probable class.

    Returns:
        One row per distinct mistake: true, given, percent (of all workers), workers, tasks, annotations.

    Examples:
        >>> import crowdcore as cc
        >>> cc.analysis.mistake_list(cc.load_dataset("demo")).columns.tolist()
        ['true', 'given', 'percent', 'workers', 'tasks', 'annotations']
    """
    truth, n = resolve_reference(dataset, reference), dataset.n_classes
    triples = mistake_triples(dataset.task, dataset.worker, dataset.label, truth.labels, dataset.n_workers, n)
    of_cell = np.searchsorted(triples.cells, triples.cell)
    workers = np.bincount(of_cell, minlength=len(triples.cells))
    annotations = np.bincount(of_cell, weights=triples.times, minlength=len(triples.cells)).astype(np.int64)
    true, given = np.divmod(triples.cells, n)
    names = np.array(dataset.classes, dtype=object)
    frame: pd.DataFrame = pd.DataFrame(
        {
            "true": names[true],
            "given": names[given],
            "percent": 100 / max(dataset.n_workers, 1) * workers,
            "workers": workers,
            "tasks": triples.tasks,
            "annotations": annotations,
        }
    )[true != given]
    return frame.sort_values(["workers", "tasks"], ascending=False, kind="stable", ignore_index=True)


@dataclass(frozen=True, eq=False)
class LargestConfusions(Shown):
    """Off-diagonal cells, the largest first.

    Args:
        recovered: (n, 2) true class and given label of the largest cells of the recovered confusion.
        observed: (n, 2) the same of the observed one.
        both: cells that are among both.
        recovered_share: (C, C) the recovered confusion.
        observed_share: (C, C) the observed one; NaN rows of classes without labels.
    """

    recovered: IntArray
    observed: IntArray
    both: int
    recovered_share: FloatArray
    observed_share: FloatArray
    classes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per recovered cell: true, given, recovered and observed share."""
        true, given = self.recovered.T
        names = np.array(self.classes, dtype=object)
        shares = {"recovered": self.recovered_share[true, given], "observed": self.observed_share[true, given]}
        return pd.DataFrame({"true": names[true], "given": names[given], **shares})


def largest_confusions(
    recovered: FloatArray, observed: FloatArray, classes: Sequence[str], n: int = 5
) -> LargestConfusions:
    """Find the ``n`` largest confusions of two matrices, and how many they have in common.

    Args:
        recovered: (C, C) confusion by a model, such as the common one; row = true class, rows sum to 1.
        observed: (C, C) confusion of the labels, by a reference; NaN rows without labels.
        classes: (C,) names.
        n: largest number of cells; cells of 0 do not count.

    Raises:
        SettingError: matrices of different shapes.

    Examples:
        >>> own = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.0, 0.7]])
        >>> largest_confusions(own, np.eye(3), ("cat", "dog", "fox"), n=2).recovered.tolist()
        [[2, 0], [0, 1]]
    """
    if np.shape(recovered) != np.shape(observed) or np.shape(recovered) != (len(classes), len(classes)):
        raise SettingError("recovered", f"have the shape {np.shape(observed)} of `observed`", np.shape(recovered))
    first, second = (np.asarray(m, np.float64) for m in (recovered, observed))
    learnt, seen = _largest(first, n), _largest(second, n)
    both = len(set(map(tuple, learnt.tolist())) & set(map(tuple, seen.tolist())))
    return LargestConfusions(learnt, seen, both, first, second, tuple(classes))


def _largest(matrix: FloatArray, n: int) -> IntArray:
    """(at most n, 2) off-diagonal cells above 0, the largest first, ties in reading order."""
    share = np.where(np.eye(len(matrix), dtype=bool), 0.0, np.nan_to_num(matrix))
    order = np.argsort(-share, axis=None, kind="stable")[:n]
    return np.stack(np.divmod(order[share.ravel()[order] > 0], len(matrix)), axis=1)


def confusion_error(matrices: FloatArray, truth: FloatArray) -> FloatArray:
    """Mean over the rows of the squared distance between confusions (Tanno et al.'s recovery error of one worker).

    Args:
        matrices: (..., C, C) rows sum to 1; NaN rows are unknown.
        truth: (..., C, C) confusions to compare with; rows that either lacks are left out.

    Returns:
        (...,) 0 to 2; NaN where no row can be compared.

    Examples:
        >>> confusion_error(np.array([[0.5, 0.5], [0.0, 1.0]]), np.eye(2)).item()
        0.25
    """
    return known_mean(((np.asarray(matrices, np.float64) - truth) ** 2).sum(-1))
