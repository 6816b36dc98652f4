"""Who may copy whom: the one place where verdicts learn of pairs of workers who agree too much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.analysis.coordinated.groups import Group, in_one_group
from crowdcore.analysis.evaluation.paired_tests import holm
from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes, pair_mistakes
from crowdcore.analysis.reference import Reference, ReferenceLike
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

VOTE = "majority-vote"
"""What judges pairs where there is neither gold nor marks."""
RATIO = 2.0  # times as many common mistakes as skills and tasks explain, before anyone is named
_COPIED = 1 / 3  # by gold or marks instead: how many of the labels that would differ are equal


@dataclass(frozen=True, eq=False)
class Copies:
    """The most suspicious partner of each worker; arrays (n_workers,), -1 and NaN for workers without one.

    Attributes:
        partner: worker number.
        adjusted: p-value of the pair after Holm over all pairs that could be tested.
        both: tasks that both labelled.
        alike: of these, how many both got wrong alike.
        expected: how many of those skills and tasks explain.
        agreed: on how many both gave the same label, right or wrong.
        expected_agreed: how many of those skills and tasks explain.
    """

    partner: IntArray
    adjusted: FloatArray
    both: IntArray
    alike: IntArray
    expected: FloatArray
    agreed: IntArray
    expected_agreed: FloatArray


def copy_reference(truth: Reference) -> ReferenceLike:
    """What pairs are judged by: gold or marks; without any the majority vote, whatever the truth is said to be.

    A model of the same labels takes two workers who always agree for two who are always right, and what it believes
    cannot speak against them. A vote gives each label the same weight, so that the others' labels still do.
    """
    return truth if truth.checked else VOTE


def copy_evidence(dataset: CrowdDataset, truth: Reference) -> PairMistakes:
    """`pair_mistakes` by `copy_reference`."""
    return pair_mistakes(dataset, copy_reference(truth))


def copies(found: PairMistakes, groups: tuple[Group, ...], level: float = 0.05) -> Copies:
    """Pairs who agree more often than their skills and the tasks explain (`pair_mistakes`), by Holm's correction.

    Holm keeps the chance that any pair of independent workers is named at ``level``; a named pair has besides at
    least twice as many mistakes in common as expected, or by gold or marks agrees on a third of the tasks on which
    independent workers would differ: where mistakes are many, half copies do not double them. Of these only pairs in
    one group of coordinated workers are told of: the others the workers outside of it have acquitted. What the pages
    show of copying all comes from here.

    Args:
        found: the pairs.
        groups: of coordinated workers.
        level: of the test.
    """
    named, adjusted = beyond(found, level)
    named &= in_one_group(found, groups)
    order = np.flatnonzero(named)[np.argsort(-found.p_beyond[named], kind="stable")]  # the surest is written last
    n = len(found.worker_ids)
    partner, both, alike, agreed = (np.full(n, -1) for _ in range(4))
    p_value, expected, expected_agreed = (np.full(n, np.nan) for _ in range(3))
    for one, other in ((found.worker_a, found.worker_b), (found.worker_b, found.worker_a)):
        at = one[order]
        better = np.isnan(p_value[at]) | (adjusted[order] <= p_value[at])
        at, pair = at[better], order[better]
        partner[at], both[at], alike[at] = other[pair], found.both_labelled[pair], found.wrong_alike[pair]
        p_value[at], expected[at] = adjusted[pair], found.expected_beyond[pair]
        agreed[at], expected_agreed[at] = found.agreed[pair], found.expected_agreed[pair]
    return Copies(partner, p_value, both, alike, expected, agreed, expected_agreed)


def beyond(found: PairMistakes, level: float = 0.05) -> tuple[BoolArray, FloatArray]:
    """(n_pairs,) the pairs that `copies` names, and their p-values after Holm."""
    adjusted, much = holm(found.p_beyond), found.wrong_alike >= RATIO * found.expected_beyond
    if found.reference != VOTE:
        much |= found.agreed - found.expected_agreed >= _COPIED * (found.both_labelled - found.expected_agreed)
    return (adjusted <= level) & much, adjusted
