"""The Dawid–Skene family: workers are confusion matrices, and members differ in their M-step only."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from crowdcore.aggregation._sums_em import MemoryEngine, SumsEM
from crowdcore.aggregation._votes import too_few_labels
from crowdcore.core.em import LabelTable, Sums, TorchEngine, em_step, expected_sums, find_device
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset

FLOOR = 1e-10
"""Counts and shares that would be zero without smoothing are raised to this, so that logarithms stay finite."""

ENOUGH = 5.0
"""Labels per estimated row of a confusion below which a result carries a warning."""

NO_EVIDENCE = 1e-6
"""A row of expected counts below a millionth of an annotation says nothing about the worker."""


class ConfusionParameters(NamedTuple):
    """What an M-step of the family yields.

    Attributes:
        confusion: (n_workers, given, true) probabilities that sum to 1 over ``given``.
        prior: (C,) class shares.
        log_prior_density: of these under their Dirichlet priors, without constants; 0 without smoothing.
    """

    confusion: FloatArray
    prior: FloatArray
    log_prior_density: float

    def logs(self) -> tuple[FloatArray, FloatArray]:
        """(n_workers * C, C) log confusion in the layout of `Sums.counts`, and (C,) log prior."""
        n_classes = len(self.prior)
        with np.errstate(divide="ignore"):  # labels that a worker never gave
            return np.log(self.confusion).reshape(-1, n_classes), np.log(self.prior)


class ConfusionEM(SumsEM):
    """EM for workers that are confusion matrices."""

    hard: ClassVar[bool] = False

    smoothing: float = Field(
        default=0.01,
        ge=0,
        title="Smoothing of confusions (labels)",
        description="Dirichlet smoothing α, added to each expected count; 0 is maximum likelihood.",
    )
    prior_smoothing: float = Field(
        default=0.0,
        ge=0,
        title="Smoothing of class shares (tasks)",
        description="Added to the expected number of tasks of each class.",
    )
    device: Literal["cpu", "cuda", "auto"] = Field(
        default="cpu", title="Device", description="Where EM runs: cuda needs torch, auto uses a GPU if there is one."
    )

    def first_sums(self, table: LabelTable, posterior: FloatArray) -> Sums:
        """Expected counts under a given posterior."""
        return expected_sums(table, posterior)

    def e_step(self, table: LabelTable, parameters: ConfusionParameters, posterior: FloatArray) -> Sums:
        """``q_i(c) ∝ ρ_c Π_r π^r[c, y_i^r]``."""
        return em_step(table, *parameters.logs(), posterior, self.hard)

    def parts(self, parameters: ConfusionParameters, sums: Sums) -> dict[str, Any]:
        """Confusion (rows whose expected counts are next to nothing are NaN), counts and prior."""
        confusion = parameters.confusion.transpose(0, 2, 1).copy()
        counts = sums.by_class(len(confusion))
        confusion[counts.sum(2) < NO_EVIDENCE] = np.nan
        return {"confusion": confusion, "counts": counts, "prior": parameters.prior}

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """A warning where most workers' confusions rest on few labels."""
        return too_few_labels(dataset, ENOUGH, dataset.n_classes)

    def engine(self, table: LabelTable, posterior: FloatArray) -> MemoryEngine:
        """Memory, or a GPU."""
        if self.device == "cpu":
            return super().engine(table, posterior)
        device = find_device(self.device)
        return TorchEngine(table, posterior, self.hard, device) if device else super().engine(table, posterior)


def class_shares(sums: Sums, smoothing: float) -> tuple[FloatArray, float]:
    """ρ ∝ smoothing + expected number of tasks (C,), and its log density under the Dirichlet prior."""
    prior = np.maximum(sums.classes + smoothing, FLOOR * sums.classes.sum())
    prior /= prior.sum()
    return prior, smoothing * float(np.log(prior).sum()) if smoothing else 0.0


def confusion_m_step(sums: Sums, n_workers: int, smoothing: float, prior_smoothing: float) -> ConfusionParameters:
    """``π^r[c, l] ∝ α + counts``; with α = 0, counts of labels that the worker gave are kept above `FLOOR`."""
    prior, density = class_shares(sums, prior_smoothing)
    counts = sums.counts.reshape(n_workers, len(prior), len(prior))
    if smoothing:
        smoothed = counts + smoothing
    else:
        smoothed = np.where(counts.any(2, keepdims=True), np.maximum(counts, FLOOR), 0.0)
    confusion = smoothed / np.maximum(smoothed.sum(1, keepdims=True), FLOOR)
    if smoothing:
        density += smoothing * float(np.log(confusion).sum())
    return ConfusionParameters(confusion, prior, density)
