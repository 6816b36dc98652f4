"""CoNAL's dataset "Synthetic": Gaussian classes under common and individual noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate._common_noise import CommonNoise
from crowdcore.data.simulate.base import as_tasks

__all__ = ["Synthetic", "synthetic"]


class Synthetic(CommonNoise):
    """Tasks ``x_i ~ N(μ_{z_i}, I)`` with ``μ_c ~ N(0, separation² I)`` and uniform classes, then CoNAL's noise.

    The paper gives 10,000 tasks, 6 classes and the splits 8,000/1,000/1,000, of which only train is annotated;
    it gives neither the number of features nor the distance of the means.
    """

    name: ClassVar[str] = "synthetic"
    title: ClassVar[str] = "CoNAL's Synthetic (Gaussian classes)"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021"
    makes_tasks: ClassVar[bool] = True

    n_tasks: int = Field(default=10_000, ge=3, title="Tasks", description="Tasks in all, N.")
    n_valid: int = Field(default=1_000, ge=0, title="Validation tasks", description="Of these, for validation.")
    n_test: int = Field(default=1_000, ge=0, title="Test tasks", description="Of these, for testing.")
    n_classes: int = Field(default=6, ge=2, title="Classes", description="Classes, C.")
    n_features: int = Field(default=20, ge=1, title="Features", description="Features of a task.")
    separation: float = Field(
        default=1.0,
        ge=0,
        title="Separation of classes (noise deviations)",
        description="Standard deviation of the class means; 1 = that of the noise.",
    )

    def _tasks(self, rng: np.random.Generator) -> CrowdDataset:
        if self.n_valid + self.n_test >= self.n_tasks:
            raise SettingError("n_tasks", f"exceed n_valid + n_test = {self.n_valid + self.n_test}", self.n_tasks)
        means = self.separation * rng.standard_normal((self.n_classes, self.n_features))
        gold = rng.integers(self.n_classes, size=self.n_tasks)
        gold[: self.n_classes] = np.arange(self.n_classes)[: self.n_tasks]  # every class occurs
        features = (means[gold] + rng.standard_normal((self.n_tasks, self.n_features))).astype(np.float32)
        split = np.repeat([0, 1, 2], [self.n_tasks - self.n_valid - self.n_test, self.n_valid, self.n_test])
        return as_tasks((features, gold), self.name, split)


def synthetic(**settings: Any) -> CrowdDataset:
    """CoNAL's "Synthetic" dataset; settings are the fields of `Synthetic`."""
    return Synthetic(**settings).run()
