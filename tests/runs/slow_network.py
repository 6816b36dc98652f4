"""A network of one's own whose epochs are long, for the dataset of `on_engine`."""

from __future__ import annotations

import time

from torch import Tensor, nn


class Slow(nn.Module):
    """Softmax regression that waits at every step."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        """(B, 6) -> (B, 4)."""
        time.sleep(0.3)
        logits: Tensor = self.output(x)
        return logits
