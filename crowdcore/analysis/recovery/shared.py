"""What the mistakes that workers share explain of the labels: by class, with intervals, and label by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.aggregation._decomposition import Decomposition, common_share, first_split, improve
from crowdcore.aggregation.conal_em import ConalEM
from crowdcore.analysis.recovery.seeds import FromSeeds, check_by_worker, over_seeds, seed_rows
from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import correlation, divide
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_SMALL, _STEPS = 300_000, (120, 30)  # cells of counts up to which, and beyond which, so many steps improve the split
_Z = 1.96  # standard deviations of a 95 % interval
_TELLS, _HIGHER = 0.2, 0.05  # correlation from which ω tells shared mistakes; difference of means that is worth saying


@dataclass(frozen=True, eq=False)
class SharedPart(FromSeeds):
    """The share of a class's labels that the shared mistake explains, ``ω̄_c π^g[c, l]``.

    The labels determine this product; ω and π^g alone only as far as workers differ in ω.

    Args:
        share, spread: (C, C) mean and standard deviation over seeds; row = true class, column = given label. The
            diagonal is the share of right labels that the common confusion is credited with.
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
        dataset: what was trained on.
        counts: (S, n_workers, C, C) labels of each worker by class, as `learning.worker_counts` has them.
        posterior: (S, n_tasks, C) of the tasks' classes, to judge single labels by; NaN = unknown.
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
    """ω of right labels, of labels that are wrong as another's of their task is, and of labels that are wrong alone.

    Args:
        n: (3,) annotations with ω whose task's class the reference knows.
        omega: (3,) their mean ω; NaN without any.
        mistake: (3,) their mean probability of a shared mistake; None where it is not known.
        omega_correlation, mistake_correlation: of ω, and of that probability, with being wrong as others are, over all
            these annotations; NaN where either is constant.
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
        """That a high ω goes with right labels, or with no kind of label, where it is so; else empty."""
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
    """Judge ω by what it is read for: which wrong labels are shared.

    Args:
        dataset: whose annotations they are.
        omega: (n_annotations,) ω, mean over seeds; NaN = unknown.
        reference: what to take for the truth.
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
