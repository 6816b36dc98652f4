"""Repeats, against loops over pairs."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from crowdcore.data.validation.repeats import find_repeats, reduce_repeats

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
