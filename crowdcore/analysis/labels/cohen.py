"""Cohen's kappa of every pair of workers with enough tasks in common, sparse in the pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_MOST = 10_000_000  # entries of the (pairs, C) tables; pairs with most overlap come first
_TABLE = 10_000_000  # pairs of workers up to which they are looked up in a table


@dataclass(frozen=True, eq=False)
class PairKappa:
    """Aligned arrays, one entry per pair of workers with at least ``min_overlap`` tasks in common.

    Attributes:
        worker_a: (P,) the pair's first worker, smaller number.
        worker_b: (P,) the pair's second worker.
        overlap: (P,) tasks that both labelled.
        agreement: (P,) share of these with the same label.
        kappa: (P,) Cohen's kappa; NaN where both always gave one and the same label (0 / 0).
        min_overlap: fewest tasks in common that count as enough.
        n_pairs: pairs of workers with at least one task in common.
        mean: unweighted mean of the defined kappas; NaN if there are none.
        mean_error: its standard error over tasks, of tags over sentences (infinitesimal jackknife: the bootstrap's
            linear form).
        worker_ids: (R,) ids of the workers.
    """

    worker_a: IntArray
    worker_b: IntArray
    overlap: IntArray
    agreement: FloatArray
    kappa: FloatArray
    min_overlap: int
    n_pairs: int
    mean: float
    mean_error: float
    worker_ids: pd.Index[str]

    def frame(self) -> pd.DataFrame:
        """One row per pair, most alike first."""
        frame = pd.DataFrame(
            {
                "worker": self.worker_ids[self.worker_a],
                "other": self.worker_ids[self.worker_b],
                "kappa": self.kappa,
                "agreement": self.agreement,
                "overlap": self.overlap,
            }
        )
        return frame.sort_values("kappa", ascending=False, kind="stable", ignore_index=True)


def pair_kappa(dataset: CrowdDataset, min_overlap: int = 10) -> PairKappa:
    """``kappa = (p_o - p_e) / (1 - p_e)`` over the tasks both labelled, p_e from both workers' labels on these tasks.

    Time is O(number of pairs of annotations on the same task), memory O(A + pairs of workers * C).

    Args:
        dataset: the annotations, at most one for each worker and task.
        min_overlap: fewest tasks in common that count as enough.
    """
    n = dataset.n_classes
    key, overlap, n_pairs = _overlapping(dataset, min_overlap)
    agree = np.zeros(len(key))
    by_a, by_b = np.zeros((len(key), n)), np.zeros((len(key), n))
    for _, pair, label_a, label_b in _events(dataset, key):
        np.add.at(agree, pair, (label_a == label_b).astype(np.float64))
        np.add.at(by_a.ravel(), pair * n + label_a, np.float64(1))
        np.add.at(by_b.ravel(), pair * n + label_b, np.float64(1))
    chance = (by_a * by_b).sum(1)
    above, room = agree * overlap - chance, overlap.astype(np.float64) ** 2 - chance
    kappa = np.divide(above, room, out=np.full(len(key), np.nan), where=room > 0)
    defined = room > 0
    mean = float(kappa[defined].mean()) if defined.any() else np.nan
    pull: FloatArray = np.zeros(dataset.n_tasks)  # derivative of the mean by the weight of each task
    for event, pair, label_a, label_b in _events(dataset, key[defined]):
        p = np.flatnonzero(defined)[pair]
        more_chance = by_b[p, label_a] + by_a[p, label_b]
        more_above = agree[p] + overlap[p] * (label_a == label_b) - more_chance
        more_room = 2 * overlap[p] - more_chance
        slope = (more_above * room[p] - above[p] * more_room) / room[p] ** 2
        np.add.at(pull, dataset.task[event], slope)
    if dataset.sentences is not None:  # the tokens of a sentence are drawn together
        pull = np.bincount(dataset.sentences.of_task, pull).astype(np.float64)
    error = float(np.sqrt((pull**2).sum()) / defined.sum()) if defined.any() else np.nan
    a, b = np.divmod(key, max(dataset.n_workers, 1))
    return PairKappa(a, b, overlap, agree / overlap, kappa, min_overlap, n_pairs, mean, error, dataset.worker_ids)


def _overlapping(dataset: CrowdDataset, min_overlap: int) -> tuple[IntArray, IntArray, int]:
    """Keys ``a * R + b`` (ascending) and overlaps of the pairs that share enough, and how many pairs share a task."""
    n = dataset.n_workers
    if n**2 <= _TABLE:
        table = np.zeros(n**2, np.int32)
        for a, b in _meetings(dataset):
            np.add.at(table, dataset.worker[a].astype(np.int64) * n + dataset.worker[b], np.int32(1))
        met = np.flatnonzero(table)
        overlap = table[met].astype(np.int64)
    else:
        ones = np.ones(dataset.n_annotations, np.int32)
        shape = (dataset.n_tasks, n)
        incidence = scipy.sparse.csr_array((ones, dataset.worker, dataset.task_start), shape=shape)
        both = scipy.sparse.triu(incidence.T @ incidence, 1).tocoo()
        met, overlap = both.row.astype(np.int64) * n + both.col, both.data.astype(np.int64)
    enough = np.flatnonzero(overlap >= min_overlap)
    most = max(1, _MOST // max(dataset.n_classes, 1))
    if len(enough) > most:
        enough = enough[np.argsort(-overlap[enough], kind="stable")[:most]]
    enough = enough[np.argsort(met[enough])]
    return met[enough], overlap[enough], len(met)


def _meetings(dataset: CrowdDataset) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of annotations of one task, that of the lower worker first; at most A at a time: 1 apart, 2 apart, …"""
    task, worker = dataset.task, dataset.worker
    first, apart = np.arange(len(task)), 0
    while True:
        apart += 1
        first = first[: np.searchsorted(first, len(task) - apart)]
        first = first[task[first + apart] == task[first]]
        if not len(first):
            return
        second = first + apart
        swap = worker[first] > worker[second]
        yield np.where(swap, second, first), np.where(swap, first, second)


def _events(dataset: CrowdDataset, key: IntArray) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray]]:
    """Meetings of the pairs of workers in ``key``: one of the annotations, pair, label a, label b."""
    if not len(key):
        return
    find = _finder(key, dataset.n_workers)
    for a, b in _meetings(dataset):
        pair = find(dataset.worker[a].astype(np.int64) * dataset.n_workers + dataset.worker[b])
        hit = pair >= 0
        yield a[hit], pair[hit], dataset.label[a[hit]], dataset.label[b[hit]]


def _finder(key: IntArray, n_workers: int) -> Callable[[IntArray], IntArray]:
    """Where keys stand in ``key``, -1 = nowhere; by a table of all pairs where that is small."""
    if n_workers**2 <= _TABLE:
        table = np.full(n_workers**2, -1, np.int64)
        table[key] = np.arange(len(key))
        return table.__getitem__

    def search(wanted: IntArray) -> IntArray:
        at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        return np.asarray(np.where(key[at] == wanted, at, -1))

    return search
