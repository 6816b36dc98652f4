"""Whether ω gives a usable ranking of tasks: it must vary, and seeds must agree on the ranking."""

from __future__ import annotations

from typing import NamedTuple

LEAST_SPREAD = 0.03  # standard deviation over annotations below which ω is one number
GOOD, MODERATE = 0.8, 0.5  # rank correlation of ω̄ between seeds


class OmegaJudgement(NamedTuple):
    """Whether the ranking of tasks by ω̄ can be read.

    Attributes:
        agreement: "good", "moderate", "poor", or "" where there is a single seed.
        words: what to say, one sentence; empty where nothing speaks against reading the ranking.
    """

    agreement: str
    words: str


def judge_omega(spread: float, seed_correlation: float) -> OmegaJudgement:
    """Judge the ranking of tasks by ω̄.

    Args:
        spread: standard deviation of ω over annotations.
        seed_correlation: Spearman's correlation of ω̄ between seeds, NaN for a single seed.

    Examples:
        >>> judge_omega(0.2, 0.9)
        OmegaJudgement(agreement='good', words='')
        >>> judge_omega(0.2, 0.1).agreement
        'poor'
    """
    r = seed_correlation
    agreement = "" if r != r else "good" if r >= GOOD else "moderate" if r >= MODERATE else "poor"
    if not spread >= LEAST_SPREAD:
        words = f"ω hardly varies (standard deviation {spread:.3f} over annotations): tasks cannot be ranked."
    elif agreement == "poor":
        words = f"Seeds rank the tasks differently (rank correlation {r:z.2f}): the ranking is not reliable."
    elif agreement == "moderate":
        words = f"Seeds agree moderately (rank correlation {r:z.2f}): read the ends of the ranking, not its ranks."
    else:
        words = ""
    return OmegaJudgement(agreement, words)
