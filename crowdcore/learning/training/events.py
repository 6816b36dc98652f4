"""Events of a running training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from crowdcore.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class EpochEvent:
    """An epoch of some replicas has ended.

    Args:
        method: registered name.
        seeds: seeds of the replicas that trained side by side; one twice where two starts are tried.
        epoch: number of the epoch, from 1; 0 during a first stage, which has no metrics.
        epochs: how many there will be at most.
        metrics: name -> (S,) loss terms, accuracies, recovery errors; NaN for a replica that stopped early.
        seconds: wall time of the epoch, all its replicas together.
        annotations_per_second: annotations × replicas that went through training, per second.
        done: share of the whole run that is done, 0…1.
        remaining: estimated seconds until the whole run ends.
        first_stage: epoch of the first stage and how many it has; None after it.
    """

    method: str
    seeds: tuple[int, ...]
    epoch: int
    epochs: int
    metrics: dict[str, FloatArray]
    seconds: float
    annotations_per_second: float
    done: float
    remaining: float
    first_stage: tuple[int, int] | None = None

    @property
    def at(self) -> str:
        """Where training is, in words."""
        return epoch_words(self.epoch, self.epochs, self.first_stage)


@dataclass(frozen=True)
class NoteEvent:
    """A notice, such as a fallback or a class without labels."""

    message: str


def epoch_words(epoch: int, epochs: int, first_stage: tuple[int, int] | None) -> str:
    """``epoch 3 of 10``, or ``first stage, epoch 3 of 10``."""
    epoch, epochs = first_stage or (epoch, epochs)
    return f"{'first stage, ' if first_stage else ''}epoch {epoch} of {epochs}"


Event: TypeAlias = EpochEvent | NoteEvent
Listener: TypeAlias = Callable[[Event], None]
