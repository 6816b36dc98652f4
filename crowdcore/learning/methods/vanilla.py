"""Vanilla: every annotation taken as true."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.networks.ops import gather_rows, log_label
from crowdcore.learning.training.data import Batch


class Vanilla(CrowdMethod):
    """``-mean over annotations of log p_i(y_i^r)``."""

    name: ClassVar[str] = "vanilla"
    title: ClassVar[str] = "Every annotation as if true"
    paper: ClassVar[str] = "-"

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with every annotation."""
        (logits,) = gather_rows(batch.row, self.classifier(batch.features))
        return {"cross_entropy": -batch.mean(log_label(logits, batch.label))}
