"""Events of a running training, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from crowdcore.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class EpochEvent:
    """The end of an epoch of some replicas.

    Args:
        method: registered name.
        seeds: seeds of the replicas that trained side by side; one twice where two starts are tried.
        epoch: number of the epoch, from 1; 0 during a first stage, which has no metrics.
        epochs: maximum number of epochs.
        metrics: name -> (S,) loss terms, accuracies, recovery errors; NaN for a replica that stopped early.
        seconds: wall time of the epoch, all its replicas together.
        annotations_per_second: annotations × replicas per second.
        done: share of the whole run that is done, 0…1.
        remaining: estimated seconds until the whole run ends.
        first_stage: epoch and number of epochs of the first stage; None after it.
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
        """The epoch in words."""
        return epoch_words(self.epoch, self.epochs, self.first_stage)


@dataclass(frozen=True)
class NoteEvent:
    """A note about the run, such as a fallback or a class without labels."""

    message: str


def epoch_words(epoch: int, epochs: int, first_stage: tuple[int, int] | None) -> str:
    """``epoch 3 of 10``, or ``first stage, epoch 3 of 10``."""
    epoch, epochs = first_stage or (epoch, epochs)
    return f"{'first stage, ' if first_stage else ''}epoch {epoch} of {epochs}"


Event: TypeAlias = EpochEvent | NoteEvent
Listener: TypeAlias = Callable[[Event], None]


class Pace:
    """Time left, estimated from the speed since a run began or resumed.

    Examples:
        >>> Pace().remaining(done=1.0, step=0.1)
        0.0
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._before: float | None = None

    def remaining(self, done: float, step: float) -> float:
        """Seconds left.

        Args:
            done: share of the run that is done.
            step: share of the last step; work before the first step does not count as speed.
        """
        if self._before is None:
            self._before = max(done - step, 0.0)
        return (time.perf_counter() - self._began) * (1 - done) / max(done - self._before, 1e-12)
