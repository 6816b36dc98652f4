"""Anderson's acceleration of a fixed-point iteration, such as EM."""

from __future__ import annotations

from collections import deque

import numpy as np

from crowdcore.core.types import FloatArray

_DAMPING = 1e-8  # of the squared changes, for steps that are almost alike


class Anderson:
    """Extrapolates from the last steps of ``x ← g(x)`` to where ``g(x) - x`` would vanish if g were linear.

    Walker & Ni, SIAM Journal on Numerical Analysis 2011, doi:10.1137/10078356X.

    Args:
        order: differences of steps that are looked at.

    Examples:
        >>> import numpy as np
        >>> found, x = Anderson(1), np.array([0.0])
        >>> for _ in range(2):
        ...     found.add(x, x := 1 + x / 2)
        >>> found.extrapolate(np.ones(1)).round(6).tolist()
        [2.0]
    """

    def __init__(self, order: int) -> None:
        self._steps: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=order + 1)

    def add(self, point: FloatArray, image: FloatArray) -> None:
        """Remember a step from ``point`` to ``image = g(point)``, arrays (n,)."""
        self._steps.append((image, image - point))

    def forget(self) -> None:
        """Start anew."""
        self._steps.clear()

    def extrapolate(self, weight: FloatArray) -> FloatArray | None:
        """Where to go on, (n,); None while fewer than two steps are known. ``weight`` (n,): of squared changes."""
        if len(self._steps) < 2:
            return None
        images, changes = (np.array(each) for each in zip(*self._steps, strict=True))
        differences = np.diff(changes, axis=0)
        normal = differences * weight @ differences.T
        normal[np.diag_indices(len(normal))] *= 1 + _DAMPING
        share = np.linalg.lstsq(normal, differences * weight @ changes[-1], rcond=None)[0]
        return np.asarray(images[-1] - share @ np.diff(images, axis=0))
