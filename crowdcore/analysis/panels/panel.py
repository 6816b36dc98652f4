"""A panel of judges: how many votes it counts as, who errs with whom, and who can go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from crowdcore.analysis.panels.families import costs_by_column, families_by_column, model_families, unknown_verdicts
from crowdcore.analysis.panels.kin import Kin, kin
from crowdcore.analysis.panels.moments import EffectiveVotes, effective_votes, error_moments, vote_table
from crowdcore.analysis.panels.opinion import one_opinion, opinion_notes, votes_alone
from crowdcore.analysis.panels.vote import SubPanel, sub_panel, vote_score
from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import divide
from crowdcore.core.counts import confusion_counts
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door
from crowdcore.data.report import quoted

KEEP, MERGE, RECALIBRATE, DROP, UNDECIDED = "keep", "merge", "recalibrate", "drop", "undecided"
"""Verdicts on a judge."""
LIKE = "{like}"
"""Placeholder in a reason for the name of the similar judge."""
MANY = 0.75
"""Share of the judges who are wrong on an item that is wrong for the panel."""
_FEWEST = 10  # items with a known class
_SAME = 30  # verdicts from which always the same one is named
_OFF = 0.15  # of the labels that a judge moves from one class to others
_KNOWS = 0.5  # of the typical judge's knowledge, from which a judge who leans is recalibrated
_BLIND = 0.15  # of the way from chance to no mistake, below which a judge does not follow the items
_ALIKE = 0.5  # correlation from which one of two judges is enough
_BLOCK = 200_000  # items
_DRAWN = 5_000  # items used for the number of wrong judges under independence


@dataclass(frozen=True, eq=False)
class Panel(Shown):
    """A panel of judges against a reference; m judges, n items whose class is known.

    Attributes:
        worker_ids: (m,) names of the judges.
        families: (m,) family of each.
        reference: what counted as the truth.
        checked: whether that is gold, and not inferred from the verdicts that it judges.
        votes: effective votes, raw and within classes; with an inferred truth, the intervals are the ranges that
            verdicts alone leave open.
        opinion: gain in log-likelihood of one opinion over independent mistakes (`Opinion`), in nats; NaN with gold.
        correlation, within: (m, m) correlation of errors, raw and within true classes; NaN with fewer than 30 items.
        capa: (m, m) κp of Goel et al. (2025): agreement beyond what the two accuracies explain.
        shared: (m, m) items that both judged.
        accuracy: (m,) share of right verdicts.
        kappa: (m,) Cohen's κ with the truth; NaN where one class alone was given and true.
        alone, alone_expected: (m,) items on which a judge alone is right, and their number if errors were independent
            within classes.
        panel_accuracy: of the majority vote, each of k equal first places counting 1/k.
        without, without_low, without_high: (m,) accuracy of the vote without the judge minus with, and its interval, at
            5 % over all judges together; NaN where the truth was inferred from the verdicts.
        many_wrong, many_expected: share of items on which at least ¾ of the judges are wrong, and the share if errors
            were independent within classes.
        kin: judges who share mistakes beyond the rest, those who share most first.
        sub_panel: the cheapest part with an equally good vote; None if the truth was inferred.
        verdicts: (m,) drop, merge, recalibrate, keep, or undecided: too few verdicts, or no gold.
        reasons: (m,) reasons of the verdicts; LIKE stands for a judge's name.
        like: (m,) number of the judge for whom LIKE stands, -1 = none.
        task_ids: (n_tasks,) names of all items.
        table: (n_tasks, m) labels, -1 = none.
        truth: (n_tasks,) true classes, -1 = unknown.
    """

    worker_ids: pd.Index[str]
    families: tuple[str, ...]
    reference: str
    checked: bool
    votes: tuple[EffectiveVotes, ...]
    opinion: float
    correlation: FloatArray
    within: FloatArray
    capa: FloatArray
    shared: IntArray
    accuracy: FloatArray
    kappa: FloatArray
    alone: IntArray
    alone_expected: FloatArray
    panel_accuracy: float
    without: FloatArray
    without_low: FloatArray
    without_high: FloatArray
    many_wrong: float
    many_expected: float
    kin: tuple[Kin, ...]
    sub_panel: SubPanel | None
    verdicts: tuple[str, ...]
    reasons: tuple[str, ...]
    like: IntArray
    classes: tuple[str, ...]
    task_ids: pd.Index[str]
    table: AnyArray
    truth: IntArray

    @property
    def order(self) -> IntArray:
        """(m,) judges by family, the largest first, and by name within it."""
        size = pd.Series(self.families).map(pd.Series(self.families).value_counts()).to_numpy()
        return np.lexsort((np.arange(len(size)), np.asarray(self.families, object).astype(str), -size))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on classes that may be no verdicts, on judges of one verdict, and on their dependence without gold."""
        least, most = np.where(self.table < 0, len(self.classes), self.table).min(0), self.table.max(0)
        fixed = self.worker_ids[(least == most) & ((self.table >= 0).sum(0) >= _SAME)]
        adds = f"{quoted(fixed)} {'gives' if len(fixed) == 1 else 'give'} all items one verdict: that adds no vote."
        opinion = opinion_notes(self.opinion, len(self.families), len(self.classes))
        return (*unknown_verdicts(self.classes), *([adds] if len(fixed) else []), *opinion)

    @property
    def why(self) -> tuple[str, ...]:
        """(m,) reason of each verdict, with names."""
        names = [str(self.worker_ids[j]) for j in self.like]
        rows = zip(self.reasons, names, self.like, strict=True)
        return tuple(reason.replace(LIKE, name) if at >= 0 else reason for reason, name, at in rows)

    def frame(self) -> pd.DataFrame:
        """One row per judge."""
        columns = {name: getattr(self, name) for name in ("accuracy", "kappa", "alone", "alone_expected", "without")}
        ends = {"without low": self.without_low, "without high": self.without_high}
        verdicts = {"verdict": self.verdicts, "reason": self.why}
        return pd.DataFrame({"worker": self.worker_ids, "family": self.families, **verdicts, **columns, **ends})

    def votes_frame(self) -> pd.DataFrame:
        """One row for each way to count effective votes."""
        return pd.DataFrame([vars(one) for one in self.votes])

    def pairs_frame(self) -> pd.DataFrame:
        """One row per pair of judges, the highest correlation of errors first."""
        a, b = np.triu_indices(len(self.families), 1)
        family = np.asarray(self.families, object)
        columns = {"worker": self.worker_ids[a], "other": self.worker_ids[b], "one family": family[a] == family[b]}
        numbers = {name: getattr(self, name)[a, b] for name in ("correlation", "within", "capa", "shared")}
        frame = pd.DataFrame({**columns, **numbers}).rename(
            columns={"shared": "shared tasks", "within": "within classes"}
        )
        return frame.sort_values("within classes", ascending=False, kind="stable", ignore_index=True)

    def family_correlation(self) -> tuple[float, float]:
        """Mean correlation of errors of two judges of one family, and of two families; NaN without such pairs."""
        family = np.unique(self.families, return_inverse=True)[1]
        a, b = np.triu_indices(len(family), 1)
        r, same = self.correlation[a, b], family[a] == family[b]
        return tuple(float(np.nanmean(r[some])) if (~np.isnan(r[some])).any() else np.nan for some in (same, ~same))  # type: ignore[return-value]

    def items(self, worker: str | int, other: str | int | None = None) -> pd.DataFrame:
        """Items behind a cell: those on which both judges are wrong, or on which one alone is right.

        Args:
            worker: a judge, by name or number.
            other: another one; None: the items on which the first one alone is right.

        Raises:
            SettingError: no such judge.
        """
        a, b = self._number(worker), None if other is None else self._number(other)
        rows = np.flatnonzero((self.truth >= 0) & (self.table[:, a] >= 0))
        right = self.table[rows, a] == self.truth[rows]
        rows = rows[right] if b is None else rows[~right]
        if b is not None:
            rows = rows[(self.table[rows, b] >= 0) & (self.table[rows, b] != self.truth[rows])]
        given = self.table[rows] >= 0
        wrong = (given & (self.table[rows] != self.truth[rows, None])).sum(1)
        if b is None:
            alone = (wrong == given.sum(1) - 1) & (wrong > 0)
            rows, wrong = rows[alone], wrong[alone]
        names = np.array([*self.classes, ""], object)
        columns = {"task": self.task_ids[rows], "true": names[self.truth[rows]]}
        called = {j: str(self.worker_ids[j]) for j in ([a] if b is None else [a, b])}
        taken = {*columns, "wrong judges"}
        labels = {n + "'s label" * (n in taken): names[self.table[rows, j]] for j, n in called.items()}
        return pd.DataFrame({**columns, **labels, "wrong judges": wrong}, index=rows)

    def _number(self, judge: str | int) -> int:
        at = int(self.worker_ids.get_indexer(pd.Index([str(judge)]))[0])
        at = int(judge) if at < 0 and not isinstance(judge, str) else at
        if not 0 <= at < len(self.worker_ids):
            raise SettingError("worker", "name a judge of the panel", judge)
        return at


@door
def panel(
    dataset: CrowdDataset,
    reference: ReferenceLike = None,
    *,
    families: Mapping[str, str] | None = None,
    cost: Mapping[str, float] | None = None,
    tolerance: float = 0.005,
    n_resamples: int = 200,
    seed: int = 0,
) -> Panel:
    """Count a panel's effective votes, find judges who err together, and judges who can go.

    Errors are correlated raw and within true classes: two judges who lean to one class whatever the item correlate only
    raw. Intervals come from groups of items drawn with replacement.

    Args:
        dataset: judges, most of whom judge the same items.
        reference: what counts as the truth.
        families: judge -> provider, model or prompt; the name decides for missing judges. None: by a further column
            ``family`` or ``provider``, else by names.
        cost: judge -> cost of a verdict, 1 for missing judges. None: by a column ``cost`` or ``price``, else 1.
        tolerance: accuracy that the cheapest sub-panel may lose beside the best one.
        n_resamples, seed: of intervals.

    Raises:
        DataError: tags, fewer than two judges or too many, or fewer than 10 items with a known class.
        SettingError: an unknown judge, or a cost below 0.

    Examples:
        >>> import numpy as np, pandas as pd
        >>> import crowdcore as cc
        >>> rng = np.random.default_rng(0)
        >>> wrong = (rng.random((300, 4)) < .3).astype(int)
        >>> wrong[:, 1] = wrong[:, 0]
        >>> rows = [(f"i{i}", f"gpt-{j}", "yn"[wrong[i, j]]) for i in range(300) for j in range(4)]
        >>> result = panel(cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"]),
        ...                             gold={f"i{i}": "yn"[i < 0] for i in range(300)}))
        >>> result.votes[0].kish < 3.5, result.families[0]
        (True, 'OpenAI')
    """
    if dataset.n_workers < 2:
        raise DataError(f"{dataset.name} has {dataset.n_workers} worker, and a panel has two judges or more")
    if dataset.kind.sequential:
        raise DataError(f"{dataset.name} tags tokens, and the tokens of a sentence are not independent items")
    kinds = model_families(dataset.worker_ids, families_by_column(dataset) if families is None else families)
    price = _costs(dataset, costs_by_column(dataset) if cost is None else cost)
    truth = resolve_reference(dataset, reference)
    table, labels = vote_table(dataset), truth.labels.astype(np.int64)
    known = np.flatnonzero(truth.known & dataset.annotated)
    if len(known) < _FEWEST:
        raise DataError(
            f"{dataset.name} has {len(known)} items whose class is known by {truth.name!r}",
            f"A panel is judged on {_FEWEST} or more.",
        )
    votes = table if len(known) == len(table) else table[known]
    true = labels[known]
    of = true if truth.posterior is None or truth.checked else np.nan_to_num(truth.posterior[known])
    moments = error_moments(votes, of, seed)
    counts = _confusions(votes, true, dataset.n_classes)
    accuracy = divide(counts.trace(axis1=1, axis2=2), counts.sum((1, 2)))
    circular, n_classes = truth.aggregated, dataset.n_classes
    effective: tuple[EffectiveVotes, ...]
    nats = np.nan
    if circular:
        opinion = one_opinion(dataset)
        nats = opinion.gain if opinion is not None else np.nan
        soft: FloatArray = np.asarray(of if of.ndim > 1 else np.eye(n_classes)[of], np.float64)
        effective = votes_alone(table, known, soft, truth.name, opinion, n_resamples, seed)
    else:
        effective = effective_votes(moments, truth.name, n_resamples, seed)
    gain, low, high, whole = _gains_without(votes, true, n_classes, circular)
    together = kin(moments, seed)
    verdicts, reasons, like = _verdicts(dataset, counts, accuracy, low, high, together, circular)
    alone, alone_expected, many, many_expected = _extremes(votes, true, counts, seed)
    return Panel(
        worker_ids=dataset.worker_ids,
        families=kinds,
        reference=truth.name,
        checked=truth.checked,
        votes=effective,
        opinion=nats,
        correlation=moments.correlation(0),
        within=moments.correlation(1),
        capa=_capa(votes, true, n_classes),
        shared=moments.shared,
        accuracy=accuracy,
        kappa=_kappa(counts),
        alone=alone,
        alone_expected=alone_expected,
        panel_accuracy=whole,
        without=gain,
        without_low=low,
        without_high=high,
        many_wrong=many,
        many_expected=many_expected,
        kin=together,
        sub_panel=None if circular else sub_panel(votes, true, n_classes, price, tolerance, seed),
        verdicts=verdicts,
        reasons=reasons,
        like=like,
        classes=dataset.classes,
        task_ids=dataset.task_ids,
        table=table,
        truth=np.where(dataset.annotated, labels, -1),
    )


def _costs(dataset: CrowdDataset, cost: Mapping[str, float] | None) -> FloatArray:
    given = {str(name): float(value) for name, value in (cost or {}).items()}
    if strange := sorted(given.keys() - {*map(str, dataset.worker_ids)}):
        raise SettingError("cost", "name judges of the panel", strange[0])
    if bad := [value for value in given.values() if not value >= 0]:
        raise SettingError("cost", "be 0 or more", bad[0])
    return np.array([given.get(str(name), 1.0) for name in dataset.worker_ids])


def _confusions(votes: AnyArray, true: IntArray, n_classes: int) -> FloatArray:
    """(m, C, C) verdicts by judge, true class and label."""
    m, counts = votes.shape[1], np.zeros((votes.shape[1], n_classes, n_classes))
    for at in range(0, len(votes), _BLOCK):
        labels = votes[at : at + _BLOCK]
        row, judge = np.nonzero(labels >= 0)
        counts += confusion_counts(row, judge, labels[row, judge], true[at : at + _BLOCK], m, n_classes)
    return counts


def _kappa(counts: FloatArray) -> FloatArray:
    n = counts.sum((1, 2))
    chance = divide((counts.sum(1) * counts.sum(2)).sum(1), n**2)
    return divide(divide(counts.trace(axis1=1, axis2=2), n) - chance, 1 - chance)


def _capa(votes: AnyArray, true: IntArray, n_classes: int) -> FloatArray:
    """κp of hard verdicts: ``(c - e) / (1 - e)``, e = a b + (1 - a)(1 - b) / (C - 1), on the items of both judges."""
    m = votes.shape[1]
    alike, right, both = np.zeros((3, m, m))
    for at in range(0, len(votes), _BLOCK):
        labels = votes[at : at + _BLOCK]
        given = (labels >= 0).astype(np.float32)
        both += given.T @ given
        right += (labels == true[at : at + _BLOCK, None]).astype(np.float32).T @ given
        for c in np.unique(labels[labels >= 0]):
            same = (labels == c).astype(np.float32)
            alike += same.T @ same
    a, agree = divide(right, both), divide(alike, both)
    expected = a * a.T + (1 - a) * (1 - a.T) / max(n_classes - 1, 1)
    return divide(agree - expected, 1 - expected)


def _gains_without(
    votes: AnyArray, true: IntArray, n_classes: int, circular: bool
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """(m,) gain of the vote without each judge, with its interval, and its accuracy with all."""
    m, n, total = votes.shape[1], 0, 0.0
    sums, squares = np.zeros((2, m))
    for at in range(0, len(votes), _BLOCK):
        some = slice(at, at + _BLOCK)
        whole, without = vote_score(votes[some], true[some], n_classes)
        gap = np.nan_to_num(without - whole[:, None])
        n, total = n + len(whole), total + float(np.nansum(whole, dtype=np.float64))
        sums += gap.sum(0, dtype=np.float64)
        squares += (gap**2).sum(0, dtype=np.float64)
    gain = sums / n
    half = -float(ndtri(0.025 / m)) * np.sqrt(np.maximum(squares / n - gain**2, 0) / n)
    if circular:
        gain = half = np.full(m, np.nan)
    return gain, gain - half, gain + half, total / n


def _extremes(
    votes: AnyArray, true: IntArray, counts: FloatArray, seed: int
) -> tuple[IntArray, FloatArray, float, float]:
    """Items on which each judge alone is right, share of items with many wrong judges, and both under independence.

    An independent judge errs at the rate of the item's class.
    """
    n, m = votes.shape
    alone, many = np.zeros(m, np.int64), 0
    for at in range(0, n, _BLOCK):
        labels = votes[at : at + _BLOCK]
        given = labels >= 0
        right = labels == true[at : at + _BLOCK, None]
        judges, good = given.sum(1), right.sum(1)
        alone += (right & ((good == 1) & (judges > 1))[:, None]).sum(0)
        many += int((judges - good >= MANY * judges).sum())
    some = np.random.default_rng(seed).permutation(n)[:_DRAWN]
    given = votes[some] >= 0
    hit = divide(counts.diagonal(axis1=1, axis2=2), counts.sum(2)).T  # (C, m)
    rate = np.where(given, np.nan_to_num(hit)[true[some]], 0.0)
    miss = np.where(given, 1 - rate, 1.0)
    below, above = np.ones((2, *miss.shape))
    below[:, 1:] = np.cumprod(miss[:, :-1], 1)
    above[:, :-1] = np.cumprod(miss[:, :0:-1], 1)[:, ::-1]
    expected = np.where((given.sum(1) > 1)[:, None], rate * below * above, 0).mean(0) * n
    wrong: FloatArray = np.zeros((len(some), m + 1))
    wrong[:, 0] = 1
    for j in range(m):
        p = np.where(given[:, j], 1 - rate[:, j], 0.0)[:, None]
        wrong[:, 1:] = wrong[:, 1:] * (1 - p) + wrong[:, :-1] * p
        wrong[:, :1] *= 1 - p
    chance = np.where(np.arange(m + 1) >= MANY * given.sum(1)[:, None], wrong, 0).sum(1).mean()
    return alone, expected, many / n, float(chance)


def _verdicts(
    dataset: CrowdDataset,
    counts: FloatArray,
    accuracy: FloatArray,
    low: FloatArray,
    high: FloatArray,
    together: tuple[Kin, ...],
    circular: bool,
) -> tuple[tuple[str, ...], tuple[str, ...], IntArray]:
    """Verdict on each judge and its reason; if the truth was inferred, nobody can be told to go but for similarity.

    One of each group of kin stays: the vote may be better without any one of three copies, and worse without all.
    """
    m, like = len(accuracy), np.full(len(accuracy), -1)
    verdicts, reasons, best_of_kin = [UNDECIDED if circular else KEEP] * m, [""] * m, set[int]()
    for group in together:
        best = int(group.members[np.nanargmax(np.nan_to_num(accuracy[group.members]))])
        best_of_kin.add(best)
        for j in group.members[group.members != best]:
            like[j] = best
            reasons[j] = f"errors go with {LIKE}'s: correlation {group.correlation:.2f}"
            reasons[j] += f" where the others explain {group.expected:.2f}" if group.expected == group.expected else ""
            if high[j] < 0:
                reasons[j] += ", but the vote is surely worse without it"
            elif group.correlation >= _ALIKE:
                verdicts[j] = MERGE
    n = counts.sum((1, 2))
    given, true, both = counts.sum(1), counts.sum(2), counts.diagonal(axis1=1, axis2=2)
    moved = divide(given - true, n[:, None])  # (m, C) given too often
    moved_error = np.sqrt(np.maximum(divide(given + true - 2 * both, n[:, None]) - moved**2, 0) / n[:, None])
    seen = true > 0
    judged = (seen.sum(1) == seen.any(0).sum()) & (seen.sum(1) > 1)
    informed = np.where(judged, np.where(seen, divide(both, true), 0).sum(1) - 1, np.nan)
    rate = (both + 1) / (true + 2)
    error = np.sqrt(np.where(seen, rate * (1 - rate) / (true + 2), 0).sum(1))
    far = -float(ndtri(0.025 / m))
    turned = informed + far * error < 0
    if circular:
        for j in np.flatnonzero(turned):
            reasons[j] = reasons[j] or "it fits the inferred truth less than by chance: its words may be turned round"
        return tuple(verdicts), tuple(reasons), like
    typical = float(np.nanmedian(informed)) if judged.any() else np.nan
    for j in range(m):
        to = int(np.nanargmax(np.nan_to_num(moved[j])))
        follows = bool(informed[j] - far * error[j] > 0)
        surely = moved[j, to] >= _OFF and moved[j, to] - far * moved_error[j, to] > 0
        if not follows and informed[j] + far * error[j] < max(typical / 2, _BLIND):
            verdicts[j], reasons[j] = DROP, "its verdicts do not follow the items"
            if turned[j]:
                reasons[j] = "it is right less often than by chance: its words may be turned round"
        elif verdicts[j] == KEEP and follows and surely and informed[j] >= _KNOWS * typical:
            verdicts[j] = RECALIBRATE
            reasons[j] = f"gives {dataset.classes[to]} {100 * moved[j, to]:.0f} points too often, but follows the items"
        elif verdicts[j] == KEEP and low[j] > 0 and not reasons[j] and j not in best_of_kin:
            verdicts[j], reasons[j] = DROP, "the vote is surely better without it"
        elif verdicts[j] == KEEP and not follows and not reasons[j]:
            verdicts[j], reasons[j] = UNDECIDED, "too few verdicts to show that it follows the items"
    return tuple(verdicts), tuple(reasons), like
