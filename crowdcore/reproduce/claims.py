"""What our numbers say to a sentence of a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from crowdcore.core.types import FloatArray
from crowdcore.reproduce.entry import Found, Measure

_ERRORS = 2.0  # standard errors that make a lead clear


def leads(
    row: str, measure: Measure, lowest: bool = False, without: tuple[str, ...] = ()
) -> Callable[[Sequence[Found]], str]:
    """In how many columns a row has the best mean of those that were run, how clearly, and who has it elsewhere.

    A lead is clear where it exceeds twice the standard error over seeds of the difference to the next row.

    Args:
        row: as the paper calls it.
        measure: what is compared.
        lowest: lower is better.
        without: rows that take no part.
    """

    def judged(found: Sequence[Found]) -> str:
        columns: dict[tuple[str, float | None], dict[str, FloatArray]] = {}
        for one in found:
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
        told = f"{row} has the best {measure.title} at {', '.join(points)}."
        led = [values for values, names in zip(compared, ahead, strict=True) if names == [row]]
        return f"{told} {_clearly(row, led, sign)}".rstrip()

    return judged


def _clearly(row: str, led: Sequence[dict[str, FloatArray]], sign: int) -> str:
    """At how many of the points where a row leads that is more than what seeds differ by; nothing where it leads none.

    Args:
        row: the one that leads.
        led: row -> (S,) at each of these points.
        sign: -1 where lower is better.
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
        return "With one seed it cannot be told whether that is more than chance."
    ones = f"; at {single} there is one seed only" if single else ""
    return f"Its lead exceeds two standard errors over seeds at {clear or 'none'} of them{ones}."
