"""Adam or SGD over stacked parameters, with a learning rate that follows the epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from crowdcore.learning.settings import TrainSettings


def learning_rate(training: TrainSettings, epoch: int) -> float:
    """Learning rate of an epoch (from 0) by the schedule."""
    share = epoch / training.epochs
    if training.schedule == "cosine":
        return training.lr * (1 + math.cos(math.pi * share)) / 2
    if training.schedule == "step":
        return training.lr * 0.1 ** ((share >= 0.5) + (share >= 0.75))
    return training.lr


class Optimiser:
    """One optimiser for all replicas of a stack; its arithmetic is per element, so replicas do not meet.

    Args:
        parameters: leaf tensors.
        training: the trainer's settings, of which those about the optimiser count.
        rates: learning rate of each parameter as a multiple of ``training.lr``; None = 1.
    """

    def __init__(
        self, parameters: Sequence[Tensor], training: TrainSettings, rates: Sequence[float] | None = None
    ) -> None:
        self.training = training
        self.parameters = [p for p in parameters if p.requires_grad]
        cuda = self.parameters[0].is_cuda
        grouped: dict[float, list[Tensor]] = {}
        for p, rate in zip(parameters, rates or [1.0] * len(parameters), strict=True):
            if p.requires_grad:
                grouped.setdefault(rate, []).append(p)
        # A learning rate is a tensor, so that a recorded step follows it.
        dtype = torch.float32 if cuda else torch.float64
        groups: list[dict[str, Any]] = [
            {"params": params, "rate": rate, "lr": torch.zeros((), dtype=dtype, device=params[0].device)}
            for rate, params in grouped.items()
        ]
        if training.optimizer == "adam":
            self._inner: torch.optim.Optimizer = torch.optim.Adam(
                groups, weight_decay=training.weight_decay, fused=True, capturable=cuda
            )
        else:
            self._inner = torch.optim.SGD(
                groups, momentum=training.momentum, weight_decay=training.weight_decay, fused=True
            )
        self._initialise()

    def _initialise(self) -> None:
        """Bring the moments into being with a step of length 0, so that they exist before anything is recorded."""
        for p in self.parameters:
            p.grad = torch.zeros_like(p)
        self._inner.step()
        self.clear()
        self.forget()

    def forget(self) -> None:
        """Back to the state of a fresh optimiser."""
        for moments in self._inner.state.values():
            for value in moments.values():
                if isinstance(value, Tensor):
                    value.zero_()

    def start_epoch(self, epoch: int) -> None:
        """Set the learning rate of an epoch (from 0), and forget if that is wished."""
        lr = learning_rate(self.training, epoch)
        for group in self._inner.param_groups:
            group["lr"].fill_(lr * group["rate"])
        if self.training.restart_optimizer:
            self.forget()

    def step(self) -> None:
        """Apply the gradients."""
        self._inner.step()

    def clear(self) -> None:
        """Drop the gradients."""
        for p in self.parameters:
            p.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """The moments by name; they stay the optimiser's own."""
        return {
            f"{i}.{name}": value
            for i, p in enumerate(self.parameters)
            for name, value in self._inner.state[p].items()
            if isinstance(value, Tensor)
        }
