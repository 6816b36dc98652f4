"""`Simulation`: labels from workers whose mistakes are known, on tasks whose truth is known."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.settings import Settings, setting
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset, SimulatedTruth
from crowdcore.data.index_table import NO_SPLIT
from crowdcore.data.ratings import Labelled
from crowdcore.data.rows import Rows

TaskSource: TypeAlias = CrowdDataset | tuple[AnyArray | None, AnyArray]


@dataclass(frozen=True, eq=False)
class Crowd:
    """Output of a simulation: aligned annotations in any order, with the true parameters.

    Args:
        task: (n_annotations,) task number.
        worker: (n_annotations,) worker number.
        label: (n_annotations,) class number.
        truth: its per-annotation arrays are aligned with these annotations; settings are filled in later.
        n_workers: workers, those without a label included.
        notes: sentences for the dataset.
    """

    task: IntArray
    worker: IntArray
    label: IntArray
    truth: SimulatedTruth
    n_workers: int
    notes: tuple[str, ...] = ()


class Simulation(Settings):
    """Base of every simulated crowd: frozen settings, and `run`, which returns a dataset with its truth.

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
    """The refusal of tasks with more or fewer classes than a simulation is made for."""
    return DataError(
        f"{tasks.name} has {tasks.n_classes} classes, but this simulation is made for {wanted}",
        f"Choose {wanted} of its classes, or another dataset.",
    )


def numbered(prefix: str, n: int) -> pd.Index[str]:
    """``n`` ids of equal width from 1 on, so that they sort as numbers do: w01 … w30."""
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
