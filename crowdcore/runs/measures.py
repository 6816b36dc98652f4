"""What a run is judged by: errors of ratings, F1 of spans, else accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Measure(NamedTuple):
    """A metric, as the record and as people call it.

    Args:
        name: without split and epoch.
        words: for people.
        share: whether it is between 0 and 1 and written in per cent.
    """

    name: str
    words: str
    share: bool = True

    def mean(self, value: float) -> str:
        """A single number."""
        return self.told({"": value}, "")

    def told(self, scores: Mapping[str, float], score: str) -> str:
        """A score as mean ± standard deviation over seeds; "–" where it is not known."""
        mean, std = scores.get(score, float("nan")), scores.get(f"{score}_std", float("nan"))
        scale, digits, unit = (100, 1, " %") if self.share else (1, 4, "")
        if mean != mean:
            return "–"
        spread = "" if std != std else f" ± {scale * std:.{digits}f}"
        return f"{scale * mean:.{digits}f}{spread}{unit}"


_MEASURES = (Measure("rmse", "RMSE", share=False), Measure("span_f1", "span F1"), Measure("accuracy", "accuracy"))


def leading(scores: Mapping[str, float]) -> Measure | None:
    """The measure that says most of a run with these scores of its test or validation split; None without any."""
    names = {name.partition("_")[2] for name in scores if name.startswith(("test_", "valid_"))}
    return next((m for m in _MEASURES if any(name.startswith(m.name) for name in names)), None)
