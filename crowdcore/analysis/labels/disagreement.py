"""Disagreement: between several labellings of the tasks, and among the labels of each task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import mcnemar
from crowdcore.core.errors import SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.by_name import ByTask, class_numbers
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class LabelDisagreement(Shown):
    """M labellings of the same tasks, compared in pairs; NaN where a pair has no task.

    Attributes:
        names: (M,) of the labellings.
        compared: (M, M) tasks that both label.
        differ: (M, M) tasks that both label, but not alike.
        share: (M, M) ``differ / compared``.
        n_judged: (M,) tasks with a label and gold.
        accuracy: (M,) share of these whose label is the gold one.
        row_right: (M, M) judged tasks on which the two differ and the row's label is the gold one.
        p_value: (M, M) McNemar's exact test that both are right equally often where they differ.
        reference: source of the accuracies.
    """

    names: tuple[str, ...]
    compared: IntArray
    differ: IntArray
    share: FloatArray
    n_judged: IntArray
    accuracy: FloatArray
    row_right: IntArray
    p_value: FloatArray
    reference: str = "gold"

    def frame(self) -> pd.DataFrame:
        """One row per pair: number of differences, and how often either is right there."""
        a, b = np.triu_indices(len(self.names), 1)
        names = np.array(self.names, object)
        pairs = {name: getattr(self, name)[a, b] for name in ("compared", "differ", "share")}
        right = {"first_right": self.row_right[a, b], "second_right": self.row_right[b, a]}
        return pd.DataFrame({"first": names[a], "second": names[b], **pairs, **right, "p_value": self.p_value[a, b]})


@door
def label_disagreement(
    dataset: CrowdDataset, labellings: Mapping[str, ReferenceLike], gold: ByTask | None = None
) -> LabelDisagreement:
    """Compare every pair of labellings task by task, in O(M² N) time and O(M N) memory.

    Args:
        labellings: name -> result, aggregator's name, or reference; ``"gold"`` counts as one too.
        gold: classes to judge by, by task or (n_tasks,), -1 = do not judge; default: the gold of annotated tasks.
            Leave out the tasks whose gold an aggregator was shown.

    Raises:
        SettingError: no labelling, or one (or gold) of another length.
    """
    if not labellings:
        raise SettingError("labellings", "hold at least one", dict(labellings))
    truth = judging_gold(dataset, gold)
    labels = np.stack([resolve_reference(dataset, which).labels for which in labellings.values()])
    known = labels >= 0
    judged = known & (truth >= 0)
    right = judged & (labels == truth)
    compared, differ, row_right = (np.zeros((len(labels), len(labels)), np.int64) for _ in range(3))
    for a, row in enumerate(labels):
        both = known & known[a]
        unlike = both & (labels != row)
        compared[a], differ[a] = both.sum(1), unlike.sum(1)
        row_right[a] = (unlike & right[a]).sum(1)
    n_judged = judged.sum(1)
    with np.errstate(invalid="ignore"):
        share, accuracy = differ / compared, right.sum(1) / n_judged
    p_value = mcnemar(row_right, row_right.T)
    return LabelDisagreement(tuple(labellings), compared, differ, share, n_judged, accuracy, row_right, p_value)


def p_in_words(p_value: float) -> str:
    """``p = 0.024``, or ``p < 1e-9`` for smaller values."""
    return f"p = {p_value:.2g}" if not p_value < _TINY else f"p < {_TINY:g}"


@door
def label_difference(
    dataset: CrowdDataset, first: ReferenceLike, second: ReferenceLike, gold: ByTask | None = None
) -> pd.DataFrame:
    """The tasks that two labellings label differently, the most confident first.

    Args:
        first: a result, an aggregator's name, or a reference.
        second: another one.
        gold: as in `label_disagreement`.

    Returns:
        Index = task number; ``task``, ``first``, ``first_probability``, ``second``, ``second_probability`` (1 where
        a labelling has no probabilities), ``gold`` (class name, "" where not judged), ``annotations``.

    Raises:
        SettingError: a labelling (or gold) of another length.
    """
    truth = judging_gold(dataset, gold)
    pair = [resolve_reference(dataset, which) for which in (first, second)]
    one, other = (labelling.labels for labelling in pair)
    tasks = np.flatnonzero((one >= 0) & (other >= 0) & (one != other))
    sure = [_probability(labelling, tasks) for labelling in pair]
    order = np.lexsort((tasks, -np.maximum(*sure), -np.minimum(*sure)))
    tasks = tasks[order]
    names = np.array([*dataset.classes, ""], object)  # -1 is the last
    return pd.DataFrame(
        {
            "task": dataset.task_ids[tasks],
            "first": names[one[tasks]],
            "first_probability": sure[0][order],
            "second": names[other[tasks]],
            "second_probability": sure[1][order],
            "gold": names[truth[tasks]],
            "annotations": dataset.labels_per_task[tasks],
        },
        index=tasks,
    )


def judging_gold(dataset: CrowdDataset, gold: ByTask | None = None) -> IntArray:
    """(n_tasks,) ``gold``, or that of the annotated tasks; -1 where a task is not judged."""
    return np.where(dataset.annotated, dataset.gold, -1) if gold is None else class_numbers(dataset, gold, "gold")


def _probability(labelling: Reference, tasks: IntArray) -> FloatArray:
    """(len(tasks),) probability of the labels; 1 for a hard reference."""
    if labelling.posterior is None:
        return np.ones(len(tasks))
    return np.asarray(labelling.posterior[tasks, labelling.labels[tasks]])


@dataclass(frozen=True, eq=False)
class TaskDisagreement(Shown):
    """Label statistics of each task; 0, -1 or NaN for tasks without annotations.

    Args:
        n_annotations: (n_tasks,) labels the task got, repeats included.
        n_answers: (n_tasks,) different classes among them.
        winner: (n_tasks,) most frequent class (ties to the lowest), -1 without annotations.
        share: (n_tasks,) share of the winner among the task's labels.
        entropy: (n_tasks,) entropy of the task's labels in nats.
        reference_label: (n_tasks,) class by the reference, -1 if unknown.
        wrong: (n_tasks,) share of the labels that differ from it, NaN if unknown.
    """

    n_annotations: IntArray
    n_answers: IntArray
    winner: IntArray
    share: FloatArray
    entropy: FloatArray
    reference_label: IntArray
    wrong: FloatArray
    task_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str

    def frame(self, *, annotated: bool = True) -> pd.DataFrame:
        """One row per annotated task, most disputed first; or per task without annotations. Index = task number."""
        names = np.array([*self.classes, ""], dtype=object)
        order = np.lexsort((np.arange(len(self.entropy)), -np.nan_to_num(self.entropy, nan=-1.0)))
        order = order[(self.n_annotations[order] > 0) == annotated]
        return pd.DataFrame(
            {
                "task": self.task_ids[order],
                "annotations": self.n_annotations[order],
                "answers": self.n_answers[order],
                "most_given": names[self.winner[order]],
                "share": self.share[order],
                "entropy": self.entropy[order],
                self.reference: names[self.reference_label[order]],
                "wrong": self.wrong[order],
            },
            index=order,
        )


def task_disagreement(dataset: CrowdDataset, reference: ReferenceLike = None) -> TaskDisagreement:
    """Measure the spread of every task's labels, and the share of them that are wrong by the reference.

    Sparse: O(A log A) time, O(A) memory, never tasks x classes.
    """
    truth = resolve_reference(dataset, reference)
    n, total = dataset.n_tasks, dataset.labels_per_task
    cell, times = np.unique(dataset.task.astype(np.int64) * dataset.n_classes + dataset.label, return_counts=True)
    task, label = np.divmod(cell, dataset.n_classes)
    part = times / total[task]
    best = np.lexsort((label, -times, task))
    first = best[np.unique(task[best], return_index=True)[1]]
    winner, share, entropy = np.full(n, -1, np.int32), np.full(n, np.nan), np.full(n, np.nan)
    winner[task[first]], share[task[first]] = label[first], part[first]
    entropy[dataset.annotated] = np.bincount(task, -part * np.log(part), n)[dataset.annotated] + 0.0
    right = np.bincount(dataset.task, dataset.label == truth.labels[dataset.task], n)
    judged = truth.known & dataset.annotated
    wrong = np.full(n, np.nan)
    wrong[judged] = 1 - right[judged] / total[judged]
    answers = np.bincount(task, minlength=n)
    return TaskDisagreement(
        total, answers, winner, share, entropy, truth.labels, wrong, dataset.task_ids, dataset.classes, truth.name
    )
