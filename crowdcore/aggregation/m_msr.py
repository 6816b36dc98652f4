"""M-MSR: skills from how often pairs of workers agree, robust to adversaries."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse

from crowdcore.aggregation.base import AggregationResult, Aggregator, exchanged
from crowdcore.aggregation.majority_vote import weighted_votes
from crowdcore.core.counts import clamp, softmax_rows
from crowdcore.core.errors import DataError
from crowdcore.core.settings import setting
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_SMALLEST = 1e-6  # sizes of skills are kept above this, as they divide
_SIGN_STEPS = 200  # power iterations that find which workers answer against the others


class _Pairs(NamedTuple):
    """Ordered pairs of workers with common tasks, sorted by the first.

    Attributes:
        first, second: (n_pairs,) workers.
        start: (n_workers + 1,) a worker's pairs are ``start[r]:start[r + 1]``.
        agreement: (n_pairs,) ``C/(C-1) · share of common tasks with equal labels - 1/(C-1)``.
        linked: (n_workers,) number of the worker's set of workers who are linked by common tasks.
        blind: (n_workers,) workers whose skill does not follow from any agreement.
    """

    first: IntArray
    second: IntArray
    start: IntArray
    agreement: FloatArray
    linked: IntArray
    blind: BoolArray


class MMSR(Aggregator):
    """Matrix mean-subsequence-reduced: robust rank-one factorisation of the workers' agreements.

    With skill ``s_r = (C P(right) - 1)/(C - 1)``, errors being even, the agreement of two workers on their common
    tasks satisfies ``E[C/(C-1) A_rs - 1/(C-1)] = s_r s_s``. |s| is found by alternating trimmed means of
    ``|A_rs|/|s_s|`` over the partners s of r, which leave out up to F values above and F below the present |s_r|
    (adversaries may collude in any way if few enough); the signs are those of the leading eigenvector of A, most
    workers being better than chance. Then ``q_i(c) ∝ Π_{r: y_i^r = c} (C-1) p_r/(1-p_r)`` with
    ``p_r = s_r (C-1)/C + 1/C``: the paper's weighted vote, its weights read as log odds.

    Only pairs of workers with common tasks are stored. Starts from equal skills; stops when none moves.
    Known tasks count as answered by one further worker. Workers whose skill does not follow from any
    agreement have the mean skill of the others.
    """

    name: ClassVar[str] = "m-msr"
    title: ClassVar[str] = "M-MSR (robust rank-one matrix completion)"
    paper: ClassVar[str] = "Ma & Olshevsky, NeurIPS 2020, arXiv:2010.12181"

    max_iterations: int = setting(
        1000, "Rounds at most", "Maximum number of rounds of trimmed means.", ge=1, le=100_000
    )
    tolerance: float = setting(1e-8, "Tolerance (skill)", "Stop when no skill moves more than this.", gt=0)
    corrupted: int | None = setting(
        None,
        "Corrupted partners per worker",
        "F, corrupted partners that a worker may have; empty: half of the fewest partners.",
        ge=0,
    )

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        if dataset.n_classes < 2:
            raise DataError(f"{dataset.name} has one class only", "Agreement says nothing.")
        pairs = _pairs(dataset, known)
        size, converged = self._sizes(pairs)
        margin = 1 / np.sqrt(max(int(dataset.annotated.sum()), 4))
        rest = dataset.n_classes - 1
        skill = np.clip(size * _signs(pairs, size), -1 / rest + margin, 1 - margin)[: dataset.n_workers]
        blind = pairs.blind[: dataset.n_workers]
        skill[blind] = skill[~blind & (dataset.labels_per_worker > 0)].mean()
        right = skill * rest / dataset.n_classes + 1 / dataset.n_classes
        weight = np.log(rest * right / (1 - right))
        posterior = weighted_votes(dataset, weight[dataset.worker])
        softmax_rows(posterior)
        if exchanged(dataset, known, posterior):
            posterior, skill = posterior[:, ::-1].copy(), -skill
        clamp(posterior, known)
        unknown = f"{int(blind.sum())} workers share tasks with too few others to be compared; they have the mean skill"
        notes = (f"{unknown} of the others.",) if blind.any() else ()
        return self.result(
            dataset,
            posterior,
            known=known,
            worker_weight=np.where(dataset.labels_per_worker > 0, skill, np.nan),
            converged=converged,
            notes=notes,
            stopped=f"no skill moved by {self.tolerance:g}" if converged else f"cap: {self.max_iterations} rounds",
        )

    def _sizes(self, pairs: _Pairs) -> tuple[FloatArray, bool]:
        """(n_workers,) |s|, and whether it converged."""
        target, partners = np.abs(pairs.agreement), np.diff(pairs.start)
        fewest = int(partners[partners > 0].min())
        trim = max(fewest // 2 - 1, 0) if self.corrupted is None else self.corrupted
        left = np.full(len(partners), max(np.sqrt(target.mean()), _SMALLEST))
        right = left
        for _ in range(self.max_iterations):
            before = left
            right = _trimmed_means(pairs, target / left[pairs.second], right, trim)
            left = _trimmed_means(pairs, target / right[pairs.second], left, trim)
            norms = [np.bincount(pairs.linked, side**2) for side in (left, right)]
            balance = ((norms[0] / norms[1]) ** 0.25)[pairs.linked]
            left, right = left / balance, right * balance
            if np.abs(left - before).max() < self.tolerance:
                return left, True
        return left, False


def _trimmed_means(pairs: _Pairs, values: FloatArray, own: FloatArray, trim: int) -> FloatArray:
    """(n_workers,) mean of a worker's ``values`` (n_pairs,) without up to ``trim`` above and below ``own``."""
    n_workers = len(own)
    low, high = pairs.start[:-1], pairs.start[1:]
    if trim:
        reference = own[pairs.first]
        low = low + np.minimum(np.bincount(pairs.first, values < reference, n_workers).astype(int), trim)
        high = high - np.minimum(np.bincount(pairs.first, values > reference, n_workers).astype(int), trim)
        values = values[np.argsort(pairs.first + values / (1 + values))]  # by worker, then by value
    total = np.concatenate([[0.0], np.cumsum(values)])
    mean = (total[high] - total[np.minimum(low, high)]) / np.maximum(high - low, 1)
    return np.where(high > low, np.maximum(mean, _SMALLEST), own)


def _signs(pairs: _Pairs, size: FloatArray) -> FloatArray:
    """(n_workers,) ±1: signs of the leading eigenvector of each linked set's agreements, most of its skill positive."""
    n_workers = len(size)
    shift = 0.5 * np.bincount(pairs.first, np.abs(pairs.agreement), n_workers).max(initial=0.0) + _SMALLEST
    vector = size.copy()
    for _ in range(_SIGN_STEPS):
        before = vector
        vector = np.bincount(pairs.first, pairs.agreement * vector[pairs.second], n_workers) + shift * vector
        largest = np.zeros(pairs.linked.max() + 1)
        np.maximum.at(largest, pairs.linked, np.abs(vector))
        vector /= np.maximum(largest, _SMALLEST)[pairs.linked]
        if np.abs(vector - before).max() < _SMALLEST:
            break
    sign = np.where(vector < 0, -1.0, 1.0)
    against = np.bincount(pairs.linked, sign * size) < 0
    return np.where(against[pairs.linked], -sign, sign)


def _pairs(dataset: CrowdDataset, known: IntArray | None) -> _Pairs:
    """Agreements of all pairs with common tasks; known tasks are answered by a last worker.

    Raises:
        DataError: no worker's skill follows from the agreements.
    """
    task, worker, label = dataset.task, dataset.worker, dataset.label
    if known is not None:
        labelled = np.flatnonzero(known >= 0).astype(np.int32)
        task, label = np.append(task, labelled), np.append(label, known[labelled])
        worker = np.append(worker, np.full(len(labelled), dataset.n_workers, np.int32))
    n_workers, n_classes = dataset.n_workers + (known is not None), dataset.n_classes
    ones = np.ones(len(task))
    answered = scipy.sparse.csr_array((ones, (worker, task)), shape=(n_workers, dataset.n_tasks))
    cell = task.astype(np.int64) * n_classes + label
    answers = scipy.sparse.csr_array((ones, (worker, cell)), shape=(n_workers, dataset.n_tasks * n_classes))
    common = scipy.sparse.csr_array(answered @ answered.T)
    common.setdiag(0)
    common.eliminate_zeros()
    common.sort_indices()
    first = np.repeat(np.arange(n_workers), np.diff(common.indptr))
    equal = np.asarray((answers @ answers.T)[first, common.indices]).ravel()
    agreement = (n_classes * equal / common.data - 1) / (n_classes - 1)
    active = np.bincount(worker, minlength=n_workers) > 0
    linked, blind = _linked(common, active)
    if blind[active].all():
        raise DataError(
            f"M-MSR compares workers with at least two others on common tasks, but all {int(active.sum())} workers of "
            f"{dataset.name} share tasks with too few others",
            "Use 'one-coin'.",
        )
    return _Pairs(first, common.indices, common.indptr, agreement, linked, blind)


def _linked(common: scipy.sparse.csr_array, active: BoolArray) -> tuple[IntArray, BoolArray]:
    """(n_workers,) number of each worker's set of workers linked by common tasks, and the workers of blind sets.

    A product of two skills determines neither: each linked set needs an odd cycle, that is, its double cover (two
    copies of each worker, each linked to the other copies of the partners) must be connected.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import, and not needed to list aggregators

    cover = scipy.sparse.block_array([[None, common], [common, None]], format="csr")
    half = connected_components(cover, directed=False)[1]
    blind = active & (half[: len(active)] != half[len(active) :])
    return np.asarray(connected_components(common, directed=False)[1]), np.asarray(blind)
