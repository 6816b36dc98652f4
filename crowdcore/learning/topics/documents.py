"""Word counts of documents in padded batches, documents of like length together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

_CELLS = 2**16  # distinct words, padding included, in one batch
_CELLS_IN_CACHE = 2**12  # the same on a processor, where batches that fit its cache are twice as fast


@dataclass(frozen=True, eq=False)
class Documents:
    """B documents of M distinct words at most.

    Args:
        number: (B,) of each document.
        word: (B, M) number of each distinct word; 0 where it is padding.
        count: (B, M) float64, how often it occurs; 0 for padding.
    """

    number: Tensor
    word: Tensor
    count: Tensor

    @property
    def length(self) -> Tensor:
        """(B,) words of each document, N; 1 for one without words."""
        return self.count.sum(1).clamp_min(1)


def batches(counts: Any, device: torch.device) -> list[Documents]:
    """Cut a sparse (n_documents, V) matrix of counts; every document is in one batch."""
    counts = counts.tocsr()
    counts.sum_duplicates()
    most = min(_CELLS, _CELLS_IN_CACHE) if device.type == "cpu" else _CELLS
    distinct = np.diff(counts.indptr)
    order = np.argsort(distinct, kind="stable")
    width = np.maximum(distinct[order], 1)
    found, first = [], 0
    while first < len(order):
        cells = np.arange(1, len(order) - first + 1) * width[first:]
        last = first + max(1, int(np.searchsorted(cells, most, "right")))
        number = order[first:last]
        at = np.arange(width[last - 1])
        here = at < distinct[number, None]
        cell = np.where(here, counts.indptr[number, None] + at, 0)
        word = np.where(here, counts.indices[cell], 0) if len(counts.data) else np.zeros(cell.shape)
        count = np.where(here, counts.data[cell], 0) if len(counts.data) else np.zeros(cell.shape)
        parts = (number.astype(np.int64), word.astype(np.int64), count.astype(np.float64))
        found.append(Documents(*(torch.from_numpy(part).to(device) for part in parts)))
        first = last
    return found
