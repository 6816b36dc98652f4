"""Errors of all replicas on ratings, after every epoch."""

from __future__ import annotations

import torch
from torch import Tensor

from crowdcore.learning.ratings.problem import RatingProblem
from crowdcore.learning.ratings.result import rating_scores
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.evaluation import predict
from crowdcore.learning.training.steps import Replicas


class RatingEvaluation:
    """MAE, RMSE and R² of each split in the dataset's unit: on validation against what selects, else against gold.

    Args:
        replicas: whose predictions.
        data: where the tasks are.
    """

    def __init__(self, replicas: Replicas, data: Data) -> None:
        assert isinstance(data.problem, RatingProblem)
        self.replicas, self.data, self.problem = replicas, data, data.problem
        gold = self.problem.gold
        validate = self.problem.consensus if "mean ratings" in self.problem.validated_on else gold
        self._truth = {"train": gold, "valid": validate, "test": gold}

    def __call__(self) -> dict[str, Tensor]:
        """Metric -> (S,), on the device."""
        splits = self.problem.splits
        mu = predict(self.replicas, self.data, slice(0, splits["test"].stop)).double().cpu().numpy()
        metrics: dict[str, Tensor] = {}
        for split, truth in self._truth.items():
            scores = rating_scores(mu[:, splits[split]], truth[splits[split]], self.problem.unit)
            metrics |= {f"{split}_{name}": torch.from_numpy(v).to(self.data.device) for name, v in scores.items()}
        return metrics
