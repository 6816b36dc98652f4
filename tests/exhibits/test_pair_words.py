"""Pairs: nobody is named whom Overview does not name; who copies still is; tokens are not tested."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.data.simulate import tags
from crowdcore.exhibits import verdicts, view
from crowdcore.exhibits.worker_page import worker_partners
from crowdcore.exhibits.workers import worker_pairs
from testkit.planted import COPIED, COPIER, HONEST, PLANTED, honest_crowd, planted_crowd

MISLED = 90021
"""Seed of an honest crowd whose tasks have foils that win the vote, so that two pairs are wrong alike beyond chance."""


def test_honest_workers_whom_a_wrong_vote_makes_look_alike_are_not_named() -> None:
    of = view(honest_crowd(MISLED, **HONEST["4 classes, dense, own foils"]), "majority-vote")
    assert not verdicts.workers_judged(of).together.any()
    shown = worker_pairs(of)
    assert (shown.table["wrong_alike"] >= 2).sum() >= 2
    assert not shown.table["named"].any()
    assert "w03" in worker_partners(of, "w03").notes[0]


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
@pytest.mark.parametrize("copied", [1.0, 0.5])
def test_who_copies_is_named(reference: str, copied: float) -> None:
    of = view(planted_crowd(0, copied=copied, **PLANTED["4 classes, sparse"]), reference)
    shown = worker_pairs(of)
    named = shown.table[shown.table["named"]]
    assert named[["worker_a", "worker_b"]].to_numpy().tolist() == [[of.workers[COPIER], of.workers[COPIED]]]
    partner = worker_partners(of, of.workers[COPIER])
    for words in (shown.notes[0], partner.notes[0]):
        assert all(of.workers[worker] in words for worker in (COPIER, COPIED))


def test_pairs_with_most_tasks_in_common_are_listed_though_nobody_is_named() -> None:
    of = view(honest_crowd(5, n_tasks=100, skill=(0.93, 0.97), even=True), "gold")
    shown = worker_pairs(of)
    assert not shown.table["named"].any()
    pairs = analysis.pair_mistakes(of.dataset, "gold")
    most = np.sort(pairs.both_labelled)[-10:]
    assert len(shown.table) >= 10
    assert (np.sort(shown.table["both_labelled"])[-10:] == most).all()
    assert not shown.table.duplicated(["worker_a", "worker_b"]).any()


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_tokens_name_nobody(reference: str) -> None:
    of = view(tags(n_sentences=60, n_workers=5, length=6, seed=1), reference)
    shown = worker_pairs(of)
    assert len(shown.table)
    assert not shown.table["named"].any()
    assert worker_partners(of, of.workers[0]).notes[0] == shown.notes[0]
