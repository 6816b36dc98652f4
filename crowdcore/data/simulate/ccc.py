"""CCC's eight pattern sets: five patterns of workers each, independent or correlated, and very uneven shares."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.simulate import _draw as confusions
from crowdcore.data.simulate._draw import choose_workers, draw_labels
from crowdcore.data.simulate.base import ClassSimulation, Crowd, TaskSource, wrong_classes

# Table 4. Correlated patterns start with the same word as in the paper's text.
PATTERN_SETS: dict[str, tuple[str, str, str, str, str]] = {
    "IND-I": ("symmetrical 0.3", "symmetrical 0.5", "pair 0.6", "class-wise 1,3,4,6,8", "dummy"),
    "IND-II": ("symmetrical 0.4", "class-wise 2,5,9", "pair 0.6", "class-wise 0,6,8", "dummy"),
    "IND-III": ("pair 0.3", "pair 0.6", "class-wise 0,4,5", "class-wise 1,3,4,6,8", "dummy"),
    "IND-IV": ("symmetrical 0.3", "symmetrical 0.5", "symmetrical 0.7", "pair 0.5", "pair 0.3"),
    "COR-I": ("symmetrical 0.4", "class-wise 2,5,9", "dummy", "supportive", "opposite"),
    "COR-II": ("pair 0.5", "class-wise 0,6,8", "supportive", "opposite", "copy"),
    "COR-III": ("pair 0.4", "symmetrical 0.5", "opposite", "supportive", "copy"),
    "COR-IV": ("symmetrical 0.5", "pair 0.7", "pair 0.3", "opposite", "supportive"),
}
_CORRELATED = ("copy", "supportive", "opposite")
_Set = Literal["IND-I", "IND-II", "IND-III", "IND-IV", "COR-I", "COR-II", "COR-III", "COR-IV"]


class Ccc(ClassSimulation):
    """Five patterns with ``per_pattern`` workers each (CCC, "Generation of two confusions" and Table 4).

    Independent: *symmetrical ε* errs uniformly with probability ε; *pair ε* gives the next class with probability ε;
    *class-wise c…* is always right on these classes and uniform on others; *dummy* is uniform. Correlated workers
    follow one other worker (drawn once, among those of the independent patterns, so that nobody follows in a
    circle), by the label that worker gives the same task, shown or not: *copy* gives the same label; *supportive*
    is right where that one is, else uniform; *opposite* is right where that one is wrong, else uniform. Each task
    gets ``per_task`` workers, drawn one after the other with weights from Beta(``alpha``, ``beta``).
    """

    name: ClassVar[str] = "ccc"
    title: ClassVar[str] = "Pattern sets IND and COR with few-label workers (CCC)"
    paper: ClassVar[str] = "Zhang et al.: Coupled Confusion Correction, AAAI 2024, Table 4"

    patterns: _Set = setting("IND-I", "Pattern set", "Pattern set of Table 4 (10 classes).")
    per_pattern: int = setting(50, "Workers per pattern", "Workers of each of the five patterns.", ge=1)
    per_task: int = setting(3, "Labels per task", "Labels per task, k.", ge=1)
    alpha: float = setting(1.5, "α of the workload", "α of the Beta distribution of the workers' weights.", gt=0)
    beta: float = setting(3.0, "β of the workload", "β of the Beta distribution of the workers' weights.", gt=0)

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        if tasks.n_classes != 10:
            raise wrong_classes(tasks, "ten")
        patterns = PATTERN_SETS[self.patterns]
        n_workers = self.per_pattern * len(patterns)
        group = np.repeat(np.arange(len(patterns)), self.per_pattern)
        kind = np.array([p.split()[0] for p in patterns])[group]
        follows = np.isin(kind, _CORRELATED)
        leader = np.arange(n_workers)
        leader[follows] = rng.choice(np.flatnonzero(~follows), int(follows.sum()))
        own = np.stack([np.eye(10) if p in _CORRELATED else _confusion(p) for p in patterns])[group]
        weights = rng.beta(self.alpha, self.beta, n_workers)

        task = np.repeat(labelled, self.per_task)
        worker = choose_workers(len(labelled), n_workers, self.per_task, rng, weights).ravel()
        # What a leader says of a task is drawn once, however many follow it there.
        key, at = np.unique(task.astype(np.int64) * n_workers + leader[worker], return_inverse=True)
        own_label = draw_labels(own, key % n_workers, tasks.gold[key // n_workers], rng)[at]
        true = tasks.gold[task]
        anything = rng.integers(10, size=len(task))
        kinds = kind[worker]
        right = np.where(kinds == "supportive", own_label == true, own_label != true)
        label = np.where(np.isin(kinds, ("supportive", "opposite")), np.where(right, true, anything), own_label)
        truth = SimulatedTruth(
            worker_confusion=np.stack([_seen(kind[r], own[leader[r]]) for r in range(n_workers)]),
            group=group,
            worker_role=tuple(
                f"{patterns[group[r]]} of w{leader[r] + 1:0{len(str(n_workers))}d}"
                if follows[r]
                else patterns[group[r]]
                for r in range(n_workers)
            ),
        )
        return Crowd(task, worker, label, truth, n_workers)


def _confusion(pattern: str) -> FloatArray:
    """(10, 10) of an independent pattern."""
    kind, _, value = pattern.partition(" ")
    if kind == "symmetrical":
        return confusions.symmetrical(10, float(value))
    if kind == "pair":
        return confusions.flip(confusions.next_class(10), float(value))
    return confusions.class_wise(10, tuple(int(c) for c in value.split(",")) if value else ())


def _seen(kind: str, leader: FloatArray) -> FloatArray:
    """(10, 10) confusion of a worker of this kind, given that of the worker followed (or the worker's own)."""
    if kind not in ("supportive", "opposite"):
        return leader
    right = np.diag(leader) if kind == "supportive" else 1 - np.diag(leader)
    return np.asarray(right[:, None] * np.eye(10) + (1 - right)[:, None] / 10)


def ccc(source: TaskSource, **settings: Any) -> CrowdDataset:
    """Label 10-class tasks by one of CCC's pattern sets; settings are the fields of `Ccc`."""
    return Ccc(**settings).run(source)
