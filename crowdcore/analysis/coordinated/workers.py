"""Coordinated workers: who acts together, what they push, and what the labels would be without them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from crowdcore.analysis.coordinated.groups import BEYOND, Group, joined, pushes, pushing_groups
from crowdcore.analysis.coordinated.pairs import VOTE, copy_evidence, judged_again, linked_by, pair_tests
from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import check_share, row_shares
from crowdcore.analysis.verdicts.peers import Peers, peer_beliefs
from crowdcore.analysis.workers.confusion import worker_confusion
from crowdcore.analysis.workers.quality import WhatIf, what_if
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

PUSHES = 0.6
"""Share of the level for pushed mistakes: with few classes few coincide."""
_TESTED = (
    "Tested: do workers agree beyond what their skills and the tasks explain; do they agree with each other more than "
    "with the others; do they push the same mistake more often than independent mistakes would coincide? The "
    "probability of reporting any group in an honest crowd is at most {level:.1f} %. Groups of half the crowd or more "
    "are not found: labels alone cannot distinguish them from workers who are right."
)
_TWO_CLASSES = "With two classes, pushed mistakes are not tested: a stricter worker looks the same."
_WHY = (
    "A group may copy, share a teacher or be one person: look before you accuse. Labels do not show who followed whom."
)
_TOO_MANY = (
    "{n} workers, more than half of the crowd, agree more than the tests expect: the tests do not fit this crowd, or "
    "labels cannot show who is honest. So none of them is reported."
)
_VOTED = (
    "Without gold a majority vote judges pairs. Once there is a group, what the workers outside of it say of the tasks "
    "must not explain the agreement either: where a vote is wrong, able workers agree against it."
)
_FIXED = "The reference {name!r} is not refitted when a group is left out, although it contains the group's labels."
_COLUMNS = (
    *("group", "workers", "size", "found by", "p_value", "adjusted p", "shared tasks", "pushes"),
    *("labels changed", "become right", "become wrong", "tasks left without label"),
    *("largest row change", "mean row change", "cell that changes most", "share with", "share without"),
)


@dataclass(frozen=True, eq=False)
class CoordinatedGroup:
    """Workers who act together.

    Attributes:
        members: (n_members,) worker numbers, ascending.
        found_by: the tests that detected them, in words.
        p_value, adjusted: smallest of the tests, before and after correction over pairs or groups and over the tests.
        shared_tasks: tasks that two members or more labelled.
        pushed: (n, 4) true class, label, tasks of the class to which a member gave the label, and to which two did.
        influence: what changes without the group.
    """

    members: IntArray
    found_by: tuple[str, ...]
    p_value: float
    adjusted: float
    shared_tasks: int
    pushed: IntArray
    influence: Influence


@dataclass(frozen=True, eq=False)
class CoordinatedWorkers:
    """Groups of coordinated workers, the surest first; no worker is in two.

    Attributes:
        groups: the groups.
        worker_ids: (n_workers,) names.
        task_ids: (n_tasks,) names.
        reference: what was taken for the truth.
        notes: what was tested and what to bear in mind, one sentence each.
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


def coordinated_workers(
    dataset: CrowdDataset,
    reference: ReferenceLike = "gold",
    pairs: PairMistakes | None = None,
    peers: Peers | None = None,
    *,
    level: float = 0.05,
) -> CoordinatedWorkers:
    """Find workers who copy each other or push the same mistakes, and measure what they change.

    Three tests, at a fifth, a fifth and three fifths of ``level``:

    - pairs who agree beyond what both skills, the tasks' difficulty and their foils explain (`pair_mistakes`), by
      Holm's correction and with twice the common mistakes expected; where a vote judges, they must agree with each
      other more than with the others, too (p ≤ 0.001, half a standard deviation granted);
    - pairs who agree with each other more than either agrees with the others (`agreement_beyond`), which needs no
      reference, so that it finds those who outvote the others and become its truth; by gold or marks they must agree
      beyond skills and tasks, too (p ≤ 0.001), as tasks of very unequal difficulty look the same;
    - workers who push the same mistake (`pushes`), more of them than own mistakes coincide by chance
      (`pushing_groups`); not with two classes, where there is only one mistake per class.

    Without gold, what the workers outside of a group say of each task must not explain the agreement of a pair either
    (`judged_again`). Pairs that share a worker make one group, and so do groups that share a worker. Up to two in five
    workers who push a mistake can be found; where most workers coordinate, labels alone cannot say who is honest.

    Args:
        dataset: the annotations; of a worker's repeats on a task the first one counts for the tests.
        reference: what to take for the truth.
        pairs: `copy_evidence` by this reference, to compute it only once; without gold that of a majority vote.
        peers: `peer_beliefs` by this reference, to compute them only once.
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
    pairs = copy_evidence(dataset, truth) if pairs is None else pairs
    peers = peer_beliefs(dataset, truth) if peers is None else peers
    groups, too_many = linked_workers(dataset, pairs, peers, level)
    counts = worker_confusion(dataset, truth).counts if groups else None
    result = []
    for group in groups:
        assert counts is not None
        cells, shared = pushed(dataset, truth, group.members, group.cells)
        changes = influence(what_if(dataset, group.members, reference=truth), counts, truth)
        adjusted = min(group.adjusted, 1.0)
        result.append(CoordinatedGroup(group.members, group.found_by, group.p_value, adjusted, shared, cells, changes))
    notes = (
        _TESTED.format(level=100 * level),
        *([_TWO_CLASSES] if dataset.n_classes == 2 else []),
        *([_TOO_MANY.format(n=too_many)] if too_many else []),
        *([_WHY] if result else []),
        *([_VOTED] if result and not truth.checked else []),
        *([_FIXED.format(name=truth.name)] if result and not truth.checked else []),
    )
    return CoordinatedWorkers(tuple(result), dataset.worker_ids, dataset.task_ids, dataset.classes, truth.name, notes)


def linked_workers(
    dataset: CrowdDataset, pairs: PairMistakes, peers: Peers, level: float
) -> tuple[tuple[Group, ...], int]:
    """Groups found by the three tests together; and how many workers are in none as they are more than half of all.

    Where a vote judges pairs, copiers who win it are right alike, attackers who win it among foils make honest workers
    wrong alike, and so does a vote that is wrong on hard tasks, where able workers contradict it. So once there is a
    group, pairs are judged again by the workers outside of it (`judged_again`).
    """
    most = int((dataset.labels_per_worker > 0).sum()) // 2
    pushing = PUSHES * level
    pushers = pushing_groups(pushes(peers, dataset.n_workers, pushing), dataset.n_classes, pushing)
    pushers = [replace(group, adjusted=group.adjusted / PUSHES) for group in pushers]
    tests = pair_tests(dataset, pairs, level)
    result, too_many = joined([*linked_by(pairs, tests), *pushers]), 0
    out = _left_out(result)
    if pairs.reference == VOTE and len(out):
        too_many = len(out) * (len(out) > most)
        tests = [] if too_many else judged_again(dataset, pairs, tests, out, level)
        result = joined([*linked_by(pairs, tests), *pushers])
    groups = tuple(group for group in result if len(group.members) <= most)
    too_many = too_many or sum(len(group.members) for group in result if len(group.members) > most)
    return groups, too_many


def _left_out(groups: list[Group]) -> IntArray:
    """Workers who do not judge pairs again: the groups that tests without a vote detected, else the largest."""
    surely = [group for group in groups if set(group.found_by) - {BEYOND}]
    largest = sorted(groups, key=lambda group: -len(group.members))[:1]
    return np.concatenate([np.empty(0, np.int64), *(group.members for group in surely or largest)])


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
        """The cell of the common confusion that changes most."""
        change = np.nan_to_num(np.abs(self.common - self.common_without))
        true, given = np.unravel_index(change.argmax(), change.shape)
        return int(true), int(given)


def influence(without: WhatIf, counts: FloatArray, truth: Reference) -> Influence:
    """Compare the votes and confusions with those without a group, whose absence is ``without``.

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


def pushed(dataset: CrowdDataset, truth: Reference, members: IntArray, cells: IntArray) -> tuple[IntArray, int]:
    """Mistakes that members push as in `CoordinatedGroup.pushed`, and how many tasks two of them labelled.

    Listed are the mistakes ``cells`` and all that two members made on two tasks or more, the most tasks first.
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
