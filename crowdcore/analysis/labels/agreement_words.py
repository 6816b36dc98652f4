"""Why agreement coefficients of the same labels differ, in a sentence."""

from __future__ import annotations

import numpy as np

_APART = 0.15
_FEW = 5.0  # labels other than the most frequent one that a pair must have in common, as in tests of 2 x 2 tables


def explain(
    raw: float,
    alpha: float,
    fleiss: float,
    ac1: float,
    cohen: float,
    *,
    chance: tuple[float, float],
    top: tuple[str, float],
    overlap: float = np.inf,
) -> str:
    """Sentences that explain surprising differences between coefficients; empty if there are none.

    Args:
        raw: raw agreement.
        alpha: Krippendorff's alpha.
        fleiss: Fleiss' kappa.
        ac1: Gwet's AC1.
        cohen: mean pairwise Cohen's kappa, NaN if there is none.
        chance: agreement by chance that kappa and AC1 expect.
        top: most frequent label and its share.
        overlap: tasks that two workers have in common, the median over pairs behind ``cohen``.
    """
    sentences = []
    if raw >= 0.7 and ac1 - fleiss > _APART:
        sentences.append(
            f"Two labels of a task agree in {100 * raw:.0f} % of cases, yet Fleiss' κ is only {fleiss:z.2f}: "
            f"{top[0]!r} takes {100 * top[1]:.0f} % of the labels, so κ and α expect {100 * chance[0]:.0f} % agreement "
            f"by chance and leave little room above it (the kappa paradox). AC1 ({ac1:z.2f}) expects "
            f"{100 * chance[1]:.0f} %."
        )
    elif abs(ac1 - fleiss) > _APART:
        sentences.append(
            f"AC1 ({ac1:z.2f}) and Fleiss' κ ({fleiss:z.2f}) differ because they expect different agreement by chance: "
            f"{100 * chance[1]:.0f} % against {100 * chance[0]:.0f} %."
        )
    if abs(alpha - fleiss) > _APART / 3:
        sentences.append(
            f"α ({alpha:z.2f}) leaves out tasks with one label and weighs tasks by their labels, Fleiss' κ "
            f"({fleiss:z.2f}) weighs tasks alike: tasks with more labels agree differently."
        )
    if np.isfinite(cohen) and abs(cohen - fleiss) > _APART:
        sentences.append(
            f"The mean over pairs of workers ({cohen:z.2f}) weighs every pair alike and allows each worker their own "
            f"label frequencies, Fleiss' κ ({fleiss:z.2f}) weighs tasks alike and has one frequency for all: a few "
            "workers or pairs behave differently from the rest."
        )
    if np.isfinite(cohen) and overlap * (1 - top[1]) < _FEW:
        sentences.append(
            f"Half of the pairs behind Cohen's κ have no more than {overlap:.0f} tasks in common, where labels other "
            f"than {top[0]!r} are too few: the mean is drawn towards 0, and its interval is too narrow."
        )
    return " ".join(sentences)
