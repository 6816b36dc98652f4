"""`RatingMethod`: a network that predicts ratings, and a model of the workers who gave them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from crowdcore.learning.base import CrowdMethod, Network
from crowdcore.learning.ratings.problem import RatingProblem


class RatingMethod(CrowdMethod):
    """Base of every method: ``μ_i = ȳ + network(x_i)`` with ȳ the mean of the training ratings.

    From 0, the workers' biases would learn a part of ȳ while the network does. `recovered` may give ``scale`` with
    ``bias``, ``precision`` and ``weight`` of the workers, (R,) each.
    """

    learns_confusions: ClassVar[bool] = False

    def __init__(self, problem: RatingProblem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        n = problem.n_train_annotations
        self.register_buffer("given", torch.from_numpy(problem.labels_per_worker.astype(np.float32)))
        self.register_buffer("centre", torch.tensor(problem.label[:n].mean()))

    given: Tensor
    centre: Tensor

    def predicted(self, features: Tensor) -> Tensor:
        """``μ``, (B, *input shape) -> (B,)."""
        return self.outputs(features).squeeze(-1)

    def outputs(self, features: Tensor) -> Tensor:
        """The network's outputs, (B, *input shape) -> (B, 1), or (B, R)."""
        outputs: Tensor = self.centre + self.classifier(features)
        return outputs
