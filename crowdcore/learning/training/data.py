"""Inputs and annotations on the device; each step gathers its own batch there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.sentences import rows_of
from crowdcore.learning.training.inputs import refuse_not_finite
from crowdcore.learning.training.problem import Problem

_RESIDENT_SHARE = 0.4  # of the device's free memory that inputs may take before they are streamed
_POOL = 16  # batches among which sentences are sorted by length


class Batch(NamedTuple):
    """B tasks and all their annotations, as one replica sees them.

    Attributes:
        features: (B, *input shape) float32.
        task: (B,) number of the task (training tasks are 0 … n_train - 1).
        row: (A,) position in the batch of each annotation's task.
        worker: (A,).
        label: (A,).
        weight: (A,) 1, or 0 for padding.
        target: (B, C) or (B,) from `CrowdMethod.targets`, or None.
        extra: (..., *input shape) inputs of the tasks from `CrowdMethod.extra`; None without, and outside training.
        extra_label: (...) labels from `CrowdMethod.extra`.
    """

    features: Tensor
    task: Tensor
    row: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    target: Tensor | None
    extra: Tensor | None = None
    extra_label: Tensor | None = None

    def mean(self, values: Tensor) -> Tensor:
        """Mean of (A,) values over the annotations, padding left out."""
        return (self.weight * values).sum(-1) / self.weight.sum(-1)


class Index(NamedTuple):
    """Tasks (S, B) and annotations (S, A) of a batch of S replicas, with the row of each annotation's task (S, A)."""

    task: Tensor
    entry: Tensor
    row: Tensor


class Data:
    """A problem's inputs and annotations on the training device.

    Args:
        problem: training, validation and test tasks.
        device: training device.
        resident: keep all inputs on the device (else every batch is gathered on the host, and device memory does not
            grow with the number of tasks); None decides by size.
        targets: (n_train, C) or (n_train,) given with each batch.
    """

    def __init__(
        self, problem: Problem, device: torch.device, resident: bool | None = None, targets: AnyArray | None = None
    ) -> None:
        self.problem, self.device = problem, device
        self.resident = _fits_device(problem, device) if resident is None else resident
        home = device if self.resident else torch.device("cpu")
        self.worker = torch.from_numpy(np.append(problem.worker, 0)).to(home)
        self.label = torch.from_numpy(np.append(problem.label, 0)).to(home)
        self.target = None if targets is None else torch.from_numpy(np.ascontiguousarray(targets)).to(home)
        self._rows: Tensor | None = None
        self._prepare = problem.preparation.on(device)
        if self.resident:
            raw = self._host(slice(0, len(problem.order))).to(device)
            self._rows = raw if problem.preparation.image else self._prepare(raw)

    def _host(self, tasks: IntArray | slice) -> Tensor:
        """Stored rows of some tasks, on the host."""
        rows = np.ascontiguousarray(self.problem.rows[self.problem.order[tasks]])
        refuse_not_finite(rows, self.problem.dataset.task_ids[self.problem.order[tasks]])
        return torch.from_numpy(rows)

    def inputs(self, tasks: Tensor | slice) -> Tensor:
        """Prepared inputs of a range of tasks, (B, *input shape), or of a table of them, (S, B, *input shape)."""
        if self._rows is None:
            index = tasks if isinstance(tasks, slice) else tasks.numpy().ravel()
            rows = self._host(index)
            if self.device.type == "cuda":
                rows = rows.pin_memory()
            rows = rows.to(self.device, non_blocking=True)
        elif isinstance(tasks, slice):
            rows = self._rows[tasks]
        else:
            rows = self._rows.index_select(0, tasks.reshape(-1))
        x = self._prepare(rows) if self.problem.preparation.image or self._rows is None else rows
        return x if isinstance(tasks, slice) else x.reshape(*tasks.shape, *x.shape[1:])

    def batch(self, index: Index) -> Batch:
        """Gather a batch for S replicas; every field has the leading axis S."""
        last = len(self.worker) - 1
        parts = (
            torch.take(self.worker, index.entry),
            torch.take(self.label, index.entry),
            (index.entry < last).to(torch.float32),
            None if self.target is None else self.target[index.task],
        )
        worker, label, weight, target = (None if p is None else p.to(self.device, non_blocking=True) for p in parts)
        assert worker is not None and label is not None and weight is not None
        task, row = (i.to(self.device, non_blocking=True) for i in (index.task, index.row))
        return Batch(self.inputs(index.task), task, row, worker, label, weight, target)

    def stretch(self, tasks: slice) -> Batch:
        """Consecutive tasks with their annotations, shared by all replicas (no leading axis)."""
        first, last = np.searchsorted(self.problem.task, [tasks.start, tasks.stop])
        n = last - first
        row = torch.from_numpy(self.problem.task[first:last] - tasks.start)
        target = None if self.target is None or tasks.stop > len(self.target) else self.target[tasks]
        return Batch(
            self.inputs(tasks),
            torch.arange(tasks.start, tasks.stop, device=self.device),
            row.to(self.device),
            self.worker[first:last].to(self.device),
            self.label[first:last].to(self.device),
            torch.ones(int(n), device=self.device),
            None if target is None else target.to(self.device),
        )

    def chunks(self, tasks: slice, size: int) -> Iterator[slice]:
        """Split a range of tasks into consecutive pieces; sentences stay whole."""
        start, sentences = tasks.start, self.problem.sentence_start
        while start < tasks.stop:
            stop = min(start + size, tasks.stop)
            if sentences is not None and stop < tasks.stop:
                near = int(np.searchsorted(sentences, stop, "right"))
                stop = int(sentences[near - 1] if sentences[near - 1] > start else min(sentences[near], tasks.stop))
            yield slice(start, stop)
            start = stop


def _fits_device(problem: Problem, device: torch.device) -> bool:
    if device.type != "cuda":
        return not any(isinstance(array, np.memmap) and array.nbytes > 2**31 for array in problem.rows.arrays)
    size = len(problem.order) * int(np.prod(problem.rows.shape[1:])) * (1 if problem.rows.dtype == np.uint8 else 4)
    return size < _RESIDENT_SHARE * torch.cuda.mem_get_info(device)[0]


class Feed:
    """Shuffled batches of S replicas, epoch after epoch; each replica's order depends on its own seed alone.

    Args:
        data: inputs and annotations.
        seeds: one seed per replica.
        batch_size: tasks per step; at ``n_train`` and above every step is the whole training set, unshuffled and
            shared by the replicas.
        fixed_width: pad all steps of an epoch to the same number of annotations (recorded steps need that).
    """

    def __init__(self, data: Data, seeds: tuple[int, ...], batch_size: int, fixed_width: bool = False) -> None:
        problem = data.problem
        self.data, self.seeds, self.fixed_width = data, seeds, fixed_width
        self.n = problem.n_train
        self.batch_size = min(batch_size, self.n)
        self.shared = self.batch_size == self.n
        self._start = np.searchsorted(problem.task, np.arange(self.n + 1))
        self._width = 0

    @property
    def n_batches(self) -> int:
        """Steps per epoch."""
        return -(-self.n // self.batch_size)

    def epoch(self, number: int) -> Iterator[Index]:
        """Indices of one epoch's batches (not for a shared feed)."""
        home = self.data.device if self.data.resident else torch.device("cpu")
        task, entry, row, width = self._plan(number)
        tasks, entries, rows = (torch.from_numpy(a).to(home, non_blocking=True) for a in (task, entry, row))
        for k in range(self.n_batches):
            w = entries.shape[2] if self.fixed_width else int(width[k])
            tail = slice(k * self.batch_size, min((k + 1) * self.batch_size, self.n))
            yield Index(tasks[:, tail], entries[k, :, :w], rows[k, :, :w])

    def _plan(self, number: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Task order (S, n), annotations (n_batches, S, width) and their rows, padded; needed width per batch."""
        n_annotations, b = int(self._start[-1]), self.batch_size
        degree = np.diff(self._start)
        orders, counts = [], np.empty((len(self.seeds), self.n_batches), np.int64)
        for s, seed in enumerate(self.seeds):
            order = np.random.default_rng((seed, number)).permutation(self.n)
            orders.append(order)
            counts[s] = np.add.reduceat(degree[order], np.arange(0, self.n, b))
        width = counts.max(0)
        most = int(width.max())
        self._width = max(self._width, -(-most // 32) * 32) if self.fixed_width else most
        entry = np.full((self.n_batches, len(self.seeds), self._width), len(self.data.worker) - 1)
        row = np.zeros_like(entry)
        slot = np.arange(n_annotations)
        for s, order in enumerate(orders):
            size = degree[order]
            batch = np.repeat(np.arange(self.n) // b, size)
            within = slot - np.repeat(np.cumsum(counts[s]) - counts[s], counts[s])
            entry[batch, s, within] = slot + np.repeat(self._start[order] - (np.cumsum(size) - size), size)
            row[batch, s, within] = np.repeat(np.arange(self.n) % b, size)
        return np.stack(orders), entry, row, width


class SentenceFeed(Feed):
    """Shuffled batches of ``batch_size`` sentences of one replica, similar lengths together.

    Args:
        data: inputs and annotations of tokens.
        seed: seed of the replica.
        batch_size: sentences per step.
    """

    def __init__(self, data: Data, seed: int, batch_size: int) -> None:
        super().__init__(data, (seed,), 1)
        start = data.problem.sentence_start
        assert start is not None
        self.sentence_start = start[start <= self.n]
        self.batch_size = batch_size
        self.shared = False

    @property
    def n_batches(self) -> int:
        """Steps per epoch."""
        return -(-(len(self.sentence_start) - 1) // self.batch_size)

    def epoch(self, number: int) -> Iterator[Index]:
        """Indices of one epoch's batches."""
        rng = np.random.default_rng((self.seeds[0], number))
        length = np.diff(self.sentence_start)
        order = rng.permutation(len(length))
        pool = np.arange(len(order)) // (_POOL * self.batch_size)
        order = order[np.lexsort((length[order], pool))]
        home = self.data.device if self.data.resident else torch.device("cpu")
        for k in rng.permutation(self.n_batches):
            task = rows_of(self.sentence_start, order[k * self.batch_size : (k + 1) * self.batch_size])
            entry = rows_of(self._start, task)
            row = np.repeat(np.arange(len(task)), np.diff(self._start)[task])
            yield Index(*(torch.from_numpy(a).unsqueeze(0).to(home) for a in (task, entry, row)))


def make_feed(data: Data, seeds: tuple[int, ...], batch_size: int, fixed_width: bool = False) -> Feed:
    """Feed of tasks, or of whole sentences for a network that reads sentences."""
    if data.problem.sentence_start is None:
        return Feed(data, seeds, batch_size, fixed_width)
    assert len(seeds) == 1, "sentences of several replicas do not fit into one array"
    return SentenceFeed(data, seeds[0], batch_size)
