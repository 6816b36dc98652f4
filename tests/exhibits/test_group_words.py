"""Groups and pairs of workers in words: planted mistakes are told, honest crowds and tokens are not accused."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis, exhibits
from crowdcore.data.simulate import tags
from crowdcore.exhibits import verdicts, view
from crowdcore.exhibits.view import copy_evidence
from crowdcore.exhibits.worker_page import worker_partners
from crowdcore.exhibits.workers import worker_distances, worker_groups, worker_pairs
from testkit.planted import COPIED, COPIER, HONEST, PLANTED, honest_crowd, planted_crowd
from tests.analysis.crowds import make_crowd


def crowd(confused):
    """Twelve workers who are right on three in four of 100 tasks each; some call every task of class 0 class 1."""
    rng = np.random.default_rng(0)
    worker, gold = np.repeat(np.arange(12), 100), rng.integers(4, size=1200)
    label = np.where(rng.random(1200) < 0.75, gold, (gold + rng.integers(1, 4, 1200)) % 4)
    label[(worker < confused) & (gold == 0)] = 1
    return make_crowd(np.arange(1200), worker, label, 1200, 12, 4, gold)


def test_the_mistake_of_a_group_is_told_with_both_shares():
    simulated = crowd(confused=3)
    listed = worker_groups(view(simulated, "gold"))
    of = listed.table.set_index("worker")["group"]
    group = of["w0"]
    assert set(of.index[of == group]) == {"w0", "w1", "w2"}
    gold = simulated.gold[simulated.task]
    wrong, cell = simulated.label != gold, (gold == 0) & (simulated.label == 1)
    own, theirs = (100 * cell[wrong & worker].mean() for worker in (simulated.worker < 3, simulated.worker >= 3))
    text = f"“class 0” called “class 1” is {own:.0f} % of the wrong labels of group {group}, and {theirs:.0f} % of"
    assert f"{text} the others'." in listed.notes


@pytest.mark.parametrize("kind", ["4 classes, dense", "2 classes, dense", "2 classes, 10 % positive"])
def test_groups_of_weak_workers_are_not_said_to_make_a_mistake_of_their_own(kind):
    for seed in range(5):
        notes = worker_groups(view(honest_crowd(seed, **HONEST[kind]), "gold")).notes
        assert notes[0].startswith("No mistake sets")


def test_without_gold_nothing_is_said_to_set_groups_apart():
    notes = worker_groups(view(crowd(confused=3), "majority-vote"), groups=2).notes
    assert "Without gold" in notes[0]


def test_nothing_is_said_where_nothing_differs():
    seen = exhibits.view(crowd(confused=0), "gold")
    assert worker_groups(seen, groups=2).notes[0].startswith("No mistake sets")
    assert worker_groups(seen, groups=1).notes == ()
    assert "no more than chance" in worker_distances(seen).notes[0]


def test_equal_workers_are_not_said_to_differ():
    differ = [
        "differ most" in worker_distances(view(honest_crowd(s, skill=(0.75, 0.751)), "gold")).notes[0]
        for s in range(12)
    ]
    assert sum(differ) <= 2
    seen = view(honest_crowd(0, n_tasks=500), "gold")
    assert "differ most on" in worker_distances(seen).notes[0]
    assert "Without gold" in worker_distances(view(seen.dataset, "majority-vote")).notes[0]


@pytest.mark.parametrize("seed", [91007, 91012, 91013])
def test_three_of_twenty_wrong_labels_set_no_group_apart(seed):
    seen = view(honest_crowd(seed, **HONEST["10 classes, 3 labels a task"]), "gold")
    assert not any(note.startswith("“") for note in worker_groups(seen).notes)


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


@pytest.mark.parametrize(("n_tasks", "able"), [(5, 0), (12, 7), (100, 15)])
def test_nobody_is_cleared_by_pairs_with_too_few_tasks_in_common(n_tasks: int, able: int) -> None:
    rng = np.random.default_rng(0)
    task, worker = (part.ravel() for part in np.indices((n_tasks, 6)))
    gold = rng.integers(4, size=n_tasks)
    label = np.where(rng.random(len(task)) < 0.7, gold[task], rng.integers(4, size=len(task)))
    of = view(make_crowd(task, worker, label, n_tasks, 6, 4, gold), "gold")
    for words in (worker_pairs(of).notes[0], exhibits.coordinated.coordinated_workers(of).notes[0]):
        assert f"{able} of 15 pairs" in words if able else "cannot tell" in words
    assert "cannot tell" in worker_pairs(view(crowd(confused=0), "gold")).notes[0]  # with no task in common


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_tokens_name_nobody(reference: str) -> None:
    of = view(tags(n_sentences=60, n_workers=5, length=6, seed=1), reference)
    shown = worker_pairs(of)
    assert len(shown.table)
    assert not shown.table["named"].any()
    assert worker_partners(of, of.workers[0]).notes[0] == shown.notes[0]


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_a_copy_is_named_where_its_tasks_are_said_to_be_enough(reference: str) -> None:
    able, named, copy = [], [], sorted((COPIER, COPIED))
    for seed in range(8):
        crowd = planted_crowd(seed, copied=1.0, **{**PLANTED["4 classes, sparse"], "n_tasks": (60, 250)[seed % 2]})
        pairs = copy_evidence(view(crowd, reference))
        [k] = np.flatnonzero((pairs.worker_a == copy[0]) & (pairs.worker_b == copy[1]))
        able.append(bool(pairs.both[k] >= pairs.enough(0.025)[k]))
        named.append(bool(pairs.named(0.025)[k]))
    assert any(able) and sum(a == n for a, n in zip(able, named, strict=True)) >= 7
