"""Adam or SGD over stacked parameters, with a learning rate that follows the epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from crowdcore.learning.settings import TrainSettings

__all__ = ["Optimiser"]


class Optimiser:
    """One optimiser for all replicas of a stack; its arithmetic is per element, so replicas do not meet.

    Args:
        parameters: leaf tensors.
        training: the trainer's settings, of which those about the optimiser count.
    """

    def __init__(self, parameters: Sequence[Tensor], training: TrainSettings) -> None:
        self.training = training
        self.parameters = [p for p in parameters if p.requires_grad]
        cuda = self.parameters[0].is_cuda
        self._lr = torch.zeros((), device=self.parameters[0].device) if cuda else 0.0
        if training.optimizer == "adam":
            self._inner: torch.optim.Optimizer = torch.optim.Adam(
                self.parameters, self._lr, weight_decay=training.weight_decay, fused=True, capturable=cuda
            )
        else:
            self._inner = torch.optim.SGD(
                self.parameters, self._lr, training.momentum, weight_decay=training.weight_decay, fused=True
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
        lr = self.training.lr * self._factor(epoch)
        if isinstance(self._lr, Tensor):
            self._lr.fill_(lr)
        else:
            for group in self._inner.param_groups:
                group["lr"] = lr
        if self.training.restart_optimizer:
            self.forget()

    def _factor(self, epoch: int) -> float:
        share = epoch / self.training.epochs
        if self.training.schedule == "cosine":
            return (1 + math.cos(math.pi * share)) / 2
        if self.training.schedule == "step":
            return 0.1 ** ((share >= 0.5) + (share >= 0.75))
        return 1.0

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
