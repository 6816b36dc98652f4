"""Equations over annotations as index arrays: lookups, products, softmax, likelihoods, volumes.

A annotations of B tasks: ``row`` (A,) position of the annotation's task, ``worker`` (A,), ``label`` (A,), ``weight``
(A,) 1, or 0 for padding, which contributes exactly nothing.

Lookups have sparse gradients and know how to run over a stack of replicas: tables are joined end to end and indices
shifted, so that a stack costs one kernel. Measured on LabelMe (2,547 annotations, 8 classes, one CPU thread) forward
and backward of `worker_product` take a third of the time of a gather of (A, C, C) followed by a product
(benchmarks/learning_speed.py). On a CPU torch's own softmax takes several times as long for few classes (59 × 8 rows of
8: 56 µs, `softmax` 11 µs), and the gradient of torch's `normalize` has three times as many kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from crowdcore.learning.training.problem import Problem

_REACH = 5.0  # standard deviation of scaled features times the root of their number
_SAMPLE = 4096  # training tasks that centre and scale are taken from


def take_rows(table: Tensor, index: Tensor) -> Tensor:
    """``table[index]``: (n, k), (A,) -> (A, k)."""
    rows: Tensor = _TakeRows.apply(table, index)
    return rows


def worker_product(p: Tensor, matrices: Tensor, worker: Tensor) -> Tensor:
    """``p_a M_{worker(a)}``: (A, C), (R, C, K), (A,) -> (A, K), without an (A, C, K) array."""
    product: Tensor = _WorkerProduct.apply(p, matrices, worker)
    return product


class _TakeRows(Function):
    @staticmethod
    def forward(table: Tensor, index: Tensor) -> Tensor:
        return table.index_select(0, index)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.n = len(inputs[0])
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return _add_rows(ctx.n, index, grads[0]), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], table: Tensor, index: Tensor) -> tuple[Tensor, int]:
        table, index = _in_front(info.batch_size, in_dims, table, index)
        rows = take_rows(table.flatten(0, 1), _shifted(index, table.shape[1]).flatten())
        return rows.view(*index.shape, -1), 0


class _WorkerProduct(Function):
    @staticmethod
    def forward(p: Tensor, matrices: Tensor, worker: Tensor) -> Tensor:
        _, n, k = matrices.shape
        bags = worker.unsqueeze(1) * n + torch.arange(n, device=worker.device)
        table = matrices.detach().reshape(-1, k)  # detached: autograd records nothing for it
        return functional.embedding_bag(bags, table, per_sample_weights=p.contiguous(), mode="sum")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        p, matrices, worker = ctx.saved_tensors
        (grad,) = grads
        to_p = worker_product(grad, matrices.transpose(1, 2), worker) if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return to_p, None, None
        outer = (p.unsqueeze(2) * grad.unsqueeze(1)).flatten(1)
        return to_p, _add_rows(len(matrices), worker, outer).view(matrices.shape), None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], p: Tensor, matrices: Tensor, worker: Tensor
    ) -> tuple[Tensor, int]:
        p, matrices, worker = _in_front(info.batch_size, in_dims, p, matrices, worker)
        shifted = _shifted(worker, matrices.shape[1]).flatten()
        product = worker_product(p.flatten(0, 1), matrices.flatten(0, 1), shifted)
        return product.view(*worker.shape, -1), 0


def _add_rows(n: int, index: Tensor, rows: Tensor) -> Tensor:
    """(n, k) zeros, with each of ``rows`` (A, k) added to row ``index``."""
    return rows.new_zeros(n, rows.shape[1]).index_add_(0, index, rows)


def _in_front(size: int, dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, ...]:
    """Every tensor with the replica axis first, repeated for those that all replicas share."""
    return tuple(t.expand(size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip(tensors, dims, strict=True))


def _shifted(index: Tensor, n: int) -> Tensor:
    """(S, A) indices into S tables of n rows -> indices into the joined table."""
    return index + n * torch.arange(len(index), device=index.device).unsqueeze(1)


def log_softmax(logits: Tensor) -> Tensor:
    """log softmax along the last axis."""
    log_p: Tensor = torch.log_softmax(logits, -1) if logits.is_cuda else _call(_LogSoftmax, logits)
    return log_p


def softmax(logits: Tensor) -> Tensor:
    """softmax along the last axis."""
    p: Tensor = torch.softmax(logits, -1) if logits.is_cuda else _call(_Softmax, logits)
    return p


def normalise(x: Tensor) -> Tensor:
    """``x / ‖x‖`` along the last axis."""
    unit: Tensor = _call(_Normalise, x)[0]
    return unit


def _call(function: type[Function], x: Tensor) -> Any:
    """Skip autograd without gradients: for few rows it takes twice as long as the arithmetic."""
    return function.apply(x) if torch.is_grad_enabled() else function.forward(x)


class _LogSoftmax(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor) -> Tensor:
        log_p = logits - logits.amax(-1, keepdim=True)
        log_p -= log_p.exp().sum(-1, keepdim=True).log()
        return log_p

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        log_p: Tensor = ctx.saved_tensors[0]
        return grads[0] - log_p.exp() * grads[0].sum(-1, keepdim=True)


class _Softmax(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor) -> Tensor:
        p = (logits - logits.amax(-1, keepdim=True)).exp()
        p /= p.sum(-1, keepdim=True)
        return p

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        p: Tensor = ctx.saved_tensors[0]
        return (grads[0] - (grads[0] * p).sum(-1, keepdim=True)) * p


class _Normalise(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min(1e-12)
        return x / length, length

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        unit, length = ctx.saved_tensors
        to_x: Tensor = (grads[0] - unit * (grads[0] * unit).sum(-1, keepdim=True)) / length
        return to_x


def gather_rows(index: Tensor, *tables: Tensor) -> tuple[Tensor, ...]:
    """Rows ``index`` (A,) of several (n, k_j) tables, (A, k_j) each, in one lookup."""
    if len(tables) == 1:
        return (take_rows(tables[0], index),)
    rows = take_rows(torch.cat(tables, 1), index)
    return torch.split(rows, [t.shape[1] for t in tables], 1)


def at_label(values: Tensor, label: Tensor) -> Tensor:
    """``values[..., label]``, the entry of each row's label: (..., C), (...) -> (...)."""
    return values.gather(-1, label.unsqueeze(-1)).squeeze(-1)


def log_label(logits: Tensor, label: Tensor) -> Tensor:
    """``log softmax(logits)[label]``: (A, C), (A,) -> (A,)."""
    return at_label(log_softmax(logits), label)


def given_label(confusion: Tensor, worker: Tensor, label: Tensor) -> Tensor:
    """``π^r[:, y]``, the column of the given label: (R, C, C), (A,), (A,) -> (A, C)."""
    n_workers, n_classes = confusion.shape[:2]
    columns = confusion.transpose(1, 2).reshape(n_workers * n_classes, n_classes)
    return take_rows(columns, worker * n_classes + label)


def log_evidence(
    log_confusion: Tensor, row: Tensor, worker: Tensor, label: Tensor, n_rows: int, weight: Tensor | None = None
) -> Tensor:
    """``Σ_r log π^r[c, y_i^r]`` over each task's annotations: (R, C, C) -> (n_rows, C)."""
    terms = given_label(log_confusion, worker, label)
    if weight is not None:
        terms = terms * weight.unsqueeze(-1)
    return torch.zeros(n_rows, terms.shape[1], dtype=terms.dtype, device=terms.device).index_add(0, row, terms)


def posterior(log_probs: Tensor, evidence: Tensor) -> Tensor:
    """E-step ``q_i(c) ∝ p_i(c) Π_r π^r[c, y_i^r]`` from log p and `log_evidence`, (N, C) each -> (N, C)."""
    return softmax(log_probs + evidence)


def expected_counts(q: Tensor, worker: Tensor, label: Tensor, n_workers: int) -> Tensor:
    """``Σ q_i(c) 1[y_i^r = l]``: (A, C) posterior of each annotation's task -> (R, C, C), row = true class."""
    n_classes = q.shape[1]
    table = torch.zeros(n_workers * n_classes, n_classes, dtype=q.dtype, device=q.device)
    counts = table.index_add(0, worker * n_classes + label, q)
    return counts.reshape(n_workers, n_classes, n_classes).transpose(1, 2)


def map_confusion(counts: Tensor, smoothing: float | Tensor) -> Tensor:
    """M-step ``π^r[c, l] ∝ α + counts``: (R, C, C) -> (R, C, C), rows sum to 1."""
    smoothed = counts + smoothing
    return smoothed / smoothed.sum(-1, keepdim=True)


def cross_entropy(log_probs: Tensor, target: Tensor) -> Tensor:
    """Mean of ``-Σ_c t_c log p_c``; targets (B, C), or (B,) classes of which those below 0 do not count."""
    if target.dim() == log_probs.dim():
        return -(target * log_probs).sum(-1).mean()
    known = (target >= 0).to(log_probs.dtype)
    return -(known * at_label(log_probs, target.clamp_min(0))).sum() / known.sum().clamp_min(1)


def centre_and_scale(problem: Problem) -> tuple[Tensor, Tensor]:
    """(n_in,) mean of the prepared features of some training tasks, and `_REACH` / (standard deviation · √n_in)."""
    sample = problem.order[: problem.n_train][:: -(-problem.n_train // _SAMPLE)]
    rows = torch.from_numpy(np.ascontiguousarray(problem.rows[sample]))
    x = problem.preparation(rows).float().flatten(1)
    deviation = x.std(0, correction=0)
    deviation = torch.where(deviation > 1e-6, deviation, torch.ones_like(deviation))
    return x.mean(0), _REACH / (deviation * math.sqrt(x.shape[1]))
