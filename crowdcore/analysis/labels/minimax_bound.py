"""Lower bound on the minimax error rate of a crowd's labels (CoNAL, Theorem 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_BLOCK = 4_000_000  # entries of the (annotations, C, C) tables held at once


@dataclass(frozen=True, eq=False)
class MinimaxBound:
    """CoNAL, Theorem 1.

    Attributes:
        method: what estimated the classes and confusions.
        value: lower bound on the minimax error rate; at most 1 / N, vacuous where it is 0 or less.
        deficit: (n_tasks,) F_i in nats: entropy of the task's class less what its labels tell about it; NaN where
            the method knows nothing about the task.
        vacuous: whether the bound says nothing.
        sentence: what the bound says, in words.
    """

    method: str
    value: float
    deficit: FloatArray
    vacuous: bool
    sentence: str

    def frame(self) -> pd.DataFrame:
        """One row: the bound and what it says."""
        return pd.DataFrame({"method": [self.method], "bound": [self.value], "meaning": [self.sentence]})


def minimax_bound(
    dataset: CrowdDataset, result: AggregationResult, class_distribution: FloatArray | None = None
) -> MinimaxBound:
    """``(sum_i F_i - log 2) / (N^2 log C)``, with rho_i the class distribution of task i before its labels are seen,

    ``F_i = H(rho_i) - sum_r sum_cc' rho_ic rho_ic' [w_ir KL(pi^g_c || pi^g_c') + (1 - w_ir) KL(pi^r_c || pi^r_c')]``.

    The sum over r goes over the annotations of task i, for a label that was not given tells nothing; without a
    common confusion w_ir is 0. Rows of a confusion without evidence (NaN) tell nothing either.

    Args:
        result: workers' confusions, class prior and, for CoNAL's model, the common confusions and omega; g is the
            worker's group.
        class_distribution: (n_tasks, C) rho, such as a classifier's prediction; default the prior, alike for all tasks.

    Raises:
        SettingError: a result without workers' confusions, rho of another shape, or one class only.
    """
    if result.confusion is None:
        raise SettingError("result", "hold confusions of workers", result.method, "Use 'dawid-skene' or 'conal-em'.")
    n_classes = dataset.n_classes
    if n_classes < 2:
        raise SettingError("n_classes", "be at least 2", n_classes)
    known = ~np.isnan(result.posterior[:, 0])
    if class_distribution is None:
        prior = result.prior if result.prior is not None else result.posterior[known].mean(0)
        class_distribution = np.broadcast_to(prior, result.posterior.shape)
    if class_distribution.shape != result.posterior.shape:
        raise SettingError("class_distribution", f"have the shape {result.posterior.shape}", class_distribution.shape)
    own, own_endless = _divergences(result.confusion)
    if result.omega is not None and result.common_confusion is not None:
        omega = result.omega
        common, common_endless = _divergences(result.common_confusion.reshape(-1, n_classes, n_classes))
    else:
        omega, common, common_endless = np.zeros(dataset.n_annotations), own[:1], own_endless[:1]
    group = np.zeros(dataset.n_workers, np.int32) if len(common) == 1 or result.group is None else result.group
    logs = np.log(np.where(class_distribution > 0, class_distribution, 1.0))
    deficit = np.asarray(-(class_distribution * logs).sum(1))
    step = max(1, _BLOCK // n_classes**2)
    for first in range(0, dataset.n_annotations, step):
        block = slice(first, first + step)
        rho = class_distribution[dataset.task[block]]
        worker, w = dataset.worker[block], omega[block]
        information = (1 - w) * _between(rho, own, worker) + w * _between(rho, common, group[worker])
        endless = (w < 1) & (_between(rho, own_endless, worker) > 0)
        endless |= (w > 0) & (_between(rho, common_endless, group[worker]) > 0)
        np.subtract.at(deficit, dataset.task[block], np.where(endless, np.inf, information))
    deficit[~known] = np.nan
    n = int(known.sum())
    value = float((deficit[known].sum() - np.log(2)) / (n**2 * np.log(n_classes))) if n else np.nan
    vacuous = not value > 0
    return MinimaxBound(result.method, value, deficit, vacuous, _sentence(result.method, value, n))


def _divergences(confusion: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(K, C, C) KL(pi_c || pi_c') with infinite ones as 0, and where they are infinite; NaN rows tell nothing."""
    blank = np.asarray(np.isnan(confusion).any(2))
    pi = np.where(blank[..., None], 1.0 / confusion.shape[1], confusion)
    logs = np.log(np.where(pi > 0, pi, 1.0))
    endless = np.einsum("kcl,kdl->kcd", pi > 0, pi <= 0, dtype=np.float64) > 0
    divergence = np.einsum("kcl,kcl->kc", pi, logs)[..., None] - np.einsum("kcl,kdl->kcd", pi, logs)
    blind = blank[:, :, None] | blank[:, None, :]
    return np.where(endless | blind, 0.0, divergence), (endless & ~blind).astype(np.float64)


def _between(rho: FloatArray, table: FloatArray, which: IntArray) -> FloatArray:
    """(n,) ``rho^T table[which] rho``."""
    chosen = table if len(table) == 1 else table[which]
    return np.asarray((np.matmul(rho[:, None, :], chosen)[:, 0] * rho).sum(1))


def _sentence(method: str, value: float, n: int) -> str:
    limit = f"it never exceeds 1/N = {100 / n:.2g} %, so it matters only for few tasks" if n else ""
    if value > 0:
        return (
            f"If workers err as {method} finds, no estimator can promise an error rate below {100 * value:.2g} % on "
            f"these {n} tasks ({limit})."
        )
    return (
        "Vacuous: the bound is not above 0, so it allows an error rate of 0. The labels tell more about the classes, "
        f"by the Kullback-Leibler terms, than is uncertain about them{f' ({limit})' if limit else ''}."
    )
