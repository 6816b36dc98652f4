"""The two tests of pairs, and whom they still name when the workers outside judge."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdcore.analysis.coordinated.agreement import MARGIN, agreement_beyond
from crowdcore.analysis.coordinated.groups import BEYOND, REST, Group, linked_groups
from crowdcore.analysis.evaluation.paired_tests import holm
from crowdcore.analysis.mistakes.latent_classes import agreement_by_others
from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes
from crowdcore.analysis.verdicts.copying import RATIO, VOTE, beyond
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

PAIRS = 0.2
"""Share of the level for each of the two tests."""
_VOTED_MARGIN = 0.5  # standard deviations granted to agreement that must support a vote's accusation
_SUPPORT = 0.001  # p-value of another test of pairs that must support an accusation


@dataclass(frozen=True, eq=False)
class PairTest:
    """(n_pairs,) the pairs that a test named, and its p-values before and after correction."""

    named: BoolArray
    p_value: FloatArray
    adjusted: FloatArray
    by: str


def pair_tests(dataset: CrowdDataset, pairs: PairMistakes, level: float) -> list[PairTest]:
    """The two tests. That which knows less must be supported by the other one.

    By a vote, that is agreement beyond skill and tasks; by gold or marks, agreement more than with the others.
    """
    (named, adjusted), voted = beyond(pairs, PAIRS * level), pairs.reference == VOTE
    p_voted, p_rest = agreement_beyond(pairs, dataset, _VOTED_MARGIN, MARGIN)
    adjusted_rest = holm(p_rest)
    closer = adjusted_rest <= PAIRS * level
    if voted:
        named &= ~(p_voted > _SUPPORT)
    else:
        closer &= ~(pairs.p_beyond > _SUPPORT)
    return [
        PairTest(named, pairs.p_beyond, adjusted / PAIRS, BEYOND),
        PairTest(closer, p_rest, adjusted_rest / PAIRS, REST),
    ]


def judged_again(
    dataset: CrowdDataset, pairs: PairMistakes, tests: list[PairTest], out: IntArray, level: float
) -> list[PairTest]:
    """The pairs who stay named by the workers who are not ``out``: those may have won the vote of everybody.

    What the workers outside say of each task, which nobody's vote decides (`agreement_by_others`), must not explain
    their agreement: Bonferroni's correction over all pairs. Among more than two, pairs who do not agree with each other
    more than with the others must besides be wrong alike twice as often as it explains, or stand out (p ≤ 0.001) if all
    workers but the two judge and the fit knows everybody's labels.
    """
    everybody, named = np.ones(dataset.n_workers, bool), np.any([test.named for test in tests], axis=0)
    if not named.any():
        return tests
    closer = np.any([test.named for test in tests if test.by == REST], axis=0)[named]
    those = pairs.worker_a[named], pairs.worker_b[named]
    found = agreement_by_others(dataset, ~np.isin(np.arange(dataset.n_workers), out), *those)
    sure = found.p_value * (~np.isnan(pairs.p_beyond)).sum() <= PAIRS * level
    much = closer | (found.alike >= RATIO * found.expected_alike) | (len(out) == 2)
    if (sure & ~much).any():
        much |= agreement_by_others(dataset, everybody, *those).p_value <= _SUPPORT
    named[named] = sure & much
    return [replace(test, named=test.named & named) for test in tests]


def linked_by(pairs: PairMistakes, tests: list[PairTest]) -> list[Group]:
    """The workers that each test links."""
    return [group for test in tests for group in linked_groups(pairs, test.named, test.p_value, test.adjusted, test.by)]
