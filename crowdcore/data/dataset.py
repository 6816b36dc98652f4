"""`CrowdDataset`: annotations as aligned index arrays, with tasks, workers, gold and media; and its base, `IndexTable`.

`IndexTable` has tasks, workers and one row per annotation, whatever the kind of label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.by_name import ByTask, by_task, class_numbers, feature_rows
from crowdcore.data.dictionary import counted, counted_sorted
from crowdcore.data.rows import Rows
from crowdcore.data.sentences import Sentences
from crowdcore.data.settings import CLASSES, TAGS, LabelKind, other_kind

Dataset = TypeVar("Dataset", bound="IndexTable")
SPLITS = ("train", "valid", "test")
NO_SPLIT = -1
_BLOCK = 1_000_000  # annotations
SPLIT_ENDINGS = {NO_SPLIT: "", **{code: f"_{name}" for code, name in enumerate(SPLITS)}}
"""Split code -> end of the names of its files."""


@dataclass(frozen=True, eq=False)
class Media:
    """Task media; every part is optional.

    Args:
        images: uint8 rows ``(n_tasks, H, W[, 3])``.
        columns: index = task number; columns among ``text``, ``image`` (a path), ``audio`` (a path).
        folder: base of relative paths.
    """

    images: Rows | None = None
    columns: pd.DataFrame | None = None
    folder: Path | None = None


@dataclass(frozen=True, eq=False)
class SimulatedTruth:
    """True parameters of a simulated crowd; None where the simulation has no such parameter.

    Args:
        worker_confusion: (n_workers, C, C) rows = true class, sum to 1.
        common_confusion: (C, C) or (n_groups, C, C).
        omega: (n_annotations,) probability that the annotation used the common confusion.
        used_common: (n_annotations,) bool, True where it did.
        group: (n_workers,) group of each worker.
        worker_bias, worker_scale, worker_noise: (n_workers,) of ratings: a worker's line around the truth, its value
            in the middle of the range less that middle, its slope, and the standard deviation around it.
        settings: the simulation's settings, its seed among them.
        worker_role: (n_workers,) words such as "spammer" or "copier of w01", empty for an ordinary worker.
    """

    worker_confusion: FloatArray | None = None
    common_confusion: FloatArray | None = None
    omega: FloatArray | None = None
    used_common: BoolArray | None = None
    group: IntArray | None = None
    worker_bias: FloatArray | None = None
    worker_scale: FloatArray | None = None
    worker_noise: FloatArray | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    worker_role: tuple[str, ...] = ()


TRUTH_ARRAYS = (
    *("worker_confusion", "common_confusion", "omega", "used_common", "group"),
    *("worker_bias", "worker_scale", "worker_noise"),
)
"""The arrays of a `SimulatedTruth`."""


class IndexTable:
    """Base of frozen dataclasses with tasks, workers, and annotations sorted by task."""

    name: str
    task_ids: pd.Index[str]
    worker_ids: pd.Index[str]
    task: IntArray
    worker: IntArray
    gold: AnyArray
    split: IntArray
    features: Rows | None
    media: Media | None
    extra: pd.DataFrame | None
    truth: SimulatedTruth | None
    file_row: IntArray | None
    notes: tuple[str, ...]
    sentences: Sentences | None

    def __reduce__(self) -> tuple[Any, ...]:
        parts = fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
        return type(self), tuple(getattr(self, part.name) for part in parts)  # read-only again when unpickled

    def _freeze(self, dtype: type[np.generic], unknown: float) -> None:
        """Make the arrays read-only and of one type; gold and split are unknown by default."""
        n = len(self.task_ids)
        gold = np.full(n, unknown, dtype) if self.gold is None else self.gold
        split = np.full(n, NO_SPLIT, np.int8) if self.split is None else self.split
        for name, values, kind in (
            ("task", self.task, np.int32),
            ("worker", self.worker, np.int32),
            (self.kind.value, self.values, dtype),
            ("gold", gold, dtype),
            ("split", split, np.int8),
        ):
            array = np.ascontiguousarray(values, dtype=kind).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "task_ids", pd.Index(self.task_ids))
        object.__setattr__(self, "worker_ids", pd.Index(self.worker_ids))

    def _check(self, low: float, high: float) -> None:
        """Refuse arrays that do not fit together, rows out of order, and labels or gold outside ``low`` … ``high``."""
        value, n = self.kind.value, self.n_tasks
        if not len(self.task) == len(self.worker) == len(self.values):
            raise DataError(f"`task`, `worker` and `{value}` must have the same length")
        if len(self.gold) != n or len(self.split) != n:
            raise DataError(f"`gold` and `split` must have one entry for each of the {n} tasks")
        for name, values, least, most in (
            ("task", self.task, 0, n - 1),
            ("worker", self.worker, 0, self.n_workers - 1),
            (value, self.values, low, high),
            ("gold", self.gold[self.known], low, high),
            ("split", self.split, NO_SPLIT, len(SPLITS) - 1),
        ):
            if len(values) and not (least <= values.min() and values.max() <= most):
                wrong = values.min() if values.min() < least else values.max()
                raise DataError(f"`{name}` holds {wrong:.10g}, outside {least:.10g}…{most:.10g}")
        if self.file_row is not None and len(self.file_row) != len(self.task):
            raise DataError(f"`file_row` must have one entry for each of the {self.n_annotations} {self.kind.label}s")
        if len(self.task) and (self.task[1:] < self.task[:-1]).any():
            raise DataError("`task` must be ascending", f"Sort the {self.kind.label}s by task first.")
        for rows in (self.features, self.media.images if self.media else None):
            if rows is not None and len(rows) != n:
                raise DataError(f"Features or images for {len(rows)} tasks, but there are {n} tasks")

    @property
    def kind(self) -> LabelKind:
        """The kind of its labels."""
        raise NotImplementedError

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels in their order: the classes, or the words of ratings; empty for plain numbers."""
        raise NotImplementedError

    @property
    def values(self) -> AnyArray:
        """(n_annotations,) the labels: class numbers or ratings."""
        values: AnyArray = getattr(self, self.kind.value)
        return values

    def is_known(self, gold: AnyArray) -> BoolArray:
        """Mask of the gold values that are known: classes from 0, ratings that are not NaN."""
        return np.asarray(~np.isnan(gold) if self.kind.numeric else gold != -1)

    @property
    def known(self) -> BoolArray:
        """(n_tasks,) mask of the tasks whose true label is known."""
        return self.is_known(self.gold)

    @property
    def has_gold(self) -> bool:
        """True if the true label of any annotated task is known."""
        steps = range(0, self.n_annotations, _BLOCK)  # most datasets with gold have some in the first block
        return any(self.is_known(self.gold[self.task[at : at + _BLOCK]]).any() for at in steps)

    @property
    def of_words(self) -> bool:
        """True if tasks are tokens of sentences without features."""
        return self.sentences is not None and self.features is None

    @property
    def tokens(self) -> Sentences:
        """The sentences whose tokens are the tasks; a `KindError` if tasks are no tokens."""
        if self.sentences is not None:
            return self.sentences
        raise other_kind(self, TAGS)

    @property
    def unit(self) -> IntArray:
        """(n_tasks,) number of the unit that is drawn or held out: the sentence of a token, else the task itself."""
        return np.arange(self.n_tasks) if self.sentences is None else self.sentences.of_task

    def every(self, step: int) -> IntArray:
        """Numbers of every ``step``-th task, or of the tokens of every ``step``-th sentence."""
        return np.flatnonzero(self.unit % step == 0)

    @property
    def n_tasks(self) -> int:
        """N, tasks without an annotation included."""
        return len(self.task_ids)

    @property
    def n_workers(self) -> int:
        """R."""
        return len(self.worker_ids)

    @property
    def n_annotations(self) -> int:
        """A, repeats included."""
        return len(self.task)

    @cached_property
    def task_start(self) -> IntArray:
        """(n_tasks + 1,) int64: task i's annotations are ``task_start[i]:task_start[i + 1]``."""
        return np.concatenate([[0], np.cumsum(counted_sorted(self.task, self.n_tasks))])

    @property
    def labels_per_task(self) -> IntArray:
        """(n_tasks,) annotations of each task."""
        return np.diff(self.task_start)

    @cached_property
    def labels_per_worker(self) -> IntArray:
        """(n_workers,) annotations of each worker."""
        return counted(self.worker, self.n_workers)

    @property
    def annotated(self) -> BoolArray:
        """(n_tasks,) mask of the tasks with at least one annotation."""
        return np.asarray(self.task_start[1:] > self.task_start[:-1])

    def where(self: Dataset, keep: BoolArray) -> Dataset:
        """The same tasks and workers with only the annotations where ``keep`` (n_annotations,) is true."""
        parts: dict[str, Any] = {name: getattr(self, name)[keep] for name in ("task", "worker", self.kind.value)}
        if self.truth is not None:
            of_annotations = {name: getattr(self.truth, name) for name in ("omega", "used_common")}
            kept = {name: array[keep] for name, array in of_annotations.items() if array is not None}
            parts["truth"] = replace(self.truth, **kept)
        if self.extra is not None:
            parts["extra"] = self.extra.loc[keep].reset_index(drop=True)
        if self.file_row is not None:
            parts["file_row"] = self.file_row[keep]
        return replace(self, **parts)  # type: ignore[type-var]  # subclasses are dataclasses

    def with_features(self: Dataset, features: ByTask) -> Dataset:
        """The same dataset with features: a frame by task, or an array or tensor in the order of ``task_ids``.

        Examples:
            >>> import numpy as np
            >>> import crowdcore as cc
            >>> demo = cc.load_dataset("demo")
            >>> demo.with_features(np.zeros((demo.n_tasks, 3))).features.shape
            (1797, 3)
        """
        return replace(self, features=feature_rows(self, features))  # type: ignore[type-var]  # as above

    def with_gold(self: Dataset, gold: ByTask) -> Dataset:
        """The same dataset with other true labels, by task; tasks that are not named have none."""
        given = by_task(self, gold, "gold").astype(float) if self.kind.numeric else class_numbers(self, gold, "gold")
        return replace(self, gold=given)  # type: ignore[type-var]

    def with_split(self: Dataset, split: ByTask) -> Dataset:
        """The same dataset with other splits, by task: "train", "valid", "test"; tasks that are not named have none."""
        given = by_task(self, split, "split")
        codes = pd.Index(SPLITS).get_indexer(pd.Index(given))
        if (wrong := ~pd.isna(given) & (codes < 0)).any():
            raise SettingError("split", f"hold {', '.join(SPLITS)}", given[wrong][0])
        return replace(self, split=codes)  # type: ignore[type-var]

    def without_workers(self: Dataset, workers: IntArray) -> Dataset:
        """The same dataset without the annotations of some workers (their ids and numbers stay)."""
        gone = np.zeros(self.n_workers, bool)
        gone[workers] = True
        return self.where(~gone[self.worker])

    def _repr_html_(self) -> str:
        """A card with counts for notebooks."""
        judged = int(self.known.sum())
        counts = {
            f"{self.kind.task}s": self.n_tasks,
            "workers": self.n_workers,
            f"{self.kind.label}s": self.n_annotations,
        }
        about = {**{name: f"{n:,}" for name, n in counts.items()}, "with gold": f"{judged:,}"}
        if self.label_names:
            about["labels"] = ", ".join(self.label_names[:12]) + (", …" if len(self.label_names) > 12 else "")
        return pd.DataFrame({self.name: about}).to_html()

    def _digest(self, start: bytes, names: Iterable[Sequence[str] | pd.Index[str]], end: bytes = b"") -> str:
        """Hex digest of ``start``, lists of names, the arrays, and ``end``."""
        digest = hashlib.blake2b(start, digest_size=16)
        for part in chain.from_iterable(map(lengths_and_bytes, names)):
            digest.update(part.data)
        for array in (self.task, self.worker, self.values, self.gold, self.split):
            digest.update(np.ascontiguousarray(array).data)
        digest.update(end)
        return digest.hexdigest()

    def _frame(self, values: Any) -> pd.DataFrame:
        """Task and worker (categorical ids), the labels, then the extra columns."""
        columns = {
            "task": pd.Categorical.from_codes(self.task, self.task_ids),
            "worker": pd.Categorical.from_codes(self.worker, self.worker_ids),
            self.kind.value: values,
        }
        frame = pd.DataFrame(columns)
        return frame if self.extra is None else pd.concat([frame, self.extra.reset_index(drop=True)], axis=1)


@dataclass(frozen=True, eq=False)
class CrowdDataset(IndexTable):
    """Tasks, workers and the labels they gave; a missing annotation is an absent row.

    A worker's repeats on a task are kept and counted. The arrays are made read-only.

    Args:
        name: name of the dataset.
        classes: class names; their order is the order of every matrix.
        task_ids: (n_tasks,) unique strings.
        worker_ids: (n_workers,) unique strings.
        task: (n_annotations,) int32 task number, ascending.
        worker: (n_annotations,) int32 worker number.
        label: (n_annotations,) int32 class number.
        gold: (n_tasks,) int32 true class, -1 = unknown; default all unknown.
        split: (n_tasks,) int8 index into `SPLITS`, -1 = none; default none.
        features: rows aligned with tasks.
        media: images, texts, sounds of the tasks.
        extra: further columns of the annotations (``seconds``, ``timestamp``), aligned with them.
        truth: parameters of a simulated crowd.
        file_row: (n_annotations,) int32 1-based row of the file as it was before anything was left out or sorted;
            None: not known.
        notes: what was dropped, merged or noticed while reading, one sentence each.
        sentences: of a crowd that tags tokens (tasks are tokens, classes are IOB2 tags).

    Raises:
        DataError: arrays that do not fit together.
    """

    name: str
    classes: tuple[str, ...]
    task_ids: pd.Index[str]
    worker_ids: pd.Index[str]
    task: IntArray
    worker: IntArray
    label: IntArray
    gold: IntArray = None  # type: ignore[assignment]  # filled in __post_init__
    split: IntArray = None  # type: ignore[assignment]  # filled in __post_init__
    features: Rows | None = None
    media: Media | None = None
    extra: pd.DataFrame | None = None
    truth: SimulatedTruth | None = None
    file_row: IntArray | None = None
    notes: tuple[str, ...] = ()
    sentences: Sentences | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        self._freeze(np.int32, unknown=-1)
        self._check(0, self.n_classes - 1)
        if self.sentences is not None and len(self.sentences.words) != self.n_tasks:
            raise DataError(f"Sentences of {len(self.sentences.words)} tokens, but there are {self.n_tasks} tasks")

    @property
    def kind(self) -> LabelKind:
        """Classes, or tags where tasks are the tokens of sentences."""
        return CLASSES if self.sentences is None else TAGS

    @property
    def label_names(self) -> tuple[str, ...]:
        """The classes."""
        return self.classes

    @property
    def task_noun(self) -> str:
        """Noun for a task in sentences."""
        return self.kind.task

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.classes)

    @cached_property
    def annotations(self) -> pd.DataFrame:
        """The annotations as a frame: task, worker, label (categorical ids), then the extra columns."""
        return self._frame(pd.Categorical.from_codes(self.label, pd.Index(self.classes)))

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest (32 characters) of all but media and features: same content, same digest."""
        end = b"" if self.sentences is None else self.sentences.fingerprint.encode()
        return self._digest(b"", (self.classes, self.task_ids, self.worker_ids), end)

    def __repr__(self) -> str:
        tasks = f"{self.n_tasks} tasks"
        if self.sentences is not None:
            tasks = f"{len(self.sentences)} sentences, {self.n_tasks} tokens"
        return (
            f"CrowdDataset({self.name!r}: {tasks}, {self.n_workers} workers, "
            f"{self.n_classes} classes, {self.n_annotations} annotations)"
        )


def lengths_and_bytes(strings: Sequence[str] | pd.Index[str]) -> tuple[IntArray, AnyArray]:
    """Byte length of each string (int64), and their UTF-8 bytes one after another (uint8)."""
    column = pa.array(pd.Index(strings).astype("str"), pa.large_string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    return np.diff(offsets), text[offsets[0] : offsets[-1]]


def refuse_unlabelled(dataset: IndexTable) -> None:
    """Raise an error for a dataset without annotations."""
    if dataset.n_annotations:
        return
    remedy = "Open a table that has a label per row: task, worker, label."
    if not dataset.kind.numeric and dataset.known.any():
        remedy = (
            "Its tasks have true classes: plant a crowd on them, on the page Sandbox or by `crowdcore simulate "
            "SIMULATOR --on DATASET`; or open a table that has a label per row: task, worker, label."
        )
    raise DataError(f"{dataset.name} has no annotations", remedy)
