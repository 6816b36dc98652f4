"""`CrowdDataset`: annotations as aligned index arrays, with tasks, workers, gold and media."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.index_table import NO_SPLIT, SPLITS as SPLITS, IndexTable
from crowdcore.data.kinds import CLASSES, TAGS, LabelKind
from crowdcore.data.rows import Rows
from crowdcore.data.sentences import Sentences

SPLIT_ENDINGS = {NO_SPLIT: "", **{code: f"_{name}" for code, name in enumerate(SPLITS)}}
"""Split code -> end of the names of its files."""


@dataclass(frozen=True, eq=False)
class Media:
    """Task media; every part is optional.

    Args:
        images: uint8 rows ``(n_tasks, H, W[, 3])``.
        columns: index = task number; columns among ``text``, ``image`` (a path), ``audio`` (a path).
        folder: what relative paths are relative to.
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
        used_common: (n_annotations,) bool, whether it did.
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


@dataclass(frozen=True, eq=False)
class CrowdDataset(IndexTable):
    """Tasks, workers and the labels they gave; a missing annotation is an absent row.

    A worker's repeats on a task are kept and counted. The arrays are made read-only.

    Args:
        name: what the dataset is called.
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
        truth: what generated a simulated crowd.
        file_row: (n_annotations,) int32 1-based row of the file as it was before anything was left out or sorted;
            None: not known.
        notes: what was dropped, merged or noticed while reading, one sentence each.
        sentences: of a crowd that tags tokens (tasks are tokens, classes are IOB2 tags): which form a sentence.

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
        """What a task is called in sentences."""
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
        digest = hashlib.blake2b(digest_size=16)
        for strings in (self.classes, self.task_ids, self.worker_ids):
            for part in lengths_and_bytes(strings):
                digest.update(part.data)
        for array in (self.task, self.worker, self.label, self.gold, self.split):
            digest.update(np.ascontiguousarray(array).data)
        if self.sentences is not None:
            digest.update(self.sentences.fingerprint.encode())
        return digest.hexdigest()

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
    """Refuse a dataset without annotations, and say what helps."""
    if dataset.n_annotations:
        return
    remedy = "Open a table that has a label per row: task, worker, label."
    if not dataset.kind.numeric and dataset.known.any():
        remedy = (
            "Its tasks have true classes: plant a crowd on them, on the page Sandbox or by `crowdcore simulate "
            "SIMULATOR --on DATASET`; or open a table that has a label per row: task, worker, label."
        )
    raise DataError(f"{dataset.name} has no annotations", remedy)
