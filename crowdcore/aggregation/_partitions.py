"""Aggregation of data larger than memory: Parquet partitions by task, processed one by one or on a cluster."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crowdcore.aggregation._em import SumsEM
from crowdcore.aggregation.base import Aggregator
from crowdcore.core.counts import clamp, vote_counts
from crowdcore.core.em import LabelTable, Parameters, Sums, em_step, expected_sums
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dictionary import natural_order
from crowdcore.data.encoder import Encoder

_FAN_IN = 8  # sums added by one task of the cluster
_BATCH = 1 << 15  # rows read at once
_INDEXING, _STEP = 80, 40  # bytes per annotation that indexing a partition and an E-step take


@dataclass(frozen=True, eq=False)
class PartitionedResult(Shown):
    """Result of an aggregator over partitions; the labels are on disk.

    Attributes:
        method, settings: the aggregator's.
        folder: Parquet files named as the partitions, in subfolders like theirs, with the columns ``task``, ``label``
            and one ``p_<class>`` per class; rows sum to 1.
        classes: order of every matrix.
        worker_ids: order of the workers.
        parts: the model's fields of `AggregationResult` (confusion, counts, prior …).
        log_likelihood: (n_iterations,) as in `AggregationResult`.
        converged, stopped: the stopping rule.
        n_tasks, n_annotations: of all partitions.
        seconds: wall time.
    """

    method: str
    settings: dict[str, Any]
    folder: Path
    classes: tuple[str, ...]
    worker_ids: tuple[str, ...]
    parts: dict[str, Any]
    log_likelihood: FloatArray
    converged: bool
    stopped: str
    n_tasks: int
    n_annotations: int
    seconds: float


def fit_partitions(
    source: str | Path,
    aggregator: Aggregator,
    out: str | Path,
    *,
    known: str | None = None,
    client: Any = None,
    memory_limit: int = 2**30,
) -> PartitionedResult:
    """Fit an aggregator to a folder of Parquet files larger than memory; the result equals that of a fit in memory.

    Args:
        source: folder of ``*.parquet``, also in subfolders such as ``day=1``, with the columns task, worker, label in
            each file; all rows of a task in one file.
        aggregator: one whose M-step needs sums over tasks only: the Dawid–Skene family, MACE, CoNAL-EM, worker
            clustering with a given K.
        out: new folder for the labels; index arrays live below it while this runs.
        known: column with the class of tasks to clamp, empty elsewhere.
        client: a ``dask.distributed`` client whose workers can access both folders; None: this process, file by file.
        memory_limit: bytes that a process spends on annotations and posteriors at once; imports and Arrow's buffers
            (some 60 MB) come on top.

    Raises:
        DataError: no partitions, bad columns, a task in two partitions, a partition too large to index.
        SettingError: an aggregator that needs all annotations at once, or ``out`` exists.
    """
    began = time.perf_counter()
    source, out = Path(source).resolve(), Path(out).resolve()
    model = _check(aggregator, out)
    files = sorted(source.rglob("*.parquet"))
    if not files:
        raise DataError("There is no *.parquet file", "Give a folder of partitions.", file=source)
    each: Callable[..., Iterator[Any]] = map if client is None else partial(_on_cluster, client)
    try:
        workers, classes = _numbered(list(each(partial(_read_names, known=known), files)))
        numbered: dict[str, Any] = {
            "workers": workers,
            "classes": classes,
            "known": known,
            "memory_limit": memory_limit,
        }
        index = partial(_prepare, source=source, index=out / "index", **numbered)
        partitions = list(each(index, files))
        _refuse_shared_tasks(partitions, memory_limit)
        engine = _PartitionEngine(model, partitions, client)
        fitted = model.run(engine, len(workers), named=any(p.has_known for p in partitions))
        names = tuple(classes.to_pylist())
        engine.write(out, names)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    shutil.rmtree(out / "index")
    return PartitionedResult(
        method=model.name,
        settings=model.model_dump(),
        folder=out,
        classes=names,
        worker_ids=tuple(workers.to_pylist()),
        parts=model.parts(fitted.parameters, fitted.sums),
        **fitted.trace._asdict(),
        n_tasks=sum(p.n_tasks for p in partitions),
        n_annotations=engine.n_annotations,
        seconds=time.perf_counter() - began,
    )


class _PartitionEngine:
    """Partitions processed one at a time in this process, or as tasks of a cluster."""

    def __init__(self, model: SumsEM, partitions: Sequence[Partition], client: Any) -> None:
        self.model, self.partitions, self.client = model, partitions, client
        self.n_annotations = sum(p.n_annotations for p in partitions)
        self.parameters: Any = None  # of the last step, or their future on the cluster

    def start(self) -> Sums:
        """Sums under vote shares."""
        return self._sum(_start)

    def step(self, parameters: Any) -> Sums:
        """Sums of an E-step over all partitions."""
        self.parameters = parameters
        if self.client is not None:
            self.parameters = self.client.scatter(parameters, broadcast=True, hash=False)
        return self._sum(_step, hard=self.model.hard, parameters=self.parameters)

    def write(self, out: Path, classes: tuple[str, ...]) -> None:
        """Write the posterior of the last step."""
        arguments = {"hard": self.model.hard, "parameters": self.parameters, "out": out, "classes": classes}
        if self.client is None:
            for partition in self.partitions:
                _write(partition, **arguments)
        else:
            self.client.gather(self.client.map(_write, self.partitions, pure=False, **arguments))

    def _sum(self, work: Callable[..., Sums], **arguments: Any) -> Sums:
        if self.client is None:
            return reduce(_add, (work(p, **arguments) for p in self.partitions))
        # all futures are kept until the result is here
        levels = [self.client.map(work, self.partitions, pure=False, **arguments)]
        while len(levels[-1]) > 1:
            groups = [levels[-1][i : i + _FAN_IN] for i in range(0, len(levels[-1]), _FAN_IN)]
            levels.append([self.client.submit(reduce, _add, group, pure=False) for group in groups])
        total: Sums = levels[-1][0].result()
        return total


def _check(aggregator: Aggregator, out: Path) -> SumsEM:
    if not isinstance(aggregator, SumsEM) or (aggregator.restarts and not aggregator.restarts_in_run):
        raise SettingError(
            "aggregator",
            "work from sums over partitions, without restarts from random posteriors",
            aggregator.name,
            "Use 'dawid-skene', 'one-coin', 'fast-dawid-skene' or 'conal-em'.",
        )
    if getattr(aggregator, "device", "cpu") == "cuda":
        raise SettingError("device", "be 'cpu' or 'auto' for partitions", "cuda")
    if out.exists():
        raise SettingError("out", "be a folder that does not exist yet", str(out))
    return aggregator


def _on_cluster(client: Any, work: Callable[..., Any], items: Sequence[Any]) -> Iterator[Any]:
    yield from client.gather(client.map(work, items, pure=False))


def _numbered(dictionaries: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Workers and classes of all partitions in natural order."""
    merged = (pc.unique(pa.chunked_array(list(arrays))) for arrays in zip(*dictionaries, strict=True))
    workers, classes = (names.take(pa.array(natural_order(names.to_pylist()))) for names in merged)
    return workers, classes


def _refuse_shared_tasks(partitions: Sequence[Partition], memory_limit: int) -> None:
    """Compare the hashes of all tasks, in ranges that fit the limit."""
    size = 8 * sum(p.n_tasks for p in partitions)
    rounds = int(2 ** np.ceil(np.log2(max(4 * size / memory_limit, 1))))
    for k in range(rounds):
        parts = (p.hashes() for p in partitions)
        hashes = np.sort(np.concatenate([h[h % np.uint64(rounds) == k] for h in parts]))
        if (hashes[1:] == hashes[:-1]).any():
            raise DataError(
                "A task has annotations in more than one partition", "Partition by task: all its rows in one file."
            )


def _start(partition: Partition) -> Sums:
    return reduce(_add, (expected_sums(table, _vote_shares(table)) for table in partition.tables()))


def _step(partition: Partition, hard: bool, parameters: Parameters) -> Sums:
    def one(table: LabelTable) -> Sums:
        return em_step(table, *parameters.logs(), np.empty((table.n_tasks, table.n_classes)), hard)

    return reduce(_add, map(one, partition.tables()))


def _write(partition: Partition, hard: bool, parameters: Parameters, out: Path, classes: tuple[str, ...]) -> None:
    """Write the labels under the parameters of the last E-step."""

    def posteriors() -> Iterator[FloatArray]:
        for table in partition.tables():
            posterior = np.empty((table.n_tasks, table.n_classes))
            em_step(table, *parameters.logs(), posterior, hard)
            yield posterior

    target = (out / partition.folder.relative_to(out / "index")).with_name(partition.source.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    partition.write(posteriors(), target, classes)


def _vote_shares(table: LabelTable) -> FloatArray:
    """(n_tasks, C) vote shares, known tasks clamped."""
    n = np.diff(table.task_start)
    task = np.repeat(np.arange(table.n_tasks, dtype=np.int32), n)
    shares = vote_counts(task, table.cell % table.n_classes, table.n_tasks, table.n_classes)
    shares /= np.maximum(n, 1)[:, None]
    clamp(shares, table.known)
    return shares


def _add(a: Sums, b: Sums) -> Sums:
    """Sums of two partitions."""
    return Sums(a.counts + b.counts, a.classes + b.classes, a.log_likelihood + b.log_likelihood)


class Piece(NamedTuple):
    """Consecutive tasks ``first:last`` of a partition, with the annotations ``begin:end``."""

    first: int
    last: int
    begin: int
    end: int


@dataclass(frozen=True)
class Partition:
    """Prepared partition; only paths and sizes, which are cheap to send to other processes.

    Args:
        source: the Parquet file.
        folder: its index arrays: ``start``, ``cell``, ``known``, ``hashes`` (raw int64, int32, int32, uint64) and
            ``tasks.parquet``.
        n_workers, n_classes: of the whole crowd.
        n_tasks, n_annotations: of this partition.
        has_known: whether some task is clamped.
        pieces: tasks and annotations that are processed at once.
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
        for first, last, begin, end in self.pieces:
            start = _read_array(self.folder / "start", np.int64, first, last - first + 1) - begin
            cell = _read_array(self.folder / "cell", np.int32, begin, end - begin)
            known = _read_array(self.folder / "known", np.int32, first, last - first)
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
    """Reader of a given number of rows at a time from batches of one column."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches, self._left = batches, pa.chunked_array([], pa.large_string())

    def take(self, n: int) -> Any:
        while len(self._left) < n:
            self._left = pa.chunked_array([*self._left.chunks, next(self._batches).column(0)])
        taken, self._left = self._left.slice(0, n), self._left.slice(n)
        return taken


def _read_names(path: Path, known: str | None) -> tuple[Any, Any]:
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


def _prepare(
    path: Path, source: Path, index: Path, workers: Any, classes: Any, known: str | None, memory_limit: int
) -> Partition:
    """Turn a Parquet file into index arrays sorted by task, in a folder below ``index``.

    Workers and classes are pyarrow strings whose order numbers them; ``memory_limit`` is the bytes of a piece.

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
    encoder, cell, given = Encoder(), np.empty(n_rows, np.int32), np.full(n_rows if known else 0, -1, np.int32)
    row = 0
    for batch in _batches(path, ["task", *([known] if known else []), "worker", "label"]):
        rows = slice(row, row := row + len(batch))
        encoder.add(_full(batch, "task", path))
        cell[rows] = _index(batch.column("worker"), workers) * np.int32(len(classes))
        cell[rows] += _index(batch.column("label"), classes)
        if known:
            given[rows] = _index(batch.column(known), classes)
    codes = encoder.finish()
    task, ids = codes.codes, codes.values
    if (task[1:] < task[:-1]).any():
        order = np.argsort(task, kind="stable")
        task, cell, given = task[order], cell[order], given[order] if known else given
    start = np.searchsorted(task, np.arange(len(ids) + 1)).astype(np.int64)
    clamped = np.full(len(ids), -1, np.int32)
    if known:
        clamped = np.maximum.reduceat(given, start[:-1])
        if ((given >= 0) & (given != clamped[task])).any():
            raise DataError(f"A task has two classes in {known!r}", "Give each task one known class.", file=path)
    folder = index / path.relative_to(source).with_suffix("")
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
    """Consecutive tasks whose annotations, posterior and temporary arrays fit the limit."""
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


def _read_array(path: Path, dtype: Any, first: int, count: int) -> Any:
    return np.fromfile(path, dtype, count, offset=first * np.dtype(dtype).itemsize)
