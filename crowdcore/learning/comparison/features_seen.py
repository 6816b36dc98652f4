"""Which features without labels a method saw: three settings, which no table and no test mixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from crowdcore.core import method_string
from crowdcore.learning.results.result import TrainingResult

Seen = Literal["no", "validation", "all"]
SEEN: Mapping[Seen, str] = {
    "no": "none",
    "validation": "validation features",
    "all": "the test features themselves",
}
"""The three settings in words, by what a method calls them (``unlabelled``)."""


def features_seen(result: TrainingResult) -> Seen:
    """Which tasks' features a run, or a part of the mean that it chose, saw without labels; most methods see none."""
    parts = method_string.read_mean(result.settings.get("chosen") or result.method)
    own = [result.settings, *(method_string.read(part.line)[1] for part in parts)]
    return max((settings.get("unlabelled", "no") for settings in own), key=list(SEEN).index)


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
