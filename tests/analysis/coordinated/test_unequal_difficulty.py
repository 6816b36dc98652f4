"""Honest crowds whose tasks are very unequally hard: nobody acts together, by gold or by a vote that is often wrong."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis
from testkit.erring import PAIRS, TASKS, unequal, with_copier


@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_hard_tasks_make_nobody_a_partner_by_gold(tasks: str) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS["39 workers, 200 × 39, 2 classes"], TASKS[tasks], rng) for _ in range(10)]
    assert sum(bool(analysis.coordinated_workers(crowd, "gold").groups) for crowd in crowds) <= 1


@pytest.mark.parametrize(
    ("design", "tasks", "most"),
    [
        ("39 workers, 200 × 39, 2 classes", "unequal", 1),
        ("39 workers, 200 × 39, 2 classes", "unequal, foils", 1),
        ("20 workers, 120 × 20, 5 classes", "unequal, foils", 1),
        ("20 workers, 200 × 20, 8 classes", "unequal, foils", 1),
        ("30 workers, 800 × 8, 4 classes", "unequal, foils", 1),
    ],
)
def test_able_workers_who_contradict_a_wrong_vote_are_not_accused(design: str, tasks: str, most: int) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS[design], TASKS[tasks], rng) for _ in range(10)]
    assert sum(analysis.worker_verdicts(crowd, "majority-vote").together.any() for crowd in crowds) <= most


@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_half_copies_are_found_by_gold_where_mistakes_are_many(tasks: str) -> None:
    rng, design, found = np.random.default_rng(7), PAIRS["39 workers, 200 × 39, 2 classes"], []
    for _ in range(10):
        crowd, source, copier = with_copier(unequal(design, TASKS[tasks], rng), 0.5, rng)
        groups = analysis.coordinated_workers(crowd, "gold").groups
        assert all(set(group.members.tolist()) == {source, copier} for group in groups)
        found.append(bool(groups))
    assert sum(found) >= 4  # half copies do not double the many common mistakes: a share of the labels tells
