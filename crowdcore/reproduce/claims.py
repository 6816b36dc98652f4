"""What our numbers say to a sentence of a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from crowdcore.reproduce.entry import Found, Measure


def leads(
    row: str, measure: Measure, lowest: bool = False, without: tuple[str, ...] = ()
) -> Callable[[Sequence[Found]], str]:
    """In how many columns a row has the best mean of those that were run, and who has it elsewhere.

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
        if not compared:
            return f"{row} was not run beside another row."
        top = min if lowest else max
        ahead = [[name for name in values if values[name] == top(values.values())] for values in compared]
        others = Counter(name for names in ahead if row not in names for name in names)
        points = [f"{sum(row in names for names in ahead)} of {len(ahead)} points"]
        points += [f"{name} at {count}" for name, count in others.most_common()]
        return f"{row} has the best {measure.title} at {', '.join(points)}."

    return judged
