"""Initial worker matrices: identity, an aggregator's estimates, or the result of a first stage."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.core.types import FloatArray
from crowdcore.learning.base import swept
from crowdcore.learning.training.problem import Problem

_POOLED = 1.0  # annotations per row that the pooled confusion counts for
_SMALLEST = 1e-3  # entries of a start are at least this, so that gradients reach them


class NoiseLayerSettings(Settings):
    """Settings of every method with a noise layer."""

    noise_lr: float = Field(
        default=20.0,
        gt=0,
        title="Learning rate of the noise layers",
        description="As a multiple of the classifier's: noise layers must move by several logits to be learnt.",
    )


class DirectStartSettings(NoiseLayerSettings):
    """Settings of methods that are a model of the workers themselves and need no first stage."""

    candidates: ClassVar[tuple[str, ...]] = ("identity", "dawid-skene")
    """The starts that best-of tries."""

    start: Literal["identity", "votes", "dawid-skene", "best-of"] = Field(
        default="dawid-skene",
        title="Start of the confusions",
        description="Near the identity, at the estimates under the vote shares, at Dawid-Skene's; best-of: the first "
        "and the last, of which the lower training loss is kept.",
        json_schema_extra=swept,
    )


class StartSettings(NoiseLayerSettings):
    """Settings of every method with a matrix per worker."""

    candidates: ClassVar[tuple[str, ...]] = ("dawid-skene", "trace")
    """The starts that best-of tries."""

    start: Literal["identity", "votes", "dawid-skene", "trace", "best-of"] = Field(
        default="dawid-skene",
        title="Start of the noise layers",
        description="Identity; confusions under the vote shares; or a first stage that learns one confusion per "
        "worker, from Dawid-Skene's estimates or with trace regularisation; best-of: both stages, of which the lower "
        "training loss is kept.",
        json_schema_extra=swept,
    )
    start_epochs: float = Field(
        default=0.25,
        gt=0,
        le=1,
        title="Epochs of the first stage",
        description="As a share of the epochs, in addition to them; not used if the start is the identity or votes.",
    )
    vote_epochs: float = Field(
        default=0.0,
        ge=0,
        le=1,
        title="Epochs on the majority vote",
        description="The network alone learns the vote shares before anything else, for this share of the epochs, in "
        "addition to them: what steadies a crowd layer on tags (Rodrigues's code: 5 before 30).",
    )


def counted_confusion(problem: Problem, aggregator: str) -> FloatArray:
    """(R, C, C) confusions under an aggregator's posterior of the training tasks, each drawn to the pooled one.

    ``π^r[c, l] ∝ n^r_cl + κ π̄[c, l]`` with expected counts n and κ = 1, so that workers with few labels start like
    the crowd; entries are at least 0.001 before rows are scaled to sum 1.
    """
    n, (n_workers, n_classes) = problem.n_train_annotations, (problem.n_workers, problem.n_classes)
    q = problem.votes(aggregator)[problem.task[:n]]
    given = np.zeros((n_workers * n_classes, n_classes))
    np.add.at(given, problem.worker[:n] * n_classes + problem.label[:n], q)
    counts = given.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1)
    pooled = counts.sum(0) + np.eye(n_classes) / n_classes
    pooled /= pooled.sum(1, keepdims=True)
    confusion = np.maximum((counts + _POOLED * pooled) / (counts.sum(2, keepdims=True) + _POOLED), _SMALLEST)
    return np.asarray(confusion / confusion.sum(2, keepdims=True))


def split_confusion(confusion: Tensor) -> tuple[Tensor, Tensor]:
    """Common (C, C) and individual (R, C, C) confusions whose equal mixture comes nearest to ``confusion`` (R, C, C).

    The common one is the mean over workers; what it already explains is taken from each worker's own.
    """
    common = confusion.mean(0)
    own = (2 * confusion - common).clamp_min(_SMALLEST)
    return common, own / own.sum(-1, keepdim=True)
