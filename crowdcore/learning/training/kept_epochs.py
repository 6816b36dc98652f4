"""Matrices and ω stored at some epochs, to show how they developed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.replicas import Replicas

_MATRICES = ("worker_confusion", "common_confusion")
_EPOCHS = 9  # kept at most, the start and the last among them
_BYTES = 64 << 20  # that all kept epochs of a stack may take
_OMEGA_CHUNK = 4096


@torch.no_grad()
def recovered_of(replicas: Replicas) -> dict[str, AnyArray]:
    """part -> (S, ...) what the replicas recovered as they stand, computed in float64."""
    exact = {k: v.double() if v.is_floating_point() else v for k, v in replicas.tensors().items()}
    recovered: dict[str, Any] = replicas.call("recovered", state=exact)
    return {name: value.cpu().numpy() for name, value in recovered.items()}


@torch.no_grad()
def omega_of(replicas: Replicas, data: Data, tasks: slice | None = None) -> Tensor | None:
    """ω of every annotation of some tasks (default: all) in the problem's order, (S, A); None without ω."""
    if replicas.method.omega is CrowdMethod.omega:
        return None
    replicas.train(False)
    pieces = data.chunks(slice(0, len(data.problem.order)) if tasks is None else tasks, _OMEGA_CHUNK)
    parts = [replicas.call("omega", batch) for batch in map(data.stretch, pieces) if len(batch.row)]
    return torch.cat(parts, 1)


class Kept:
    """Recovered matrices of a stack at the start (epoch 0), at evenly spaced epochs and at the last.

    Args:
        replicas: whose matrices.
        data: whose annotations ω belongs to.
        epochs: how many there will be.

    Attributes:
        at: epoch (0 = before training, k = after k epochs) -> part -> (S, ...) float32, classes as trained.
    """

    def __init__(self, replicas: Replicas, data: Data, epochs: int) -> None:
        self.replicas, self.data = replicas, data
        self.at: dict[int, dict[str, FloatArray]] = {}
        size = sum(v.nbytes for v in self._now().values())
        affordable = min(_EPOCHS, _BYTES // size) if size else 0
        self._plan = set(np.linspace(0, epochs, affordable).round().astype(int).tolist()) if affordable > 1 else set()

    def _now(self) -> dict[str, FloatArray]:
        if not self.replicas.method.learns_confusions:
            return {}
        matrices = {k: v.astype(np.float32) for k, v in recovered_of(self.replicas).items() if k in _MATRICES}
        omega = omega_of(self.replicas, self.data)
        return matrices if omega is None else matrices | {"omega": omega.float().cpu().numpy()}

    def keep(self, epoch: int) -> None:
        """Keep the state after so many epochs, if it is one of those to keep."""
        if epoch in self._plan:
            self.at[epoch] = self._now()

    def epochs(self) -> IntArray:
        """(K,) ascending."""
        return np.array(sorted(self.at), np.int64)

    def parts(self) -> dict[str, AnyArray]:
        """part -> (K, S, ...)."""
        epochs = sorted(self.at)
        return {name: np.stack([self.at[e][name] for e in epochs]) for name in self.at[epochs[0]]} if epochs else {}
