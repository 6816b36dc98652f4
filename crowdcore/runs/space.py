"""What a search varies, and how it goes about it."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.selection_score import SCORES, SelectionScore

_GRID = 10  # points of a continuous range in a grid


class Range(Settings):
    """Numbers between two bounds, both included."""

    low: float = Field(description="Smallest value.")
    high: float = Field(description="Largest value.")
    log: bool = Field(default=False, description="Search its logarithm.")
    integer: bool = Field(default=False, description="Whole numbers only.")

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SettingError("high", f"be above `low`, which is {self.low:g}", self.high)
        if self.log and self.low <= 0:
            raise SettingError("low", "be positive where the logarithm is searched", self.low)

    def points(self) -> list[float]:
        """Its values in a grid: all whole numbers of a short range, else evenly spaced ones."""
        if self.integer and self.high - self.low < _GRID:
            return [float(v) for v in range(round(self.low), round(self.high) + 1)]
        shares = [k / (_GRID - 1) for k in range(_GRID)]
        if self.log:
            points = [self.low * (self.high / self.low) ** share for share in shares]
        else:
            points = [self.low + (self.high - self.low) * share for share in shares]
        return sorted({float(round(p)) for p in points}) if self.integer else points


class Choice(Settings):
    """One of several values."""

    values: tuple[str | bool | int | float | None, ...] = Field(min_length=1, description="To choose from.")


class SearchPlan(Settings):
    """How settings are searched for the best validation score."""

    space: dict[str, Range | Choice] = Field(min_length=1, description="Setting -> its values.")
    trials: int = Field(default=20, ge=1, description="Runs at most; a grid ends sooner when it is exhausted.")
    sampler: Literal["tpe", "grid", "random"] = Field(default="tpe", description="How to choose the next settings.")
    score: Literal["valid_accuracy", "valid_span_f1", "valid_rmse"] = Field(
        default="valid_accuracy", description="What trials are compared by."
    )
    seed: int = Field(default=0, ge=0, description="Of the sampler.")
    parallel: int = Field(default=0, ge=0, description="Trials at once; 0: as many as the engine has slots.")

    @property
    def selection(self) -> SelectionScore:
        """What trials are compared by."""
        return SCORES[self.score]

    def grid(self) -> dict[str, list[Any]]:
        """Setting -> its values in a grid."""
        return {
            name: list(part.values) if isinstance(part, Choice) else part.points() for name, part in self.space.items()
        }
