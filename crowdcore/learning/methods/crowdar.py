"""CrowdAR: a crowd layer on labels that are softened by how reliable each one is."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, softplus

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import CrowdArSettings
from crowdcore.learning.networks.layers import Linear
from crowdcore.learning.networks.noise_layers import WorkerMatrices
from crowdcore.learning.networks.ops import gather_rows, log_softmax
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.inputs import refuse_words
from crowdcore.learning.training.problem import Problem

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
        """What finds reliabilities learns as the classifier does."""
        return 1.0 if parameter.startswith(_RELIABILITY) else super().rate(settings, parameter)

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Matrices with these confusions."""
        self.matrices.start_from(confusion)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the softened labels, and of the reliabilities (eq. 5)."""
        log_p = self.log_probs(batch.features)
        tables = log_p.exp(), self.difficulty(batch.features.flatten(1))
        p, difficulty = gather_rows(batch.row, *tables)
        (expertise,) = gather_rows(batch.worker, self.expertise)
        above = (torch.sigmoid(expertise) - difficulty) * p
        logit = (above * softplus(self.slope)).sum(-1) + self.offset
        log_label = log_softmax(self.matrices(p, batch.worker))
        given = log_label.gather(-1, batch.label.unsqueeze(-1)).squeeze(-1)
        m = torch.sigmoid(logit)
        agrees = (log_p.argmax(-1).index_select(0, batch.row) == batch.label).to(p.dtype)
        reliability = agrees * logsigmoid(logit) + (1 - agrees) * logsigmoid(-logit)
        return {
            "cross_entropy": -self.trust * batch.mean(m * given + (1 - m) * log_label.mean(-1)),
            "reliability": -(1 - self.trust) * batch.mean(reliability),
        }

    def recovered(self) -> Recovered:
        """Confusions as a crowd layer has them; a worker's weight is the mean expertise σ(e_r)."""
        return {
            "worker_confusion": torch.softmax(self.matrices.matrices(), -1),
            "worker_weight": torch.sigmoid(self.expertise).mean(-1),
        }
