"""Parts of a reproduction: a paper's printed numbers, the runs that reproduce them, and its claims."""

from __future__ import annotations

from collections import Counter
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
_ERRORS = 2.0  # standard errors that make a lead clear
SCALES: tuple[Scale, ...] = get_args(Scale)


@dataclass(frozen=True)
class Measure:
    """A number of a table.

    Args:
        title: name of the number.
        of: computes it from a result (None where nothing is trained) and its dataset: one value, or one per seed.
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
        row: its name in the paper.
        column: its name in the paper.
        paper: measure -> the number as printed; "" where the paper only draws it.
        data: a dataset by name, or a crowd to plant.
        method: method to train; "" for a statistic of the dataset.
        settings: settings of trainer and method.
        seeds: number of seeds.
        at: position along the axis of a figure.
        differs: the protocol's differences, in words.
        absent: reason why it is not run at this scale.
        features: kind of pretrained features that replace the images of a planted crowd; "" = none.
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
    features: str = ""


@dataclass(frozen=True, eq=False)
class Found:
    """Result of a part.

    Args:
        part: the part.
        why: reason why there is no number, or "".
        run: its recorded run.
        dataset: its dataset, None if it is not available.
        result: result of the run.
        ours: measure -> one value per seed.
    """

    part: Part
    why: str = ""
    run: Run | None = None
    dataset: CrowdDataset | None = None
    result: TrainingResult | None = None
    ours: Mapping[Measure, FloatArray] = field(default_factory=dict)

    def mean(self, measure: Measure) -> float:
        """Mean over seeds; NaN without a number."""
        return float(np.mean(self.ours[measure])) if measure in self.ours else float("nan")


@dataclass(frozen=True)
class Entry:
    """A table or figure of a paper.

    Args:
        id: its id, such as ``conal-tab1``.
        title: its title.
        source: paper, and place in it.
        parts: makes the parts to compute or train at a scale.
        small: its parts at ``--scale small``, in words.
        full: the same at ``--scale paper``.
        differs: the protocol's differences, in words.
        draw: draws figures, by name, from the outcomes.
        claims: sentence of the paper -> function that compares ours with it, in words.
    """

    id: str
    title: str
    source: str
    parts: Callable[[Scale], Sequence[Part]]
    small: str
    full: str
    differs: str = ""
    draw: Callable[[Sequence[Found]], Mapping[str, go.Figure]] = lambda outcomes: {}
    claims: Mapping[str, Callable[[Sequence[Found]], str]] = field(default_factory=dict)

    def scale_in_words(self, scale: Scale) -> str:
        """Describe its parts at a scale."""
        return self.small if scale == "small" else self.full


def leads(
    row: str, measure: Measure, lowest: bool = False, without: tuple[str, ...] = ()
) -> Callable[[Sequence[Found]], str]:
    """Function that counts the columns in which a row has the best mean, how clearly, and who leads in the others.

    A lead is clear if it exceeds twice the standard error over seeds of the difference to the next row.
    """

    def judged(outcomes: Sequence[Found]) -> str:
        columns: dict[tuple[str, float | None], dict[str, FloatArray]] = {}
        for one in outcomes:
            if one.part.row not in without and not np.isnan(one.mean(measure)):
                columns.setdefault((one.part.column, one.part.at), {})[one.part.row] = one.ours[measure]
        compared = [values for values in columns.values() if row in values and len(values) > 1]
        if not compared:
            return f"{row} was not run beside another row."
        sign = -1 if lowest else 1
        means = [{name: sign * float(np.mean(v)) for name, v in values.items()} for values in compared]
        ahead = [[name for name in values if values[name] == max(values.values())] for values in means]
        others = Counter(name for names in ahead if row not in names for name in names)
        points = [f"{sum(row in names for names in ahead)} of {len(ahead)} points"]
        points += [f"{name} at {count}" for name, count in others.most_common()]
        words = f"{row} has the best {measure.title} at {', '.join(points)}."
        led = [values for values, names in zip(compared, ahead, strict=True) if names == [row]]
        return f"{words} {_clearly(row, led, sign)}".rstrip()

    return judged


def _clearly(row: str, led: Sequence[dict[str, FloatArray]], sign: int) -> str:
    """Number of the points led by a row where the lead exceeds the spread of seeds, in words; "" if it leads none.

    ``led``: row -> (S,) at each of these points; ``sign`` is -1 where lower is better.
    """
    if not led:
        return ""
    clear, single = 0, 0
    for values in led:
        own = values[row]
        other = max((v for name, v in values.items() if name != row), key=lambda v: sign * float(np.mean(v)))
        if min(len(own), len(other)) < 2:
            single += 1
            continue
        error = np.sqrt(np.var(own, ddof=1) / len(own) + np.var(other, ddof=1) / len(other))
        clear += bool(abs(np.mean(own) - np.mean(other)) > _ERRORS * error)
    if single == len(led):
        return "One seed does not show whether that is more than chance."
    ones = f"; at {single} there is one seed only" if single else ""
    return f"Its lead exceeds two standard errors over seeds at {clear or 'none'} of them{ones}."
