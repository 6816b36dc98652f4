"""Agreement between workers beyond chance: coefficients, intervals, and why they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.analysis.evaluation.bootstrap import interval, weights
from crowdcore.analysis.labels.agreement_words import explain
from crowdcore.analysis.labels.cohen import PairKappa, pair_kappa
from crowdcore.analysis.labels.votes import sparse_votes
from crowdcore.core.kernels_mistakes import repeats
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.report import plural

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
        name: what it is called.
        value: the coefficient; NaN if ``state`` says why there is none.
        low: lower end of its interval over tasks, of tags over sentences; NaN if there is none or it was not asked for.
        high: upper end.
        tasks: tasks with labels by at least two workers that it rests on.
        annotations: annotations on these tasks.
        state: empty, or why there is no value, such as "not enough overlap: …".
    """

    name: str
    value: float
    low: float
    high: float
    tasks: int
    annotations: int
    state: str = ""


@dataclass(frozen=True, eq=False)
class Agreement:
    """All coefficients of one dataset.

    Attributes:
        raw: mean over tasks of the share of pairs of labels that are equal.
        alpha: Krippendorff's alpha, nominal.
        fleiss: Fleiss' kappa for unequal numbers of labels.
        ac1: Gwet's AC1.
        cohen: mean Cohen's kappa over pairs of workers.
        pairs: kappa of every pair with enough overlap; None if not asked for.
        chance: agreement by chance that kappa and AC1 expect.
        n_repeats: annotations left out because the worker had labelled the task before.
        resamples: bootstrap resamples behind the intervals, 0 = none.
        sentence: why coefficients differ, empty if they tell the same.
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


def agreement(
    dataset: CrowdDataset,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    min_overlap: int = 10,
    pairs: bool = True,
) -> Agreement:
    """Agreement between workers; a worker's repeats on a task say nothing about that, so only the first counts.

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
        resamples: bootstrap resamples, 0 = no intervals; fewer are drawn where millions of tasks all differ.
        level: of the intervals.
        seed: of the bootstrap.
        min_overlap: fewest tasks with two workers (and fewest tasks in common of a pair) that count as enough.
        pairs: compute Cohen's kappa of the pairs of workers.

    Examples:
        >>> import crowdcore as cc
        >>> found = cc.analysis.agreement(cc.load_dataset("demo"), resamples=0, pairs=False)
        >>> round(found.alpha.value, 3)
        0.568
    """
    repeated = repeats(dataset.task, dataset.worker, dataset.n_workers)
    once = dataset.where(~repeated) if repeated.any() else dataset
    profiles, sizes, unit = _profiles(sparse_votes(once)) if once.sentences is None else _tokens(once)
    resamples = min(resamples, 100_000_000 // max(len(unit), 1))
    values, chance, shares = _coefficients(profiles, sizes[unit, None].astype(np.float64), dataset.n_classes)
    low, high = np.full((2, 4), np.nan)
    if resamples and len(sizes):
        rng = np.random.default_rng(seed)
        step = max(1, 10_000_000 // len(unit))
        blocks = [min(step, resamples - done) for done in range(0, resamples, step)]
        drawn = [_coefficients(profiles, weights(sizes, b, rng)[unit], dataset.n_classes)[0] for b in blocks]
        low, high = interval(np.hstack(drawn), level)
    several = once.labels_per_task >= 2
    overlap = int(several.sum()), int(once.labels_per_task[several].sum())
    short = _state(overlap[0], min_overlap, dataset.n_classes)
    raw, alpha, fleiss, ac1 = (
        _coefficient(name, float(value), float(lo), float(hi), overlap, short)
        for name, value, lo, hi in zip(NAMES, values[:, 0], low, high, strict=False)
    )
    kappas = pair_kappa(once, min_overlap) if pairs else None
    cohen = _cohen(kappas, overlap, level if resamples else None)
    by_chance = float(chance[0, 0]), float(chance[1, 0])
    top = (dataset.classes[int(shares.argmax())], float(shares.max())) if len(sizes) else ("", np.nan)
    shared = float(np.median(kappas.overlap)) if kappas is not None and len(kappas.overlap) else np.inf
    told = raw.value, alpha.value, fleiss.value, ac1.value, cohen.value
    words = explain(*told, chance=by_chance, top=top, overlap=shared)
    n_repeats = int(repeated.sum())
    return Agreement(dataset.classes, raw, alpha, fleiss, ac1, cohen, kappas, by_chance, n_repeats, resamples, words)


def _tokens(dataset: CrowdDataset) -> tuple[scipy.sparse.csr_array, IntArray, IntArray]:
    """Rows of the labelled tokens, and the sentences that are drawn: once each, and which one every row belongs to."""
    assert dataset.sentences is not None
    some = np.flatnonzero(dataset.annotated)
    sentences, of = np.unique(dataset.sentences.of_task[some], return_inverse=True)
    return sparse_votes(dataset)[some], np.ones(len(sentences), np.int64), of


def _profiles(votes: scipy.sparse.csr_array) -> tuple[scipy.sparse.csr_array, IntArray, IntArray]:
    """Distinct rows among the labelled tasks, how many tasks have each, and 0, 1, …: what a bootstrap over tasks needs.

    Rows are told apart by a random 64-bit sum (Zobrist hash): two of n rows collide with probability n^2 / 2^65.
    """
    some = np.flatnonzero(np.diff(votes.indptr))
    if not len(some):
        return votes[:0], np.empty(0, np.int64), some
    keys = np.random.default_rng(0).integers(0, 2**64, votes.shape[1], dtype=np.uint64)
    hashed = np.add.reduceat(keys[votes.indices] * votes.data.astype(np.uint64), votes.indptr[some])
    _, first, sizes = np.unique(hashed, return_index=True, return_counts=True)
    return votes[some[first]], sizes, np.arange(len(first))


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
        return "one class only: agreement says nothing"
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
