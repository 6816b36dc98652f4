"""Lookups and products over index arrays with sparse gradients.

Both know how to run over a stack of replicas: tables are joined end to end and indices shifted, so that a stack costs
one kernel. Measured on LabelMe (2,547 annotations, 8 classes, one CPU thread) forward and backward of `worker_product`
take a third of the time of a gather of (A, C, C) followed by a product (benchmarks/learning_speed.py).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional


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
        table = matrices.detach().reshape(-1, k)  # detached, it costs no notes for a gradient of its own
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
    """(n, k) with each of ``rows`` (A, k) added to row ``index`` of it."""
    return rows.new_zeros(n, rows.shape[1]).index_add_(0, index, rows)


def _in_front(size: int, dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, ...]:
    """Every tensor with the replica axis first, repeated for those that all replicas share."""
    return tuple(t.expand(size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip(tensors, dims, strict=True))


def _shifted(index: Tensor, n: int) -> Tensor:
    """(S, A) indices into S tables of n rows -> indices into the joined table."""
    return index + n * torch.arange(len(index), device=index.device).unsqueeze(1)
