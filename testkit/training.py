"""Training with settings that users do not choose, for tests and benchmarks."""

from __future__ import annotations

from typing import Any

from crowdcore.data.ratings import Labelled
from crowdcore.learning import TrainingResult, train
from crowdcore.learning.settings import Execution, executing


def train_as(crowd: Labelled, method: str, **given: Any) -> TrainingResult:
    """`train` with ``feed``, ``stack``, ``record`` and ``holdout_seed`` (see `Execution`) among its keywords."""
    with executing(**{name: given.pop(name) for name in Execution._fields if name in given}):
        return train(crowd, method, **given)
