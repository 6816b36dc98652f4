"""Mistakes beyond the limit: literal counts, a level that holds, and chances of coincidences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from crowdcore.analysis.coordinated import groups
from crowdcore.analysis.coordinated.groups import pushes
from crowdcore.analysis.reference import resolve_reference
from crowdcore.analysis.verdicts.peers import Peers, peer_beliefs
from crowdcore.core.beliefs import expected_labels
from crowdcore.core.counts import vote_counts
from crowdcore.data.dataset import CrowdDataset
from testkit.planted import ATTACKED, attacked_crowd, honest_crowd
from tests.analysis.crowds import crowds


def believed(crowd: CrowdDataset, reference: str = "gold") -> Peers:
    return peer_beliefs(crowd, resolve_reference(crowd, reference))


@given(crowds(min_classes=2))
def test_counts_and_the_others_share_are_literal(crowd: CrowdDataset) -> None:
    peers = believed(crowd)
    votes = vote_counts(peers.task, peers.label, crowd.n_tasks, crowd.n_classes)
    counts, by_others = expected_labels(peers.task, peers.worker, peers.label, peers.judge, votes, crowd.n_workers)
    said: dict[int, dict[int, int]] = {}
    for task, worker, label in zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True):
        said.setdefault(task, {}).setdefault(worker, label)
    expected, others = np.zeros((2, crowd.n_workers, crowd.n_classes, crowd.n_classes))
    met = np.zeros((crowd.n_workers, crowd.n_classes))
    for task, labels in said.items():
        true = crowd.gold[task]
        for worker, label in labels.items():
            if true >= 0:
                expected[worker, true, label] += 1
                rest = [other for one, other in labels.items() if one != worker]
                if rest:
                    met[worker, true] += 1
                    others[worker, true] += np.bincount(rest, minlength=crowd.n_classes) / len(rest)
    assert counts == pytest.approx(expected)
    assert by_others == pytest.approx(others / np.maximum(met, 1)[:, :, None])


def test_workers_of_one_kind_hardly_pass_the_limit() -> None:
    found = [pushes(believed(honest_crowd(seed, n_tasks=400)), 20, 0.05) for seed in range(20)]
    assert sum(len(one.worker) > 0 for one in found) <= 3


def test_pushers_pass_it_and_say_what_they_push() -> None:
    crowd = attacked_crowd(5, "push", 8, 0.9, **ATTACKED["4 classes, sparse"])
    found = pushes(believed(crowd), crowd.n_workers)
    assert {(0, 1)} == set(zip(found.true.tolist(), found.given.tolist(), strict=True))
    assert found.worker.tolist() == list(range(8))
    assert (found.times / found.of > found.limit).all()


def test_with_two_classes_nothing_is_tested() -> None:
    crowd = attacked_crowd(5, "push", 3, 1.0, **ATTACKED["2 classes, sparse"])
    assert len(pushes(believed(crowd), crowd.n_workers).worker) == 0


def test_chances_of_coincidences_are_those_counted_by_hand() -> None:
    three = np.array([[True], [True], [True]])
    assert groups._chances(three, 12) == pytest.approx([2 * (1 / 12) ** 2])
    among = np.array([[True, False], [True, False], [False, True]])
    assert groups._chances(among, 12) == pytest.approx([2 * 3 / 12, 1.0])


def test_own_mistakes_that_coincide_by_chance_make_a_group_no_more_often_than_the_level() -> None:
    rng, n_mistakes, named = np.random.default_rng(0), 30, 0
    for _ in range(1000):
        made = np.zeros((8, n_mistakes), bool)
        made[np.arange(8), rng.integers(n_mistakes, size=8)] = True
        named += bool((groups._chances(made, n_mistakes) <= 0.05).any())
    assert named <= 60
