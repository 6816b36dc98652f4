"""Accuracies and recovery errors of all replicas, computed on the device and fetched once an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from crowdcore.analysis.spans import compare_tags
from crowdcore.core.types import FloatArray
from crowdcore.data.tags import TagScheme
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.kept_epochs import omega_of
from crowdcore.learning.training.naming import match_names
from crowdcore.learning.training.replicas import Replicas

_CHUNK, _CACHED = 4096, 64  # tasks at once; images whose layers stay in a processor's cache
_FOLLOWED = 10_000  # training tasks up to which their accuracy is worth the time of another pass
_MEASURED = 4_000_000  # numbers in all confusions up to which distances are worth it


@torch.no_grad()
def predict(replicas: Replicas, data: Data, tasks: slice, training_tasks: bool = False) -> Tensor:
    """`predicted` (or `train_log_probs`) of a range of tasks, (S, n, C) or (S, n) on the device, in evaluation mode."""
    replicas.train(False)
    parts = []
    images = data.device.type == "cpu" and len(data.problem.rows.shape) > 2
    for piece in data.chunks(tasks, _CACHED if images else _CHUNK):
        if training_tasks:
            task = torch.arange(piece.start, piece.stop, device=data.device)
            parts.append(replicas.call("train_log_probs", data.inputs(piece), task))
        else:
            parts.append(_predicted(replicas, data, piece))
    return torch.cat(parts, 1)


def _predicted(replicas: Replicas, data: Data, piece: slice) -> Any:
    """`predicted` of some tasks; what training does not change is computed once."""
    inputs = data.inputs(piece)
    if replicas.method.fixed is CrowdMethod.fixed:
        return replicas.call("predicted", inputs)
    key = piece.start, piece.stop
    if key not in replicas.fixed:
        replicas.fixed[key] = replicas.call("fixed", inputs)
    return replicas.call("log_probs_beside", inputs, replicas.fixed[key], in_dims=(None, 0))


class Evaluation:
    """What is measured after every epoch: accuracy and NLL of each split, recovery errors if truth is known.

    Of taggers also the F1 of spans, but on training tokens. Also how far confusions moved from their start (mean
    over workers with labels and over rows of half the sum of absolute differences, 0 to 1) and how much ω varies.
    Training tasks and ω count only where there are no more than 10,000 tasks, and distances only up to 4 million
    numbers.

    Args:
        replicas: whose predictions and confusions.
        data: where the tasks are.
        match: name latent classes by the validation split's gold before anything is compared.
        start: distances are measured from these confusions, (S, ...) each.
    """

    def __init__(self, replicas: Replicas, data: Data, match: bool, start: Mapping[str, FloatArray]) -> None:
        self.replicas, self.data, self.match = replicas, data, match
        confusions = {kind: start.get(f"{kind}_confusion") for kind in ("worker", "common")}
        self._start = {
            kind: torch.from_numpy(value).to(data.device)
            for kind, value in confusions.items()
            if value is not None and value.size <= _MEASURED
        }
        problem = data.problem
        train, test = problem.splits["train"], problem.splits["test"]
        labels = {"valid": problem.valid_label, "test": problem.gold[test]}
        if problem.n_train <= _FOLLOWED and (problem.gold[train] >= 0).any():
            labels = {"train": problem.gold[train], **labels}
        words = problem.dataset.sentences
        self._scheme = None if words is None else TagScheme.of(problem.dataset.classes)
        self._sentence = None if words is None else words.of_task[problem.order]
        self._range = slice(problem.splits[next(iter(labels))].start, test.stop)
        self._labels = {s: torch.from_numpy(v).to(data.device) for s, v in labels.items() if (v >= 0).any()}
        self._has_recovery = bool(self._truth(data))
        worker = data.problem.worker[: data.problem.n_train_annotations]
        self._labelled = torch.from_numpy(np.unique(worker)).to(data.device)

    def _truth(self, data: Data) -> dict[str, Tensor]:
        truth = data.problem.dataset.truth
        parts = {} if truth is None else {"worker": truth.worker_confusion, "common": truth.common_confusion}
        self._true = {k: torch.from_numpy(v).float().to(data.device) for k, v in parts.items() if v is not None}
        return self._true

    @torch.no_grad()
    def __call__(self) -> dict[str, Tensor]:
        """Metric -> (S,), still on the device."""
        metrics: dict[str, Tensor] = {}
        order = None
        if self._labels:
            log_p = predict(self.replicas, self.data, self._range)
            if self.match:
                valid = self._part(log_p, "valid").exp().cpu().numpy()
                order = torch.from_numpy(match_names(valid, self.data.problem.valid_label)).to(log_p.device)
                log_p = torch.take_along_dim(log_p, order.unsqueeze(1), -1)
            for split, labels in self._labels.items():
                part = self._part(log_p, split)
                metrics |= {f"{split}_{k}": v for k, v in _scores(part, labels).items()}
                if self._scheme is not None and split != "train":
                    metrics[f"{split}_span_f1"] = self._span_f1(part, split, labels)
        if self._has_recovery or self._start:
            metrics |= self._confusions(self.replicas.call("recovered"), order)
        if self.replicas.method.learns_confusions and self.data.problem.n_train <= _FOLLOWED:
            omega = omega_of(self.replicas, self.data, slice(0, self.data.problem.n_train))
            if omega is not None:
                metrics["omega_std"] = omega.std(1)
        return metrics

    def _span_f1(self, log_p: Tensor, split: str, labels: Tensor) -> Tensor:
        """(S,) F1 of the spans of the most probable tags, on the tokens with a label."""
        assert self._sentence is not None and self._scheme is not None
        where, truth = self.data.problem.splits[split], labels.cpu().numpy()
        known = truth >= 0
        task, sentence = self.data.problem.order[where][known], self._sentence[where][known]
        given = log_p.argmax(-1).cpu().numpy()[:, known]
        f1 = [compare_tags(truth[known], tags, task, sentence, self._scheme).f1 for tags in given]
        return torch.tensor(f1, dtype=log_p.dtype, device=log_p.device)

    def _part(self, log_p: Tensor, split: str) -> Tensor:
        part = self.data.problem.splits[split]
        return log_p[:, part.start - self._range.start : part.stop - self._range.start]

    def _confusions(self, recovered: dict[str, Tensor], order: Tensor | None) -> dict[str, Tensor]:
        metrics = {}
        for kind, start in self._start.items():
            moved = (recovered[f"{kind}_confusion"] - start).abs().sum(-1).mean(-1) / 2
            moved = moved.index_select(1, self._labelled) if kind == "worker" else moved
            metrics[f"{kind}_moved"] = moved.flatten(1).mean(1) if moved.dim() > 1 else moved
        for kind, true in self._true.items():
            estimate = recovered.get(f"{kind}_confusion")
            if estimate is not None and estimate.shape[1:] == true.shape:
                if order is not None:
                    shape = (len(order), *([1] * (true.dim() - 2)), -1, 1)
                    estimate = torch.take_along_dim(estimate, order.reshape(shape), -2)
                rows = (estimate - true).square().sum(-1)
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
