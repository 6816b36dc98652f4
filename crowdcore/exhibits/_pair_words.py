"""Which pairs of workers are named as acting together, and why others with a small q value are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdcore.analysis.coordinated.groups import in_one_group
from crowdcore.analysis.verdicts.workers import TOGETHER
from crowdcore.data.report import plural
from crowdcore.exhibits.verdicts import LEVEL, workers_judged

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.analysis import PairMistakes
    from crowdcore.core.types import BoolArray
    from crowdcore.exhibits.view import View

NAMED = (
    f"Named are pairs in one group of Coordinated, as on Overview: the probability of naming any in an honest crowd is "
    f"at most {100 * TOGETHER * LEVEL:.1f} %. Groups of more than half of the crowd are not named."
)
VOTED = (
    "Without gold they must also agree with each other more than with the others, or push the same mistake, and what "
    "the workers outside of the group say of the tasks must not explain it."
)
_OF_TOKENS = (
    "Agreement beyond chance is not tested here: the tokens of a sentence are not independent tasks, so all q values "
    "are too small."
)


def named_pairs(view: View, found: PairMistakes) -> BoolArray:
    """(n_pairs,) of `copy_evidence`: both in one group of `Overview`; of a crowd that tags tokens none."""
    return in_one_group(found, workers_judged(view).groups)


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
        act = f"seem{one} to act together"
        said = f"{plural(named, 'pair')} {whose} {act}. They may copy, have shared a teacher, or be one person."
    if others:
        why = f"of pairs with such a q, up to {100 * LEVEL:.0f} % are honest on average"
        if not view.truth.checked:
            why = "where a misleading task wins the vote, honest workers are wrong alike"
        said += (
            f" {plural(others, 'further pair')} {'has' if others == 1 else 'have'} q ≤ {LEVEL:g} but "
            f"{'is' if others == 1 else 'are'} not named: {why}."
        )
    return said
