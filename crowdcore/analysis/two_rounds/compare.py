"""What changed from one round of labelling to the next, and whether it is more than noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import Reference, ReferenceLike, default_reference, resolve_reference
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.analysis.two_rounds.change import Change, Clusters, worker_change
from crowdcore.analysis.two_rounds.split import HALVES, ROUND, in_second, join_rounds
from crowdcore.analysis.verdicts.peers import by_gold, peer_beliefs
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

MEASURES = ("labels that are right", "agreement with the task's other labels")
WITHIN = "Almost all labels come from workers of both rounds: each worker is compared with their own labels."
BETWEEN = "The rounds have different workers, who count as a random sample: few workers cannot show small changes."
CONTROL = (
    "If nothing changed, the probability of any alarm among measures, classes, mistakes and workers is at most 5 %: "
    "Benjamini–Hochberg within each of the four, q-values multiplied by four."
)
_BY_MODEL = (
    "There is no gold: a label is judged by the other labels on its task, with confusions counted against {name!r}, "
    "fitted to both rounds together. So workers who stay the same look better if the others became better."
)
_FAMILIES = 4
_LEVEL = 0.05
_LEAST_BELIEF = 0.02  # below which a label does not count towards a class
_COMMON = 0.9  # share of each round's labels by workers of both from which workers are compared with themselves
_CARRIERS = 5  # tasks with a mistake below which its change is not tested


@dataclass(frozen=True, eq=False)
class Rounds:
    """Two rounds side by side; q-values are after Benjamini–Hochberg, times the number of families.

    Attributes:
        names: what the two rounds are called.
        n_annotations: labels of each round, (2,).
        n_tasks: tasks of each round, (2,).
        n_workers: workers of each round, (2,).
        within: whether workers are compared with themselves; else they count as drawn at random.
        measures: (2,) `MEASURES`.
        q_measures: (2,).
        noise: (C,) share of wrong labels among those on tasks of each class.
        q_noise: (C,).
        mistakes: (C, C) share of the labels on tasks of class a that are b.
        q_mistakes: (C, C) NaN on the diagonal and for mistakes on fewer than five tasks.
        carriers: (2, C, C) workers who made each mistake in each round.
        workers: (n_workers,) share of right labels of each worker, on the classes met in both rounds.
        q_workers: (n_workers,) NaN for workers of one round and those with fewer than five labels in one.
        labels: (2, n_workers) labels given in each round.
        reference: what was taken for the truth.
        truth: the same in words.
    """

    names: tuple[str, str]
    n_annotations: IntArray
    n_tasks: IntArray
    n_workers: IntArray
    within: bool
    measures: Change
    q_measures: FloatArray
    noise: Change
    q_noise: FloatArray
    mistakes: Change
    q_mistakes: FloatArray
    carriers: IntArray
    workers: Change
    q_workers: FloatArray
    labels: IntArray
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str
    truth: str

    @property
    def alarm(self) -> bool:
        """Whether anything changed beyond noise."""
        return any(bool((q <= _LEVEL).any()) for q in (self.q_measures, self.q_noise, self.q_mistakes, self.q_workers))

    def measures_frame(self) -> pd.DataFrame:
        """A row per measure, then one per class: wrong labels on its tasks."""
        what = [*MEASURES, *(f"wrong labels on “{name}”" for name in self.classes)]
        both = [_frame(self.measures, self.q_measures), _frame(self.noise, self.q_noise)]
        table = pd.concat(both, ignore_index=True)
        table.insert(0, "what", what)
        return table

    def mistakes_frame(self) -> pd.DataFrame:
        """A row per mistake made in either round, the surest change first; ``change`` in words."""
        true, given = np.nonzero((self.carriers.sum(0) > 0) & ~np.eye(len(self.classes), dtype=bool))
        at, names = (true, given), np.array(self.classes, object)
        before, after = self.carriers[:, true, given]
        surely, more = self.q_mistakes[at] <= _LEVEL, self.mistakes.second[at] > self.mistakes.first[at]
        words = np.select(
            [surely & more & (before < 2), surely & more, surely & (after < 2), surely],
            ["came", "more often", "went", "less often"],
            "",
        )
        table = pd.DataFrame({"true": names[true], "given": names[given], "change": words})
        table = table.assign(first=self.mistakes.first[at], second=self.mistakes.second[at])
        table = table.assign(**{"workers first": before, "workers second": after, "q_value": self.q_mistakes[at]})
        return table.sort_values("q_value", kind="stable", ignore_index=True)

    def workers_frame(self) -> pd.DataFrame:
        """A row per worker, the surest change first; without shares for who is in one round only. Index = number."""
        active = np.flatnonzero((self.labels > 0).any(0))
        table = _frame(self.workers, self.q_workers).iloc[active]
        table.insert(0, "worker", self.worker_ids[active])
        surely = table["q_value"].to_numpy() <= _LEVEL
        words = np.where(surely, np.where(table["second"] > table["first"], "better", "worse"), "")
        table.insert(1, "change", words)
        table = table.assign(**{"labels first": self.labels[0, active], "labels second": self.labels[1, active]})
        return table.sort_values("q_value", kind="stable")


def _frame(change: Change, q_value: FloatArray) -> pd.DataFrame:
    """A row per mean: both rounds, their difference with its interval, the q-value."""
    columns = {"first": change.first, "second": change.second, "difference": change.second - change.first}
    return pd.DataFrame({**columns, "from": change.low, "to": change.high, "q_value": q_value})


def compare_rounds(first: CrowdDataset, second: CrowdDataset, reference: ReferenceLike | None = None) -> Rounds:
    """Test what changed from one dataset to the next, and who changed; see `rounds`.

    Args:
        first: the earlier round.
        second: the later one; equal ids are the same task, or worker.
        reference: what to take for the truth, fitted to both rounds together; default: gold where there is some,
            else `auto`.

    Raises:
        DataError: rounds that cannot be compared, or no such reference.

    Examples:
        >>> import crowdcore as cc
        >>> ds = cc.load_dataset("demo")
        >>> cc.analysis.compare_rounds(ds, ds).alarm
        False
    """
    both = join_rounds(first, second)
    result = rounds(both, default_reference(both) if reference is None else reference, by=ROUND)
    names = (first.name, second.name) if first.name != second.name else ("first", "second")
    return replace(result, names=names)


def rounds(dataset: CrowdDataset, reference: ReferenceLike = "gold", *, by: str = HALVES, at: str = "") -> Rounds:
    """Compare two rounds of one dataset.

    Agreement, the share of right labels, the share of wrong ones per class and of each mistake are means over labels;
    `Clusters.change` tests their change, with labels dependent within tasks (of tags, within sentences) and within
    workers. `worker_change` tests each worker of both rounds, within true classes, by the first label that they gave to
    a task in each round. `CONTROL` says how many false alarms that makes.

    Args:
        reference: gold judges by gold; anything else by the other labels of the task (`peer_beliefs`; where workers
            labelled tasks again, their labels of each round count as those of two workers).
        by: how rounds are separated, and ``at`` where the second begins; see `in_second`.

    Raises:
        DataError: no usable reference, or one round is empty.
        SettingError: no such column or value.

    Examples:
        >>> import crowdcore as cc
        >>> cc.analysis.rounds(cc.load_dataset("demo"), by="halves").n_annotations.tolist()
        [2596, 2658]
    """
    second, names = in_second(dataset, by, at)
    truth = resolve_reference(dataset, reference)
    rows, judge, sentence = _judged(dataset, truth, second)
    unit = np.arange(dataset.n_tasks) if dataset.sentences is None else dataset.sentences.of_task
    task, worker, label, later = unit[dataset.task[rows]], dataset.worker[rows], dataset.label[rows], second[rows]
    n_classes, n_workers = dataset.n_classes, dataset.n_workers
    labels = np.stack([np.bincount(dataset.worker[second == k], minlength=n_workers) for k in (0, 1)])
    right, stratum = judge[np.arange(len(rows)), label], judge.argmax(1)
    common = labels[:, (labels > 0).all(0)].sum(1) / labels.sum(1)
    within = bool(common.min() >= _COMMON)
    measures = _measures(dataset, second, rows, right, unit, within)
    entry, true = np.nonzero(judge > _LEAST_BELIEF)
    weight, given = judge[entry, true], label[entry]
    of_class = Clusters(true, n_classes, weight, later[entry], task[entry], worker[entry], within)
    noise = of_class.change((given != true).astype(np.float64))
    cells = [of_class.change((given == b).astype(np.float64)) for b in range(n_classes)]
    mistakes = Change(*(np.stack([getattr(c, f) for c in cells], 1) for f in Change.__dataclass_fields__))
    cell = stratum * n_classes + label
    carried = np.bincount(np.unique(task.astype(np.int64) * n_classes**2 + cell) % n_classes**2, minlength=n_classes**2)
    tested = (carried.reshape(n_classes, n_classes) >= _CARRIERS) & ~np.eye(n_classes, dtype=bool)
    made = [np.unique(worker[later == k].astype(np.int64) * n_classes**2 + cell[later == k]) for k in (0, 1)]
    carriers = np.stack([np.bincount(key % n_classes**2, minlength=n_classes**2) for key in made])
    once = np.unique((2 * dataset.task[rows].astype(np.int64) + later) * n_workers + worker, return_index=True)[1]
    workers = worker_change(right[once], later[once], worker[once], stratum[once], n_workers, n_classes)
    parts = [(dataset.task[second == k], dataset.worker[second == k]) for k in (0, 1)]
    return Rounds(
        names,
        np.array([len(tasks) for tasks, _ in parts]),
        np.array([len(np.unique(tasks)) for tasks, _ in parts]),
        np.array([len(np.unique(who)) for _, who in parts]),
        within,
        measures,
        _controlled(measures.p_value),
        noise,
        _controlled(noise.p_value),
        mistakes,
        _controlled(np.where(tested, mistakes.p_value, np.nan)),
        carriers.reshape(2, n_classes, n_classes),
        workers,
        _controlled(workers.p_value),
        labels,
        dataset.worker_ids,
        dataset.classes,
        truth.name,
        sentence,
    )


def _controlled(p_value: FloatArray) -> FloatArray:
    return np.minimum(_FAMILIES * benjamini_hochberg(p_value), 1.0)


def _judged(dataset: CrowdDataset, truth: Reference, second: BoolArray) -> tuple[IntArray, FloatArray, str]:
    """Rows of the annotations that can be judged, belief in each class of their tasks (n, C), and by whom."""
    if truth.checked:
        rows = np.flatnonzero(truth.labels[dataset.task] >= 0)
        judge = (np.arange(dataset.n_classes) == truth.labels[dataset.task[rows], None]).astype(np.float64)
        return rows, judge, by_gold(dataset, truth)
    if len(np.unique(dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker)) < dataset.n_annotations:
        ids = pd.RangeIndex(2 * dataset.n_workers).astype("str")  # both of a worker's answers to a task count
        dataset = replace(dataset, worker=2 * dataset.worker + second, worker_ids=ids, truth=None)
    peers = peer_beliefs(dataset, truth)
    known = ~np.isnan(peers.judge[:, 0])
    return peers.row[known], peers.judge[known], _BY_MODEL.format(name=truth.name)


def _measures(
    dataset: CrowdDataset, second: BoolArray, rows: IntArray, right: FloatArray, unit: IntArray, within: bool
) -> Change:
    """(2,) changes of `MEASURES`."""
    here = 2 * dataset.task.astype(np.int64) + second
    total = np.bincount(here, minlength=2 * dataset.n_tasks)[here]
    alike = np.unique(here * dataset.n_classes + dataset.label, return_inverse=True, return_counts=True)
    several = np.flatnonzero(total > 1)
    agreed = (alike[2][alike[1]][several] - 1) / (total[several] - 1)
    result = []
    for at, value, influence in ((rows, right, 1), (several, agreed, 2)):
        one = np.zeros(len(at), np.int64)
        of = Clusters(one, 1, np.ones(len(at)), second[at], unit[dataset.task[at]], dataset.worker[at], within)
        result.append(of.change(value, influence))
    return Change(*(np.concatenate([getattr(c, f) for c in result]) for f in Change.__dataclass_fields__))
