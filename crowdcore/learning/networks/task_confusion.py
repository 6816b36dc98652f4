"""Confusions that depend on worker and task, from embeddings of both."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from crowdcore.core.errors import SettingError
from crowdcore.learning.networks.layers import Linear
from crowdcore.learning.networks.omega import centre_and_scale
from crowdcore.learning.networks.rows import log_softmax
from crowdcore.learning.training.inputs import refuse_words
from crowdcore.learning.training.problem import Problem

_HIDDEN = 64


class TaskConfusion(nn.Module):
    """``π_i^r[c] = softmax(η̂ e_c + O_c h)``, ``h = relu(e_r + H relu(G [e_r, v_i, e_r ⊙ v_i]))``, ``v_i = V x_i``.

    η̂ is the logit at which a label is right with probability η; at the start O is 0, so that all confusions are that.
    Features are centred and scaled as for ω.

    Args:
        problem: its input shape and number of workers.
        size: of the embeddings e_r and v_i.
        right: η.
    """

    centre: Tensor
    scale: Tensor

    def __init__(self, problem: Problem, size: int, right: float) -> None:
        super().__init__()
        refuse_words(problem.dataset, "This method")
        n_classes = problem.n_classes
        if right * n_classes <= 1:
            raise SettingError("right", f"be above 1 / {n_classes}, a guess among {n_classes} classes", right)
        for name, value in zip(("centre", "scale"), centre_and_scale(problem), strict=True):
            self.register_buffer(name, value, persistent=False)
        self.worker = nn.Parameter(torch.randn(problem.n_workers, size) / math.sqrt(size))
        self.task = Linear(math.prod(problem.input_shape), size)
        self.inner, self.outer = Linear(3 * size, _HIDDEN), Linear(_HIDDEN, size)
        self.output = nn.Parameter(torch.zeros(size, n_classes, n_classes))
        self.bias = nn.Parameter(math.log(right * (n_classes - 1) / (1 - right)) * torch.eye(n_classes))

    def task_embedding(self, features: Tensor) -> Tensor:
        """v, (B, *input shape) -> (B, size)."""
        v: Tensor = self.task((features.flatten(1) - self.centre) * self.scale)
        return v

    def forward(self, worker: Tensor, task: Tensor) -> Tensor:
        """log π from embeddings (A, size) of workers and of tasks -> (A, C, C)."""
        inner = torch.relu(self.inner(torch.cat([worker, task, worker * task], -1)))
        h = torch.relu(worker + self.outer(inner))
        return log_softmax(self.bias + torch.einsum("aq,qcl->acl", h, self.output))

    def typical(self) -> Tensor:
        """(R, C, C) confusions on a task whose features are the mean ones."""
        log_confusion: Tensor = self(self.worker, self.task.bias.expand(len(self.worker), -1))
        return log_confusion.exp()
