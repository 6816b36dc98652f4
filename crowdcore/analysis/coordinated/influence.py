"""What a group of workers does to the labels and to the confusion of all workers together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.analysis.reference import Reference
from crowdcore.analysis.workers.confusion import row_shares
from crowdcore.analysis.workers.what_if import WhatIf
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class Influence:
    """Labels and the common confusion with and without a group.

    Attributes:
        changed: tasks whose majority vote is another class without the group.
        unlabelled: tasks that only the group labelled.
        before: (n_tasks,) majority vote of everyone, -1 where there is none.
        after: (n_tasks,) majority vote of the others.
        become_right: changed tasks whose vote is right without the group; -1 without gold or marks.
        become_wrong: changed tasks whose vote was right with the group; -1 without gold or marks.
        common: (C, C) confusion of all annotations together, NaN rows without evidence.
        common_without: (C, C) the same without the group's.
        row_difference: (C,) ``½ Σ_b |π_ab - π'_ab|``, the share of a row that moves; NaN without evidence.
    """

    changed: IntArray
    unlabelled: IntArray
    before: IntArray
    after: IntArray
    become_right: int
    become_wrong: int
    common: FloatArray
    common_without: FloatArray
    row_difference: FloatArray

    @property
    def largest_cell(self) -> tuple[int, int]:
        """The cell of the common confusion that changes most."""
        change = np.nan_to_num(np.abs(self.common - self.common_without))
        true, given = np.unravel_index(change.argmax(), change.shape)
        return int(true), int(given)


def influence(without: WhatIf, counts: FloatArray, truth: Reference) -> Influence:
    """Compare what is with what would be.

    Args:
        without: `what_if` the group were left out.
        counts: (n_workers, C, C) labels of each worker against the reference (`worker_confusion`), which stays.
        truth: the reference; only one that is checked says which labels become right.
    """
    everyone = counts.sum(0)
    common, rest = row_shares(everyone), row_shares(everyone - counts[without.workers].sum(0))
    moved = np.abs(common - rest).sum(1) / 2
    right = wrong = -1
    if truth.checked:
        true = truth.labels[without.changed]
        right = int(((without.after[without.changed] == true) & (true >= 0)).sum())
        wrong = int(((without.before[without.changed] == true) & (true >= 0)).sum())
    return Influence(
        without.changed, without.unlabelled, without.before, without.after, right, wrong, common, rest, moved
    )


def pushed(dataset: CrowdDataset, truth: Reference, members: IntArray, cells: IntArray) -> tuple[IntArray, int]:
    """What members push, and how many tasks two of them labelled.

    Returns:
        (n, 4) true class, label, tasks of the class to which a member gave the label, and to which two or more did;
        the mistakes ``cells`` and all that two members made on two tasks or more, the most tasks first.
    """
    n = dataset.n_classes
    key = np.unique(
        np.stack([dataset.task, dataset.worker, dataset.label])[:, np.isin(dataset.worker, members)], axis=1
    )
    task, worker, label = key.astype(np.int64)
    shared = int((np.bincount(np.unique(task * dataset.n_workers + worker) // dataset.n_workers) >= 2).sum())
    wrong = (truth.labels[task] >= 0) & (truth.labels[task] != label)
    given, by = np.unique(task[wrong] * n + label[wrong], return_counts=True)
    cell = truth.labels[given // n].astype(np.int64) * n + given % n
    tasks, alike = np.bincount(cell, minlength=n * n), np.bincount(cell, by >= 2, minlength=n * n).astype(np.int64)
    listed = np.union1d(np.flatnonzero(alike >= 2), cells[:, 0] * n + cells[:, 1]).astype(np.int64)
    listed = listed[np.lexsort((-tasks[listed], -alike[listed]))]
    return np.stack([*np.divmod(listed, n), tasks[listed], alike[listed]], 1), shared
