"""Pass rate and accuracy of a panel from few gold labels: prediction-powered intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtr, stdtrit

from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import check_share, exact_interval
from crowdcore.core.counts import vote_counts, vote_shares
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_FEWEST = 20  # gold labels
_CHOSEN = 0.01  # p-value below which gold was surely not drawn at random
_RARE = 10  # gold labels for and against, below which the interval also holds that of exact counts
_EDGE = 0.02  # of a ratio, within which the logit scale keeps its interval
_NOT_RANDOM = (
    "Items with gold differ from the others in their votes (p = {p:.3g}): gold was not drawn at random, and then the "
    "intervals do not hold. Draw items for gold at random."
)
_LEFT = (
    "Intervals hold where gold was drawn at random from all items, whatever the judges' mistakes. They are about these "
    "items, not about those to come."
)


@dataclass(frozen=True, eq=False)
class HonestScore(Shown):
    """Shares of all items, from gold of some and verdicts on all; arrays with one entry per name.

    Attributes:
        names: pass rate, accuracy and true-positive rate.
        estimate, low, high: by gold and verdicts.
        gold, gold_low, gold_high: by the items with gold alone.
        verdicts: by the verdicts alone; NaN where impossible.
        n_gold, n_items: items with gold, and all.
        next_items: (k,) numbers of the items to label next, evenly spread over the verdicts.
        next_low, next_high: expected intervals with gold of these, too.
        task_ids: names of all tasks.
        notes: caveats.
    """

    names: tuple[str, ...]
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    gold: FloatArray
    gold_low: FloatArray
    gold_high: FloatArray
    verdicts: FloatArray
    n_gold: int
    n_items: int
    next_items: IntArray
    next_low: FloatArray
    next_high: FloatArray
    task_ids: pd.Index[str]
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per share."""
        columns = ("estimate", "low", "high", "gold", "gold_low", "gold_high", "verdicts", "next_low", "next_high")
        return pd.DataFrame({"share": self.names, **{name: getattr(self, name) for name in columns}})


@door
def honest_score(
    dataset: CrowdDataset,
    passes: str,
    labels: ReferenceLike = None,
    *,
    level: float = 0.95,
    n_next: int = 40,
    seed: int = 0,
) -> HonestScore:
    """Estimate the share of items that pass and the accuracy of labels, with intervals valid whatever the judges do.

    With gold y of n of N items and a score f of all, the mean of y is estimated as ``ȳ + λ (F̄ - f̄)``, λ the slope of y
    on f among the items with gold (PPI++, Angelopoulos, Duchi & Zrnic 2023). The interval is Student's, by leverage
    residuals (HC3), and narrower where gold covers much of the items. The true-positive rate is a ratio, linearised on
    the logit scale. With fewer than 10 gold labels for or against, intervals also hold Clopper and Pearson's of gold
    alone: a sample without a failure does not show that there is none. The vote's shares are f; for accuracy, the share
    of the judged label.

    Items to label next are drawn with equal probability among those without gold, one from each stretch of the scores
    f: the intervals hold with these, too, and are narrower. Labelling only doubtful items would bias them.

    Args:
        dataset: with gold of 20 items or more, drawn at random.
        passes: the class that passes.
        labels: the labels to judge; None: the majority vote.
        level: of the intervals.
        n_next: number of items to label next, at most those without gold.
        seed: of their draw.

    Raises:
        DataError: fewer than 20 items with gold.
        SettingError: no such class.

    Examples:
        >>> import crowdcore as cc
        >>> demo = cc.load_dataset("demo")
        >>> score = honest_score(demo, demo.classes[0])
        >>> bool(score.high[0] - score.low[0] < score.gold_high[0] - score.gold_low[0])
        True
    """
    check_share(level=level)
    if passes not in dataset.classes:
        raise SettingError("passes", f"be one of {', '.join(dataset.classes[:8])}", passes)
    c = dataset.classes.index(passes)
    judged = resolve_reference(dataset, "majority-vote" if labels is None else labels)
    shares = vote_shares(vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes))
    items = np.flatnonzero(dataset.annotated & judged.known)
    has = dataset.gold[items] >= 0
    n = int(has.sum())
    if n < _FEWEST:
        raise DataError(f"{dataset.name} has {n} items with gold, and an honest score needs {_FEWEST} or more")
    given, true = judged.labels[items], dataset.gold[items][has]
    f, sure = shares[items, c], shares[items, given]
    passed, right, hit = (part.astype(np.float64) for part in (true == c, given[has] == true, given == c))
    none = np.zeros(len(items))

    def three(f: FloatArray, sure: FloatArray) -> FloatArray:
        rate = _ratio(passed * hit[has], passed, (f * hit)[has], f[has], f * hit, f, level)
        rows = _mean(passed, f[has], f, level), _mean(right, sure[has], sure, level), rate
        counted = zip(rows, (passed, right, hit[has][passed > 0]), strict=True)
        return np.array([_rare(row, y, 1 - n / len(items), level) for row, y in counted]).T

    (estimate, low, high), (gold, gold_low, gold_high) = three(f, sure), three(none, none)
    verdict_shares = np.array([hit.mean(), np.nan, np.nan])
    notes = (_LEFT, *_warn_of_selection(f, has))
    names = (f"passes: {passes}", "accuracy of the labels", f"share of {passes} that is found")
    after = _spread(f, np.flatnonzero(~has), n_next, seed)
    shrunk = (
        np.sqrt((1 / (n + len(after)) - 1 / len(items)) / max(1 / n - 1 / len(items), 1e-12)) if len(after) else 1.0
    )
    return HonestScore(
        names=names,
        estimate=estimate,
        low=low,
        high=high,
        gold=gold,
        gold_low=gold_low,
        gold_high=gold_high,
        verdicts=verdict_shares,
        n_gold=n,
        n_items=len(items),
        next_items=items[after],
        next_low=estimate - (estimate - low) * shrunk,
        next_high=estimate + (high - estimate) * shrunk,
        task_ids=dataset.task_ids,
        notes=notes,
    )


def _spread(f: FloatArray, of: IntArray, k: int, seed: int) -> IntArray:
    """Draw k of the items with equal probability, one from each of k stretches of equal size by f; in their order."""
    k = min(k, len(of))
    if k < 1:
        return of[:0]
    rng = np.random.default_rng(seed)
    by_score = of[np.lexsort((rng.random(len(of)), f[of]))]
    return np.sort(by_score[((np.arange(k) + rng.random()) * len(of) / k).astype(np.int64)])


def _warn_of_selection(f: FloatArray, has: BoolArray) -> tuple[str, ...]:
    """Warn if the scores of items with gold differ from the others'."""
    if has.all() or f.std() == 0:
        return ()
    error = f.std() * np.sqrt(1 / has.sum() + 1 / (~has).sum())
    p = float(2 * ndtr(-abs(f[has].mean() - f[~has].mean()) / error))
    return (_NOT_RANDOM.format(p=p),) if p < _CHOSEN else ()


def _tuned(y: FloatArray, f: FloatArray, every: FloatArray, level: float) -> tuple[float, float]:
    """Mean of y over all items, and half its interval's width."""
    n, off = len(y), f - f.mean()
    squares = float(off @ off)
    slope = max(float(off @ y) / squares, 0.0) if squares > 1e-12 else 0.0
    lever = off * off / squares if slope else 0.0
    left = (y - y.mean() - slope * off) / np.sqrt(1 - 1 / n - np.minimum(lever, 0.5))
    error = np.sqrt(float(left @ left) / n / n * (1 - n / len(every)))
    value = float(y.mean() + slope * (every.mean() - f.mean()))
    return value, float(stdtrit(n - 1 - (slope > 0), 0.5 + level / 2) * error)


def _mean(y: FloatArray, f: FloatArray, every: FloatArray, level: float) -> tuple[float, float, float]:
    value, half = _tuned(y, f, every, level)
    return min(max(value, 0.0), 1.0), max(value - half, 0.0), min(value + half, 1.0)


def _ratio(
    top: FloatArray, below: FloatArray, f: FloatArray, g: FloatArray, all_f: FloatArray, all_g: FloatArray, level: float
) -> tuple[float, float, float]:
    """Ratio of the mean of ``top`` to that of ``below``, with its interval; NaN if the latter is 0."""
    base = _tuned(below, g, all_g, level)[0]
    if not base > 0 or not below.any():
        return np.nan, np.nan, np.nan
    value = float(np.clip(_tuned(top, f, all_f, level)[0] / base, 0, 1))
    at = float(np.clip(value, _EDGE, 1 - _EDGE))
    half = _tuned(top - value * below, f - value * g, all_f - value * all_g, level)[1] / base / (at * (1 - at))
    return value, min(float(expit(logit(at) - half)), value), max(float(expit(logit(at) + half)), value)


def _rare(row: tuple[float, float, float], y: FloatArray, left: float, level: float) -> tuple[float, float, float]:
    """Widen an interval by that of the exact counts, if few of the gold labels y are 0 or 1."""
    k, n = float(y.sum()), len(y)
    if not n or min(k, n - k) >= _RARE:
        return row
    ends = exact_interval(np.array(k), np.array(float(n)), level)
    low, high = (k / n + (float(end) - k / n) * float(np.sqrt(left)) for end in ends)
    return row[0], min(row[1], low), max(row[2], high)
