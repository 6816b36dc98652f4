"""Events of a running training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from crowdcore.core.types import FloatArray

__all__ = ["EpochEvent", "Event", "Listener", "NoteEvent"]


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


@dataclass(frozen=True)
class NoteEvent:
    """A notice, such as a fallback or a class without labels."""

    message: str


Event: TypeAlias = EpochEvent | NoteEvent
Listener: TypeAlias = Callable[[Event], None]
