"""Noise that depends on the task: CoNAL's ω, the probability of the common confusion, and confusions per task."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from crowdcore.core.errors import SettingError
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.networks.layers import Linear, WordSum
from crowdcore.learning.networks.ops import gather_rows, log_softmax, normalise
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.inputs import refuse_words
from crowdcore.learning.training.problem import Problem

_CONFUSION_HIDDEN = 64

_REACH = 5.0  # standard deviation of the scaled features times the root of their number
_SAMPLE = 4096  # training tasks that centre and scale are taken from
_HIDDEN = 128  # of the authors' two linear layers


class OmegaNetwork(nn.Module):
    """``ω_i^r = σ(u_r · v_i)`` (CoNAL eq. 3), or with a bias ``σ(u_r · v_i + b)``.

    Args:
        problem: its input shape, number of workers, worker features.
        size: dimension of both embeddings.
        source: "features": ``v_i = W^v x_i + b^v``, where tasks are words with x_i the indicators of the word and its
            parts (`WordSum`); "two-layer": two linear maps without activation; "task": a free vector per training task.
        normalise: "both" embeddings to length 1, only the "worker" side, or "none".
        free: add b, 0 at the start, and scale the features: centred, with variance 1/n_in times `_REACH` squared over a
            sample of training tasks, so that ω learns at the same pace whatever their number and scale.
    """

    centre: Tensor
    scale: Tensor

    def __init__(self, problem: Problem, size: int, source: str, normalise: str, free: bool = False) -> None:
        super().__init__()
        if source == "two-layer":
            refuse_words(problem.dataset, "ω of this method")
        source = "words" if source == "features" and problem.dataset.of_words else source
        self.bias = nn.Parameter(torch.zeros(())) if free else None
        self.scaled = free and source == "features"
        if self.scaled:
            for name, value in zip(("centre", "scale"), centre_and_scale(problem), strict=True):
                self.register_buffer(name, value, persistent=False)
        n_in, self.source, self.normalise = math.prod(problem.input_shape), source, normalise
        self.n_train = problem.n_train
        if source == "task":
            self.task = nn.Parameter(torch.randn(problem.n_train, size) / math.sqrt(size))
        elif source == "two-layer":
            self.inner, self.outer = Linear(n_in, _HIDDEN), Linear(_HIDDEN, size)
        elif source == "words":
            self.words = WordSum(size)
        else:
            self.outer = Linear(n_in, size)
        known = problem.worker_features
        self.register_buffer("known", None if known is None else torch.from_numpy(known), persistent=False)
        self.worker = Linear(problem.n_workers if known is None else known.shape[1], size)

    def task_embedding(self, batch: Batch) -> Tensor:
        """v, (B, size); NaN for tasks without a free vector."""
        if self.source == "task":
            (v,) = gather_rows(batch.task.clamp_max(self.n_train - 1), self.task)
            v = torch.where((batch.task < self.n_train).unsqueeze(-1), v, torch.nan)
        elif self.source == "words":
            v = self.words(batch.features)
        else:
            x = batch.features.flatten(1)
            if self.scaled:
                x = (x - self.centre) * self.scale
            if self.source == "two-layer":  # the product of both maps is one map: same values, far less work
                weight = self.inner.weight @ self.outer.weight
                v = x @ weight + (self.inner.bias @ self.outer.weight + self.outer.bias)
            else:
                v = self.outer(x)
        return normalise(v) if self.normalise == "both" else v

    def worker_embedding(self) -> Tensor:
        """u, (R, size)."""
        known = self.known
        u = self.worker.weight + self.worker.bias if known is None else self.worker(known)
        return u if self.normalise == "none" else normalise(u)

    def forward(self, v: Tensor, worker: Tensor) -> Tensor:
        """Logit of ω: v of each annotation's task (A, size), workers (A,) -> (A,)."""
        (u,) = gather_rows(worker, self.worker_embedding())
        t = (u * v).sum(-1)
        return t if self.bias is None else t + self.bias


def centre_and_scale(problem: Problem) -> tuple[Tensor, Tensor]:
    """(n_in,) mean of the prepared features of some training tasks, and `_REACH` / (standard deviation · √n_in)."""
    some = problem.order[: problem.n_train][:: -(-problem.n_train // _SAMPLE)]
    rows = torch.from_numpy(np.ascontiguousarray(problem.rows[some]))
    x = problem.preparation(rows).float().flatten(1)
    deviation = x.std(0, correction=0)
    deviation = torch.where(deviation > 1e-6, deviation, torch.ones_like(deviation))
    return x.mean(0), _REACH / (deviation * math.sqrt(x.shape[1]))


class CommonNoise(CrowdMethod):
    """A label comes from a common confusion with probability ω, else from the worker's own."""

    regularisation: Tensor
    omega_network: OmegaNetwork

    @classmethod
    def rate(cls, settings: Any, parameter: str) -> float:
        """ω's network has a learning rate of its own."""
        return settings.omega_lr if parameter.startswith("omega_network.") else super().rate(settings, parameter)

    def omega(self, batch: Batch) -> Tensor:
        """(A,) ω of every annotation."""
        (v,) = gather_rows(batch.row, self.omega_network.task_embedding(batch))
        return torch.sigmoid(self.omega_network(v, batch.worker))


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
        self.inner, self.outer = Linear(3 * size, _CONFUSION_HIDDEN), Linear(_CONFUSION_HIDDEN, size)
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
