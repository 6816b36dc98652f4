"""Selection of the epoch: the words that a result keeps (``validated_on``), and the way that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Way = Literal["gold", "training-gold", "crowd", "none"]
WAYS: Mapping[Way, str] = {
    "gold": "gold of the valid split",
    "training-gold": "gold of training tasks held out",
    "crowd": "crowd labels held out",
    "none": "none (last)",
}
"""The ways to select an epoch, in words."""
SPLIT = "the valid split"
"""Place of the selecting labels, if not among training tasks."""


def held_out(n: int, seed: int) -> str:
    """Place of the selecting labels, if a run sets training tasks aside."""
    return f"{n} training tasks held out (seed {seed})"


def selected_by(validated_on: str) -> Way:
    """Way in which the epoch of a result was selected, from its ``validated_on`` ("" without selection).

    >>> WAYS[selected_by("majority vote of the valid split")]
    'crowd labels held out'
    """
    if not validated_on:
        return "none"
    if not by_gold(validated_on):
        return "crowd"
    return "gold" if validated_on.endswith(SPLIT) else "training-gold"


def by_gold(validated_on: str) -> bool:
    """Return True if true classes or ratings select the epoch."""
    return validated_on.startswith("gold")
