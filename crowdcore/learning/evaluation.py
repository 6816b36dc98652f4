"""Accuracies and recovery errors of all replicas, computed on the device and fetched once an epoch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from crowdcore.core.types import FloatArray
from crowdcore.learning.data import Data
from crowdcore.learning.replicas import Replicas

__all__ = ["Evaluation", "predict"]

_CHUNK = 4096
_FOLLOWED = 10_000  # training tasks up to which their accuracy is worth the time of another pass


@torch.no_grad()
def predict(replicas: Replicas, data: Data, tasks: slice) -> Tensor:
    """log p of a range of tasks, (S, n, C) on the device, in evaluation mode."""
    replicas.train(False)
    parts = [replicas.call("log_probs", data.inputs(piece)) for piece in data.chunks(tasks, _CHUNK)]
    return torch.cat(parts, 1)


class Evaluation:
    """What is measured after every epoch: accuracy and NLL of each split, recovery errors if truth is known.

    Training tasks count only where there are no more than 10,000 of them.

    Args:
        replicas: whose predictions and confusions.
        data: where the tasks are.
    """

    def __init__(self, replicas: Replicas, data: Data) -> None:
        self.replicas, self.data = replicas, data
        problem = data.problem
        train, test = problem.splits["train"], problem.splits["test"]
        labels = {"valid": problem.valid_label, "test": problem.gold[test]}
        if problem.n_train <= _FOLLOWED and (problem.gold[train] >= 0).any():
            labels = {"train": problem.gold[train], **labels}
        self._range = slice(problem.splits[next(iter(labels))].start, test.stop)
        self._labels = {s: torch.from_numpy(v).to(data.device) for s, v in labels.items() if (v >= 0).any()}
        self._has_recovery = bool(self._truth(data))

    def _truth(self, data: Data) -> dict[str, Tensor]:
        truth = data.problem.dataset.truth
        parts = {} if truth is None else {"worker": truth.worker_confusion, "common": truth.common_confusion}
        self._true = {k: torch.from_numpy(v).float().to(data.device) for k, v in parts.items() if v is not None}
        return self._true

    @torch.no_grad()
    def __call__(self) -> dict[str, Tensor]:
        """Metric -> (S,), still on the device."""
        metrics: dict[str, Tensor] = {}
        if self._labels:
            log_p = predict(self.replicas, self.data, self._range)
            for split, labels in self._labels.items():
                part = self.data.problem.splits[split]
                inside = log_p[:, part.start - self._range.start : part.stop - self._range.start]
                metrics |= {f"{split}_{k}": v for k, v in _scores(inside, labels).items()}
        if self._has_recovery:
            recovered = self.replicas.call("recovered")
            for kind, true in self._true.items():
                found = recovered.get(f"{kind}_confusion")
                if found is not None and found.shape[1:] == true.shape:
                    rows = (found - true).square().sum(-1)
                    metrics[f"{kind}_recovery_error"] = rows.nanmean((1, 2)[: true.dim() - 1])
        return metrics


def _scores(log_p: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Accuracy and NLL of (S, n, C) against (n,) labels, -1 left out."""
    known = (labels >= 0).to(log_p.dtype)
    n = known.sum()
    hit = (log_p.argmax(-1) == labels).to(log_p.dtype)
    picked = log_p.gather(-1, labels.clamp_min(0).expand(len(log_p), -1).unsqueeze(-1)).squeeze(-1)
    return {"accuracy": (hit * known).sum(-1) / n, "nll": -(picked * known).sum(-1) / n}


def fetch(metrics: dict[str, Tensor]) -> dict[str, FloatArray]:
    """To the host in one transfer, float64."""
    if not metrics:
        return {}
    table = torch.stack(list(metrics.values())).double().cpu().numpy()
    return {name: np.asarray(row) for name, row in zip(metrics, table, strict=True)}
