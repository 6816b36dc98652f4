"""The volume of predictions or confusions, which regularises towards identifiable ones."""

from __future__ import annotations

import torch
from torch import Tensor

from crowdcore.core.errors import SettingError
from crowdcore.learning.training.problem import Problem

_RIDGE = 1e-4  # keeps the volume of fewer rows than classes, and its gradient, finite


def log_volume(gram: Tensor) -> Tensor:
    """``log det(G + ε I)`` of a mean of outer products, (C, C) -> scalar; ε = 1e-4."""
    return torch.logdet(gram + _RIDGE * torch.eye(len(gram), dtype=gram.dtype, device=gram.device))


def refuse_small_batches(problem: Problem) -> None:
    """Predictions of fewer tasks than classes have the volume 0, whatever they are.

    Raises:
        SettingError: batches hold fewer tasks than there are classes.
    """
    size, least = problem.training.batch_size, problem.n_classes
    if size < least:
        must = f"be at least {least}, a task for every class, as the volume is that of a batch's predictions"
        raise SettingError("batch_size", must, size)
