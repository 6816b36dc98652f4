"""Repeats, against loops over pairs."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from crowdcore.data.lookups import counted_sorted
from crowdcore.data.reading.numbering import find_repeats, reduce_repeats

TRIPLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=25)


def columns(triples):
    table = np.array(sorted(triples, key=lambda t: t[0]), dtype=np.int32).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


@settings(max_examples=200)
@given(TRIPLES)
def test_finding(triples):
    task, worker, label = columns(triples)
    groups = defaultdict(list)
    for row, pair in enumerate(zip(task, worker, strict=True)):
        groups[pair].append(row)
    several = {pair: rows for pair, rows in groups.items() if len(rows) > 1}
    repeats = find_repeats(task, worker, label, 3)
    found = {
        (task[rows[0]], worker[rows[0]]): rows.tolist()
        for rows in np.split(repeats.rows, repeats.start[1:-1])
        if len(rows)
    }
    assert found == several
    assert repeats.n_repeats == sum(len(rows) - 1 for rows in several.values())
    assert repeats.contradicting.sum() == sum(len({label[r] for r in rows}) > 1 for rows in several.values())


@settings(max_examples=200)
@given(TRIPLES, st.sampled_from(["first", "last", "majority"]))
def test_reducing(triples, how):
    task, worker, label = columns(triples)
    repeats = find_repeats(task, worker, label, 3)
    kept = np.ones(len(task), bool)
    kept[reduce_repeats(repeats, label, how)] = False
    groups = defaultdict(list)
    for row, pair in enumerate(zip(task, worker, strict=True)):
        groups[pair].append(row)
    for rows in groups.values():
        votes = Counter(label[r] for r in rows)  # in order of appearance, which breaks ties
        winner = next(r for r in rows if label[r] == max(votes, key=votes.__getitem__))
        want = {"first": rows[0], "last": rows[-1], "majority": winner}[how]
        assert [r for r in rows if kept[r]] == [want]


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows(n):
    nothing = np.zeros(n, np.int32)
    assert find_repeats(nothing, nothing, nothing, 1).n_repeats == 0


def test_blocks_of_tasks_find_the_same_repeats(monkeypatch):
    rng = np.random.default_rng(1)
    task = np.sort(rng.integers(0, 40, 300)).astype(np.int32)
    worker, label = (rng.integers(0, n, 300).astype(np.int32) for n in (9, 3))
    whole = find_repeats(task, worker, label, 9)
    monkeypatch.setattr("crowdcore.data.reading.numbering.BLOCK", 7)
    parts = find_repeats(task, worker, label, 9)
    for name in ("rows", "start", "contradicting"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), name)


def test_counts_of_sorted_codes_are_those_of_bincount(monkeypatch):
    codes = np.sort(np.random.default_rng(2).integers(0, 50, 200)).astype(np.int32)
    monkeypatch.setattr("crowdcore.data.lookups.BLOCK", 16)
    np.testing.assert_array_equal(counted_sorted(codes, 60), np.bincount(codes, minlength=60))
    assert counted_sorted(codes[:0], 3).tolist() == [0, 0, 0]
