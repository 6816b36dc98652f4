"""Selection of the best epoch of each replica, and early stopping."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.learning.training.replicas import Replicas


class Selection:
    """Keeps the model of each replica's best epoch and, once stopped, of its last.

    Best is the highest validation score: accuracy, of taggers the F1 of spans (nearly all tokens are outside of spans,
    so that accuracy hardly tells taggers apart), of ratings minus the RMSE; among equals, the lowest NLL (small
    validation sets tie often).

    Args:
        replicas: whose models.
        patience: epochs without a better score after which a replica stops, or None.

    Attributes:
        score: (S,) best score so far, -inf at first.
        nll: (S,) NLL of that epoch.
        epoch: (S,) its epoch, from 0.
        last: (S,) last epoch of each replica.
        active: (S,) which replicas still train.
    """

    def __init__(self, replicas: Replicas, patience: int | None) -> None:
        self.replicas, self.patience = replicas, patience
        n = replicas.size
        self.score: FloatArray = np.full(n, -np.inf)
        self.nll: FloatArray = np.full(n, np.inf)
        self.epoch: IntArray = np.zeros(n, np.int64)
        self.last: IntArray = np.full(n, -1, np.int64)
        self.active: BoolArray = np.ones(n, bool)
        self.best = self._copy()
        self.final = self._copy() if patience is not None else {}

    def _current(self) -> dict[str, Tensor]:
        tensors = self.replicas.tensors()
        return {name: tensors[name].detach() for name in self.replicas.model}

    def _copy(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._current().items()}

    def update(self, epoch: int, score: FloatArray | None, nll: FloatArray | None) -> None:
        """Take note of an epoch's validation scores (S,); None where nothing selects: the last epoch is the best."""
        self.last[self.active] = epoch
        if score is None or nll is None:
            self.epoch[:] = self.last
            return
        better = self.active & ((score > self.score) | ((score == self.score) & (nll < self.nll)))
        self._keep(self.best, better)
        self.epoch[better], self.score[better], self.nll[better] = epoch, score[better], nll[better]
        if self.patience is not None:
            stopping = self.active & (epoch - self.epoch >= self.patience)
            self._keep(self.final, stopping)
            self.active = self.active & ~stopping

    def _keep(self, where: dict[str, Tensor], which: BoolArray) -> None:
        for name, value in self._current().items():
            if which.all():
                where[name].copy_(value)
            else:
                for s in np.flatnonzero(which):
                    where[name][s].copy_(value[s])

    def best_model(self) -> dict[str, Tensor]:
        """name -> (S, ...): each replica's model of its best epoch."""
        return self.last_model() if np.isneginf(self.score).all() else self.best

    def last_model(self) -> dict[str, Tensor]:
        """name -> (S, ...): each replica's model after its last epoch."""
        model = self._copy()
        for name, value in self.final.items():
            for s in np.flatnonzero(~self.active):
                model[name][s].copy_(value[s])
        return model

    def load(self, model: dict[str, Tensor]) -> None:
        """Make the replicas this model."""
        with torch.no_grad():
            for name, value in self._current().items():
                value.copy_(model[name])
