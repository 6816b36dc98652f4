"""The two tests of pairs, and whom they still name when another vote judges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdcore.analysis.coordinated.agreement import MARGIN, agreement_beyond
from crowdcore.analysis.coordinated.groups import BEYOND, REST, Group, linked_groups
from crowdcore.analysis.evaluation.paired_tests import holm
from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes, pair_mistakes, share_wrong
from crowdcore.analysis.reference import resolve_reference
from crowdcore.analysis.verdicts.copying import VOTE, beyond
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

PAIRS = 0.2
"""Share of the level for each of the two tests."""
_VOTED_MARGIN = 0.5  # standard deviations granted to agreement that must support a vote's accusation
_OFTEN = 0.1  # share of tasks on which votes seem wrong, above which that is allowed for
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
    """The pairs who stay named by a vote without the workers ``out``, who may have won the one of everybody.

    Where votes seem wrong on many tasks, on which able workers contradict them together, that is allowed for
    (`pair_mistakes`, ``fallible``); and whom only a vote accuses must then stand out by that of everybody, too. Pairs
    who agree with each other more than with the others need not have twice the expected common mistakes.
    """
    often = share_wrong(dataset, VOTE) > _OFTEN
    others = pair_mistakes(dataset, resolve_reference(dataset.without_workers(out), VOTE), fallible=often)
    pair, judged = (of.worker_a * dataset.n_workers + of.worker_b for of in (pairs, others))
    again, adjusted = beyond(others, PAIRS * level)
    closer = np.any([test.named for test in tests if test.by == REST], axis=0)
    stays = np.isin(pair, judged[again]) | closer & np.isin(pair, judged[adjusted <= PAIRS * level])
    if often:
        stays &= closer | (pair_mistakes(dataset, VOTE, fallible=True).p_beyond <= _SUPPORT)
    return [replace(test, named=test.named & stays) for test in tests]


def linked_by(pairs: PairMistakes, tests: list[PairTest]) -> list[Group]:
    """The workers that each test links."""
    return [group for test in tests for group in linked_groups(pairs, test.named, test.p_value, test.adjusted, test.by)]
