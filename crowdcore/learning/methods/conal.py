"""CoNAL: every label comes from a confusion shared by all workers, or by a group of them, or from the worker's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import ConalGroupsSettings, ConalSettings
from crowdcore.learning.networks.layers import Linear, WordSum
from crowdcore.learning.networks.noise_layers import WorkerMatrices, split_confusion
from crowdcore.learning.networks.ops import (
    at_label,
    centre_and_scale,
    gather_rows,
    given_label,
    log_label,
    log_softmax,
    normalise,
    softmax,
)
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.inputs import refuse_words
from crowdcore.learning.training.problem import Problem

_HIDDEN = 128  # of the authors' two linear layers


class OmegaNetwork(nn.Module):
    """``ω_i^r = σ(u_r · v_i)`` (CoNAL eq. 3), or with a bias ``σ(u_r · v_i + b)``.

    Args:
        problem: its input shape, number of workers, worker features.
        size: dimension of both embeddings.
        source: "features": ``v_i = W^v x_i + b^v``, where tasks are words with x_i the indicators of the word and its
            parts (`WordSum`); "two-layer": two linear maps without activation; "task": a free vector per training task.
        normalise: "both" embeddings to length 1, only the "worker" side, or "none".
        free: add b, 0 at the start, and rescale the features by `centre_and_scale`, so that ω learns at the same pace
            whatever their number and scale.
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


class CommonNoise(CrowdMethod):
    """A label comes from a common confusion with probability ω, else from the worker's own."""

    regularisation: Tensor
    common: nn.Parameter
    individual: WorkerMatrices
    omega_network: OmegaNetwork

    @classmethod
    def rate(cls, settings: Any, parameter: str) -> float:
        """ω's network has a learning rate of its own."""
        return settings.omega_lr if parameter.startswith("omega_network.") else super().rate(settings, parameter)

    def omega(self, batch: Batch) -> Tensor:
        """(A,) ω of every annotation."""
        (v,) = gather_rows(batch.row, self.omega_network.task_embedding(batch))
        return torch.sigmoid(self.omega_network(v, batch.worker))

    def recovered(self) -> Recovered:
        """Common confusions, and the workers' own."""
        return {
            "common_confusion": torch.softmax(self.common, -1),
            "worker_confusion": torch.softmax(self.individual.matrices(), -1),
        }


class Conal(CommonNoise):
    """``p(y|i,r) = Σ_c p_i(c) [ω_i^r π^g + (1 - ω_i^r) π^r][c, y]``, confusions ``π[c] = softmax(W[c])``.

    Loss ``-mean log p(y_i^r|i,r) - λ Σ_r ‖W^g - W^r‖₂``, ``ω_i^r = σ(u_r · v_i + b)``. ``variant="paper"`` takes
    ``ω softmax(p W^g)[y] + (1 - ω) softmax(p W^r)[y]`` and no b (eq. 3), ``variant="authors"``
    ``softmax(ω p W^g + (1 - ω) p W^r)``; all agree where p is certain.
    """

    name: ClassVar[str] = "conal"
    title: ClassVar[str] = "Common noise adaptation layers (CoNAL)"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021"
    recovers: ClassVar[tuple[str, ...]] = ("common_confusion", "worker_confusion", "omega")
    Settings: ClassVar[type[Settings]] = ConalSettings
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "mixture": {"lr": 5e-3, "noise_lr": 10.0, "schedule": "cosine"},
        "paper": {"lr": 5e-3, "noise_lr": 1.0, "normalise": "both", "start": "identity"},
        "authors": {"lr": 1e-2, "noise_lr": 1.0, "normalise": "both", "start": "identity", "batch_size": 1024},
    }

    def __init__(self, problem: Problem, settings: ConalSettings, network: Network) -> None:
        super().__init__(problem, settings, network)
        if settings.variant == "mixture" and settings.rank is not None:
            raise SettingError("rank", "be left out for variant 'mixture'", settings.rank, "Pass variant='paper'.")
        self.variant = settings.variant
        self.keep("regularisation", settings.regularisation)
        self.common = nn.Parameter(settings.initial_scale * torch.eye(self.n_classes))
        self.individual = WorkerMatrices(self.n_workers, self.n_classes, settings.initial_scale, settings.rank)
        source: str = settings.omega_input
        if settings.variant == "authors" and source == "features":
            source = "two-layer"
        self.omega_network = OmegaNetwork(
            problem, settings.embedding, source, settings.normalise, free=settings.variant == "mixture"
        )

    @classmethod
    def begins_phase(cls, settings: Any, epoch: int, epochs: int) -> bool:
        """Return True for the authors' code, which makes a fresh optimiser every epoch."""
        return bool(settings.variant == "authors")

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Give the mixture at ω = ½ these confusions: the common one is their mean, the workers' own are the rest."""
        common, own = split_confusion(confusion)
        self.individual.start_from(own)
        self.common.copy_(common.log())

    def log_likelihood(self, batch: Batch) -> Tensor:
        """(A,) log p(y_i^r|i,r)."""
        p = self.log_probs(batch.features).exp()
        if self.variant == "mixture":
            return self._mixture(p, batch)
        common = p @ self.common
        if self.variant == "paper":
            common = log_softmax(common)
        p, common, v = gather_rows(batch.row, p, common, self.omega_network.task_embedding(batch))
        own = self.individual(p, batch.worker)
        t = self.omega_network(v, batch.worker)
        if self.variant == "authors":
            return log_label(own + torch.sigmoid(t).unsqueeze(-1) * (common - own), batch.label)
        shared = at_label(common, batch.label)
        return torch.logaddexp(logsigmoid(t) + shared, logsigmoid(-t) + log_label(own, batch.label))

    def _mixture(self, p: Tensor, batch: Batch) -> Tensor:
        p, common, v = gather_rows(batch.row, p, p @ softmax(self.common), self.omega_network.task_embedding(batch))
        omega = torch.sigmoid(self.omega_network(v, batch.worker))
        shared = at_label(common, batch.label)
        confusion = softmax(self.individual.matrices())
        own = (p * given_label(confusion, batch.worker, batch.label)).sum(-1)
        return (own + omega * (shared - own)).clamp_min(1e-30).log()

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Mean cross-entropy, minus the distances."""
        return {
            "cross_entropy": -batch.mean(self.log_likelihood(batch)),
            "distance": -self.regularisation * self.individual.distances(self.common).sum(),
        }


class ConalGroups(CommonNoise):
    """``p(y|i,r) = ω_i^r Σ_g γ_rg softmax(p_i W^g)[y] + (1 - ω_i^r) softmax(p_i W^r)[y]``.

    Loss ``-mean log p - λ Σ_r Σ_g γ_rg ‖W^g - W^r‖₂``; memberships γ_r = softmax(m_r) are learnt with the rest, and
    the common matrices start with small random differences. A worker's group is the largest membership.
    """

    name: ClassVar[str] = "conal-groups"
    title: ClassVar[str] = "CoNAL with a common confusion per group"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021, Conclusion"
    recovers: ClassVar[tuple[str, ...]] = ("common_confusion", "worker_confusion", "group", "omega")
    Settings: ClassVar[type[Settings]] = ConalGroupsSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        g, c = settings.n_groups, self.n_classes
        self.keep("regularisation", settings.regularisation)
        self.common = nn.Parameter(settings.initial_scale * torch.eye(c).repeat(g, 1, 1) + 0.1 * torch.randn(g, c, c))
        self.membership = nn.Parameter(0.1 * torch.randn(self.n_workers, g))
        self.individual = WorkerMatrices(self.n_workers, c, settings.initial_scale)
        self.omega_network = OmegaNetwork(problem, settings.embedding, "features", settings.normalise, free=True)

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Give the mixture at ω = ½ these confusions; the groups' common ones stay as far apart as they were drawn."""
        apart = self.common - self.common.mean(0)
        common, own = split_confusion(confusion)
        self.individual.start_from(own)
        self.common.copy_(common.log() + apart)

    def log_likelihood(self, batch: Batch) -> Tensor:
        """(A,) log p(y_i^r|i,r)."""
        p = self.log_probs(batch.features).exp()
        logits = torch.einsum("bc,gck->bgk", p, self.common)
        of_groups = log_softmax(logits)
        p, shared, v = gather_rows(batch.row, p, of_groups.flatten(1), self.omega_network.task_embedding(batch))
        (member,) = gather_rows(batch.worker, log_softmax(self.membership))
        label = batch.label.reshape(-1, 1, 1).expand(-1, of_groups.shape[1], 1)
        of_label = shared.reshape(-1, *of_groups.shape[1:]).gather(-1, label).squeeze(-1)
        common = torch.logsumexp(member + of_label, -1)
        t = self.omega_network(v, batch.worker)
        own = log_label(self.individual(p, batch.worker), batch.label)
        return torch.logaddexp(logsigmoid(t) + common, logsigmoid(-t) + own)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Mean cross-entropy, minus the distances to the worker's groups."""
        distances = torch.stack([self.individual.distances(w) for w in self.common.unbind(0)], -1)
        gamma = softmax(self.membership)
        return {
            "cross_entropy": -batch.mean(self.log_likelihood(batch)),
            "distance": -self.regularisation * (gamma * distances).sum(),
        }

    def recovered(self) -> Recovered:
        """A common confusion per group, the workers' own, and each worker's group."""
        return {**super().recovered(), "group": self.membership.argmax(-1)}
