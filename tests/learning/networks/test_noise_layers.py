"""Low-rank confusions: no step ever holds a number per worker and pair of classes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.learning.helpers import built, featured_crowd, gradients


class Largest(TorchDispatchMode):
    """The most elements of any tensor that an operation makes, forward or backward."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for value in out if isinstance(out, tuple | list) else [out]:
            if isinstance(value, torch.Tensor):
                self.numbers = max(self.numbers, value.numel())
        return out


@pytest.mark.parametrize(("rank", "dense"), [(1, False), (None, True)])
def test_a_step_of_low_rank_makes_nothing_as_large_as_all_matrices(rank, dense):
    crowd = featured_crowd(n_tasks=40, n_workers=400, n_classes=9)
    module, _, batch = built("conal", crowd, rank=rank, variant="paper")
    with Largest() as largest:
        gradients(module, batch)
    assert (largest.numbers >= 400 * 9 * 9) == dense
