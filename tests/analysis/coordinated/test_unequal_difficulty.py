"""Honest crowds whose tasks are very unequally hard: by gold, nobody acts together."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.mistakes import PAIRS, TASKS, unequal
from crowdcore import analysis


@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_hard_tasks_make_nobody_a_partner_by_gold(tasks: str) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS["39 workers, 200 × 39, 2 classes"], TASKS[tasks], rng) for _ in range(10)]
    assert sum(bool(analysis.coordinated_workers(crowd, "gold").groups) for crowd in crowds) <= 1
