"""Which setting of the EM: all are fitted, and validation labels or the labels' likelihood choose."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from crowdcore.core.types import AnyArray
from crowdcore.learning.gaussian.classes import Blocks
from crowdcore.learning.gaussian.em import EmOptions, GaussianFit, fit_gaussians
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.gaussian.space import Space, fit_space
from crowdcore.learning.training.inputs import refuse_not_finite
from crowdcore.learning.training.problem import Problem

__all__ = ["Chosen", "GaussianSettings", "choose_gaussians"]

_BALANCES, _SHARPENINGS = (0.0, 0.3, 0.5), (1.0, 1.5)


class GaussianSettings(EmOptions):
    """Settings of Gaussian classes: of the space, of what is seen, and of the EM."""

    gamma: float = Field(
        default=0.25, ge=0, title="Kernel width, γ", description="γ of the kernel; 0 = linear components."
    )
    dimensions: int = Field(default=300, ge=1, title="Dimensions", description="Principal components at most.")
    unlabelled: Literal["no", "validation", "all"] = Field(
        default="no",
        title="Tasks without labels",
        description="Features that shape the classes beside those of training tasks: none, those of validation tasks, "
        "or those of all tasks, the test ones included. Never compare results of different values.",
    )


@dataclass(frozen=True, eq=False)
class Chosen:
    """The fit that was chosen.

    Args:
        space: where its classes are.
        fit: classes, posterior, confusions.
        note: what chose it, in one sentence.
    """

    space: Space
    fit: GaussianFit
    note: str


def choose_gaussians(problem: Problem, settings: GaussianSettings) -> Chosen:
    """Fit every combination of balance and sharpening that the settings leave open.

    Labels that validate choose the one with the highest accuracy, and ties go to the one under which the crowd's
    labels are most likely; without such labels that likelihood chooses, at the temperature that it prefers itself.

    Raises:
        DataError: features hold NaN or infinite values.
    """
    n, n_annotations = problem.n_train, problem.n_train_annotations
    train, prepared = _inputs(problem, slice(0, n)), problem.preparation
    shape = (-1, 1, 1) if prepared.image else (-1,)
    mean, scale = (torch.tensor(part, dtype=torch.float32).reshape(shape) for part in (prepared.mean, prepared.scale))
    space = fit_space(train, settings.gamma, settings.dimensions, 0, mean, scale)
    task, worker, label = (
        torch.from_numpy(np.ascontiguousarray(column[:n_annotations]))
        for column in (problem.task, problem.worker, problem.label)
    )
    annotations = Annotations(task, worker, label, n, problem.n_workers, problem.n_classes)
    x = space(train).double()
    valid = problem.splits["valid"]
    x_valid = space(_inputs(problem, valid)).double()
    rest = {"no": [], "validation": ["valid"], "all": ["valid", "test", "unlabelled"]}[settings.unlabelled]
    parts = [space(_inputs(problem, problem.splits[s])).double() for s in rest]
    labelled, everything = Blocks(x), Blocks(torch.cat([x, *parts])) if sum(map(len, parts)) else None
    checked = torch.from_numpy(problem.valid_label)
    judged = bool(problem.validated_on) and bool((checked >= 0).any())
    balances = _BALANCES if settings.balance is None else (settings.balance,)
    sharpenings = (_SHARPENINGS if judged else (1.0,)) if settings.sharpening is None else (settings.sharpening,)
    best: tuple[float, float] = (-np.inf, -np.inf)
    for balance, sharpening in itertools.product(balances, sharpenings):
        fit = fit_gaussians(labelled, annotations, settings, balance, sharpening, 0, everything)
        right = _accuracy(fit.log_probs(x_valid), checked) if judged else 0.0
        score = (right, float(fit.log_likelihood[-1]))
        if score > best:
            best, found, chosen = score, fit, f"Balance {balance:g} and sharpening {sharpening:g}"
    by = f"validation accuracy ({100 * best[0]:.1f} %)" if judged else f"the labels' likelihood ({best[1]:.3f})"
    n_fits = len(balances) * len(sharpenings)
    shared = f"A share of {found.shared:.2f} of the pairs of labels of one task agree in mistakes (ρ)."
    return Chosen(space, found, f"{chosen} were chosen among {n_fits} fits by {by}. {shared}")


def _inputs(problem: Problem, tasks: slice) -> Tensor:
    """(n, *input shape) prepared inputs of some tasks."""
    order = problem.order[tasks]
    rows: AnyArray = np.ascontiguousarray(problem.rows[order])
    refuse_not_finite(rows, problem.dataset.task_ids[order])
    return problem.preparation(torch.from_numpy(rows))


def _accuracy(log_probs: Tensor, label: Tensor) -> float:
    known = label >= 0
    return float((log_probs[known].argmax(1) == label[known]).double().mean())
