"""CoNAL's dataset "Synthetic": Gaussian classes under common and individual noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import setting
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate._common_noise import CommonNoise
from crowdcore.data.simulate.base import as_tasks


class Synthetic(CommonNoise):
    """Tasks ``x_i ~ N(μ_{z_i}, I)`` with ``μ_c ~ N(0, separation² I)`` and uniform classes, then CoNAL's noise.

    The paper gives 10,000 tasks, 6 classes and the splits 8,000/1,000/1,000, of which only train is annotated;
    it gives neither the number of features nor the distance of the means.
    """

    name: ClassVar[str] = "synthetic"
    title: ClassVar[str] = "CoNAL's Synthetic (Gaussian classes)"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021"
    makes_tasks: ClassVar[bool] = True

    n_tasks: int = setting(10_000, "Tasks", "Tasks in all, N.", ge=3)
    n_valid: int = setting(1_000, "Validation tasks", "Of these, for validation.", ge=0)
    n_test: int = setting(1_000, "Test tasks", "Of these, for testing.", ge=0)
    n_classes: int = setting(6, "Classes", "Classes, C.", ge=2)
    n_features: int = setting(20, "Features", "Features of a task.", ge=1)
    separation: float = setting(
        1.0,
        "Separation of classes (noise deviations)",
        "Standard deviation of the class means; 1 = that of the noise.",
        ge=0,
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
