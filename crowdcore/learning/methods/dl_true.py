"""DL-TRUE: trained on gold, the oracle row of every comparison."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.networks.targets import cross_entropy
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class DlTrue(CrowdMethod):
    """Cross-entropy with the true class; training tasks without gold do not count."""

    name: ClassVar[str] = "dl-true"
    title: ClassVar[str] = "Trained on gold labels (oracle)"
    paper: ClassVar[str] = "-"

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray:
        """The training tasks' gold.

        Raises:
            DataError: none of them has any.
        """
        gold = problem.gold[: problem.n_train]
        if (gold < 0).all():
            raise DataError(
                f"No training task of {problem.dataset.name} has a gold label",
                "`dl-true` is the oracle that needs them; choose another method.",
            )
        return gold

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with gold."""
        assert batch.target is not None
        return {"cross_entropy": cross_entropy(self.log_probs(batch.features), batch.target)}
