"""`Problem`: the tasks that train, validate and test, with annotations in that numbering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from crowdcore import aggregation
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset, refuse_unlabelled
from crowdcore.data.ratings import Labelled
from crowdcore.data.rows import Rows
from crowdcore.learning.settings import TrainSettings, execution
from crowdcore.learning.training.inputs import Preparation, input_rows, prepare_on
from crowdcore.learning.validation import SPLIT, by_gold, held_out, selected_by

TRAIN, VALID, TEST = range(3)
_LOOKED_AT = 100  # training tasks among which two mostly differ, if any do
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Problem:
    """A dataset as a learner sees it; tasks are renumbered train, valid, test, unlabelled.

    Args:
        dataset: the whole dataset.
        rows: features or images of the dataset's tasks.
        preparation: from a row to the network's input.
        order: (n,) dataset task number of each task here; tasks without input are left out.
        splits: name -> where its tasks are in ``order``; ``train`` starts at 0.
        annotation: (A,) dataset annotation number of each annotation here, train tasks first.
        valid_label: (n_valid,) label that validation compares with, -1 = none.
        validated_on: what that label is, in words ("" = nothing selects).
        worker_features: (R, F) float32, or None.
        notes: what was noticed, one sentence each.
        training: how networks are trained.
        device: where a method fits what comes before training.
    """

    dataset: CrowdDataset
    rows: Rows
    preparation: Preparation
    order: IntArray
    splits: dict[str, slice]
    annotation: IntArray
    valid_label: IntArray
    validated_on: str
    worker_features: FloatArray | None = None
    notes: tuple[str, ...] = ()
    training: TrainSettings = field(default_factory=TrainSettings)
    device: str = "cpu"
    _fitted: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n_classes(self) -> int:
        """C."""
        return self.dataset.n_classes

    @property
    def n_workers(self) -> int:
        """R."""
        return self.dataset.n_workers

    @property
    def n_train(self) -> int:
        """Tasks to learn from, numbered 0 … n_train - 1."""
        return int(self.splits["train"].stop)

    @property
    def n_train_annotations(self) -> int:
        """Annotations to learn from, numbered 0 … n_train_annotations - 1."""
        return int(np.searchsorted(self.task, self.n_train))

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one prepared input."""
        return self.preparation.input_shape(self.rows.shape[1:])

    @cached_property
    def task(self) -> IntArray:
        """(A,) task of each annotation, ascending, in this numbering."""
        position = np.empty(self.dataset.n_tasks, np.int64)
        position[self.order] = np.arange(len(self.order))
        return position[self.dataset.task[self.annotation]]

    @cached_property
    def worker(self) -> IntArray:
        """(A,) worker of each annotation."""
        return self.dataset.worker[self.annotation].astype(np.int64)

    @property
    def labels_per_worker(self) -> IntArray:
        """(R,) annotations to learn from by each worker."""
        return np.bincount(self.worker[: self.n_train_annotations], minlength=self.n_workers)

    @cached_property
    def label(self) -> IntArray:
        """(A,) label of each annotation."""
        return self.dataset.label[self.annotation].astype(np.int64)

    @cached_property
    def gold(self) -> IntArray:
        """(n,) true class, -1 = unknown. The trainer compares with it; only `dl-true` learns from it."""
        return self.dataset.gold[self.order].astype(np.int64)

    @cached_property
    def sentence_start(self) -> IntArray | None:
        """Ascending task numbers at which a sentence begins, and n; None where a network sees each task by itself."""
        if not self.dataset.of_words:
            return None
        assert self.dataset.sentences is not None
        begins = np.diff(self.dataset.sentences.of_task[self.order], prepend=-1) != 0
        return np.append(np.flatnonzero(begins), len(self.order))

    def once(self, key: str, make: Callable[[], T]) -> T:
        """The result of ``make``, which is called once for each key."""
        if key not in self._fitted:
            self._fitted[key] = make()
        result: T = self._fitted[key]
        return result

    def aggregate(self, name: str, **settings: Any) -> AggregationResult:
        """An aggregator's result on the training annotations alone (fitted once; arrays in dataset numbering)."""

        def fit() -> AggregationResult:
            keep = np.zeros(self.dataset.n_annotations, bool)
            keep[self.annotation[: self.n_train_annotations]] = True
            return aggregation.get(name, **settings).fit(self.dataset.where(keep))

        return self.once(f"{name} {sorted(settings.items())}", fit)

    def votes(self, name: str = "majority-vote", **settings: Any) -> FloatArray:
        """(n_train, C) an aggregator's posterior of the training tasks."""
        return self.aggregate(name, **settings).posterior[self.order[: self.n_train]]


def make_problem(
    dataset: CrowdDataset,
    training: TrainSettings,
    images: bool = False,
    worker_features: AnyArray | None = None,
    device: str = "cpu",
) -> Problem:
    """Decide what trains, validates and tests.

    Args:
        dataset: tasks with features, annotations on some of them.
        training: ``select_on``, ``holdout``, ``standardise`` and ``names`` count here.
        images: the network wants images where there are both.
        worker_features: (n_workers, F) what is known about the workers.
        device: see `Problem`.

    Raises:
        DataError: no features, no annotations, a single class, features with NaN, fewer tasks than classes,
            nothing to validate on.
        SettingError: worker features of a wrong shape; names from gold where nothing is validated on gold.
    """
    refuse_unlabelled(dataset)
    if dataset.n_classes < 2:
        only = f"{dataset.name} has only the class {dataset.classes[0]!r}"
        raise DataError(only, "A classifier needs at least two.")
    rows = input_rows(dataset, images)
    words = dataset.of_words
    if words != (training.backbone == "tagger"):
        needed = "be 'tagger', which reads sentences" if words else "be another one: these tasks are no words"
        raise SettingError("backbone", needed, training.backbone)
    role, validated_on = _roles(dataset, rows.present, training)
    if training.names == "validation-gold" and not by_gold(validated_on):
        raise SettingError(
            "names",
            f"be 'as-trained', since {dataset.name} is validated on {validated_on or 'nothing'}, not on gold labels",
            training.names,
            "Add gold to tasks of the split 'valid'.",
            remedies=[Remedy("select_on", "holdout", "hold out training tasks with gold", of="method")],
        )
    order, splits, annotation = arrange(dataset, role)
    train = order[splits["train"]]
    if len(train) < dataset.n_classes:
        raise DataError(
            f"{dataset.name} has {dataset.n_classes} classes but only {len(train)} annotated training tasks with "
            "features",
            "There must be at least one task per class.",
        )
    valid = order[splits["valid"]]
    by_vote = selected_by(validated_on) == "crowd"
    label = aggregation.get("majority-vote").fit(dataset).labels if by_vote else dataset.gold
    return Problem(
        dataset,
        rows,
        prepare_on(rows, train, dataset.task_ids, False if words else training.standardise),
        order,
        splits,
        annotation,
        label[valid].astype(np.int64),
        validated_on,
        _worker_features(dataset, worker_features),
        (*_notes(dataset, train, annotation, validated_on), *_alike(rows, train)),
        training,
        device,
    )


def arrange(dataset: Labelled, role: IntArray) -> tuple[IntArray, dict[str, slice], IntArray]:
    """Tasks ordered by role, where each split is among them, and the annotations in that order: see `Problem`.

    Args:
        dataset: the whole dataset.
        role: (n_tasks,) 0 train, 1 valid, 2 test, 3 unlabelled, -1 without input.
    """
    order = np.concatenate([np.flatnonzero(role == r) for r in range(4)])
    edges = np.concatenate([[0], np.cumsum(np.bincount(role[role >= 0], minlength=4))])
    names = (*SPLITS, "unlabelled")
    splits = {n: slice(int(a), int(b)) for n, a, b in zip(names, edges[:-1], edges[1:], strict=True)}
    position = np.full(dataset.n_tasks, len(order), np.int64)
    position[order] = np.arange(len(order))
    placed = position[dataset.task]
    return order, splits, np.argsort(placed, kind="stable")[: int((placed < len(order)).sum())]


def _roles(dataset: CrowdDataset, present: BoolArray, training: TrainSettings) -> tuple[IntArray, str]:
    """(n_tasks,) 0 train, 1 valid, 2 test, 3 unlabelled, -1 without input; and what validates, in words."""
    role = np.full(dataset.n_tasks, 3, np.int64)
    role[dataset.annotated & (dataset.split <= TRAIN)] = TRAIN
    for split in (VALID, TEST):
        role[dataset.split == split] = split
    role[~present] = -1
    valid = role == VALID
    choice = training.select_on
    gold, labelled = (dataset.gold[valid] >= 0).any(), dataset.annotated[valid].any()
    if choice == "crowd" and labelled:
        choice = "consensus"
    if choice == "none":
        return role, ""
    if choice == "gold" or (choice == "auto" and gold):
        if not gold:
            raise DataError(
                f"The validation split of {dataset.name} has no gold labels",
                "Add gold to tasks of the split 'valid'.",
                remedies=[Remedy("select_on", ("consensus", "holdout", "none"), of="method")],
            )
        return role, f"gold labels of {SPLIT}"
    if choice == "consensus" or (choice == "auto" and labelled):
        if not labelled:
            raise DataError(
                f"The validation split of {dataset.name} has no annotations",
                remedies=[Remedy("select_on", ("holdout", "none"), of="method")],
            )
        return role, f"majority vote of {SPLIT}"
    if choice == "auto" and valid.any():
        raise DataError(
            f"The validation split of {dataset.name} has neither gold labels nor annotations",
            remedies=[
                Remedy("select_on", "holdout", "hold out training tasks", of="method"),
                Remedy("select_on", "none", "keep the last epoch", of="method"),
            ],
        )
    role[valid] = 3
    some = _held_out(dataset, np.flatnonzero(role == TRAIN), training)
    role[some] = VALID
    known = choice != "crowd" and bool(len(some)) and bool((dataset.gold[some] >= 0).all())
    what = "gold labels" if known else "majority vote"
    return role, f"{what} of {held_out(len(some), execution().holdout_seed)}"


def _held_out(dataset: CrowdDataset, train: IntArray, training: TrainSettings) -> IntArray:
    """Some training tasks; of sentences, all training tasks of some."""
    units = train if dataset.sentences is None else dataset.sentences.of_task[train]
    known = np.unique(units)
    held_out = np.random.default_rng(execution().holdout_seed).permutation(known)[
        : round(training.holdout * len(known))
    ]
    return held_out if dataset.sentences is None else train[np.isin(units, held_out)]


def _worker_features(dataset: CrowdDataset, features: AnyArray | None) -> FloatArray | None:
    if features is None:
        return None
    features = np.asarray(features, np.float32)
    if features.ndim != 2 or len(features) != dataset.n_workers:
        raise SettingError("worker_features", f"have one row for each of {dataset.n_workers} workers", features.shape)
    if not np.isfinite(features).all():
        raise DataError("`worker_features` holds NaN or infinite values", "Fill or drop them first.")
    return features


def _alike(rows: Rows, train: IntArray) -> tuple[str, ...]:
    """What to know where no task differs from another."""
    some = rows[train[:_LOOKED_AT]]
    if (some != some[0]).any() or (rows[train] != some[0]).any():
        return ()
    return ("All training tasks have the same features: a network learns which class is frequent, nothing else.",)


def _notes(dataset: CrowdDataset, train: IntArray, annotation: IntArray, validated_on: str) -> tuple[str, ...]:
    used = annotation[np.isin(dataset.task[annotation], train)]
    notes = []
    given = np.bincount(dataset.label[used], minlength=dataset.n_classes)
    never = [dataset.classes[c] for c in np.flatnonzero(given == 0)]
    if never:
        notes.append(
            f"No worker gave the label{'s' if len(never) > 1 else ''} {', '.join(map(repr, never))} to a training "
            "task: the classifier cannot learn labels that nobody gave."
        )
    if len(np.unique(dataset.worker[used])) == 1:
        notes.append("There is only one worker: individual and common mistakes cannot be separated.")
    if validated_on:
        notes.append(f"Epochs are selected on: {validated_on}.")
    return tuple(notes)
