"""The crowd layer, a linear map per worker between classifier and labels; with twice the layers; on softened labels."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, softplus

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import CrowdArSettings, CrowdLayerSettings, StartSettings
from crowdcore.learning.networks.layers import Linear
from crowdcore.learning.networks.noise_layers import WorkerMatrices
from crowdcore.learning.networks.ops import at_label, gather_rows, log_label, log_softmax, softmax
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.inputs import refuse_words
from crowdcore.learning.training.problem import Problem


class CrowdLayer(CrowdMethod):
    """``-mean log softmax(a^r)[y_i^r]`` with ``a^r = p W^r`` (mw), ``w^r ⊙ p`` (vw) or ``w^r ⊙ p + b^r`` (vw+b).

    Identity (w = 1, b = 0) at the start. The confusion it exposes is what the layer says of a task that certainly
    is of class c: ``π^r[c] = softmax(a^r)`` at p = e_c. (The paper shows W^r itself, for its relative magnitudes.)
    """

    name: ClassVar[str] = "crowd-layer"
    title: ClassVar[str] = "Crowd layer"
    paper: ClassVar[str] = "Rodrigues, Pereira: Deep Learning from Crowds, AAAI 2018"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = CrowdLayerSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.connection = settings.connection
        if self.connection == "mw":
            self.matrices = WorkerMatrices(self.n_workers, self.n_classes, 1.0, settings.rank)
        else:
            self.weight = nn.Parameter(torch.ones(self.n_workers, self.n_classes))
        if self.connection == "vw+b":
            self.bias = nn.Parameter(torch.zeros(self.n_workers, self.n_classes))

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Set matrices with these confusions, or weights with their diagonals and bias 0."""
        if self.connection == "mw":
            self.matrices.start_from(confusion)
        else:
            right = confusion.diagonal(dim1=-2, dim2=-1).clamp(1e-3, 1 - 1e-3)
            self.weight.copy_(torch.logit(right) + math.log(self.n_classes - 1))
        if self.connection == "vw+b":
            self.bias.zero_()

    def activation(self, p: Tensor, worker: Tensor) -> Tensor:
        """``a^r``: (A, C), (A,) -> (A, C)."""
        if self.connection == "mw":
            logits: Tensor = self.matrices(p, worker)
            return logits
        if self.connection == "vw":
            (weight,) = gather_rows(worker, self.weight)
            return weight * p
        weight, bias = gather_rows(worker, self.weight, self.bias)
        return weight * p + bias

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of every worker's labels."""
        (p,) = gather_rows(batch.row, self.log_probs(batch.features).exp())
        return {"cross_entropy": -batch.mean(log_label(self.activation(p, batch.worker), batch.label))}

    def recovered(self) -> Recovered:
        """softmax of the activations of a certain task."""
        if self.connection == "mw":
            logits = self.matrices.matrices()
        else:
            logits = torch.diag_embed(self.weight)
            if self.connection == "vw+b":
                logits = logits + self.bias.unsqueeze(1)
        return {"worker_confusion": torch.softmax(logits, -1)}


class CrowdLayerOver(CrowdMethod):
    """``-mean log softmax(softmax(p W₁^r) W₂^r)[y_i^r]``, both matrices the identity at the start."""

    name: ClassVar[str] = "crowd-layer-over"
    title: ClassVar[str] = "Over-parameterised crowd layer"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021, Table 3"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = StartSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.first = WorkerMatrices(self.n_workers, self.n_classes, 1.0)
        self.second = WorkerMatrices(self.n_workers, self.n_classes, 1.0)

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Set a second layer that undoes the blur of the first, an identity."""
        hidden = torch.softmax(self.first.matrices(), -1)
        self.second.weight.copy_(torch.linalg.solve(hidden, confusion.log()))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy after two softmax layers per worker."""
        (p,) = gather_rows(batch.row, self.log_probs(batch.features).exp())
        hidden = softmax(self.first(p, batch.worker))
        return {"cross_entropy": -batch.mean(log_label(self.second(hidden, batch.worker), batch.label))}

    def recovered(self) -> Recovered:
        """Output of both layers for a task that is certainly of class c."""
        hidden = torch.softmax(self.first.matrices(), -1)
        return {"worker_confusion": torch.softmax(hidden @ self.second.matrices(), -1)}


_RELIABILITY = ("difficulty.", "expertise", "slope", "offset")


class CrowdAr(CrowdMethod):
    """``-mean [λ Σ_l t(l) log softmax(p_i W^r)[l] + (1 - λ) (k log m + (1 - k) log (1 - m))]``.

    The target ``t = m e_y + (1 - m) / C`` softens the label y by its reliability ``m_i^r = σ(a · [(σ(e_r) - d_i) ⊙ p_i]
    + b)`` with a > 0 (softplus where the paper clips), difficulties ``d_i = σ(W₂ σ(W₁ x_i))`` from the features, and
    the worker's expertise e_r per class; ``k = 1[argmax p_i = y]`` says whether the classifier agrees.
    """

    name: ClassVar[str] = "crowdar"
    title: ClassVar[str] = "CrowdAR"
    paper: ClassVar[str] = "Cao, Chen, Huang, Shen, Huang: Learning from Crowds with Annotation Reliability, SIGIR 2023"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion", "worker_weight")
    Settings: ClassVar[type[Settings]] = CrowdArSettings

    trust: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.keep("trust", settings.trust)
        self.matrices = WorkerMatrices(self.n_workers, self.n_classes, 1.0)
        refuse_words(problem.dataset, self.name)
        n_in = math.prod(problem.input_shape)
        self.difficulty = nn.Sequential(
            Linear(n_in, settings.embedding), nn.Sigmoid(), Linear(settings.embedding, self.n_classes), nn.Sigmoid()
        )
        self.expertise = nn.Parameter(torch.randn(self.n_workers, self.n_classes) / math.sqrt(self.n_classes))
        self.slope = nn.Parameter(torch.ones(self.n_classes))
        self.offset = nn.Parameter(torch.zeros(()))

    @classmethod
    def rate(cls, settings: Any, parameter: str) -> float:
        """Reliabilities learn at the classifier's rate."""
        return 1.0 if parameter.startswith(_RELIABILITY) else super().rate(settings, parameter)

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Set matrices with these confusions."""
        self.matrices.start_from(confusion)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the softened labels, and of the reliabilities (eq. 5)."""
        log_p = self.log_probs(batch.features)
        tables = log_p.exp(), self.difficulty(batch.features.flatten(1))
        p, difficulty = gather_rows(batch.row, *tables)
        (expertise,) = gather_rows(batch.worker, self.expertise)
        above = (torch.sigmoid(expertise) - difficulty) * p
        logit = (above * softplus(self.slope)).sum(-1) + self.offset
        log_labels = log_softmax(self.matrices(p, batch.worker))
        given = at_label(log_labels, batch.label)
        m = torch.sigmoid(logit)
        agrees = (log_p.argmax(-1).index_select(0, batch.row) == batch.label).to(p.dtype)
        reliability = agrees * logsigmoid(logit) + (1 - agrees) * logsigmoid(-logit)
        return {
            "cross_entropy": -self.trust * batch.mean(m * given + (1 - m) * log_labels.mean(-1)),
            "reliability": -(1 - self.trust) * batch.mean(reliability),
        }

    def recovered(self) -> Recovered:
        """Confusions as a crowd layer has them; a worker's weight is the mean expertise σ(e_r)."""
        return {
            "worker_confusion": torch.softmax(self.matrices.matrices(), -1),
            "worker_weight": torch.sigmoid(self.expertise).mean(-1),
        }
