"""A softmax head per worker on shared layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from crowdcore.learning.base import Network
from crowdcore.learning.networks.likelihood import log_label
from crowdcore.learning.networks.ops import take_rows
from crowdcore.learning.networks.rows import log_softmax
from crowdcore.learning.training.data import Batch


class WorkerHeads(nn.Module):
    """A network whose last layer has R·C outputs: a softmax head for each worker.

    Predictions mix the heads of the workers who are ``present``: the others' learn nothing.

    Args:
        network: makes it.
        n_classes: C.
        n_workers: R.
        weighted: mix by learnt weights ``w = softmax(weight)`` over those who are present, else evenly.
    """

    present: Tensor
    """(R,) 1, or 0 for a worker without training labels; until told otherwise, everyone is there."""

    def __init__(self, network: Network, n_classes: int, n_workers: int, weighted: bool = False) -> None:
        super().__init__()
        self.shape = (n_workers, n_classes)
        self.network = network(n_workers * n_classes)
        self.register_buffer("present", torch.ones(n_workers))
        if weighted:
            self.weight = nn.Parameter(torch.zeros(n_workers))
        else:
            self.register_buffer("weight", torch.zeros(n_workers), persistent=False)

    def logits(self, features: Tensor) -> Tensor:
        """Of every head, (B, *input shape) -> (B, R, C)."""
        logits: Tensor = self.network(features).unflatten(-1, self.shape)
        return logits

    def forward(self, features: Tensor) -> Tensor:
        """log of the mixture, (B, *input shape) -> (B, C)."""
        log_p = log_softmax(self.logits(features))
        return torch.logsumexp(log_p + self.log_weight.unsqueeze(-1), -2)

    @property
    def log_weight(self) -> Tensor:
        """(R,) log w, -inf for those who are not present."""
        return log_softmax(self.weight + self.present.log())

    def own_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """``-mean log p_i^r(y_i^r)``: every head learns its own worker's labels; from `logits`."""
        n_workers, n_classes = self.shape
        own = take_rows(logits.reshape(-1, n_classes), batch.row * n_workers + batch.worker)
        return -batch.mean(log_label(own, batch.label))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        state_dict.setdefault(f"{prefix}present", self.present)  # results kept when all heads counted
        super()._load_from_state_dict(state_dict, prefix, *args)
