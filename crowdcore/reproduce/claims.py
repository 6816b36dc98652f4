"""What our numbers say to a sentence of a paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from crowdcore.reproduce.entry import Found, Measure

__all__ = ["leads"]


def leads(
    row: str, measure: Measure, lowest: bool = False, without: tuple[str, ...] = ()
) -> Callable[[Sequence[Found]], str]:
    """In how many columns a row has the best mean of those that were run.

    Args:
        row: as the paper calls it.
        measure: what is compared.
        lowest: lower is better.
        without: rows that take no part.
    """

    def judged(found: Sequence[Found]) -> str:
        columns: dict[tuple[str, float | None], dict[str, float]] = {}
        for one in found:
            if one.part.row not in without and not np.isnan(one.mean(measure)):
                columns.setdefault((one.part.column, one.part.at), {})[one.part.row] = one.mean(measure)
        compared = [values for values in columns.values() if row in values and len(values) > 1]
        best = [values[row] == (min if lowest else max)(values.values()) for values in compared]
        if not compared:
            return f"{row} was not run beside another row."
        return f"{row} has the best {measure.title} at {sum(best)} of {len(best)} points."

    return judged
