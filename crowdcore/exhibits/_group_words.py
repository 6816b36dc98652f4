"""In words: how much workers differ beyond chance, and which mistake sets each group of them apart."""

from __future__ import annotations

import numpy as np

from crowdcore import analysis
from crowdcore.analysis import WorkerConfusion, WorkerOrder
from crowdcore.analysis.workers.confusion import row_shares

_CAVEAT = "Groups are formed from the same labels: this describes them, and is no test."
_FEWEST = 20  # labels of a class, in the group and outside, below which a share is not told
_CLEAR = 5.0  # standard errors: groups formed by chance differ by three or four


def beyond_chance(confusion: WorkerConfusion) -> str:
    """How much of the workers' differences is more than chance."""
    spread = analysis.spread_of_workers(confusion)
    if not spread.any():
        return "The workers' confusions differ by no more than chance: nothing sets groups apart."
    widest = confusion.classes[int(spread.argmax())]
    return (
        "Confusions are shrunken to the crowd's (empirical Bayes), the more, the fewer labels a worker gave. "
        f"Workers differ most on the class {widest}: intraclass correlation {spread.max():z.2f} (0: by chance only)."
    )


def set_apart(confusion: WorkerConfusion, order: WorkerOrder) -> tuple[str, ...]:
    """For each group, the mistake that it makes more often than the others do, by the most standard errors."""
    crowd, words = confusion.crowd_counts, []
    for group in range(order.n_groups if order.n_groups > 1 else 0):
        own = confusion.counts[order.groups == group].sum(0)
        n, others = own.sum(1, keepdims=True), (crowd - own).sum(1, keepdims=True)
        share, theirs, pooled = row_shares(own), row_shares(crowd - own), row_shares(crowd)
        error = np.sqrt(pooled * (1 - pooled) * (1 / np.maximum(n, 1) + 1 / np.maximum(others, 1)))
        told = (np.minimum(n, others) >= _FEWEST) & (error > 0) & ~np.eye(len(crowd), dtype=bool)
        excess = np.where(told, (share - theirs) / np.where(told, error, 1), 0.0)
        true, given = np.unravel_index(excess.argmax(), excess.shape)
        if excess[true, given] >= _CLEAR:
            words.append(
                f"Group {group + 1} calls “{confusion.classes[true]}” “{confusion.classes[given]}” in "
                f"{100 * share[true, given]:.0f} % of cases, the others in {100 * theirs[true, given]:.0f} %."
            )
    return (*words, _CAVEAT) if words else ()
