"""Aggregation of data larger than memory: Parquet partitions by task, processed one by one or on a cluster."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.aggregation._em import clamp
from crowdcore.aggregation._partition_files import Partition, names_in, prepare
from crowdcore.aggregation._sums_em import SumsEM
from crowdcore.aggregation.base import Aggregator
from crowdcore.core.counts import vote_counts
from crowdcore.core.em import LabelTable
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import FloatArray
from crowdcore.data.dictionary import natural_order

_FAN_IN = 8  # sums added by one task of the cluster


@dataclass(frozen=True, eq=False)
class PartitionedResult:
    """What an aggregator found over partitions; the labels are on disk.

    Attributes:
        method, settings: the aggregator's.
        folder: Parquet files named as the partitions, with the columns ``task``, ``label`` and one ``p_<class>``
            per class; rows sum to 1.
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
    """Fit an aggregator to a folder of Parquet files that need not fit memory; equal to the fit in memory.

    Args:
        source: folder of ``*.parquet`` with the columns task, worker, label; all rows of a task in one file.
        aggregator: one whose M-step needs sums over tasks only: the Dawid–Skene family, MACE, CoNAL-EM, worker
            clustering with a given K.
        out: new folder for the labels; index arrays live below it while this runs.
        known: column with the class of tasks to clamp, empty elsewhere.
        client: a ``dask.distributed`` client whose workers see both folders; None works here, one file at a time.
        memory_limit: bytes that a process spends on annotations and posteriors at once; what is independent of the
            data (imports, Arrow's buffers of some 60 MB) comes on top.

    Raises:
        DataError: no partitions, bad columns, a task in two partitions, a partition too large to index.
        SettingError: an aggregator that needs all annotations at once, or ``out`` exists.
    """
    began = time.perf_counter()
    source, out = Path(source).resolve(), Path(out).resolve()
    model = _check(aggregator, out)
    files = sorted(source.glob("*.parquet"))
    if not files:
        raise DataError("There is no *.parquet file", "Give a folder of partitions.", file=source)
    each: Callable[..., Iterator[Any]] = map if client is None else partial(_on_cluster, client)
    try:
        workers, classes = _numbered(list(each(partial(names_in, known=known), files)))
        index = partial(
            prepare, index=out / "index", workers=workers, classes=classes, known=known, memory_limit=memory_limit
        )
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
    """Partitions worked on one at a time in this process, or as tasks of a cluster."""

    def __init__(self, model: SumsEM, partitions: Sequence[Partition], client: Any) -> None:
        self.model, self.partitions, self.client = model, partitions, client
        self.n_annotations = sum(p.n_annotations for p in partitions)
        self.parameters: Any = None  # of the last step: themselves, or their future on the cluster

    def start(self) -> Any:
        """The sums under vote shares."""
        return self._sum(_first_sums)

    def step(self, parameters: Any) -> Any:
        """The sums of an E-step over all partitions."""
        self.parameters = parameters
        if self.client is not None:
            self.parameters = self.client.scatter(parameters, broadcast=True, hash=False)
        return self._sum(_step, parameters=self.parameters)

    def write(self, out: Path, classes: tuple[str, ...]) -> None:
        """Write the posterior of the last step."""
        arguments = {"model": self.model, "parameters": self.parameters, "out": out, "classes": classes}
        if self.client is None:
            for partition in self.partitions:
                _write(partition, **arguments)
        else:
            self.client.gather(self.client.map(_write, self.partitions, pure=False, **arguments))

    def _sum(self, work: Callable[..., Any], **arguments: Any) -> Any:
        if self.client is None:
            return reduce(_add, (work(p, model=self.model, **arguments) for p in self.partitions))
        # all futures are kept until the result is here
        levels = [self.client.map(work, self.partitions, pure=False, model=self.model, **arguments)]
        while len(levels[-1]) > 1:
            groups = [levels[-1][i : i + _FAN_IN] for i in range(0, len(levels[-1]), _FAN_IN)]
            levels.append([self.client.submit(reduce, _add, group, pure=False) for group in groups])
        return levels[-1][0].result()


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
    """Compare the hashes of all tasks, a range of them at a time so that they fit the limit."""
    size = 8 * sum(p.n_tasks for p in partitions)
    rounds = int(2 ** np.ceil(np.log2(max(4 * size / memory_limit, 1))))
    for k in range(rounds):
        parts = (p.hashes() for p in partitions)
        hashes = np.sort(np.concatenate([h[h % np.uint64(rounds) == k] for h in parts]))
        if (hashes[1:] == hashes[:-1]).any():
            raise DataError(
                "A task has annotations in more than one partition", "Partition by task: all its rows in one file."
            )


def _first_sums(partition: Partition, model: SumsEM) -> Any:
    return reduce(_add, (model.first_sums(table, _vote_shares(table)) for table in partition.tables()))


def _step(partition: Partition, model: SumsEM, parameters: Any) -> Any:
    def one(table: LabelTable) -> Any:
        return model.e_step(table, parameters, np.empty((table.n_tasks, table.n_classes)))

    return reduce(_add, map(one, partition.tables()))


def _write(partition: Partition, model: SumsEM, parameters: Any, out: Path, classes: tuple[str, ...]) -> None:
    """The labels under the parameters of the last E-step."""

    def posteriors() -> Iterator[FloatArray]:
        for table in partition.tables():
            posterior = np.empty((table.n_tasks, table.n_classes))
            model.e_step(table, parameters, posterior)
            yield posterior

    partition.write(posteriors(), out / partition.source.name, classes)


def _vote_shares(table: LabelTable) -> FloatArray:
    """(n_tasks, C) vote shares, known tasks clamped."""
    n = np.diff(table.task_start)
    task = np.repeat(np.arange(table.n_tasks, dtype=np.int32), n)
    shares = vote_counts(task, table.cell % table.n_classes, table.n_tasks, table.n_classes)
    shares /= np.maximum(n, 1)[:, None]
    clamp(shares, table.known)
    return shares


def _add(a: Any, b: Any) -> Any:
    """Sums of two partitions."""
    return type(a)(*(x + y for x, y in zip(a, b, strict=True)))
