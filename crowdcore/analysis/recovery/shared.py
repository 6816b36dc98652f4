"""Largest confusions recovered by a run, and the labels that shared mistakes explain, by class and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.aggregation._decomposition import Decomposition, common_share, first_split, improve
from crowdcore.aggregation.conal_em import ConalEM
from crowdcore.analysis.recovery.seeds import FromSeeds, check_by_worker, check_omega, over_seeds, seed_rows
from crowdcore.analysis.reference import ReferenceLike, as_judge, resolve_reference
from crowdcore.analysis.statistics import correlation, divide, wilson_interval
from crowdcore.analysis.workers.confusion import confusion_of_counts
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_LEAST_BELIEF = 0.02  # below which a label does not count towards a class


@dataclass(frozen=True, eq=False)
class LabelShares(Shown):
    """Shares of the labels on tasks of each true class, (C, C); NaN rows of classes without labels.

    Args:
        share: row = true class, column = given label, rows sum to 1.
        counts: the (expected) labels behind them.
        low, high: ends of the 95 % intervals; labels of a task depend on each other.
    """

    share: FloatArray
    counts: FloatArray
    low: FloatArray
    high: FloatArray

    def holds(self, shares: FloatArray) -> BoolArray:
        """(..., C, C) bool, whether each share lies within its interval."""
        return np.asarray((shares >= self.low - 1e-9) & (shares <= self.high + 1e-9))


@dataclass(frozen=True, eq=False)
class RecoveredShares(FromSeeds):
    """The largest confusions in the labels, and the shares that a run recovered.

    Args:
        cells: (n, 2) true class and given label of the largest confusions in the labels, the largest first.
        labels: shares of all labels.
        recovered: (S, C, C) the same shares by the run: of each label ``ω π^g + (1 - ω) π^r``, or ``π^r``.
        common: (S, C, C) π^g; None without a common confusion, or with several.
        common_labels: shares of the labels as far as the run explains them by π^g, in each seed; None as above.
        seeds: the seeds that were compared.
        classes: (C,) names.
    """

    cells: IntArray
    labels: LabelShares
    recovered: FloatArray
    common: FloatArray | None
    common_labels: tuple[LabelShares, ...] | None
    seeds: tuple[int, ...]
    classes: tuple[str, ...]
    reference: str

    @property
    def within(self) -> BoolArray:
        """(n,) bool, whether the recovered share (mean over seeds) lies within the interval of the labels' share."""
        return self._at(self.labels.holds(self.recovered.mean(0)))

    @property
    def within_by_seed(self) -> BoolArray:
        """(S, n) the same of each seed."""
        return self._at(self.labels.holds(self.recovered))

    @property
    def common_within_by_seed(self) -> BoolArray | None:
        """(S, n) bool, whether the share in π^g lies within the interval of that in the labels that π^g explains."""
        if self.common is None or self.common_labels is None:
            return None
        inside = [part.holds(share) for part, share in zip(self.common_labels, self.common, strict=True)]
        return self._at(np.stack(inside))

    def _at(self, of: BoolArray) -> BoolArray:
        return np.asarray(of[..., self.cells[:, 0], self.cells[:, 1]])

    def frame(self) -> pd.DataFrame:
        """One row per cell: true, given, share of the labels with its interval, recovered share, common shares."""
        at, names = (self.cells[:, 0], self.cells[:, 1]), np.array(self.classes, object)
        columns = {"true": names[at[0]], "given": names[at[1]]}
        columns |= {name: getattr(self.labels, part)[at] for name, part in _OBSERVED.items()}
        columns |= {"recovered": self.recovered.mean(0)[at], "within": self.within}
        if self.common is not None and self.common_labels is not None:
            columns["common"] = self.common.mean(0)[at]
            columns["of common labels"] = np.mean([part.share[at] for part in self.common_labels], 0)
        return pd.DataFrame(columns)


_OBSERVED = {"observed": "share", "low": "low", "high": "high"}


@door
def recovered_shares(
    dataset: CrowdDataset,
    reference: ReferenceLike,
    worker_confusion: FloatArray,
    common_confusion: FloatArray | None = None,
    omega: FloatArray | None = None,
    group: IntArray | None = None,
    *,
    seeds: Sequence[int],
    seed: int | None = None,
    n: int = 5,
    counts: FloatArray | None = None,
) -> RecoveredShares:
    """Compare the ``n`` largest confusions in the labels with those of a run; arrays as a `TrainingResult` has them.

    A run's share of all labels is compared with that in all labels. Its common confusion is compared with that in the
    labels that it explains, where a label b on class a counts ``ω π^g_ab / (ω π^g_ab + (1 - ω) π^r_ab)`` (Chu, Ma &
    Wang 2021, eq. 2). Where the two differ, the run does not fit its labels.

    Args:
        dataset: that of the training.
        reference: what counts as the truth.
        worker_confusion: (S, n_workers, C, C).
        common_confusion: (S, C, C), or (S, G, C, C) with ``group``.
        omega: (S, n_annotations); NaN where the model has none.
        group: (S, n_workers) group of each worker.
        seeds, seed: (S,) names of the replicas, and one of them, or None for all.
        n: confusions at most; cells of 0 do not count.
        counts: (S, n_workers, C, C) labels of each worker by class as counted by the run, to compute its share of all
            labels.

    Raises:
        DataError: no usable reference.
        SettingError: arrays of another dataset, or no such seed.
    """
    rows, c, r = seed_rows(seeds, seed), dataset.n_classes, dataset.n_workers
    confusions = check_by_worker(dataset, "worker_confusion", worker_confusion, len(seeds), rows)
    truth = as_judge(dataset, resolve_reference(dataset, reference))
    if truth.posterior is None:
        entry = np.flatnonzero(truth.known[dataset.task])
        true = np.asarray(truth.labels[dataset.task[entry]], np.int64)
        weight: FloatArray = np.ones(len(entry))
    else:
        belief = truth.posterior[dataset.task]
        entry, true = np.nonzero(belief > _LEAST_BELIEF)
        weight = belief[entry, true]
    task, worker, given = dataset.task[entry], dataset.worker[entry], dataset.label[entry]
    labels = label_shares(task, true, given, weight, c)
    off = np.where(np.eye(c, dtype=bool), 0.0, np.nan_to_num(labels.share))
    order = np.argsort(-off, axis=None, kind="stable")[:n]
    cells = np.stack(np.divmod(order[off.ravel()[order] > 0], c), axis=1)
    recovered, commons, parts = [], [], []
    mixed = common_confusion is not None and omega is not None
    each = check_omega(dataset, omega, len(seeds), rows) if omega is not None else None
    for k, s in enumerate(range(len(seeds))[rows]):
        own = confusions[k]
        part = np.nan_to_num(each[k][entry]) if each is not None and mixed else np.zeros(len(entry))
        alone, taken = (weight * (1 - part), own) if counts is None else (weight, confusion_of_counts(counts[s]))
        by_worker = np.bincount(worker * c + true, alone, r * c).reshape(r, c)
        total = np.einsum("ra,rab->ab", by_worker, np.nan_to_num(taken))
        if common_confusion is not None and mixed:
            shared = np.asarray(common_confusion[s], np.float64)
            if counts is None:
                of = np.zeros(r, np.int64) if shared.ndim == 2 or group is None else np.asarray(group[s], np.int64)
                several = shared.reshape(-1, c, c)
                both = np.bincount(of[worker] * c + true, weight * part, len(several) * c).reshape(-1, c)
                total += np.einsum("ga,gab->ab", both, several)
            if shared.ndim == 2:
                by_common = part * shared[true, given]
                explained = divide(by_common, by_common + (1 - part) * np.nan_to_num(own[worker, true, given]))
                commons.append(shared)
                parts.append(label_shares(task, true, given, weight * np.nan_to_num(explained), c))
        recovered.append(divide(total, np.bincount(true, weight, c)[:, None]))
    return RecoveredShares(
        cells,
        labels,
        np.stack(recovered),
        np.stack(commons) if commons else None,
        tuple(parts) if parts else None,
        tuple(seeds)[rows],
        dataset.classes,
        truth.name,
    )


def label_shares(
    task: IntArray, true: IntArray, given: IntArray, weight: FloatArray, n_classes: int, level: float = 0.95
) -> LabelShares:
    """Shares of given labels on tasks of each class, with Wilson intervals for their effective number of labels.

    The variance of a share p clusters by task: ``V = Σ_i (m_ib - p n_i)² / (Σ_i n_i)²``. The effective number is
    ``p (1 - p) / V``, and for shares of 0 or 1 that of the tasks (Kish). ``task``, ``true``, ``given`` and ``weight``
    (E,) are the task of each label, its true class, the given class and the label's weight.
    """
    units, unit = np.unique(task.astype(np.int64) * n_classes + true, return_inverse=True)
    of = units % n_classes
    within = scipy.sparse.csr_array((weight, (unit, given)), shape=(len(units), n_classes))
    within.sum_duplicates()
    size = np.bincount(unit, weight, len(units))
    by_class = scipy.sparse.csr_array((np.ones(len(units)), (of, np.arange(len(units)))), shape=(n_classes, len(units)))
    total, squared = np.asarray(by_class @ size), np.asarray(by_class @ size**2)[:, None]
    counts = (by_class @ within).toarray()
    share = divide(counts, total[:, None])
    scaled = scipy.sparse.diags_array(size) @ within
    squares, mixed = (by_class @ within.power(2)).toarray(), (by_class @ scaled).toarray()
    variance = np.maximum(squares - 2 * share * mixed + share**2 * squared, 0)
    room = share * (1 - share)
    some, whole = (np.broadcast_to(part, share.shape) for part in (total[:, None] ** 2, squared))
    tasks = divide(some, whole)
    worth = np.where((room > 1e-12) & (variance > 1e-12), divide(room * some, variance), tasks)
    low, high = wilson_interval(share, worth, level)
    return LabelShares(share, counts, low, high)


_SMALL, _STEPS = 300_000, (120, 30)  # cells of counts; steps that improve the split up to so many, and beyond
_Z = 1.96  # standard deviations of a 95 % interval
_TELLS, _HIGHER = 0.2, 0.05  # correlation from which ω tells shared mistakes; difference of means that is reported


@dataclass(frozen=True, eq=False)
class SharedPart(FromSeeds):
    """The share of a class's labels that the shared mistake explains, ``ω̄_c π^g[c, l]``.

    The labels determine this product; ω and π^g alone only as far as workers differ in ω.

    Args:
        share, spread: (C, C) mean and standard deviation over seeds; row = true class, column = given label. The
            diagonal is the share of right labels attributed to the common confusion.
        low, high: (C, C) ends of the 95 % interval over seeds and labels.
        common: (C, C) π^g, mean over seeds.
        mistake: (n_annotations,) probability that a label is wrong and of the common confusion, mean over seeds; NaN
            where no posterior is known; None without any.
        seeds: the seeds that were combined.
        classes: (C,) names.
    """

    share: FloatArray
    spread: FloatArray
    low: FloatArray
    high: FloatArray
    common: FloatArray
    mistake: FloatArray | None
    seeds: tuple[int, ...]
    classes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per cell off the diagonal, the largest share first: true, given, share, low, high, common."""
        true, given = np.nonzero(~np.eye(len(self.classes), dtype=bool))
        order = np.argsort(-self.share[true, given], kind="stable")
        at = true[order], given[order]
        names = np.array(self.classes, object)
        numbers = {name: getattr(self, name)[at] for name in ("share", "low", "high", "common")}
        return pd.DataFrame({"true": names[at[0]], "given": names[at[1]], **numbers})


@door
def shared_part(
    dataset: CrowdDataset,
    counts: FloatArray,
    posterior: FloatArray | None = None,
    *,
    seeds: Sequence[int],
    seed: int | None = None,
) -> SharedPart:
    """Split the workers' counts into a common confusion and their own (as `ConalEM` does), seed by seed.

    Args:
        dataset: that of the training.
        counts: (S, n_workers, C, C) labels of each worker by class, by `learning.worker_counts`.
        posterior: (S, n_tasks, C) of the tasks' classes, to judge single labels; NaN = unknown.
        seeds, seed: (S,) names of the replicas, and one of them, or None for all.

    Raises:
        SettingError: arrays of another dataset, or no such seed.
    """
    rows = seed_rows(seeds, seed)
    of_seeds = check_by_worker(dataset, "counts", counts, len(seeds), rows)
    splits = [_split(one) for one in of_seeds]
    labels = of_seeds.sum((1, 3))  # (S, C)
    of_common = np.stack([(one.sum(2) * d.omega).sum(0) for one, d in zip(of_seeds, splits, strict=True)])
    common = np.stack([d.common[0] for d in splits])
    share = over_seeds(divide(of_common, labels)[..., None] * common)
    chance = share.mean * (1 - share.mean) / np.maximum(labels.mean(0), 1)[:, None]
    reach = _Z * np.sqrt(chance + np.nan_to_num(share.spread) ** 2)
    mistake = None
    if posterior is not None:
        pairs = zip(splits, posterior[rows], strict=True)
        mistake = np.mean([_mistake(dataset, d, np.asarray(q, np.float64)) for d, q in pairs], 0)
    low, high = (np.clip(share.mean + sign * reach, 0, 1) for sign in (-1, 1))
    kept = tuple(seeds)[rows]
    return SharedPart(share.mean, share.spread, low, high, common.mean(0), mistake, kept, dataset.classes)


def _split(counts: FloatArray) -> Decomposition:
    priors = ConalEM().priors
    return improve(first_split(counts, 1, priors), counts, priors, _STEPS[counts.size > _SMALL])


def _mistake(dataset: CrowdDataset, d: Decomposition, posterior: FloatArray) -> FloatArray:
    """(n_annotations,) ``Σ_{c ≠ y} q_i(c) · ω_rc π^g[c, y] / (ω_rc π^g[c, y] + (1 - ω_rc) π^r[c, y])``."""
    of_label = common_share(d).transpose(0, 2, 1)[dataset.worker, dataset.label] * posterior[dataset.task]
    of_label[np.arange(len(of_label)), dataset.label] = 0
    return np.asarray(of_label.sum(1))


@dataclass(frozen=True, eq=False)
class OmegaUse(Shown):
    """ω of right labels, of labels with the same mistake as another one of their task, and of other wrong labels.

    Args:
        n: (3,) annotations with ω whose task's class the reference knows.
        omega: (3,) their mean ω; NaN without any.
        mistake: (3,) their mean probability of a shared mistake; None where it is not known.
        omega_correlation, mistake_correlation: of ω, and of that probability, with making the same mistake as another,
            over all these annotations; NaN where either is constant.
        wrong_correlation: of ω, over wrong annotations.
    """

    n: FloatArray
    omega: FloatArray
    mistake: FloatArray | None
    omega_correlation: float
    mistake_correlation: float
    wrong_correlation: float
    reference: str

    @property
    def sentence(self) -> str:
        """Warning if a high ω goes with right labels, or with no kind of label; else empty."""
        right, alike, _ = self.omega
        if not self.n[:2].all() or self.omega_correlation >= _TELLS:
            return ""
        if right > alike + _HIGHER:
            words = (
                f"A high ω goes with right labels here: its mean is {right:.2f} for labels that are right by "
                f"{self.reference} and {alike:.2f} for labels that are wrong as another worker's are."
            )
        else:
            words = f"ω hardly tells which labels are shared mistakes (correlation {self.omega_correlation:z.2f})."
        better = self.mistake_correlation > self.omega_correlation
        return words + (" Read the probability of a shared mistake instead." if better else "")

    def frame(self) -> pd.DataFrame:
        """One row per kind of label."""
        kinds = ["right", "wrong as others", "wrong alone"]
        columns = {"label is": kinds, "annotations": self.n, "mean ω": self.omega}
        return pd.DataFrame(columns if self.mistake is None else {**columns, "shared mistake": self.mistake})


@door
def omega_use(
    dataset: CrowdDataset, omega: FloatArray, reference: ReferenceLike = None, mistake: FloatArray | None = None
) -> OmegaUse:
    """Judge how well ω tells which wrong labels are shared mistakes.

    Args:
        dataset: the annotations.
        omega: (n_annotations,) ω, mean over seeds; NaN = unknown.
        reference: what counts as the truth.
        mistake: (n_annotations,) probability of a shared mistake (`SharedPart.mistake`).

    Raises:
        DataError: no usable reference.
    """
    truth = resolve_reference(dataset, reference)
    wrong = dataset.label != truth.labels[dataset.task]
    known = (truth.labels[dataset.task] >= 0) & ~np.isnan(omega)
    cell = dataset.task.astype(np.int64) * dataset.n_classes + dataset.label
    alike = wrong & (np.bincount(cell)[cell] > 1)
    groups = (known & ~wrong, known & alike, known & wrong & ~alike)

    def means(values: FloatArray) -> FloatArray:
        return np.array([np.nanmean(values[g]) if (~np.isnan(values[g])).any() else np.nan for g in groups])

    def follows(values: FloatArray, among: BoolArray) -> float:
        among = among & ~np.isnan(values)
        return correlation(values[among], alike[among].astype(np.float64))

    return OmegaUse(
        np.array([float(g.sum()) for g in groups]),
        means(omega),
        None if mistake is None else means(mistake),
        follows(omega, known),
        float("nan") if mistake is None else follows(mistake, known),
        follows(omega, known & wrong),
        truth.name,
    )
