"""`Aggregator`: from annotations to a posterior per task and worker parameters."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import pandas as pd

from crowdcore.aggregation._against_votes import NO_SIDE, collapsed, lost_classes
from crowdcore.core.counts import most_probable
from crowdcore.core.errors import SettingError
from crowdcore.core.memory import need_room, release_memory
from crowdcore.core.registry import Registry
from crowdcore.core.settings import Settings
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.by_name import ByTask, class_numbers, names_of
from crowdcore.data.dataset import CrowdDataset, refuse_unlabelled
from crowdcore.data.doors import DatasetLike, as_dataset
from crowdcore.data.kinds import need_classes
from crowdcore.data.sentences import Sentences
from crowdcore.data.tags import repaired

LARGE = 16 << 20  # bytes of a posterior after whose fit memory is returned to the system, which takes some ms


class Tagger(Protocol):
    """Tags sentences that nobody has tagged, see `CrfTagger`."""

    def predict(self, sentences: Sentences) -> IntArray:
        """(n_tokens,) tags."""

    def predict_proba(self, sentences: Sentences) -> FloatArray:
        """(n_tokens, C) probability of each tag."""

    def tag_new(self, dataset: CrowdDataset) -> IntArray:
        """(n_tasks,) tags of the sentences of which nobody tagged a token; -1 elsewhere."""


@dataclass(frozen=True, eq=False)
class AggregationResult(Shown):
    """Result of an aggregator; None for parts that the method does not estimate.

    Args:
        method: registered name, e.g. ``"dawid-skene"``.
        settings: the aggregator's settings.
        posterior: (n_tasks, C) float64, rows sum to 1; NaN rows for tasks without annotation or known label.
        labels: (n_tasks,) int32 most probable class (ties to the lowest), -1 where the posterior is NaN.
        confusion: (n_workers, C, C) row = true, column = given, rows sum to 1; NaN rows without evidence.
        counts: (n_workers, C, C) expected counts behind ``confusion``, without smoothing.
        prior: (C,) class shares.
        log_likelihood: (n_iterations,) per iteration (or its bound, see the method).
        converged: whether the stopping rule was met before the iteration cap; None for closed forms.
        stopped: the stopping rule in words.
        common_confusion: (C, C) or (n_groups, C, C) shared confusion.
        omega: (n_annotations,) probability that the annotation came from the common confusion.
        worker_weight: (n_workers,) skill or weight, larger is better.
        difficulty: (n_tasks,) larger is harder.
        foil: (n_tasks,) int32 wrong class that the task misleads workers to, -1 for none.
        group: (n_workers,) group or cluster of each worker.
        tagger: tags sentences that nobody has tagged.
        collapsed: whether the posterior agrees with the votes no better than chance.
        notes: warnings in words.
        seconds: wall time of the fit; the first in a process also loads the compiled loops that it needs, and the first
            after an installation compiles them, which takes seconds.
        task_ids: names of the tasks.
        classes: names of the classes.
    """

    method: str
    settings: dict[str, Any]
    posterior: FloatArray
    labels: IntArray
    confusion: FloatArray | None = None
    counts: FloatArray | None = None
    prior: FloatArray | None = None
    log_likelihood: FloatArray = field(default_factory=lambda: np.empty(0))
    converged: bool | None = None
    stopped: str = "closed form"
    common_confusion: FloatArray | None = None
    omega: FloatArray | None = None
    worker_weight: FloatArray | None = None
    difficulty: FloatArray | None = None
    foil: IntArray | None = None
    group: IntArray | None = None
    tagger: Tagger | None = None
    collapsed: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    task_ids: pd.Index[str] | None = None
    classes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """A row for each task: task, label (its name) and probability, both missing where nothing is known.

        Examples:
            >>> import crowdcore as cc
            >>> frame = cc.aggregation.get("majority-vote").fit(cc.load_dataset("demo")).frame()
            >>> list(frame.columns), int(frame["label"].isna().sum())
            (['task', 'label', 'probability'], 600)
        """
        n_tasks, n_classes = self.posterior.shape
        tasks = pd.RangeIndex(n_tasks) if self.task_ids is None else self.task_ids
        names = names_of(self.classes or map(str, range(n_classes)), self.labels)
        sure = np.take_along_axis(self.posterior, np.maximum(self.labels, 0)[:, None], 1)[:, 0]
        return pd.DataFrame({"task": tasks, "label": names, "probability": sure})


class Aggregator(Settings):
    """Base of every aggregator: a frozen pydantic model of settings with one method, `fit`.

    A subclass sets ``name``, ``title`` and ``paper``, declares its settings as fields with bounds and a one-line
    description, and implements ``_fit``; ``sequential`` marks those that are made for crowds with sentences,
    ``of_tasks`` explains its difficulties and foils. Its class docstring holds the equations. CLI, API and app find it
    by its folder.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    sequential: ClassVar[bool] = False
    of_tasks: ClassVar[str] = "The larger a difficulty, the harder the task."

    def fit(
        self,
        dataset: DatasetLike,
        *,
        known: ByTask | None = None,
        start: AggregationResult | None = None,
    ) -> AggregationResult:
        """Infer the true labels.

        Args:
            dataset: the annotations; its gold is not used.
            known: true classes of tasks to clamp (semi-supervised): by task, or (n_tasks,) with -1 = unknown.
            start: an earlier result to start from (same tasks and workers in the same order).

        Returns:
            The result; rows of ``posterior`` for tasks with neither annotation nor known label are NaN.

        Raises:
            DataError: no annotations, or annotations the method cannot work with.
            CrowdError: the posterior would take more than a quarter of the memory.
            SettingError: ``known`` or ``start`` of another shape.
        """
        dataset = need_classes(as_dataset(dataset))
        refuse_unlabelled(dataset)
        need_room(dataset.name, dataset.n_tasks, dataset.n_classes)
        known = None if known is None else class_numbers(dataset, known, "known")
        if start is not None and start.posterior.shape != (dataset.n_tasks, dataset.n_classes):
            raise SettingError(
                "start",
                f"hold a posterior of shape ({dataset.n_tasks}, {dataset.n_classes})",
                start.posterior.shape,
                "Align it to the dataset first.",
            )
        began = time.perf_counter()
        result = self._fit(dataset, known, start)
        large = result.posterior.nbytes >= LARGE
        if large:
            release_memory()
        no_side = collapsed(dataset, result.posterior, known)
        lost = lost_classes(dataset, result.posterior, known)
        notes = (*result.notes, *([NO_SIDE] if no_side else []), *lost)
        if large:
            release_memory()
        labels = repaired(dataset, result.labels)
        if changed := int((labels != result.labels).sum()):
            notes += (f"{changed:,} invalid tags I- became B- in the labels.",)
        if large:
            release_memory()
        result = replace(result, labels=labels, collapsed=no_side, notes=notes, seconds=time.perf_counter() - began)
        return replace(result, task_ids=dataset.task_ids, classes=dataset.classes)

    def fit_predict(self, dataset: DatasetLike) -> pd.Series[str]:
        """(n_tasks,) name of each task's label, indexed by task; missing where nothing is known. See `fit`."""
        return self.fit(dataset).frame().set_index("task")["label"].rename(self.name)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def set_params(self, **settings: Any) -> Self:
        """Change settings in place, as scikit-learn does."""
        self.__dict__.update(type(self)(**{**self.get_params(), **settings}).__dict__)
        return self

    def __sklearn_clone__(self) -> Self:
        return self.model_copy()

    @abstractmethod
    def _fit(
        self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None
    ) -> AggregationResult: ...

    def result(self, dataset: CrowdDataset, posterior: FloatArray, **parts: Any) -> AggregationResult:
        """Assemble a result: tasks without evidence become NaN and label -1, the rest their most probable class."""
        known: AnyArray | None = parts.pop("known", None)
        evident = dataset.annotated if known is None else dataset.annotated | (known >= 0)
        posterior = np.asarray(posterior, np.float64)
        labels = most_probable(posterior)
        if not evident.all():
            posterior[~evident] = np.nan
            labels[~evident] = -1
        return AggregationResult(self.name, self.model_dump(), posterior, labels, **parts)


aggregators: Registry[Aggregator] = Registry(
    __package__,
    Aggregator,
    "aggregator",
    foreign={"crowd-kit": f"{__package__}._crowd_kit"},
)


def names() -> list[str]:
    """Names of all aggregators, e.g. ``"dawid-skene"``."""
    return list(aggregators)


def fitting(dataset: CrowdDataset) -> list[str]:
    """Names of the aggregators that suit a dataset and can be loaded; those of tags need sentences."""
    usable = aggregators.usable()
    return [name for name, method in usable.items() if dataset.sentences is not None or not method.sequential]


def get(name: str | type[Aggregator] | Aggregator, **settings: Any) -> Aggregator:
    """The aggregator of a name or class with these settings; one that is made already is itself.

    Raises:
        SettingError: no such aggregator or setting.
        PluginError: it is a plug-in that cannot be loaded.
    """
    if isinstance(name, Aggregator):
        return type(name)(**name.get_params() | settings) if settings else name
    return aggregators.find(name)(**settings)
