"""Both ways of counting (NumPy, compiled) against sets and dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from crowdcore.core import mistakes
from crowdcore.core.mistakes import mistake_triples, repeats, soft_mistakes
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, soft_reference


def literal(crowd, truth):
    times, tasks = Counter(), {}
    for i, r, y in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        if truth[i] >= 0:
            cell = int(truth[i]) * crowd.n_classes + int(y)
            times[cell, int(r)] += 1
            tasks.setdefault(cell, set()).add(int(i))
    return times, {cell: len(found) for cell, found in tasks.items()}


def triples_of(crowd, truth):
    return mistake_triples(crowd.task, crowd.worker, crowd.label, truth, crowd.n_workers, crowd.n_classes)


def check(found, crowd, truth):
    times, tasks = literal(crowd, truth)
    assert dict(zip(zip(found.cell.tolist(), found.worker.tolist(), strict=True), found.times, strict=True)) == times
    assert dict(zip(found.cells.tolist(), found.tasks.tolist(), strict=True)) == tasks
    order = found.cell * crowd.n_workers + found.worker
    assert (np.diff(order) > 0).all()
    assert (np.diff(found.cells) > 0).all()


@given(crowds())
def test_triples_are_those_of_a_dictionary(crowd):
    check(triples_of(crowd, crowd.gold), crowd, crowd.gold)


@given(crowds())
def test_repeats_are_all_but_the_first(crowd):
    seen, expected = set(), []
    for pair in zip(crowd.task.tolist(), crowd.worker.tolist(), strict=True):
        expected.append(pair in seen)
        seen.add(pair)
    assert repeats(crowd.task, crowd.worker, crowd.n_workers).tolist() == expected


@pytest.mark.parametrize("per_task", [1, 3, 11])
def test_compiled_loops_count_the_same(monkeypatch, per_task):
    crowd = simulate_crowd(n_tasks=60_000, per_task=per_task, seed=per_task)
    truth = np.where(np.arange(crowd.n_tasks) % 7 == 0, -1, crowd.gold)
    plain = triples_of(crowd, truth)
    again = np.repeat(crowd.task, 2), np.repeat(crowd.worker, 2)
    plain_repeats = repeats(*again, crowd.n_workers)
    monkeypatch.setattr(mistakes, "_LARGE", 1)
    for part, expected in zip(triples_of(crowd, truth), plain, strict=True):
        np.testing.assert_array_equal(part, expected)
    np.testing.assert_array_equal(repeats(*again, crowd.n_workers), plain_repeats)


@pytest.mark.parametrize("per_task", [1, 4])
def test_compiled_soft_counts_are_the_same(monkeypatch, per_task):
    crowd = simulate_crowd(n_tasks=60_000, per_task=per_task, seed=per_task)
    task = np.append(crowd.task, crowd.task[::50])
    order = np.argsort(task, kind="stable")
    task = task[order]
    worker = np.append(crowd.worker, crowd.worker[::50])[order]
    label = np.append(crowd.label, crowd.label[::50])[order]
    posterior = soft_reference(crowd).posterior
    plain = soft_mistakes(task, worker, label, posterior, crowd.n_workers)
    monkeypatch.setattr(mistakes, "_LARGE", 1)
    for part, expected in zip(soft_mistakes(task, worker, label, posterior, crowd.n_workers), plain, strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9)


def test_many_classes_take_memory_for_annotations_only():
    crowd = simulate_crowd(n_tasks=200, n_classes=10_000)
    found = triples_of(crowd, crowd.gold)
    assert len(found.cell) <= crowd.n_annotations
    check(found, crowd, crowd.gold)
