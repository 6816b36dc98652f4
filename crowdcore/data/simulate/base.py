"""`Simulation`: labels from workers whose mistakes are known, on tasks whose truth is known."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np
import pandas as pd
from pydantic import Field

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.settings import Settings, setting
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import NO_SPLIT, SPLITS, CrowdDataset, SimulatedTruth
from crowdcore.data.ratings import Labelled
from crowdcore.data.rows import Rows
from crowdcore.data.splitting import take_tasks

_BLOCK = 1 << 22  # elements of a temporary block


def draw_labels(confusion: FloatArray, which: IntArray, true: IntArray, rng: np.random.Generator) -> IntArray:
    """(n_annotations,) int32 labels from the rows ``confusion[which, true]`` of (M, C, C), never at probability 0."""
    n_classes = confusion.shape[-1]
    cumulated = confusion.reshape(-1, n_classes).cumsum(1)
    cumulated /= cumulated[:, -1:]
    # Row k occupies (k, k + 1] of one ascending table, so one binary search finds the label of any row.
    table = (cumulated + np.arange(len(cumulated))[:, None]).ravel()
    row = which.astype(np.int64) * n_classes + true
    label = np.searchsorted(table, row + rng.random(len(row)), side="right") - row * n_classes
    last = n_classes - 1 - (confusion[..., ::-1] > 0).argmax(-1).ravel()  # rounding must not pass the last label
    drawn: IntArray = np.minimum(label, last[row]).astype(np.int32)
    return drawn


def choose_workers(
    n_tasks: int, n_workers: int, per_task: int, rng: np.random.Generator, weights: FloatArray | None = None
) -> IntArray:
    """(n_tasks, per_task) int32 distinct workers, one after the other with probability ∝ ``weights`` (None: even)."""
    if per_task > n_workers:
        raise SettingError("per_task", f"be at most the number of workers, {n_workers}", per_task)
    if per_task * 4 > n_workers:
        return _keyed(n_tasks, n_workers, per_task, rng, weights)
    edges = None if weights is None else np.cumsum(weights / weights.sum())

    def draw(n: int) -> IntArray:
        if edges is None:
            return rng.integers(n_workers, size=n, dtype=np.int32)
        return np.minimum(np.searchsorted(edges, rng.random(n), side="right"), n_workers - 1).astype(np.int32)

    chosen = np.empty((n_tasks, per_task), np.int32)
    for j in range(per_task):
        chosen[:, j] = draw(n_tasks)
        again = np.arange(n_tasks)
        while len(again := again[(chosen[again, :j] == chosen[again, j : j + 1]).any(1)]):
            chosen[again, j] = draw(len(again))
    return chosen


def _keyed(
    n_tasks: int, n_workers: int, per_task: int, rng: np.random.Generator, weights: FloatArray | None
) -> IntArray:
    """The same by the ``per_task`` smallest of exponential keys, for cases in which most workers are drawn."""
    scale = 1.0 if weights is None else 1.0 / weights
    chosen = np.empty((n_tasks, per_task), np.int32)
    step = max(1, _BLOCK // n_workers)
    for begin in range(0, n_tasks, step):
        end = min(begin + step, n_tasks)
        key = rng.exponential(scale, (end - begin, n_workers))
        chosen[begin:end] = key.argpartition(per_task - 1, axis=1)[:, :per_task]
    return chosen


def assign(
    tasks: IntArray,
    n_workers: int,
    per_task: float,
    spread: str,
    rng: np.random.Generator,
    weights: FloatArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Assign workers to tasks: ``(task, worker)``, aligned, with ``per_task`` labels a task on average.

    ``spread="even"`` gives each task the same number (or the two numbers next to a fraction),
    ``spread="binomial"`` draws it as if each worker took each task by chance, so that some tasks may get none.
    Workers are drawn with probability ∝ ``weights`` (n_workers,), None = all the same.
    """
    if per_task > n_workers:
        raise SettingError("per_task", f"be at most the number of workers, {n_workers}", per_task)
    if spread == "binomial":
        count = rng.binomial(n_workers, per_task / n_workers, len(tasks))
    else:
        count = np.floor(per_task + rng.random(len(tasks))).astype(np.int64)
    sizes = [k for k in np.unique(count) if k > 0]
    workers = [choose_workers(int((count == k).sum()), n_workers, int(k), rng, weights).ravel() for k in sizes]
    task = [np.repeat(tasks[count == k], k) for k in sizes]
    return np.concatenate([*task, tasks[:0]]), np.concatenate([*workers, np.empty(0, np.int32)])


def flip(target: IntArray, strength: float) -> FloatArray:
    """Each class is given its ``target`` (C,) with probability ``strength``; a class that targets itself is never."""
    n_classes = len(target)
    confusion = np.eye(n_classes) * (1 - strength)
    confusion[np.arange(n_classes), target] += strength
    return confusion


def other_class(n_classes: int, rng: np.random.Generator) -> IntArray:
    """(C,) for every class another one, uniformly chosen (asymmetric confusion; two classes may share a target)."""
    return np.asarray((np.arange(n_classes) + rng.integers(1, max(n_classes, 2), n_classes)) % n_classes)


def paired_class(n_classes: int, rng: np.random.Generator) -> IntArray:
    """(C,) partners of randomly paired classes (symmetric confusion); with odd C one class is its own partner."""
    order = rng.permutation(n_classes)
    even = n_classes - n_classes % 2
    target = np.arange(n_classes)
    target[order[:even:2]], target[order[1:even:2]] = order[1:even:2], order[:even:2]
    return target


def next_class(n_classes: int) -> IntArray:
    """(C,) the class after each, the last one's being the first."""
    return np.roll(np.arange(n_classes), -1)


def symmetrical(n_classes: int, epsilon: float) -> FloatArray:
    """Right with probability 1 - ε, else uniformly one of the other classes."""
    confusion = np.full((n_classes, n_classes), epsilon / (n_classes - 1))
    np.fill_diagonal(confusion, 1 - epsilon)
    return confusion


def hammer_spammer(n_classes: int, skill: float) -> FloatArray:
    """Right with probability ``skill``, else uniformly any class, the right one included."""
    return skill * np.eye(n_classes) + (1 - skill) / n_classes


def class_wise(n_classes: int, known: tuple[int, ...]) -> FloatArray:
    """Always right on the ``known`` classes, uniform on all others."""
    confusion = np.full((n_classes, n_classes), 1.0 / n_classes)
    confusion[list(known)] = np.eye(n_classes)[list(known)]
    return confusion


class TaskChoice(Settings):
    """A part of a dataset; the default is all of it.

    Examples:
        >>> import crowdcore as cc
        >>> TaskChoice(classes=("one", "seven"), n_train=50).of(cc.load_dataset("demo")).classes
        ('one', 'seven')
    """

    classes: tuple[str, ...] = Field(
        default=(), description="Only tasks of these true classes, in this order; empty: all."
    )
    n_train: int | None = Field(default=None, ge=1, description="Training tasks at most.")
    n_valid: int | None = Field(default=None, ge=0, description="Validation tasks at most.")
    n_test: int | None = Field(default=None, ge=0, description="Test tasks at most.")

    def of(self, dataset: CrowdDataset) -> CrowdDataset:
        """The tasks chosen, without annotations.

        Raises:
            SettingError: a class that the dataset does not have.
        """
        unknown = next((c for c in self.classes if c not in dataset.classes), None)
        if unknown is not None:
            raise SettingError(
                "classes", f"name classes of {dataset.name}", unknown, f"It has {', '.join(dataset.classes)}."
            )
        codes = [dataset.classes.index(c) for c in self.classes] or list(range(dataset.n_classes))
        number: IntArray = np.full(dataset.n_classes + 1, -1, np.int32)  # the last is that of unknown gold
        number[codes] = np.arange(len(codes))
        gold = number[dataset.gold]
        chosen = np.ones(dataset.n_tasks, bool) if not self.classes else gold >= 0
        parts = [np.flatnonzero(chosen & (dataset.split < 0))]
        parts += [
            np.flatnonzero(chosen & (dataset.split == k))[: getattr(self, f"n_{s}")] for k, s in enumerate(SPLITS)
        ]
        if self.n_train is not None and not len(parts[1]):
            parts[0] = parts[0][: self.n_train]  # a dataset without splits trains on all it has
        rows = np.sort(np.concatenate(parts))
        tasks = take_tasks(dataset.where(np.zeros(dataset.n_annotations, bool)), rows)
        return replace(
            tasks,
            classes=tuple(dataset.classes[c] for c in codes),
            worker_ids=dataset.worker_ids[:0],
            gold=gold[rows],
            extra=None,
            file_row=None,
            truth=None,
            notes=(),
        )


TaskSource: TypeAlias = CrowdDataset | tuple[AnyArray | None, AnyArray]


@dataclass(frozen=True, eq=False)
class Crowd:
    """Output of a simulation: aligned annotations in any order, with the true parameters.

    Args:
        task: (n_annotations,) task number.
        worker: (n_annotations,) worker number.
        label: (n_annotations,) class number.
        truth: the true parameters, those of annotations aligned with these; settings are filled in later.
        n_workers: number of workers, those without a label included.
        notes: sentences for the dataset.
    """

    task: IntArray
    worker: IntArray
    label: IntArray
    truth: SimulatedTruth
    n_workers: int
    notes: tuple[str, ...] = ()


class Simulation(Settings):
    """Base of every simulated crowd: frozen settings, and `run`, which returns a dataset with the true parameters.

    A subclass sets ``name`` (= its file's name, ``_`` as ``-``), ``title`` and ``paper``, and declares its settings.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    makes_tasks: ClassVar[bool] = False

    seed: int = setting(0, "Seed", "Seed of everything drawn at random.", ge=0)

    @abstractmethod
    def run(self, source: TaskSource | None = None) -> Labelled:
        """Simulate the crowd, on the tasks of a source where the simulation does not make its own."""

    def _check_source(self, source: TaskSource | None) -> None:
        if (source is None) != self.makes_tasks:
            must = "be left out: this simulation makes its own tasks" if self.makes_tasks else "hold tasks with gold"
            raise SettingError("source", must, type(source).__name__)


class ClassSimulation(Simulation):
    """Base of crowds whose labels are classes or tags.

    A subclass implements ``_annotate``; one that makes its own tasks also overrides ``_tasks``.
    """

    def run(self, source: TaskSource | None = None) -> CrowdDataset:
        """Simulate the crowd.

        Args:
            source: the tasks to label: a dataset with gold (its annotations are left out), or
                ``(features or None, gold)``. Tasks without gold, and tasks of the splits valid and test, get
                no labels. None for simulations that make their own tasks.

        Raises:
            SettingError: a source where none is taken, or none where one is needed.
            DataError: no task with a known true class.
        """
        self._check_source(source)
        rng = np.random.default_rng(self.seed)
        tasks = self._tasks(rng) if source is None else as_tasks(source)
        labelled = np.flatnonzero((tasks.gold >= 0) & (tasks.split <= SPLITS.index("train")))
        if not len(labelled):
            raise DataError(f"{tasks.name} has no training task with a known true class", "A simulation needs gold.")
        crowd = self._annotate(tasks, labelled, rng)
        order = np.lexsort((crowd.worker, crowd.task))
        truth = replace(
            crowd.truth,
            omega=None if crowd.truth.omega is None else crowd.truth.omega[order],
            used_common=None if crowd.truth.used_common is None else crowd.truth.used_common[order],
            settings={"simulation": self.name, **self.model_dump(mode="json"), **crowd.truth.settings},
        )
        return replace(
            tasks,
            name=self.name if source is None else f"{tasks.name}-{self.name}",
            worker_ids=numbered("w", crowd.n_workers),
            task=crowd.task[order],
            worker=crowd.worker[order],
            label=crowd.label[order],
            extra=None,
            file_row=None,
            truth=truth,
            notes=crowd.notes,
        )

    def _tasks(self, rng: np.random.Generator) -> CrowdDataset:
        raise NotImplementedError(f"{type(self).__name__} makes no tasks of its own")

    @abstractmethod
    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd: ...


def wrong_classes(tasks: CrowdDataset, wanted: str) -> DataError:
    """The refusal of tasks with another number of classes than a simulation needs."""
    return DataError(
        f"{tasks.name} has {tasks.n_classes} classes, but this simulation is made for {wanted}",
        f"Choose {wanted} of its classes, or another dataset.",
    )


def numbered(prefix: str, n: int) -> pd.Index[str]:
    """``n`` ids of equal width from 1 on, which sort like numbers: w01 … w30."""
    width = len(str(n))
    return pd.Index([f"{prefix}{i:0{width}d}" for i in range(1, n + 1)], dtype=object)


def as_tasks(source: TaskSource, name: str = "simulated", split: IntArray | None = None) -> CrowdDataset:
    """The tasks of a source as a dataset; ``(features, gold)`` gets numbered ids and classes."""
    if isinstance(source, CrowdDataset):
        return source
    features, gold = source
    gold = np.asarray(gold)
    if gold.ndim != 1 or not np.issubdtype(gold.dtype, np.integer):
        raise SettingError("gold", "be a vector of class numbers", f"{gold.dtype} of shape {gold.shape}")
    nothing: IntArray = np.empty(0, np.int32)
    no_split: IntArray = np.full(len(gold), NO_SPLIT, np.int8)
    return CrowdDataset(
        name,
        tuple(f"class {c}" for c in range(int(gold.max(initial=0)) + 1)),
        numbered("t", len(gold)),
        pd.Index([], dtype=object),
        nothing,
        nothing,
        nothing,
        gold=gold,
        split=no_split if split is None else split,
        features=None if features is None else Rows.from_array(np.asarray(features)),
    )
