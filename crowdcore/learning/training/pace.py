"""How long a run still takes."""

from __future__ import annotations

import time


class Pace:
    """Time left, by how fast a run went since it began, or since it went on from a checkpoint.

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
            step: share that the last step took; what was done before the first one was there when it began.
        """
        if self._before is None:
            self._before = max(done - step, 0.0)
        return (time.perf_counter() - self._began) * (1 - done) / max(done - self._before, 1e-12)
