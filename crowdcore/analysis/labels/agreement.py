"""Agreement between workers beyond chance: coefficients, their differences, and kappa of every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.analysis.statistics import bootstrap_weights, divide, percentile_interval, sparse_votes
from crowdcore.core.mistakes import repeats
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door
from crowdcore.data.report import plural

_MOST = 10_000_000  # entries of the (pairs, C) tables; pairs with most overlap come first
_TABLE = 10_000_000  # pairs of workers up to which they are looked up in a table


@dataclass(frozen=True, eq=False)
class PairKappa(Shown):
    """Aligned arrays, one entry per pair of workers with at least ``min_overlap`` tasks in common.

    Attributes:
        worker_a, worker_b: (P,) numbers of the workers, the smaller one first.
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
        pair = {"worker": self.worker_ids[self.worker_a], "other": self.worker_ids[self.worker_b]}
        frame = pd.DataFrame({**pair, "kappa": self.kappa, "agreement": self.agreement, "overlap": self.overlap})
        return frame.sort_values("kappa", ascending=False, kind="stable", ignore_index=True)


@door
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
    kappa = divide(above, room)
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
    pull = np.bincount(dataset.unit, pull).astype(np.float64)  # the tokens of a sentence are drawn together
    error = float(np.sqrt((pull**2).sum()) / defined.sum()) if defined.any() else np.nan
    a, b = np.divmod(key, max(dataset.n_workers, 1))
    return PairKappa(a, b, overlap, agree / overlap, kappa, min_overlap, n_pairs, mean, error, dataset.worker_ids)


def _overlapping(dataset: CrowdDataset, min_overlap: int) -> tuple[IntArray, IntArray, int]:
    """Keys ``a * R + b`` (ascending) and overlaps of the pairs that share enough, and the number that share a task."""
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
    """Return a function that finds places of keys in ``key``, -1 = absent; by a table of all pairs if it is small."""
    if n_workers**2 <= _TABLE:
        table = np.full(n_workers**2, -1, np.int64)
        table[key] = np.arange(len(key))
        return table.__getitem__

    def search(wanted: IntArray) -> IntArray:
        at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        return np.asarray(np.where(key[at] == wanted, at, -1))

    return search


NAMES = {
    "raw": "Raw agreement",
    "alpha": "Krippendorff's α",
    "fleiss": "Fleiss' κ",
    "ac1": "Gwet's AC1",
    "cohen": "Cohen's κ, mean over pairs",
}


@dataclass(frozen=True)
class Coefficient:
    """One agreement coefficient.

    Attributes:
        name: name of the coefficient.
        value: its value; NaN if ``state`` gives a reason for having none.
        low, high: ends of its interval over tasks, of tags over sentences; NaN without one.
        tasks, annotations: tasks with labels by at least two workers behind it, and their annotations.
        state: empty, or the reason why there is no value, such as "not enough overlap: …".
    """

    name: str
    value: float
    low: float
    high: float
    tasks: int
    annotations: int
    state: str = ""


@dataclass(frozen=True, eq=False)
class Agreement(Shown):
    """All coefficients of one dataset.

    Attributes:
        raw: mean over tasks of the share of pairs of labels that are equal.
        alpha: Krippendorff's alpha, nominal.
        fleiss: Fleiss' kappa for unequal numbers of labels.
        ac1: Gwet's AC1.
        cohen: mean Cohen's kappa over pairs of workers.
        pairs: kappa of every pair with enough overlap; None if not computed.
        chance: agreement by chance that kappa and AC1 expect.
        n_repeats: annotations left out because the worker had labelled the task before.
        resamples: bootstrap resamples behind the intervals, 0 = none.
        sentence: reason why coefficients differ, and the answers that do not count; empty if they agree and all do.
    """

    classes: tuple[str, ...]
    raw: Coefficient
    alpha: Coefficient
    fleiss: Coefficient
    ac1: Coefficient
    cohen: Coefficient
    pairs: PairKappa | None
    chance: tuple[float, float]
    n_repeats: int
    resamples: int
    sentence: str

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """All coefficients, raw agreement first."""
        return (self.raw, self.alpha, self.fleiss, self.ac1, self.cohen)

    def frame(self) -> pd.DataFrame:
        """One row per coefficient."""
        return pd.DataFrame([vars(c) for c in self.coefficients]).rename(columns={"name": "coefficient"})


@door
def agreement(
    dataset: CrowdDataset,
    *,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    min_overlap: int = 10,
    pairs: bool = True,
) -> Agreement:
    """Measure the agreement between workers; of a worker's repeats on a task only the first counts.

    With ``n_ic`` labels c among the ``n_i`` labels of task i and ``P_i = sum_c n_ic (n_ic - 1) / (n_i (n_i - 1))``:

    * raw: mean of P_i over tasks with ``n_i >= 2``;
    * Krippendorff's alpha (nominal): over tasks with ``n_i >= 2``,
      ``1 - (n - 1) (n - sum_i (n_i - 1)^-1 sum_c n_ic (n_ic - 1)) / (n^2 - sum_c n_c^2)``;
    * Fleiss' kappa for unequal numbers (Gwet 2014, ch. 2): ``(raw - p_e) / (1 - p_e)``, ``p_e = sum_c share_c^2``,
      ``share_c`` = mean of ``n_ic / n_i`` over all labelled tasks; Fleiss' own if all n_i are equal;
    * AC1 (Gwet 2008): the same with ``p_e = sum_c share_c (1 - share_c) / (C - 1)``, C = classes of the class list;
    * mean Cohen's kappa over the pairs of workers with at least ``min_overlap`` tasks in common.

    Intervals are percentiles of a bootstrap over tasks, of tags over sentences; Cohen's is normal with the bootstrap's
    linear form (infinitesimal jackknife), as its pairs of workers are too many to recompute.

    Args:
        n_resamples, level, seed: of the bootstrap, 0 resamples = no intervals; fewer are drawn where millions of tasks
            all differ.
        min_overlap: fewest tasks with two workers (and fewest tasks in common of a pair) that count as enough.
        pairs: compute Cohen's kappa of the pairs of workers.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.analysis.agreement(cc.load_dataset("demo"), n_resamples=0, pairs=False)
        >>> round(result.alpha.value, 3)
        0.568
    """
    repeated = repeats(dataset.task, dataset.worker, dataset.n_workers)
    once = dataset.where(~repeated) if repeated.any() else dataset
    profiles, sizes, unit = _tokens(once) if once.kind.sequential else _profiles(sparse_votes(once))
    n_resamples = min(n_resamples, 100_000_000 // max(len(unit), 1))
    values, chance, shares = _coefficients(profiles, sizes[unit, None].astype(np.float64), dataset.n_classes)
    low, high = np.full((2, 4), np.nan)
    if n_resamples and len(sizes):
        rng = np.random.default_rng(seed)
        step = max(1, 10_000_000 // len(unit))
        blocks = [min(step, n_resamples - done) for done in range(0, n_resamples, step)]
        drawn = [_coefficients(profiles, bootstrap_weights(sizes, b, rng)[unit], dataset.n_classes)[0] for b in blocks]
        low, high = percentile_interval(np.hstack(drawn), level)
    several = once.labels_per_task >= 2
    overlap = int(several.sum()), int(once.labels_per_task[several].sum())
    short = _state(overlap[0], min_overlap, dataset.n_classes)
    raw, alpha, fleiss, ac1 = (
        _coefficient(name, float(value), float(lo), float(hi), overlap, short)
        for name, value, lo, hi in zip(NAMES, values[:, 0], low, high, strict=False)
    )
    kappas = pair_kappa(once, min_overlap) if pairs else None
    cohen = _cohen(kappas, overlap, level if n_resamples else None)
    by_chance = float(chance[0, 0]), float(chance[1, 0])
    top = (dataset.classes[int(shares.argmax())], float(shares.max())) if len(sizes) else ("", np.nan)
    result = raw, alpha, fleiss, ac1, cohen
    sentence = _explain(np.array([c.value for c in result]), by_chance, top, kappas)
    if repeated.any():
        again = int(repeated.sum())
        sentence = (
            f"{sentence} Of a worker's answers to a task only the first counts: {again:,} more are left out.".strip()
        )
    return Agreement(dataset.classes, *result, kappas, by_chance, int(repeated.sum()), n_resamples, sentence)


def _tokens(dataset: CrowdDataset) -> tuple[scipy.sparse.csr_array, IntArray, IntArray]:
    """Rows of the labelled tokens, and the sentences to draw: once each, and the number of each row's sentence."""
    rows = np.flatnonzero(dataset.annotated)
    sentences, of = np.unique(dataset.unit[rows], return_inverse=True)
    return sparse_votes(dataset)[rows], np.ones(len(sentences), np.int64), of


def _profiles(votes: scipy.sparse.csr_array) -> tuple[scipy.sparse.csr_array, IntArray, IntArray]:
    """Distinct rows among the labelled tasks, their numbers of tasks, and 0, 1, …, for a bootstrap over tasks.

    Rows are distinguished by a random 64-bit sum (Zobrist hash): two of n rows collide with probability n^2 / 2^65.
    """
    rows = np.flatnonzero(np.diff(votes.indptr))
    if not len(rows):
        return votes[:0], np.empty(0, np.int64), rows
    keys = np.random.default_rng(0).integers(0, 2**64, votes.shape[1], dtype=np.uint64)
    hashed = np.add.reduceat(keys[votes.indices] * votes.data.astype(np.uint64), votes.indptr[rows])
    _, first, sizes = np.unique(hashed, return_index=True, return_counts=True)
    return votes[rows[first]], sizes, np.arange(len(first))


def _coefficients(
    profiles: scipy.sparse.csr_array, weight: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Raw, alpha, kappa, AC1 for each column of ``weight`` (profiles, B): (4, B), chance (2, B), shares (C, B)."""
    size = np.asarray(profiles.sum(1)).ravel()
    squares = np.asarray(profiles.power(2).sum(1)).ravel()
    several = size >= 2
    pairs = np.where(several, squares - size, 0.0)
    divided = np.divide(pairs, size - 1, out=np.zeros_like(pairs), where=several)  # alpha's coincidences
    per_task = np.divide(divided, size, out=np.zeros_like(pairs), where=several)
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = (per_task @ weight) / (several @ weight)
        shares = (scipy.sparse.diags_array(1 / size) @ profiles).T @ weight / weight.sum(0)
        kappa_chance = (shares**2).sum(0)
        ac1_chance = (shares * (1 - shares)).sum(0) / (n_classes - 1) if n_classes > 1 else np.full(len(raw), np.nan)
        n = np.where(several, size, 0.0) @ weight
        by_class = (profiles.T * several) @ weight
        alpha = 1 - (n - 1) * (n - divided @ weight) / (n**2 - (by_class**2).sum(0))
        values = [raw, alpha, (raw - kappa_chance) / (1 - kappa_chance), (raw - ac1_chance) / (1 - ac1_chance)]
    values = [np.where(np.isfinite(v), v, np.nan) for v in values]
    return np.stack(values), np.stack([kappa_chance, ac1_chance]), np.asarray(shares)


def _state(n_tasks: int, min_overlap: int, n_classes: int) -> str:
    if n_classes < 2:
        return "one class only: agreement is not defined"
    if n_tasks < min_overlap:
        return (
            f"not enough overlap: {plural(n_tasks, 'task')} with labels by two workers or more, of {min_overlap} needed"
        )
    return ""


def _coefficient(key: str, value: float, low: float, high: float, overlap: tuple[int, int], short: str) -> Coefficient:
    state = short or ("only one label was ever given: chance alone would agree" if np.isnan(value) else "")
    if state:
        value = low = high = np.nan
    return Coefficient(NAMES[key], value, low, high, *overlap, state)


def _cohen(kappas: PairKappa | None, overlap: tuple[int, int], level: float | None) -> Coefficient:
    from scipy.special import ndtri

    name = NAMES["cohen"]
    if kappas is None:
        return Coefficient(name, np.nan, np.nan, np.nan, *overlap, "not asked for")
    if np.isnan(kappas.mean):
        state = (
            f"not enough overlap: none of {plural(kappas.n_pairs, 'pair')} of workers has {kappas.min_overlap} tasks "
            "in common"
            if not len(kappas.kappa)
            else "every pair with enough overlap gave one label only"
        )
        return Coefficient(name, np.nan, np.nan, np.nan, *overlap, state)
    reach = float(ndtri((1 + level) / 2)) * kappas.mean_error if level else np.nan
    return Coefficient(name, kappas.mean, kappas.mean - reach, kappas.mean + reach, *overlap)


_APART = 0.15
_FEW_OTHERS = 5.0  # labels other than the most frequent that a pair must share, as in tests of 2 x 2 tables


def _too_low(kappas: PairKappa) -> float:
    """Bias of the mean of plug-in kappas below one whose chance counts no task twice.

    Without a task's own two labels, ``p_e`` is ``(n p_e - p_o) / (n - 1)``.
    """
    n, agreed, kappa = kappas.overlap, kappas.agreement, kappas.kappa
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = (n * (agreed - kappa) / (1 - kappa) - agreed) / (n - 1)
        gain = (agreed - chance) / (1 - chance) - kappa
    return float(gain[np.isfinite(gain)].sum() / max(np.isfinite(kappa).sum(), 1))


def _explain(values: FloatArray, chance: tuple[float, float], top: tuple[str, float], kappas: PairKappa | None) -> str:
    """Sentences about surprising differences between coefficients, given in the order of `NAMES`; empty without any."""
    raw, alpha, fleiss, ac1, cohen = values
    sentences = []
    if raw >= 0.7 and ac1 - fleiss > _APART:
        sentences.append(
            f"Two labels of a task agree in {100 * raw:.0f} % of cases, yet Fleiss' κ is only {fleiss:z.2f}: "
            f"{top[0]!r} takes {100 * top[1]:.0f} % of the labels, so κ and α expect {100 * chance[0]:.0f} % agreement "
            f"by chance and leave little room above it (the kappa paradox). AC1 ({ac1:z.2f}) expects "
            f"{100 * chance[1]:.0f} %."
        )
    elif abs(ac1 - fleiss) > _APART:
        sentences.append(
            f"AC1 ({ac1:z.2f}) and Fleiss' κ ({fleiss:z.2f}) differ because they expect different agreement by chance: "
            f"{100 * chance[1]:.0f} % against {100 * chance[0]:.0f} %."
        )
    if abs(alpha - fleiss) > _APART / 3:
        sentences.append(
            f"α ({alpha:z.2f}) leaves out tasks with one label and weighs tasks by their labels, Fleiss' κ "
            f"({fleiss:z.2f}) weighs tasks alike: tasks with more labels agree differently."
        )
    if np.isfinite(cohen) and abs(cohen - fleiss) > _APART:
        sentences.append(
            f"The mean over pairs of workers ({cohen:z.2f}) weighs every pair alike and allows each worker their own "
            f"label frequencies, Fleiss' κ ({fleiss:z.2f}) weighs tasks alike and has one frequency for all: a few "
            "workers or pairs behave differently from the rest."
        )
    if np.isfinite(cohen) and kappas is not None:
        overlap, low = float(np.median(kappas.overlap)), _too_low(kappas)
        if overlap * (1 - top[1]) < _FEW_OTHERS or low > kappas.mean_error / 2:
            sentences.append(
                f"Half of the pairs behind Cohen's κ have no more than {overlap:.0f} tasks in common: the mean is too "
                "low, drawn towards 0, and its interval leaves that out."
            )
    return " ".join(sentences)
