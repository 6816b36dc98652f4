"""GeoCrowdNet: stochastic confusions, with a volume that makes them identifiable."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.learning.base import Network
from crowdcore.learning.method_settings import GeoCrowdNetSettings
from crowdcore.learning.networks.noise_layers import WorkerModel
from crowdcore.learning.networks.ops import log_volume, refuse_small_batches
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class GeoCrowdNet(WorkerModel):
    """``-mean log (p_i π^r)[y_i^r] - λ log det(V + ε I)`` with stochastic π^r, means over annotations.

    F: ``V = mean_i p_iᵀ p_i`` over a batch's tasks (a last batch with fewer tasks than classes would have volume 0: ε =
    1e-4 keeps it finite); the paper's sum over tasks differs by a constant. W: ``V = Σ_r π^r π^rᵀ / R``, the same
    whatever the batch. ``π^r ∝ softplus(V^r)`` as in trace regularisation.
    """

    name: ClassVar[str] = "geocrowdnet"
    title: ClassVar[str] = "GeoCrowdNet"
    paper: ClassVar[str] = (
        "Ibrahim, Nguyen, Fu: Deep Learning From Crowdsourced Labels: Coupled Cross-Entropy Minimization, "
        "Identifiability, and Regularization, ICLR 2023"
    )
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = GeoCrowdNetSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.volume = settings.volume
        if settings.volume == "f" and settings.strength:
            refuse_small_batches(problem)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, minus the volume."""
        p, confusion = self.log_probs(batch.features).exp(), self.confusion()
        gram = p.T @ p / len(p) if self.volume == "f" else (confusion @ confusion.transpose(1, 2)).mean(0)
        return {
            "cross_entropy": -batch.mean(self.log_likelihood(p, confusion, batch)),
            "volume": -self.strength * log_volume(gram),
        }
