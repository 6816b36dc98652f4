"""Coordinated workers: groups who act together, the mistakes that they push, and the labels without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.coordinated.copying import Copying, copying, copying_groups
from crowdcore.analysis.coordinated.groups import Group
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import check_share, row_shares
from crowdcore.analysis.workers.confusion import worker_confusion
from crowdcore.analysis.workers.quality import WhatIf, what_if
from crowdcore.core.errors import DataError
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_TESTED = (
    "Tested: do two workers agree beyond what everybody else's labels on the same tasks explain, and beyond what is "
    "usual in this crowd? The probability of reporting any group in an honest crowd is at most {level:.1f} %, as far "
    "as the others' labels say what is hard about a task. Groups of half the crowd or more are not found: labels alone "
    "cannot distinguish them from workers who are right. Copies of less than a third of the labels mostly stay unseen."
)
_SHARED = (
    "Workers who make the same mistake are no group for that: it is the guideline's, as long as they do not agree on "
    "the same tasks beyond it."
)
_WHY = (
    "A group may copy, share a teacher or be one person: look before you accuse. Labels do not show who followed whom."
)
_TOO_MANY = (
    "{n} workers, more than half of the crowd, agree more than the tests expect: the tests do not fit this crowd, or "
    "labels cannot show who is honest. So none of them is reported."
)
_VOTED = (
    "Without gold, everybody but the two judges a pair; able workers who agree among weak ones are acquitted by how "
    "both agree with the rest."
)
_FIXED = "The reference {name!r} is not refitted when a group is left out, although it contains the group's labels."
_COLUMNS = (
    *("group", "workers", "size", "found by", "p_value", "adjusted p", "shared tasks", "pushes"),
    *("labels changed", "become right", "become wrong", "tasks left without label"),
    *("largest row change", "mean row change", "cell that changes most", "share with", "share without"),
)


@dataclass(frozen=True, eq=False)
class CoordinatedGroup(Group):
    """Workers who act together, and their effect on the labels.

    Attributes:
        shared_tasks: tasks that two members or more labelled.
        pushed: (n, 4) true class, label, tasks of the class to which a member gave the label, and to which two did.
        influence: changes without the group.
    """

    shared_tasks: int
    pushed: IntArray
    influence: Influence


@dataclass(frozen=True, eq=False)
class CoordinatedWorkers(Shown):
    """Groups of coordinated workers, the surest first; no worker is in two.

    Attributes:
        groups: the groups.
        notes: the test and its caveats, one sentence each.
    """

    groups: tuple[CoordinatedGroup, ...]
    worker_ids: pd.Index[str]
    task_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per group; classes by name; counts of labels that become right or wrong are missing without gold."""
        rows = []
        for number, group in enumerate(self.groups, 1):
            of = group.influence
            true, given = of.largest_cell
            rows.append(
                {
                    "group": number,
                    "workers": ", ".join(sorted(map(str, self.worker_ids[group.members]))),
                    "size": len(group.members),
                    "found by": "; ".join(group.found_by),
                    "p_value": group.p_value,
                    "adjusted p": group.adjusted,
                    "shared tasks": group.shared_tasks,
                    "pushes": "; ".join(
                        f"{self.classes[a]} → {self.classes[b]} ({tasks})"
                        for a, b, tasks, _ in group.pushed[:3].tolist()
                    ),
                    "labels changed": len(of.changed),
                    "become right": of.become_right if of.become_right >= 0 else np.nan,
                    "become wrong": of.become_wrong if of.become_wrong >= 0 else np.nan,
                    "tasks left without label": len(of.unlabelled),
                    "largest row change": np.max(of.row_difference[~np.isnan(of.row_difference)], initial=0.0),
                    "mean row change": pd.Series(of.row_difference).mean(),
                    "cell that changes most": f"{self.classes[true]} → {self.classes[given]}",
                    "share with": of.common[true, given],
                    "share without": of.common_without[true, given],
                }
            )
        return pd.DataFrame(rows, columns=_COLUMNS)

    def changed_labels(self) -> pd.DataFrame:
        """One row per group and task whose majority vote changes without the group: group, task, before, after."""
        names = np.array([*self.classes, ""], object)
        parts = [
            pd.DataFrame(
                {
                    "group": number,
                    "task": self.task_ids[group.influence.changed],
                    "before": names[group.influence.before[group.influence.changed]],
                    "after": names[group.influence.after[group.influence.changed]],
                }
            )
            for number, group in enumerate(self.groups, 1)
        ]
        return (
            pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["group", "task", "before", "after"])
        )


@door
def coordinated_workers(
    dataset: CrowdDataset, reference: ReferenceLike = None, found: Copying | None = None, *, level: float = 0.05
) -> CoordinatedWorkers:
    """Find workers who copy each other (`copying`), and measure what they change.

    Pairs that share a worker make one group. Carriers of a mistake that many make are no group for that.

    Args:
        dataset: the annotations; of a worker's repeats on a task the first one counts for the tests.
        reference: what counts as the truth.
        found: `copying` by this reference, to compute it only once.
        level: chance that any group is named in an honest crowd.

    Raises:
        DataError: no usable reference, arrays too large, or a crowd that tags tokens.
        SettingError: a level outside 0 … 1.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.analysis.coordinated_workers(cc.load_dataset("demo"))
        >>> result.frame()[["workers", "shared tasks", "labels changed"]].values.tolist()
        [['w04, w05', 140, 30]]
    """
    check_share(level=level)
    if dataset.kind.sequential:
        raise DataError(
            f"{dataset.name} tags tokens, and the tokens of a sentence are not independent tasks",
            "Coordinated workers are not searched for; `crowdcore spans` shows who makes which errors.",
        )
    truth = resolve_reference(dataset, reference)
    groups, too_many = linked_workers(dataset, copying(dataset, truth) if found is None else found, level)
    counts = worker_confusion(dataset, truth).counts if groups else None
    result = []
    for group in groups:
        assert counts is not None
        cells, shared = pushed(dataset, truth, group.members)
        changes = influence(what_if(dataset, group.members, reference=truth), counts, truth)
        adjusted = min(group.adjusted, 1.0)
        result.append(CoordinatedGroup(group.members, group.found_by, group.p_value, adjusted, shared, cells, changes))
    notes = (
        _TESTED.format(level=100 * level),
        _SHARED,
        *([_TOO_MANY.format(n=too_many)] if too_many else []),
        *([_WHY] if result else []),
        *([_VOTED] if result and not truth.checked else []),
        *([_FIXED.format(name=truth.name)] if result and not truth.checked else []),
    )
    return CoordinatedWorkers(tuple(result), dataset.worker_ids, dataset.task_ids, dataset.classes, truth.name, notes)


def linked_workers(dataset: CrowdDataset, pairs: Copying, level: float) -> tuple[tuple[Group, ...], int]:
    """Groups of at most half of the workers; and how many workers are in larger ones, of which none is reported."""
    most = int((dataset.labels_per_worker > 0).sum()) // 2
    groups = copying_groups(pairs, dataset.n_workers, level)
    if (n := sum(len(group.members) for group in groups)) > most:
        return (), n
    return groups, 0


@dataclass(frozen=True, eq=False)
class Influence:
    """Labels and the common confusion with and without a group.

    Attributes:
        changed, unlabelled: tasks whose majority vote changes without the group, and tasks labelled only by the group.
        before, after: (n_tasks,) majority vote of everyone and of the others, -1 where there is none.
        become_right, become_wrong: changed tasks whose vote is right without the group, or was right with it; -1
            without gold or marks.
        common, common_without: (C, C) confusion of all annotations, with and without the group's; NaN rows without
            evidence.
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
        """Cell of the common confusion that changes most."""
        change = np.nan_to_num(np.abs(self.common - self.common_without))
        true, given = np.unravel_index(change.argmax(), change.shape)
        return int(true), int(given)


def influence(without: WhatIf, counts: FloatArray, truth: Reference) -> Influence:
    """Compare votes and confusions with those ``without`` a group.

    ``counts`` (n_workers, C, C) are the workers' labels against the reference, which stays; only a checked reference
    shows which labels become right.
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


def pushed(dataset: CrowdDataset, truth: Reference, members: IntArray) -> tuple[IntArray, int]:
    """Mistakes that members push, as in `CoordinatedGroup.pushed`, and the number of tasks that two of them labelled.

    The mistakes are those that two members made on two tasks or more, the most tasks first.
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
    listed = np.flatnonzero(alike >= 2)
    listed = listed[np.lexsort((-tasks[listed], -alike[listed]))]
    return np.stack([*np.divmod(listed, n), tasks[listed], alike[listed]], 1), shared
