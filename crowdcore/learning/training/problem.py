"""`Problem`: the tasks that train, validate and test, with their annotations; `RatingProblem`: of ratings."""

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
from crowdcore.data.ratings import Labelled, RatingDataset
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
        splits: name -> range of its tasks in ``order``; ``train`` starts at 0.
        annotation: (A,) dataset annotation number of each annotation here, train tasks first.
        validated_on: labels that validation compares with, in words ("" = nothing selects).
        worker_features: (R, F) float32, or None.
        notes: notes on the data, one sentence each.
        training: settings of the trainer.
        device: device for fits of a method before training.
    """

    dataset: CrowdDataset
    rows: Rows
    preparation: Preparation
    order: IntArray
    splits: dict[str, slice]
    annotation: IntArray
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

    @property
    def consensus(self) -> AnyArray:
        """(n,) majority vote of all annotations, -1 = none."""
        fit = aggregation.get("majority-vote").fit
        return self.once("consensus", lambda: fit(self.dataset).labels[self.order].astype(np.int64))

    @property
    def valid_label(self) -> AnyArray:
        """(n_valid,) label that validation compares with; like `gold` where there is none."""
        label = self.consensus if selected_by(self.validated_on) == "crowd" else self.gold
        return label[self.splits["valid"]]

    @cached_property
    def sentence_start(self) -> IntArray | None:
        """Ascending task numbers at which a sentence begins, and n; None where a network sees each task by itself."""
        if not self.dataset.of_words:
            return None
        begins = np.diff(self.dataset.unit[self.order], prepend=-1) != 0
        return np.append(np.flatnonzero(begins), len(self.order))

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, which is called once for each key."""
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


@dataclass(frozen=True, eq=False)
class RatingProblem(Problem):
    """A crowd of ratings: `Problem` with numbers for labels and gold, and a network with one output.

    Ratings, gold and predictions are ``(rating - low) / (high - low)``, from 0 to 1.
    """

    dataset: RatingDataset  # type: ignore[assignment]  # a crowd of another kind of labels

    @property
    def n_classes(self) -> int:
        """Outputs of the network."""
        return 1

    @property
    def unit(self) -> float:
        """Size of 1 in the dataset's unit."""
        return self.dataset.high - self.dataset.low

    @cached_property
    def label(self) -> FloatArray:  # type: ignore[override]
        """(A,) float32 rating of each annotation."""
        return self._scaled(self.dataset.rating[self.annotation])

    @cached_property
    def gold(self) -> FloatArray:  # type: ignore[override]
        """(n,) float32 true rating, NaN = unknown."""
        return self._scaled(self.dataset.gold[self.order])

    @cached_property
    def consensus(self) -> FloatArray:
        """(n,) float32 mean rating, NaN for tasks without."""
        return self._scaled(aggregation.ratings.get("mean").fit(self.dataset).rating[self.order])

    def _scaled(self, ratings: FloatArray) -> FloatArray:
        scaled: FloatArray = ((ratings - self.dataset.low) / self.unit).astype(np.float32)
        return scaled


def make_problem(
    dataset: Labelled,
    training: TrainSettings,
    images: bool = False,
    worker_features: AnyArray | None = None,
    device: str = "cpu",
) -> Problem:
    """Divide a dataset into tasks that train, validate and test.

    Args:
        dataset: tasks with features, annotations on some of them.
        training: its ``select_on``, ``holdout``, ``standardise`` and ``names`` are used.
        images: the network prefers images where there are both.
        worker_features: (n_workers, F) features of the workers.
        device: see `Problem`.

    Raises:
        DataError: no features, no annotations, a single class, features with NaN, fewer tasks than classes (of ratings,
            than two), nothing to validate on.
        SettingError: worker features of a wrong shape; names from gold where nothing is validated on gold; of ratings,
            a setting that is about classes.
    """
    refuse_unlabelled(dataset)
    crowd = None if isinstance(dataset, RatingDataset) else dataset
    for name in ("names", "augment") if crowd is None else ():
        if getattr(training, name) != TrainSettings.model_fields[name].default:
            raise SettingError(name, "be left as it is: these labels are numbers", getattr(training, name))
    if crowd is not None and crowd.n_classes < 2:
        only = f"{dataset.name} has only the class {crowd.classes[0]!r}"
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
    least, why = (2, "two") if crowd is None else (crowd.n_classes, "one task per class")
    if len(train) < least:
        raise DataError(
            f"{dataset.name} has only {len(train)} annotated training tasks with features",
            f"There must be at least {why}.",
        )
    notes = () if crowd is None else (*_notes(crowd, train, annotation), *_notes_on_features(rows, train))
    return (RatingProblem if crowd is None else Problem)(
        dataset,  # type: ignore[arg-type]  # of the problem's kind
        rows,
        prepare_on(rows, train, dataset.task_ids, False if words else training.standardise),
        order,
        splits,
        annotation,
        validated_on,
        _worker_features(dataset, worker_features),
        (*notes, *([f"Epochs are selected on: {validated_on}."] if validated_on else [])),
        training,
        device,
    )


def arrange(dataset: Labelled, role: IntArray) -> tuple[IntArray, dict[str, slice], IntArray]:
    """Order tasks by role; return their order, the range of each split and the annotations, as in `Problem`.

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


def _roles(dataset: Labelled, present: BoolArray, training: TrainSettings) -> tuple[IntArray, str]:
    """(n_tasks,) 0 train, 1 valid, 2 test, 3 unlabelled, -1 without input; and the labels that validate, in words."""
    role = np.full(dataset.n_tasks, 3, np.int64)
    role[dataset.annotated & (dataset.split <= TRAIN)] = TRAIN
    for split in (VALID, TEST):
        role[dataset.split == split] = split
    role[~present] = -1
    valid = role == VALID
    choice = training.select_on
    gold, labelled = dataset.known[valid].any(), dataset.annotated[valid].any()
    if choice == "crowd" and labelled:
        choice = "consensus"
    if choice == "none":
        return role, ""
    if choice == "gold" or (choice == "auto" and gold):
        if not gold:
            raise DataError(
                f"The validation split of {dataset.name} has no {dataset.kind.gold}",
                "Add gold to tasks of the split 'valid'.",
                remedies=[Remedy("select_on", ("consensus", "holdout", "none"), of="method")],
            )
        return role, f"{dataset.kind.gold} of {SPLIT}"
    if choice == "consensus" or (choice == "auto" and labelled):
        if not labelled:
            raise DataError(
                f"The validation split of {dataset.name} has no annotations",
                remedies=[Remedy("select_on", ("holdout", "none"), of="method")],
            )
        return role, f"{dataset.kind.consensus} of {SPLIT}"
    if choice == "auto" and valid.any():
        raise DataError(
            f"The validation split of {dataset.name} has neither {dataset.kind.gold} nor annotations",
            remedies=[
                Remedy("select_on", "holdout", "hold out training tasks", of="method"),
                Remedy("select_on", "none", "keep the last epoch", of="method"),
            ],
        )
    role[valid] = 3
    drawn = _held_out(dataset, np.flatnonzero(role == TRAIN), training)
    role[drawn] = VALID
    known = choice != "crowd" and bool(len(drawn)) and bool(dataset.known[drawn].all())
    labels = dataset.kind.gold if known else dataset.kind.consensus
    return role, f"{labels} of {held_out(len(drawn), execution().holdout_seed)}"


def _held_out(dataset: Labelled, train: IntArray, training: TrainSettings) -> IntArray:
    """Draw training tasks; of sentences, all training tasks of some."""
    known = np.unique(dataset.unit[train])
    drawn = np.random.default_rng(execution().holdout_seed).permutation(known)[: round(training.holdout * len(known))]
    return train[np.isin(dataset.unit[train], drawn)]


def _worker_features(dataset: Labelled, features: AnyArray | None) -> FloatArray | None:
    if features is None:
        return None
    features = np.asarray(features, np.float32)
    if features.ndim != 2 or len(features) != dataset.n_workers:
        raise SettingError("worker_features", f"have one row for each of {dataset.n_workers} workers", features.shape)
    if not np.isfinite(features).all():
        raise DataError("`worker_features` holds NaN or infinite values", "Fill or drop them first.")
    return features


def _notes_on_features(rows: Rows, train: IntArray) -> tuple[str, ...]:
    """Note where all tasks have equal features."""
    some = rows[train[:_LOOKED_AT]]
    if (some != some[0]).any() or (rows[train] != some[0]).any():
        return ()
    return ("All training tasks have the same features: a network learns which class is frequent, nothing else.",)


def _notes(dataset: CrowdDataset, train: IntArray, annotation: IntArray) -> tuple[str, ...]:
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
    return tuple(notes)
