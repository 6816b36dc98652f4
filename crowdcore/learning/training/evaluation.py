"""Predictions, metrics and recovered matrices of all replicas, computed on the device and fetched once an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from crowdcore.analysis.spans import compare_tags
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.tags import scheme_of
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.ratings.result import rating_scores
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.metrics import match_names
from crowdcore.learning.training.problem import RatingProblem
from crowdcore.learning.training.steps import Replicas

_CHUNK, _CACHED = 4096, 64  # tasks at once; images whose layers stay in a processor's cache
_FOLLOWED = 10_000  # training tasks up to which their accuracy is worth the time of another pass
_MEASURED = 4_000_000  # numbers in all confusions up to which distances are worth it
_MATRICES = ("worker_confusion", "common_confusion")
_EPOCHS = 9  # kept at most, including the start and the last
_BYTES = 64 << 20  # of all kept epochs of a stack


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
    """`predicted` of some tasks, with `CrowdMethod.fixed` computed once."""
    inputs = data.inputs(piece)
    if replicas.method.fixed is CrowdMethod.fixed:
        return replicas.call("predicted", inputs)
    key = piece.start, piece.stop
    if key not in replicas.fixed:
        replicas.fixed[key] = replicas.call("fixed", inputs)
    return replicas.call("log_probs_beside", inputs, replicas.fixed[key], in_dims=(None, 0))


class Evaluation:
    """Metrics after every epoch: accuracy and NLL of each split, recovery errors if truth is known.

    Taggers also have the F1 of spans, except on training tokens. Other metrics are how far confusions moved from their
    start (mean over workers with labels and over rows of half the sum of absolute differences, 0 to 1) and the standard
    deviation of ω. Training tasks and ω are measured up to 10,000 training tasks, distances up to 4 million numbers.

    Args:
        replicas: the stack.
        data: the tasks.
        match: name latent classes by the validation split's gold before comparing.
        start: confusions (S, ...) from which distances are measured.
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
        self._scheme, self._unit = scheme_of(problem.dataset), problem.dataset.unit[problem.order]
        self._range = slice(problem.splits[next(iter(labels))].start, test.stop)
        self._labels = {s: torch.from_numpy(v).to(data.device) for s, v in labels.items() if (v >= 0).any()}
        truth = problem.dataset.truth
        parts = {} if truth is None else {"worker": truth.worker_confusion, "common": truth.common_confusion}
        self._true = {k: torch.from_numpy(v).float().to(data.device) for k, v in parts.items() if v is not None}
        self._labelled = torch.from_numpy(np.unique(problem.worker[: problem.n_train_annotations])).to(data.device)

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
        if self._true or self._start:
            metrics |= self._confusions(self.replicas.call("recovered"), order)
        if self.replicas.method.learns_confusions and self.data.problem.n_train <= _FOLLOWED:
            omega = omega_of(self.replicas, self.data, slice(0, self.data.problem.n_train))
            if omega is not None:
                metrics["omega_std"] = omega.std(1)
        return metrics

    def _span_f1(self, log_p: Tensor, split: str, labels: Tensor) -> Tensor:
        """(S,) F1 of the spans of the most probable tags, on the tokens with a label."""
        assert self._scheme is not None
        part, truth = self.data.problem.splits[split], labels.cpu().numpy()
        known = truth >= 0
        task, sentence = self.data.problem.order[part][known], self._unit[part][known]
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
    """Copy to the host in one transfer, float64."""
    if not metrics:
        return {}
    table = torch.stack(list(metrics.values())).double().cpu().numpy()
    return {name: np.asarray(row) for name, row in zip(metrics, table, strict=True)}


@torch.no_grad()
def recovered_of(replicas: Replicas) -> dict[str, AnyArray]:
    """part -> (S, ...) `CrowdMethod.recovered` in the current state, computed in float64."""
    exact = {k: v.double() if v.is_floating_point() else v for k, v in replicas.tensors().items()}
    recovered: dict[str, Any] = replicas.call("recovered", state=exact)
    return {name: value.cpu().numpy() for name, value in recovered.items()}


@torch.no_grad()
def omega_of(replicas: Replicas, data: Data, tasks: slice | None = None) -> Tensor | None:
    """ω of every annotation of some tasks (default: all) in the problem's order, (S, A); None without ω."""
    if replicas.method.omega is CrowdMethod.omega:
        return None
    replicas.train(False)
    pieces = data.chunks(slice(0, len(data.problem.order)) if tasks is None else tasks, _CHUNK)
    parts = [replicas.call("omega", batch) for batch in map(data.stretch, pieces) if len(batch.row)]
    return torch.cat(parts, 1)


class KeptEpochs:
    """Recovered matrices and ω of a stack at the start (epoch 0), at evenly spaced epochs and at the last.

    Args:
        replicas: the stack.
        data: the annotations.
        epochs: number of epochs.

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
        """Keep the matrices after ``epoch`` epochs, if it is planned."""
        if epoch in self._plan:
            self.at[epoch] = self._now()

    def epochs(self) -> IntArray:
        """(K,) ascending."""
        return np.array(sorted(self.at), np.int64)

    def parts(self) -> dict[str, AnyArray]:
        """part -> (K, S, ...)."""
        epochs = sorted(self.at)
        return {name: np.stack([self.at[e][name] for e in epochs]) for name in self.at[epochs[0]]} if epochs else {}


class RatingEvaluation:
    """MAE, RMSE and R² of each split in the dataset's unit: on validation against what selects, else against gold.

    Args:
        replicas: the stack.
        data: the tasks.
    """

    def __init__(self, replicas: Replicas, data: Data) -> None:
        assert isinstance(data.problem, RatingProblem)
        self.replicas, self.data, self.problem = replicas, data, data.problem

    def __call__(self) -> dict[str, Tensor]:
        """Metric -> (S,), on the device."""
        splits, gold = self.problem.splits, self.problem.gold
        mu = predict(self.replicas, self.data, slice(0, splits["test"].stop)).double().cpu().numpy()
        metrics: dict[str, Tensor] = {}
        for split in ("train", "valid", "test"):
            truth = self.problem.valid_label if split == "valid" else gold[splits[split]]
            scores = rating_scores(mu[:, splits[split]], truth, self.problem.unit)
            metrics |= {f"{split}_{name}": torch.from_numpy(v).to(self.data.device) for name, v in scores.items()}
        return metrics
