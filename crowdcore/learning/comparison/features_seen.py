"""Which features without labels a method saw: three settings, which no table and no test mixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from crowdcore.learning.results.result import TrainingResult

Seen = Literal["no", "validation", "all"]
SEEN: Mapping[Seen, str] = {
    "no": "none",
    "validation": "those of validation",
    "all": "all, the test features too",
}
"""The three settings in words, by what a method calls them (``unlabelled``)."""


def features_seen(result: TrainingResult) -> Seen:
    """Which tasks' features a run saw without labels; most methods see none."""
    found: Seen = result.settings.get("unlabelled", "no")
    return found


def apart(results: Iterable[TrainingResult]) -> str:
    """Why results must not be compared, one sentence; "" where all saw the same kind of features."""
    kinds = {features_seen(r) for r in results}
    words = "; ".join(SEEN[kind] for kind in SEEN if kind in kinds)
    if len(kinds) < 2:
        return ""
    return (
        f"These runs saw different features without labels ({words}), so they cannot be tested against each other. "
        "Compare runs of one kind."
    )
