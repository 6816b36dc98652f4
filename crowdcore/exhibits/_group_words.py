"""In words: how much workers differ beyond chance, and which mistake sets each group of them apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdcore import analysis
from crowdcore.analysis import WorkerConfusion, WorkerOrder
from crowdcore.analysis.statistics import row_shares

_SHRUNKEN = "Confusions are shrunk towards the crowd's (empirical Bayes), more so for workers with few labels."
_CAVEAT = "Any tree can be cut into groups, and these come from the same labels: this is a description, not a test."
_NOTHING = "No mistake sets one of these groups apart."
_NO_GOLD = "Without gold, group differences are not shown: the same labels would also decide what is a mistake."
_DRAWS = 19  # crowds of equal workers, whose widest class is exceeded by chance once in 20
_FEWEST = 20  # wrong labels, in the group and outside, below which nothing is told
_CLEAR = 5.0  # standard errors, for its probability: groups formed by chance differ by up to four


def beyond_chance(confusion: WorkerConfusion, gold: bool) -> str:
    """How much of the workers' differences is more than chance.

    Args:
        gold: whether people judged the truth; a model of the same labels fits, or hides, what chance makes of workers.
    """
    if not gold:
        return f"{_SHRUNKEN} Without gold, differences beyond chance are not shown."
    spread = analysis.spread_of_workers(confusion)
    if spread.max() <= _by_chance(confusion):
        return f"{_SHRUNKEN} Workers differ no more than chance explains: nothing sets groups apart."
    widest = confusion.classes[int(spread.argmax())]
    return f"{_SHRUNKEN} Workers differ most on the class {widest}: intraclass correlation {spread.max():z.2f}."


def _by_chance(confusion: WorkerConfusion) -> float:
    """The widest class of workers who are all the crowd, at most once in 20 wider."""
    rng, n = np.random.default_rng(0), np.rint(confusion.evidence).astype(np.int64)
    rows = np.nan_to_num(row_shares(confusion.crowd_counts))
    widest = 0.0
    for _ in range(_DRAWS):
        counts = rng.multinomial(n, rows).astype(np.float64)
        drawn = replace(confusion, counts=counts, matrices=row_shares(counts))
        widest = max(widest, float(analysis.spread_of_workers(drawn).max()))
    return widest


def set_apart(confusion: WorkerConfusion, order: WorkerOrder, *, gold: bool) -> tuple[str, ...]:
    """For each group, the mistake that is more of its wrong labels than of the others', the least probable by chance.

    Shares of wrong labels, not of all: groups of weak workers make most mistakes more often, whichever they are.

    Args:
        gold: whether people judged the truth; a model of the same labels follows the groups.
    """
    if order.n_groups < 2:
        return ()
    if not gold:
        return (_NO_GOLD, _CAVEAT)
    from scipy.stats import hypergeom, norm

    wrong = np.where(np.eye(len(confusion.classes), dtype=bool), 0, confusion.counts)
    every, words = wrong.sum(0), []
    for group in range(order.n_groups):
        own = wrong[order.groups == group].sum(0)
        others = every - own
        n, m = own.sum(), others.sum()
        if min(n, m) < _FEWEST:
            continue
        share, theirs = own / n, others / m
        log_p = hypergeom.logsf(own - 1, n + m, every, n)
        true, given = np.unravel_index(log_p.argmin(), log_p.shape)
        if log_p[true, given] <= norm.logsf(_CLEAR):
            words.append(
                f"“{confusion.classes[true]}” called “{confusion.classes[given]}” is {100 * share[true, given]:.0f} % "
                f"of the wrong labels of group {group + 1}, and {100 * theirs[true, given]:.0f} % of the others'."
            )
    return (*(words or [_NOTHING]), _CAVEAT)
