"""Shared parts of CoNAL and its extension to groups: settings, learning rate of ω's network, and ω."""

from __future__ import annotations

from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from crowdcore.learning.base import CrowdMethod, swept
from crowdcore.learning.networks.likelihood import gather_rows
from crowdcore.learning.networks.omega import OmegaNetwork
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.start import StartSettings


class CommonNoiseSettings(StartSettings):
    """Settings of methods with common and individual matrices."""

    regularisation: float = Field(
        default=1e-5,
        ge=0,
        title="Strength of the distance term, λ",
        description="λ of the distances between common and individual matrices (Table 2).",
        json_schema_extra=swept,
    )
    embedding: int = Field(
        default=20,
        ge=1,
        title="Embedding size",
        description="Dimension of the embeddings of tasks and workers (20 to 80).",
    )
    normalise: Literal["none", "worker", "both"] = Field(
        default="none",
        title="Embeddings of length 1",
        description="None, so that ω is free; both (paper), which confines ω to 0.27 … 0.73; or the worker's only "
        "(authors, Music).",
    )
    omega_lr: float = Field(
        default=1.0, gt=0, title="Learning rate of ω's network", description="As a multiple of the classifier's."
    )
    initial_scale: float = Field(
        default=2.0,
        gt=0,
        title="Scale of the identity start",
        description="All matrices start as this times the identity (start = identity).",
    )


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
