"""Single cells (true class, given label): the annotations of one, a list of all, and the largest of two confusions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import known_mean
from crowdcore.core.errors import SettingError
from crowdcore.core.mistakes import mistake_triples
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class MistakeCell:
    """Annotations that gave one label to tasks of one true class, with their workers and tasks.

    Attributes:
        reference: what was taken for the truth; a soft one by its most probable classes.
        true, given: numbers of the true class and the given label.
        annotations: (K,) int64 their numbers in the dataset, in order of tasks.
        workers, worker_times: (W,) distinct workers and their annotations here, the most first.
        worker_labels: (W,) annotations that each gave to tasks of the true class, right or wrong.
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


def mistake_cell(dataset: CrowdDataset, reference: ReferenceLike, true: str | int, given: str | int) -> MistakeCell:
    """Find the annotations that gave the label ``given`` to tasks whose true class is ``true``.

    Args:
        reference: what to take for the truth; a soft reference counts by each task's most probable class.
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
    """Distinct numbers and how often each occurs, the most frequent first, ties by number."""
    distinct, times = np.unique(numbers, return_counts=True)
    order = np.argsort(-times, kind="stable")
    return distinct[order], times[order]


def class_number(dataset: CrowdDataset, argument: str, which: str | int) -> int:
    """Number of a class given by name or number; a name wins where classes are called "0", "1", …"""
    if isinstance(which, str) and which in dataset.classes:
        return dataset.classes.index(which)
    if not isinstance(which, str) and 0 <= which < dataset.n_classes:
        return int(which)
    shown = ", ".join(dataset.classes[:12]) + (", …" if dataset.n_classes > 12 else "")
    raise SettingError(argument, f"be a class or its number below {dataset.n_classes}", which, f"Classes: {shown}.")


def mistake_list(dataset: CrowdDataset, reference: ReferenceLike = "gold") -> pd.DataFrame:
    """The mistakes that were made, most shared first; for any number of classes, in O(A) memory.

    Args:
        reference: what to take for the truth; a soft reference counts by each task's most probable class.

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
class LargestConfusions:
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
        return pd.DataFrame(
            {
                "true": names[true],
                "given": names[given],
                "recovered": self.recovered_share[true, given],
                "observed": self.observed_share[true, given],
            }
        )


def largest_confusions(
    recovered: FloatArray, observed: FloatArray, classes: Sequence[str], n: int = 5
) -> LargestConfusions:
    """Find the ``n`` largest confusions of two matrices, and how many they have in common.

    Args:
        recovered: (C, C) what a model recovered, such as the common confusion; row = true class, rows sum to 1.
        observed: (C, C) what the labels show against a reference; NaN rows without labels.
        classes: (C,) names.
        n: how many, at most; cells of 0 do not count.

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
        truth: (..., C, C) what to compare with; rows that either lacks are left out.

    Returns:
        (...,) 0 to 2; NaN where no row can be compared.

    Examples:
        >>> confusion_error(np.array([[0.5, 0.5], [0.0, 1.0]]), np.eye(2)).item()
        0.25
    """
    return known_mean(((np.asarray(matrices, np.float64) - truth) ** 2).sum(-1))
