"""The two tests of pairs, and what is left of them where the vote that judges pairs may be wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdcore.analysis.coordinated.agreement import MARGIN, agreement_beyond
from crowdcore.analysis.coordinated.groups import BEYOND, REST, Group, linked_groups
from crowdcore.analysis.evaluation.paired_tests import holm
from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes, pair_mistakes
from crowdcore.analysis.reference import resolve_reference
from crowdcore.analysis.verdicts.copying import VOTE, beyond
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


def if_the_vote_is_wrong(
    dataset: CrowdDataset, pairs: PairMistakes, tests: list[PairTest], out: IntArray, level: float
) -> list[PairTest]:
    """The pairs who stay named if the vote may be wrong where tasks are hard (`pair_mistakes`, ``fallible``).

    Workers ``out`` have no part in the vote that judges all pairs again. Whom only the vote of everyone accuses must
    stand out (p ≤ 0.001) by that one, too, if it may be wrong: where few are left to vote, they do not tell.
    """
    others = pair_mistakes(dataset, resolve_reference(dataset.without_workers(out), VOTE), fallible=True)
    everyone = pair_mistakes(dataset, VOTE, fallible=True)
    pair, judged = (of.worker_a * dataset.n_workers + of.worker_b for of in (pairs, others))
    stays = np.isin(pair, judged[holm(others.p_beyond) <= PAIRS * level])
    closer = np.any([test.named for test in tests if test.by == REST], axis=0)
    stays &= closer | (everyone.p_beyond <= _SUPPORT)
    return [replace(test, named=test.named & stays) for test in tests]


def linked_by(pairs: PairMistakes, tests: list[PairTest]) -> list[Group]:
    """The workers that each test links."""
    return [group for test in tests for group in linked_groups(pairs, test.named, test.p_value, test.adjusted, test.by)]
