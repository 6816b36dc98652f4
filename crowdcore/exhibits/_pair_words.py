"""Which pairs of workers are named as acting together, and why others with a small q value are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdcore.analysis.coordinated.groups import group_of
from crowdcore.data.report import plural
from crowdcore.exhibits.verdicts import LEVEL, workers_judged

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.analysis import PairMistakes
    from crowdcore.core.types import BoolArray
    from crowdcore.exhibits.view import View

VOTED = (
    "Without gold, pairs in a group of Coordinated are named, as on Overview: they must also agree with each other "
    "more than with the others, or push the same mistake, and workers outside of a group are judged again by the vote "
    "without the group."
)
_OF_TOKENS = (
    "Agreement beyond chance is not tested here: the tokens of a sentence are not independent tasks, so all q values "
    "are too small."
)


def named_pairs(view: View, found: PairMistakes) -> BoolArray:
    """(n_pairs,) of `copy_evidence`: by gold or marks q_beyond <= 0.05; without, both in one group of `Overview`."""
    if view.dataset.sentences is not None:
        return np.zeros(len(found.q_beyond), bool)
    if view.truth.checked:
        return np.asarray(found.q_beyond <= LEVEL)
    group = group_of(workers_judged(view).groups, view.dataset.n_workers)
    return np.asarray((group[found.worker_a] >= 0) & (group[found.worker_a] == group[found.worker_b]))


def in_words(view: View, table: pd.DataFrame, worker: str = "") -> str:
    """How many pairs are named, all in all or with one worker, and why others with a small q value are not."""
    if view.dataset.sentences is not None:
        return _OF_TOKENS
    named = int(table["named"].sum())
    others = int(((table["q_beyond"] <= LEVEL) & ~table["named"]).sum())
    whose = f"with {worker}" if worker else "of workers"
    said = f"No pair {whose} stands out."
    if named:
        one = "s" * (named == 1)
        verb = f"agree{one} more than skills and tasks explain" if view.truth.checked else f"seem{one} to act together"
        said = f"{plural(named, 'pair')} {whose} {verb}. They may copy, have shared a teacher, or be one person."
    if others:
        said += (
            f" {plural(others, 'further pair')} {'has' if others == 1 else 'have'} q ≤ {LEVEL:g} but "
            f"{'is' if others == 1 else 'are'} not named: where a misleading task wins the vote, honest workers are "
            "wrong alike."
        )
    return said
