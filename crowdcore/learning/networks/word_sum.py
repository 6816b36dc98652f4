"""A linear map of words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from crowdcore.learning.training.inputs import BUCKETS

_SPREAD = 0.1  # standard deviation at the start: a word that training never showed says next to nothing


def word_embedding(n: int, size: int) -> nn.Embedding:
    """(n, size) vectors of hashed words, small at the start."""
    embedding = nn.Embedding(n, size)
    with torch.no_grad():
        embedding.weight.mul_(_SPREAD)
    return embedding


class WordSum(nn.Module):
    """``W x + b`` where x has a 1 for the word and each of its parts: a sum of vectors that are looked up.

    Args:
        size: of the sum.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(word_embedding(n, size) for n in BUCKETS.values())
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        """(B, 5) tokens as `word_rows` makes them -> (B, size)."""
        rows = x.to(torch.int64)
        found: Tensor = torch.stack([embed(rows[:, k]) for k, embed in enumerate(self.embeddings)]).sum(0) + self.bias
        return found
