"""Distribution of ω over the annotations of each class or of each worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from crowdcore.analysis.recovery.seeds import FromSeeds, seed_rows
from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

By = Literal["class", "worker"]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class OmegaSpread(FromSeeds):
    """ω of annotations in K groups: the true classes of their tasks, or their workers.

    Args:
        by: "class" or "worker".
        names: (K,) of the groups.
        n: (K,) annotations with ω.
        mean: (K,) their mean ω, NaN for groups without any.
        quantiles: (K, 5) at `QUANTILES`, by linear interpolation.
        edges: (B + 1,) of the bins between the smallest and the largest ω.
        counts: (K, B) annotations in each bin, the last bin with its upper edge.
        reference: what was taken for the truth (of a soft one the most probable class); "" for workers.
        seeds: the seeds whose mean ω each annotation has.
    """

    by: By
    names: pd.Index[str]
    n: IntArray
    mean: FloatArray
    quantiles: FloatArray
    edges: FloatArray
    counts: IntArray
    reference: str
    seeds: tuple[int, ...]

    def frame(self) -> pd.DataFrame:
        """One row per group."""
        columns = {self.by: self.names, "annotations": self.n, "mean": self.mean}
        columns |= {f"{100 * q:.0f} %": self.quantiles[:, k] for k, q in enumerate(QUANTILES)}
        return pd.DataFrame(columns)


def omega_spread(
    dataset: CrowdDataset,
    omega: FloatArray,
    by: By = "class",
    reference: ReferenceLike = "gold",
    *,
    seeds: Sequence[int],
    seed: int | None = None,
    bins: int = 40,
) -> OmegaSpread:
    """Distribution of the annotations' ω (their mean over seeds) per true class or per worker.

    Args:
        omega: (S, n_annotations) as a `TrainingResult` has it; NaN where the model has none.
        by: what to group by.
        reference: what to take for the truth; not looked at for workers.
        seeds: (S,) what the replicas are called.
        seed: one of them, or None for the mean over all.
        bins: of the histograms.

    Raises:
        DataError: no usable reference.
        SettingError: ω of another dataset, no such seed or grouping.
    """
    if by not in get_args(By):
        raise SettingError("by", f"be one of {', '.join(get_args(By))}", by)
    if np.shape(omega) != (len(seeds), dataset.n_annotations):
        raise SettingError("omega", f"have the shape {(len(seeds), dataset.n_annotations)}", np.shape(omega))
    rows = seed_rows(seeds, seed)
    values = np.asarray(omega[rows], np.float64).mean(0)
    if by == "class":
        truth = resolve_reference(dataset, reference)
        group, names, reference_name = truth.labels[dataset.task], pd.Index(dataset.classes), truth.name
    else:
        group, names, reference_name = dataset.worker, dataset.worker_ids, ""
    known = ~np.isnan(values) & (group >= 0)
    values, group = values[known], group[known].astype(np.int64)
    n = np.bincount(group, minlength=len(names))
    total = np.bincount(group, values, len(names))
    mean = np.divide(total, n, out=np.full(len(names), np.nan), where=n > 0)
    edges = _edges(values, bins)
    inside = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    counts = np.bincount(group * bins + inside, minlength=len(names) * bins).reshape(-1, bins)
    quantiles = _quantiles(values, group, n)
    return OmegaSpread(by, names, n, mean, quantiles, edges, counts, reference_name, tuple(seeds)[rows])


def _edges(values: FloatArray, bins: int) -> FloatArray:
    """(bins + 1,) equal bins from the smallest to the largest value, at least a little wide."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = max(0.0, 1e-3 - (high - low)) / 2
    return np.linspace(low - margin, high + margin, bins + 1)


def _quantiles(values: FloatArray, group: IntArray, n: IntArray) -> FloatArray:
    """(K, 5) quantiles of each group, NaN for empty ones."""
    sorted_values = values[np.lexsort((values, group))]
    start = np.cumsum(n) - n
    out = np.full((len(n), len(QUANTILES)), np.nan)
    some = n > 0
    for k, q in enumerate(QUANTILES):
        at = q * (n[some] - 1)
        low = np.floor(at).astype(np.int64)
        high = np.minimum(low + 1, n[some] - 1)
        below, above = sorted_values[start[some] + low], sorted_values[start[some] + high]
        out[some, k] = below + (at - low) * (above - below)
    return out
