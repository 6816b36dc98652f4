"""Equations that several methods share, over annotations as index arrays.

A annotations of B tasks: ``row`` (A,) position of the annotation's task, ``worker`` (A,), ``label`` (A,),
``weight`` (A,) 1, or 0 for padding, which contributes exactly nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from crowdcore.learning.networks.ops import take_rows
from crowdcore.learning.networks.rows import log_softmax, softmax


def gather_rows(index: Tensor, *tables: Tensor) -> tuple[Tensor, ...]:
    """Rows ``index`` (A,) of several (n, k_j) tables, (A, k_j) each, in one lookup."""
    if len(tables) == 1:
        return (take_rows(tables[0], index),)
    rows = take_rows(torch.cat(tables, 1), index)
    return torch.split(rows, [t.shape[1] for t in tables], 1)


def log_label(logits: Tensor, label: Tensor) -> Tensor:
    """``log softmax(logits)[label]``: (A, C), (A,) -> (A,)."""
    return log_softmax(logits).gather(-1, label.unsqueeze(-1)).squeeze(-1)


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
