"""`CrowdDataset`: what it refuses, its counts, its fingerprint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings

from crowdcore.core.errors import DataError
from crowdcore.data import CrowdDataset, Rows, SimulatedTruth
from tests.data.crowds import crowds


@settings(max_examples=40, deadline=None)
@given(crowds())
def test_counts_agree_with_counting(ds):
    starts = [int((ds.task < i).sum()) for i in range(ds.n_tasks + 1)]
    assert ds.task_start.tolist() == starts
    assert ds.labels_per_task.tolist() == [int((ds.task == i).sum()) for i in range(ds.n_tasks)]
    assert ds.labels_per_worker.tolist() == [int((ds.worker == r).sum()) for r in range(ds.n_workers)]
    assert ds.annotated.tolist() == [i in set(ds.task) for i in range(ds.n_tasks)]
    assert ds.has_gold == any(ds.gold[i] >= 0 for i in set(ds.task))
    frame = ds.annotations
    assert list(frame["label"].astype(object)) == [ds.classes[c] for c in ds.label]


def test_the_fingerprint_is_of_content_not_of_storage(crowd):
    same = replace(
        crowd,
        name="other",
        task_ids=pd.Index(list(crowd.task_ids), dtype=object),
        worker_ids=pd.Index(pa.chunked_array([["x"], list(crowd.worker_ids)], pa.string())[1:].to_pandas()),
        task=crowd.task.astype(np.int64),
        notes=("read",),
    )
    assert same.fingerprint == crowd.fingerprint
    assert len(crowd.fingerprint) == 32


@pytest.mark.parametrize(
    "change",
    [
        lambda ds: {"classes": (*ds.classes[:-1], "another")},
        lambda ds: {"task_ids": pd.Index([*ds.task_ids[:-1], "another"])},
        lambda ds: {"worker_ids": pd.Index(["another", *ds.worker_ids[1:]])},
        lambda ds: {"label": np.roll(ds.label, 1)},
        lambda ds: {"worker": np.roll(ds.worker, 1)},
        lambda ds: {"gold": np.roll(ds.gold, 1)},
        lambda ds: {"split": np.zeros(ds.n_tasks)},
        lambda ds: {"task_ids": pd.Index(["t0000", *("0" + ds.task_ids[1:2]), *ds.task_ids[2:]])},
    ],
)
def test_any_change_of_content_changes_the_fingerprint(crowd, change):
    assert replace(crowd, **change(crowd)).fingerprint != crowd.fingerprint


def test_names_that_only_differ_in_where_they_are_cut():
    def named(*tasks):
        none = np.empty(0, int)
        return CrowdDataset("x", ("a", "b"), pd.Index(tasks), pd.Index(["w"]), none, none, none).fingerprint

    assert len({named("ab", "c"), named("a", "bc"), named("abc", ""), named("a\x1fb", "c")}) == 4


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"task": [0, 1]}, "must have the same length"),
        ({"task": [1, 0, 2]}, "`task` must be ascending"),
        ({"task": [0, 1, 9]}, r"`task` holds 9, outside 0…2"),
        ({"worker": [0, -1, 0]}, r"`worker` holds -1, outside 0…1"),
        ({"label": [0, 1, 2]}, r"`label` holds 2, outside 0…1"),
        ({"gold": [0, 1]}, "one entry for each of the 3 tasks"),
        ({"gold": [0, 2, 0]}, r"`gold` holds 2, outside 0…1"),
        ({"split": [0, 3, 0]}, r"`split` holds 3, outside -1…2"),
        ({"features": Rows.from_array(np.zeros((2, 1)))}, "for 2 tasks, but there are 3 tasks"),
    ],
)
def test_arrays_that_do_not_fit(change, sentence):
    parts = {"task": [0, 1, 2], "worker": [0, 1, 0], "label": [0, 1, 1]} | change
    with pytest.raises(DataError, match=sentence):
        CrowdDataset("x", ("a", "b"), pd.Index(["t1", "t2", "t3"]), pd.Index(["w1", "w2"]), **parts)


def test_a_subset_keeps_everything_aligned(crowd):
    n = crowd.n_annotations
    truth = SimulatedTruth(omega=np.arange(n) / n, used_common=np.arange(n) % 2 == 0)
    ds = replace(crowd, extra=pd.DataFrame({"row": np.arange(n)}), truth=truth)
    kept = ds.without_workers(np.array([0, 3]))
    rows = kept.extra["row"].to_numpy()
    assert not np.isin(kept.worker, [0, 3]).any()
    np.testing.assert_array_equal(rows, np.flatnonzero(~np.isin(ds.worker, [0, 3])))
    np.testing.assert_array_equal(kept.truth.omega, rows / n)
    np.testing.assert_array_equal(kept.label, ds.label[rows])
    assert kept.n_workers == ds.n_workers


def test_arrays_are_read_only(crowd):
    with pytest.raises(ValueError, match="read-only"):
        crowd.label[0] = 1
