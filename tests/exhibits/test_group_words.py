"""Groups of annotators in words: a planted mistake is told with its shares, honest crowds get no sentence."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import exhibits
from crowdcore.exhibits import view
from crowdcore.exhibits.workers import worker_distances, worker_groups
from testkit.planted import HONEST, honest_crowd
from tests.analysis.crowds import make_crowd


def crowd(confused):
    """Twelve workers who are right on three in four of 100 tasks each; some call every task of class 0 class 1."""
    rng = np.random.default_rng(0)
    worker, gold = np.repeat(np.arange(12), 100), rng.integers(4, size=1200)
    label = np.where(rng.random(1200) < 0.75, gold, (gold + rng.integers(1, 4, 1200)) % 4)
    label[(worker < confused) & (gold == 0)] = 1
    return make_crowd(np.arange(1200), worker, label, 1200, 12, 4, gold)


def test_the_mistake_of_a_group_is_told_with_both_shares():
    found = crowd(confused=3)
    listed = worker_groups(view(found, "gold"))
    of = listed.table.set_index("worker")["group"]
    group = of["w0"]
    assert set(of.index[of == group]) == {"w0", "w1", "w2"}
    gold = found.gold[found.task]
    wrong, cell = found.label != gold, (gold == 0) & (found.label == 1)
    own, theirs = (100 * cell[wrong & who].mean() for who in (found.worker < 3, found.worker >= 3))
    said = f"“class 0” called “class 1” is {own:.0f} % of the wrong labels of group {group}, and {theirs:.0f} % of"
    assert f"{said} the others'." in listed.notes


@pytest.mark.parametrize("kind", ["4 classes, dense", "2 classes, dense", "2 classes, 10 % positive"])
def test_groups_of_weak_workers_are_not_said_to_make_a_mistake_of_their_own(kind):
    for seed in range(5):
        notes = worker_groups(view(honest_crowd(seed, **HONEST[kind]), "gold")).notes
        assert notes[0] == "No mistake sets one of these groups apart."


def test_without_gold_nothing_is_said_to_set_groups_apart():
    notes = worker_groups(view(crowd(confused=3), "majority-vote"), groups=2).notes
    assert "Without gold" in notes[0]


def test_nothing_is_said_where_nothing_differs():
    seen = exhibits.view(crowd(confused=0), "gold")
    assert "No mistake sets one of these groups apart." in worker_groups(seen, groups=2).notes
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
