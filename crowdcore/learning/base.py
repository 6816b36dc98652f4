"""`CrowdMethod`: a classifier, and an explanation of the annotations given what the classifier says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray
from crowdcore.learning.networks.ops import log_softmax
from crowdcore.learning.settings import swept as swept
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem

Network = Callable[[int], nn.Module]
"""Makes a fresh backbone with so many outputs."""

Recovered = dict[str, Tensor]
"""Parts among ``common_confusion`` (C, C) or (G, C, C), ``worker_confusion`` (R, C, C), ``correction`` (R, C, C) the
part of it that is a correction (rows sum to 0), ``worker_weight`` (R,), ``group`` (R,), ``difficulty`` (n_train,),
``q`` (n_train, C), the posterior of the training tasks, and ``worker_counts`` (R, C, C), each label counted against
that posterior without it (for methods without, the trainer counts by their classifier); confusions have row = true
class, column = given label, rows sum to 1."""


class EpochContext(NamedTuple):
    """Training set as one replica sees it, for `CrowdMethod.start_epoch`.

    Attributes:
        epoch: number of the epoch that starts, from 0.
        log_probs: (n_train, C), or as `CrowdMethod.train_log_probs` returns it, in evaluation mode.
        task: (A,) training task of each annotation, ascending.
        worker: (A,).
        label: (A,).
    """

    epoch: int
    log_probs: Tensor
    task: Tensor
    worker: Tensor
    label: Tensor


class CrowdMethod(nn.Module):
    """Base of every method. A subclass owns its equations; the trainer owns devices, steps, selection and files.

    It is written for one replica, as its paper writes it: the trainer maps it over a stack (`torch.func.vmap`), so
    that values must not decide about control flow. Numbers that may differ between replicas of one stack are
    settings marked `swept` and live in a buffer. Everything drawn at random is drawn in ``__init__`` (seeded per
    replica) or by `layers.Dropout`.

    Args:
        problem: the data to learn from.
        settings: the method's settings, an instance of ``Settings``.
        network: makes backbones.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    Settings: ClassVar[type[Settings]] = Settings
    stackable: ClassVar[bool] = True
    """True if the method can be mapped over a stack of replicas."""
    capturable: ClassVar[bool] = True
    """True if a CUDA graph can hold its steps: linear algebra may wait for the device, which a graph cannot."""
    learns_confusions: ClassVar[bool] = True
    """True if the recovered parts change during training."""
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Value of the setting ``variant`` -> settings, own and the trainer's, used where the caller gives none."""
    recovers: ClassVar[tuple[str, ...]] = ()
    """Parts of a result that `recovered` and `omega` fill, with the default settings: ``worker_confusion`` …"""
    candidates: ClassVar[tuple[str, ...]] = ()
    """Methods among which trials choose, for a method that only chooses."""

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__()
        self.n_classes, self.n_workers = problem.n_classes, problem.n_workers
        self.classifier = self.make_classifier(network, problem.n_classes, problem.n_workers, settings)

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """Make the classifier used at test time, inputs to (B, C) logits: one backbone, unless overridden."""
        return network(n_classes)

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray | None:
        """Targets of the batches: (n_train, C) float32, (n_train,) int64, or None."""
        return None

    @classmethod
    def notes(cls, problem: Problem, settings: Any, seeds: Sequence[int]) -> tuple[str, ...]:
        """Notes on how replicas with these seeds were fitted, one sentence each."""
        return ()

    @classmethod
    def rate(cls, settings: Any, parameter: str) -> float:
        """Learning rate of a parameter, as a multiple of the trainer's: `noise_lr` outside the classifier."""
        return 1.0 if parameter.startswith("classifier.") else float(getattr(settings, "noise_lr", 1.0))

    @classmethod
    def begins_phase(cls, settings: Any, epoch: int, epochs: int) -> bool:
        """Return True if another objective begins with this epoch (from 0): the optimiser then forgets its moments."""
        return False

    def start_from(self, confusion: Tensor) -> None:
        """Start from these confusions of the workers, (R, C, C); overridden by methods with a `start`."""
        raise NotImplementedError

    def log_probs(self, features: Tensor) -> Tensor:
        """log p, (B, *input shape) -> (B, C)."""
        return log_softmax(self.classifier(features))

    def fixed(self, features: Tensor) -> Tensor | None:
        """Part of `log_probs` that training does not change, (B, ...): evaluation computes it once."""
        return None

    def log_probs_beside(self, features: Tensor, fixed: Tensor) -> Tensor:
        """`log_probs` given `fixed`; overridden with it."""
        raise NotImplementedError

    def predicted(self, features: Tensor) -> Tensor:
        """Predictions to compare with the truth: `log_probs` unless overridden, as for ratings, (B,)."""
        return self.log_probs(features)

    def train_log_probs(self, features: Tensor, task: Tensor) -> Tensor:
        """log p of training tasks, for `start_epoch`; `predicted` unless overridden."""
        return self.predicted(features)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Terms of the objective (scalars), which is their sum."""
        raise NotImplementedError

    def start_epoch(self, context: EpochContext) -> None:
        """Called before every epoch if overridden: E-steps, grouping; state changes in place."""

    def extra(self, epoch: int, n_steps: int) -> tuple[Tensor, Tensor] | None:
        """Training tasks that the steps of an epoch get besides their batches, and their labels, (n_steps, ...) each.

        Called after `start_epoch` if overridden. Step k gets them as ``batch.extra`` (..., *input shape) and
        ``batch.extra_label``; None for an epoch without.
        """
        return None

    def recovered(self) -> Recovered:
        """Recovered parameters of the crowd; only parts that the method has."""
        return {}

    def omega(self, batch: Batch) -> Tensor:
        """(A,) probability that each annotation used the common confusion (if overridden); NaN where unknown."""
        raise NotImplementedError

    def keep(self, name: str, value: float) -> None:
        """Register a setting as a buffer, so that it may differ between the replicas of a stack."""
        self.register_buffer(name, torch.tensor(value))

    def state(self, name: str, value: Tensor) -> None:
        """Register a value re-estimated from the data: part of a checkpoint, not of the selected model."""
        self.register_buffer(name, value, persistent=False)
