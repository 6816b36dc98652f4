"""Disagreement per task: how its labels spread over the classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class TaskDisagreement:
    """Label statistics of each task; 0, -1 or NaN for tasks without annotations.

    Args:
        n_annotations: (n_tasks,) labels the task got, repeats included.
        n_answers: (n_tasks,) different classes among them.
        winner: (n_tasks,) most frequent class (ties to the lowest), -1 without annotations.
        share: (n_tasks,) share of the winner among the task's labels.
        entropy: (n_tasks,) entropy of the task's labels in nats.
        reference_label: (n_tasks,) what the reference says, -1 where it knows nothing.
        wrong: (n_tasks,) share of the labels that differ from it, NaN where it knows nothing.
        task_ids: (n_tasks,) names.
        reference: what was taken for the truth.
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


def task_disagreement(dataset: CrowdDataset, reference: ReferenceLike = "gold") -> TaskDisagreement:
    """Spread of the labels of every task, and how many of them the reference calls wrong.

    Sparse: O(A log A) time, O(A) memory, never tasks x classes.

    Raises:
        DataError: gold asked for where there is none.
        SettingError: no such reference.
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
