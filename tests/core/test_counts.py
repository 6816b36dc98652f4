"""Counts and both ways of counting mistakes, against loops, sets and dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp, softmax

from crowdcore.core import compiled, counts, mistakes
from crowdcore.core.mistakes import mistake_triples, repeats, soft_mistakes
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, soft_reference

EITHER_WAY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["numpy", "compiled"])
def way(request, monkeypatch):
    monkeypatch.setattr(compiled, "LARGE", 0 if request.param == "compiled" else 10**12)
    return request.param


@st.composite
def annotations(draw):
    """(task ascending, worker, label, n_tasks, n_workers, n_classes); some tasks and workers may have none."""
    n_tasks, n_workers, n_classes = (draw(st.integers(1, n)) for n in (9, 5, 4))
    n = draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    task, worker, label = (rng.integers(k, size=n, dtype=np.int32) for k in (n_tasks, n_workers, n_classes))
    return np.sort(task), worker, label, n_tasks, n_workers, n_classes


@EITHER_WAY
@given(annotations())
def test_vote_counts(way, crowd):
    task, _, label, n_tasks, _, n_classes = crowd
    expected = np.zeros((n_tasks, n_classes))
    for i, given_label in zip(task, label, strict=True):
        expected[i, given_label] += 1
    found = counts.vote_counts(task, label, n_tasks, n_classes)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


@EITHER_WAY
@given(annotations(), st.integers(0, 2**32))
def test_confusion_counts(way, crowd, seed):
    task, worker, label, n_tasks, n_workers, n_classes = crowd
    truth = np.random.default_rng(seed).integers(-1, n_classes, n_tasks, dtype=np.int32)
    expected = np.zeros((n_workers, n_classes, n_classes))
    for i, r, given_label in zip(task, worker, label, strict=True):
        if truth[i] >= 0:
            expected[r, truth[i], given_label] += 1
    np.testing.assert_array_equal(counts.confusion_counts(task, worker, label, truth, n_workers, n_classes), expected)


@EITHER_WAY
@given(annotations(), st.integers(0, 2**32))
def test_soft_confusion_counts(way, crowd, seed):
    task, worker, label, n_tasks, n_workers, n_classes = crowd
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.ones(n_classes), n_tasks)
    posterior[rng.random(n_tasks) < 0.3] = np.nan
    expected = np.zeros((n_workers, n_classes, n_classes))
    for i, r, given_label in zip(task, worker, label, strict=True):
        if not np.isnan(posterior[i, 0]):
            expected[r, :, given_label] += posterior[i]
    np.testing.assert_allclose(
        counts.soft_confusion_counts(task, worker, label, posterior, n_workers), expected, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_most_probable(way, n_classes):
    posterior = np.random.default_rng(0).integers(0, 3, (300, n_classes)) / 2  # ties
    found = counts.most_probable(posterior)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, [max(range(n_classes), key=lambda c: (row[c], -c)) for row in posterior])


@given(arrays(np.float64, (4, 3), elements=st.floats(-1e4, 1e4)))
def test_softmax_rows(scores):
    expected, total = softmax(scores, 1), logsumexp(scores, 1)
    found = counts.softmax_rows(scores)
    np.testing.assert_allclose(scores, expected, atol=1e-15)
    np.testing.assert_allclose(found, total, rtol=1e-14, atol=1e-12)


@given(st.integers(1, 300), st.integers(2, 400), st.sampled_from([np.int8, np.int16, np.int32, np.int64]), st.data())
def test_cells_hold_their_products_whatever_the_types_of_workers(n_workers, n_classes, kind, data):
    n_workers = min(n_workers, np.iinfo(kind).max)
    worker = np.array(data.draw(st.lists(st.integers(0, n_workers - 1), min_size=1, max_size=20)), kind)
    label = np.array([data.draw(st.integers(0, n_classes - 1)) for _ in worker], np.int32)
    made = counts.cells(worker, label, n_classes)
    want = [int(w) * n_classes + int(k) for w, k in zip(worker, label, strict=True)]
    assert made(slice(0, None)).tolist() == want and made(slice(1, 3)).tolist() == want[1:3]
    assert made(slice(0, 1)).dtype == np.int32


@pytest.mark.parametrize("large", [0, 10**9])
def test_counts_of_cells_are_the_same_however_many_tasks_are_counted_at_once(monkeypatch, large):
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 500))])
    worker, label = rng.integers(0, 7, (2, start[-1])).astype(np.int32)
    posterior = rng.dirichlet(np.ones(7), 500)
    posterior[::9] = np.nan
    monkeypatch.setattr(compiled, "LARGE", large)
    whole = counts.cell_counts(start, worker * 7 + label, posterior, 49)
    for size in (1, 13, 500):
        monkeypatch.setattr(counts, "TASKS", size)
        assert np.array_equal(counts.cell_counts(start, counts.cells(worker, label, 7), posterior, 49), whole)


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
