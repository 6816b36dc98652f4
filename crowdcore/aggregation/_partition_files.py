"""One partition of a crowd on disk: index arrays, processed in pieces that fit memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crowdcore.core.em import LabelTable
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.encoder import Encoder

_BATCH = 1 << 15  # rows read at once
_INDEXING, _STEP = 80, 40  # bytes per annotation that indexing a partition and an E-step take


@dataclass(frozen=True)
class Piece:
    """Some consecutive tasks of a partition: tasks ``first:last``, annotations ``begin:end``."""

    first: int
    last: int
    begin: int
    end: int


@dataclass(frozen=True)
class Partition:
    """A prepared partition; only paths and sizes, so that it travels to other processes.

    Args:
        source: the Parquet file.
        folder: its index arrays: ``start``, ``cell``, ``known``, ``hashes`` (raw int64, int32, int32, uint64) and
            ``tasks.parquet``.
        n_workers, n_classes: of the whole crowd.
        n_tasks, n_annotations: of this partition.
        has_known: whether some task is clamped.
        pieces: what is worked on at once.
    """

    source: Path
    folder: Path
    n_workers: int
    n_classes: int
    n_tasks: int
    n_annotations: int
    has_known: bool
    pieces: tuple[Piece, ...]

    def hashes(self) -> IntArray:
        """(n_tasks,) uint64, equal for equal task ids."""
        return np.fromfile(self.folder / "hashes", np.uint64)

    def tables(self) -> Iterator[LabelTable]:
        """The annotations, piece by piece."""
        for piece in self.pieces:
            n = piece.last - piece.first
            start = _read(self.folder / "start", np.int64, piece.first, n + 1) - piece.begin
            cell = _read(self.folder / "cell", np.int32, piece.begin, piece.end - piece.begin)
            known = _read(self.folder / "known", np.int32, piece.first, n)
            yield LabelTable(start, cell, known, self.n_workers, self.n_classes)

    def write(self, posteriors: Iterator[FloatArray], target: Path, classes: tuple[str, ...]) -> None:
        """Write ids, labels and posteriors (one array per piece) to a Parquet file."""
        names = pa.array([*classes], pa.large_string())
        with pq.ParquetFile(self.folder / "tasks.parquet") as ids:
            tasks = _Rows(ids.iter_batches(_BATCH))
            writer: Any = None
            for posterior in posteriors:
                label = pc.take(names, pa.array(posterior.argmax(1)))
                columns = {"task": tasks.take(len(posterior)), "label": label}
                columns |= {f"p_{name}": pa.array(posterior[:, c]) for c, name in enumerate(classes)}
                table = pa.table(columns)
                writer = writer or pq.ParquetWriter(target, table.schema, use_dictionary=["label"])
                writer.write_table(table)
            writer.close()


class _Rows:
    """Takes a stated number of rows at a time from batches of one column."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches, self._left = batches, pa.chunked_array([], pa.large_string())

    def take(self, n: int) -> Any:
        while len(self._left) < n:
            self._left = pa.chunked_array([*self._left.chunks, next(self._batches).column(0)])
        taken, self._left = self._left.slice(0, n), self._left.slice(n)
        return taken


def names_in(path: Path, known: str | None) -> tuple[Any, Any]:
    """Distinct workers and distinct classes of a Parquet file, as pyarrow string arrays.

    Raises:
        DataError: a column is missing or has an empty cell.
    """
    workers, classes = pa.array([], pa.large_string()), pa.array([], pa.large_string())
    for batch in _batches(path, [*([known] if known else []), "worker", "label"]):
        given = [_full(batch, "label", path), *([batch.column(known)] if known else [])]
        workers = pc.unique(pa.chunked_array([workers, _names(_full(batch, "worker", path))]))
        classes = pc.unique(pa.chunked_array([classes, *map(_names, given)]))
    return workers, classes


def prepare(path: Path, index: Path, workers: Any, classes: Any, known: str | None, memory_limit: int) -> Partition:
    """Turn a Parquet file into index arrays sorted by task, in a folder of ``index``.

    Args:
        path: a Parquet file with the columns task, worker, label.
        index: where the folder is made.
        workers, classes: pyarrow strings whose order numbers them.
        known: column with the classes of tasks to clamp (empty elsewhere).
        memory_limit: bytes for what is worked on at once.

    Raises:
        DataError: the partition's index does not fit the limit, or a task has two known classes.
    """
    with pq.ParquetFile(path) as file:
        n_rows = file.metadata.num_rows
    if _INDEXING * n_rows > memory_limit:
        raise DataError(
            f"Indexing {n_rows} annotations needs {_INDEXING * n_rows >> 20} MB, above the memory limit of "
            f"{memory_limit >> 20} MB",
            "Write smaller partitions or raise `memory_limit`.",
            file=path,
        )
    encoder, cell, clamp = Encoder(), np.empty(n_rows, np.int32), np.full(n_rows if known else 0, -1, np.int32)
    row = 0
    for batch in _batches(path, ["task", *([known] if known else []), "worker", "label"]):
        rows = slice(row, row := row + len(batch))
        encoder.add(_full(batch, "task", path))
        cell[rows] = _index(batch.column("worker"), workers) * np.int32(len(classes))
        cell[rows] += _index(batch.column("label"), classes)
        if known:
            clamp[rows] = _index(batch.column(known), classes)
    codes = encoder.finish()
    task, ids = codes.codes, codes.values
    if (task[1:] < task[:-1]).any():
        order = np.argsort(task, kind="stable")
        task, cell, clamp = task[order], cell[order], clamp[order] if known else clamp
    start = np.searchsorted(task, np.arange(len(ids) + 1)).astype(np.int64)
    clamped = np.full(len(ids), -1, np.int32)
    if known:
        clamped = np.maximum.reduceat(clamp, start[:-1])
        if ((clamp >= 0) & (clamp != clamped[task])).any():
            raise DataError(f"A task has two classes in {known!r}", "Give each task one known class.", file=path)
    folder = index / path.stem
    folder.mkdir(parents=True)
    for name, array in (("start", start), ("cell", cell), ("known", clamped)):
        array.tofile(folder / name)
    pq.write_table(pa.table({"task": ids}), folder / "tasks.parquet")
    with (folder / "hashes").open("wb") as out:
        for first in range(0, len(ids), _BATCH):
            pd.util.hash_array(np.asarray(ids.slice(first, _BATCH), object)).tofile(out)
    pieces = _pieces(start, len(classes), memory_limit)
    return Partition(path, folder, len(workers), len(classes), len(ids), n_rows, bool((clamped >= 0).any()), pieces)


def _pieces(start: IntArray, n_classes: int, memory_limit: int) -> tuple[Piece, ...]:
    """Consecutive tasks whose annotations and posterior, with what a step makes of them, fit the limit."""
    cost = _STEP * start + 32 * n_classes * np.arange(len(start))
    n = int(-(-cost[-1] // memory_limit))
    edges = np.unique(np.searchsorted(cost, np.linspace(0, cost[-1], n + 1)))
    return tuple(Piece(int(first), int(last), int(start[first]), int(start[last])) for first, last in pairwise(edges))


def _batches(path: Path, columns: list[str]) -> Iterator[Any]:
    """Rows of some columns, names of few distinct values as dictionaries."""
    with pq.ParquetFile(path, read_dictionary=columns[-2:], pre_buffer=False) as file:
        missing = [name for name in columns if name not in file.schema_arrow.names]
        if missing:
            raise DataError(f"No column {missing[0]!r}", f"It has {', '.join(file.schema_arrow.names)}.", file=path)
        yield from file.iter_batches(_BATCH, columns=columns, use_threads=False)


def _full(batch: Any, column: str, path: Path) -> Any:
    values = batch.column(column)
    if values.null_count:
        raise DataError(
            "A cell is empty", "Every annotation needs a task, a worker and a label.", file=path, column=column
        )
    return values


def _names(values: Any) -> Any:
    """Distinct values as strings."""
    return pc.unique(values).drop_null().cast(pa.large_string())


def _index(values: Any, names: Any) -> IntArray:
    """int32 number of each value in ``names``, -1 where it is missing."""
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    number = pc.index_in(encoded.dictionary.cast(pa.large_string()), names)
    return np.asarray(number.take(encoded.indices).fill_null(-1), np.int32)


def _read(path: Path, dtype: Any, first: int, count: int) -> Any:
    return np.fromfile(path, dtype, count, offset=first * np.dtype(dtype).itemsize)
