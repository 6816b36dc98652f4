"""Networks of one's own for the dataset of `on_engine`: they wait, and leave the processor to what is tested."""

from __future__ import annotations

import time
from typing import ClassVar

from torch import Tensor, nn


class Slow(nn.Module):
    """Softmax regression that waits at every step: its epochs are long."""

    seconds: ClassVar[float] = 0.3

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        """(B, 6) -> (B, 4)."""
        time.sleep(self.seconds)
        logits: Tensor = self.output(x)
        return logits


class Waiting(Slow):
    """Its epochs take some 50 ms, when all tasks are one batch."""

    seconds = 0.02
