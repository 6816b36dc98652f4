"""What a reproduction is: which numbers a paper prints, and what is computed or trained to stand beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from crowdcore.learning.recovery.plan import RecoveryPlan

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from crowdcore.core.types import FloatArray
    from crowdcore.data.dataset import CrowdDataset
    from crowdcore.learning.results.result import TrainingResult
    from crowdcore.runs.run import Run

Scale: TypeAlias = Literal["small", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)


@dataclass(frozen=True)
class Measure:
    """A number of a table.

    Args:
        title: what it is.
        of: makes it of a result (None where nothing is trained) and its dataset: one value, or one for each seed.
    """

    title: str
    of: Callable[[Any, CrowdDataset], Any]


SELECTED = Measure("test accuracy, selected epoch", lambda result, dataset: 100 * result.accuracy("test"))
LAST = Measure("test accuracy, last epoch", lambda result, dataset: 100 * result.accuracy("test", at="last"))
BEST = Measure("test accuracy, best epoch", lambda result, dataset: 100 * result.accuracy("test", at="best"))


@dataclass(frozen=True)
class Part:
    """A row of a table in one of its columns.

    Args:
        row: as the paper calls it.
        column: as the paper calls it.
        paper: measure -> the number as printed; "" where the paper only draws it.
        data: a dataset by name, or a crowd to plant.
        method: what is trained on it; "" where the dataset says it all.
        settings: of trainer and method.
        seeds: how many.
        at: position along the axis of a figure.
        differs: the protocol's differences, in words.
        absent: why it is not run at this scale.
    """

    row: str
    column: str
    paper: Mapping[Measure, str]
    data: str | RecoveryPlan = ""
    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    at: float | None = None
    differs: str = ""
    absent: str = ""


@dataclass(frozen=True, eq=False)
class Found:
    """What a part came to.

    Args:
        part: which.
        why: why there is no number; "" where there is.
        run: of the record.
        dataset: None where it is not here.
        result: of the run.
        ours: measure -> one value per seed.
    """

    part: Part
    why: str = ""
    run: Run | None = None
    dataset: CrowdDataset | None = None
    result: TrainingResult | None = None
    ours: Mapping[Measure, FloatArray] = field(default_factory=dict)

    def mean(self, measure: Measure) -> float:
        """Over seeds; NaN where there is no number."""
        return float(np.mean(self.ours[measure])) if measure in self.ours else float("nan")


@dataclass(frozen=True)
class Entry:
    """A table or figure of a paper.

    Args:
        id: what to ask for, such as ``conal-tab1``.
        title: what it shows.
        source: paper, and where in it.
        parts: what is computed or trained at a scale.
        small: what that is at ``--scale small``, in words.
        full: the same at ``--scale paper``.
        differs: the protocol's differences, in words.
        draw: makes figures by name of what was found.
        claims: sentence of the paper -> what ours says to it.
    """

    id: str
    title: str
    source: str
    parts: Callable[[Scale], Sequence[Part]]
    small: str
    full: str
    differs: str = ""
    draw: Callable[[Sequence[Found]], Mapping[str, go.Figure]] = lambda found: {}
    claims: Mapping[str, Callable[[Sequence[Found]], str]] = field(default_factory=dict)

    def scale_in_words(self, scale: Scale) -> str:
        """What is computed or trained."""
        return self.small if scale == "small" else self.full
