"""The Dawid–Skene family on a GPU: the same EM step as two sparse products in torch, float64."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdcore.core.em import LabelTable, Sums
from crowdcore.core.errors import SettingError, need_extra
from crowdcore.core.types import AnyArray, FloatArray

if TYPE_CHECKING:
    import torch

    from crowdcore.aggregation._confusion_em import ConfusionEM, ConfusionParameters


def find_device(device: Literal["cuda", "auto"]) -> str | None:
    """``"cuda"`` where there is a GPU; None where there is none and ``auto`` was asked for.

    Raises:
        MissingExtraError: cuda asked for, but torch is not installed.
        SettingError: cuda asked for, but torch sees no GPU.
    """
    if find_spec("torch") is None:
        if device == "auto":
            return None
        raise need_extra("device='cuda'", "torch")
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "auto":
        return None
    raise SettingError("device", "be an available device", device, "torch sees no GPU; use 'cpu' or 'auto'.")


class TorchEngine:
    """Annotations and posterior on a torch device.

    Args:
        model: whose parameters and sums pass through.
        table: the annotations.
        posterior: (n_tasks, C) where EM starts.
        device: a torch device, e.g. ``"cuda"``.
    """

    def __init__(self, model: ConfusionEM, table: LabelTable, posterior: FloatArray, device: str) -> None:
        import torch

        self.hard, self.n_annotations, self.device = model.hard, table.n_annotations, torch.device(device)
        cell = self._put(table.cell).long()
        task = torch.repeat_interleave(
            torch.arange(table.n_tasks, device=self.device), self._put(np.diff(table.task_start))
        )
        self.by_task = self._sparse(task, cell, (table.n_tasks, table.n_cells))
        self.by_cell = self._sparse(cell, task, (table.n_cells, table.n_tasks))
        self.known = self._put(np.flatnonzero(table.known >= 0))
        self.known_class = self._put(table.known).long()[self.known]
        self.evident = self._put(table.evident)
        self.q = self._put(posterior)

    def _put(self, array: AnyArray) -> torch.Tensor:
        import torch

        return torch.tensor(array, device=self.device)

    def _sparse(self, row: torch.Tensor, column: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
        """How often each (row, column) occurs, as a CSR matrix."""
        import torch

        key, times = torch.unique(row * shape[1] + column, return_counts=True)
        start = torch.zeros(shape[0] + 1, dtype=torch.int64, device=self.device)
        start[1:] = torch.bincount(key // shape[1], minlength=shape[0]).cumsum(0)
        with warnings.catch_warnings(), torch.sparse.check_sparse_tensor_invariants():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            return torch.sparse_csr_tensor(start.int(), (key % shape[1]).int(), times.double(), shape)

    @property
    def posterior(self) -> FloatArray:
        """(n_tasks, C) float64, copied from the device."""
        return np.asarray(self.q.cpu().numpy())

    def start(self) -> Sums:
        """The sums under the posterior it was given."""
        return self._sums(float("nan"))

    def step(self, parameters: ConfusionParameters) -> Sums:
        """E-step and sums; see `crowdcore.core.em.em_step`."""
        import torch

        log_confusion, log_prior = map(self._put, parameters.logs())
        joint = self.by_task @ log_confusion
        joint += log_prior
        of_known = joint[self.known, self.known_class]
        top, best = joint.max(1)
        if self.hard:
            likelihood = top
            self.q = torch.zeros_like(joint).scatter_(1, best[:, None], 1.0)
        else:
            likelihood = torch.logsumexp(joint, 1)
            self.q = joint.sub_(likelihood[:, None]).exp_()
        likelihood[self.known] = of_known
        self.q[self.known] = 0.0
        self.q[self.known, self.known_class] = 1.0
        self.q *= self.evident[:, None]
        return self._sums(float(likelihood[self.evident].sum()))

    def _sums(self, log_likelihood: float) -> Sums:
        counts, classes = self.by_cell @ self.q, self.q.sum(0)
        return Sums(counts.cpu().numpy(), classes.cpu().numpy(), log_likelihood)
