"""`Aggregator`: from annotations to a posterior per task and worker parameters; every fit is compared with the votes.

The likelihood of latent classes is (nearly) the same if the classes are exchanged, so that only the votes name them:
classes may be lost, inflated or exchanged, and a fit may have collapsed.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import pandas as pd

from crowdcore.core.counts import most_probable, vote_counts, vote_shares, winners
from crowdcore.core.errors import SettingError
from crowdcore.core.memory import need_room, release_memory
from crowdcore.core.registry import Registry
from crowdcore.core.settings import Settings
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.by_name import ByTask, class_numbers, names_of
from crowdcore.data.dataset import CrowdDataset, refuse_unlabelled
from crowdcore.data.doors import DatasetLike, as_dataset
from crowdcore.data.sentences import Sentences
from crowdcore.data.settings import need_classes
from crowdcore.data.tags import repaired

LARGE = 16 << 20  # bytes of a posterior after whose fit memory is returned to the system, which takes some ms
_BLOCK = 1 << 14  # tasks that are checked at once
_TASKS, _SHARE = 10, 0.05  # tasks, and share of them, that a class must win by votes to count as lost later
_LOST = 0.3  # least share of the tasks it wins by votes that a class keeps
_INFLATED = 2.5  # most labels of a class, relative to the tasks that it wins by votes, or to its votes
_RISE = 0.05  # … plus this share of all tasks
_CHANCE = 2.0  # standard errors of agreement up to which it may be chance
_LIKELIER = 3.0  # nats by which one of two fits on the votes' side has to be likelier
_REMEDY = "Compare with the majority vote, add smoothing, or give some true labels."


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
    description, and implements ``_fit``; ``sequential`` marks methods for crowds with sentences, ``of_tasks`` explains
    difficulties and foils. Its class docstring holds the equations. CLI, API and app find it by its folder.
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
        labels = result.labels if dataset.sentences is None else repaired(dataset, result.labels)
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
        """Return the settings, as in scikit-learn."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def set_params(self, **settings: Any) -> Self:
        """Change settings in place, as in scikit-learn."""
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
    """Return the aggregator of a name or class with these settings; an instance without further settings as it is.

    Raises:
        SettingError: no such aggregator or setting.
        PluginError: it is a plug-in that cannot be loaded.
    """
    if isinstance(name, Aggregator):
        return type(name)(**name.get_params() | settings) if settings else name
    return aggregators.find(name)(**settings)


class _Block(NamedTuple):
    """Votes (n, C) and posterior (n, C) of some judged tasks."""

    votes: FloatArray
    posterior: FloatArray

    @property
    def labels(self) -> FloatArray:
        """(n, C) 1 for the most probable class."""
        return np.asarray(np.eye(self.posterior.shape[1])[self.posterior.argmax(1)])


def _blocks(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None) -> Iterator[_Block]:
    """Blocks of the annotated tasks that have a posterior and are not known."""
    judged = dataset.annotated & ~np.isnan(posterior[:, 0])
    if known is not None:
        judged &= known < 0
    for first in range(0, dataset.n_tasks, _BLOCK):
        kept = judged[first : first + _BLOCK]
        rows = slice(*dataset.task_start[[first, first + len(kept)]])
        votes = vote_counts(dataset.task[rows] - first, dataset.label[rows], len(kept), dataset.n_classes)
        yield _Block(votes[kept], posterior[first : first + _BLOCK][kept])


def lost_classes(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None = None) -> tuple[str, ...]:
    """Warn of classes whose share of the labels, without known tasks, differs much from their share of the votes."""
    n_tasks, (won, given, labelled) = 0, np.zeros((3, dataset.n_classes))
    for block in _blocks(dataset, posterior, known):
        n_tasks += len(block.votes)
        won += winners(block.votes, "share").sum(0)
        given += vote_shares(block.votes).sum(0)
        labelled += block.posterior.sum(0)
    lost = (np.minimum(won, given) >= max(_TASKS, _SHARE * n_tasks)) & (labelled < _LOST * won)
    inflated = (labelled > _INFLATED * np.maximum(won, given)) & (labelled - np.maximum(won, given) > _RISE * n_tasks)
    return tuple(
        f"Class {dataset.classes[c]} {'is all but lost' if lost[c] else 'is inflated'}: {labelled[c]:.0f} of {n_tasks} "
        f"tasks have it, against {won[c]:.0f} by majority vote. {_REMEDY}"
        for c in np.flatnonzero(lost | inflated)
    )


def agreement(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None = None) -> float:
    """Standard errors over tasks by which the labels of a posterior (n_tasks, C) agree with the votes beyond chance.

    ``z = √n mean x / sd x`` with ``x_i = Σ_c (1[z_i = c] - z̄_c) (v_i(c) - v̄(c))``; shares v of the votes say more than
    the winner of each task does. Exchanging two classes only changes the sign. Known tasks do not count.
    """
    n, sums = 0, np.zeros((2, dataset.n_classes))
    for block in _blocks(dataset, posterior, known):
        n += len(block.votes)
        sums += vote_shares(block.votes).sum(0), block.labels.sum(0)
    shares, mean = sums / max(n, 1)
    total = squares = 0.0
    for block in _blocks(dataset, posterior, known):
        x = ((block.labels - mean) * (vote_shares(block.votes) - shares)).sum(1)
        total, squares = total + float(x.sum()), squares + float(x @ x)
    spread = squares - total**2 / max(n, 1)
    return total / spread**0.5 if spread > 1e-12 * max(squares, 1e-300) else float(np.sign(total)) * n


def collapsed(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None = None) -> bool:
    """Return whether a posterior labels more than a few tasks otherwise than the votes, and agrees only by chance."""
    n, same = 0, 0.0
    for block in _blocks(dataset, posterior, known):
        n, same = n + len(block.votes), same + float((block.labels * winners(block.votes, "share")).sum())
    return n - same >= max(_TASKS, _SHARE * n) and agreement(dataset, posterior, known) < _CHANCE


def exchanged(dataset: CrowdDataset, known: IntArray | None, posterior: FloatArray) -> bool:
    """Return whether a model of two classes, symmetric in them, has exchanged them, by the votes.

    Always false if any task is known, as known tasks name the classes.
    """
    return dataset.n_classes == 2 and not _named(known) and agreement(dataset, posterior, known) < 0


NO_SIDE = (
    "The fit has collapsed: its labels agree with the votes no better than chance, so that it may have exchanged the "
    f"classes or found something else than them. {_REMEDY}"
)


def votes_side(dataset: CrowdDataset, known: IntArray | None, fits: Sequence[AggregationResult]) -> AggregationResult:
    """Choose among fits of one model on the votes' side: the likeliest if it leads clearly, else the nearest to them.

    With known tasks, which take part in the likelihood, all fits are on that side.
    """
    objective = [float(fit.log_likelihood[-1]) for fit in fits]
    near = [agreement(dataset, fit.posterior, known) for fit in fits]
    open_to = [k for k in range(len(fits)) if _named(known) or near[k] > _CHANCE] or [int(np.argmax(near))]
    likeliest, nearest = max(open_to, key=objective.__getitem__), max(open_to, key=near.__getitem__)
    return fits[likeliest if objective[likeliest] > objective[nearest] + _LIKELIER else nearest]


def _named(known: IntArray | None) -> bool:
    """Return whether any true class is given, so that the classes have their names."""
    return known is not None and bool((known >= 0).any())
