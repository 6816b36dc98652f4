"""How a result's epoch was selected: one of three ways, which comparisons keep apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Way = Literal["gold", "crowd", "none"]
WAYS: Mapping[Way, str] = {
    "gold": "gold of validation",
    "crowd": "crowd labels held out",
    "none": "none (last)",
}
"""The three ways, in words."""


def selected_by(validated_on: str) -> Way:
    """The way of a result, from what its epochs were validated on (`TrainingResult.validated_on`).

    Args:
        validated_on: what validation compared with, in words; "" where nothing selected and the last epoch counts.

    >>> WAYS[selected_by("majority vote of the valid split")]
    'crowd labels held out'
    """
    if not validated_on:
        return "none"
    return "gold" if validated_on.startswith("gold labels") else "crowd"
