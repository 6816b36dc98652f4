"""What is written is read back equal, by every writer and reader, ratings to the last bit."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

import crowdcore as cc
from crowdcore.core.errors import DataError
from crowdcore.data import RatingDataset, from_frame, read_dataset, write_folder, write_long, write_wide
from tests.data.crowds import assert_same, crowds

FEW = settings(max_examples=25, deadline=None)


@FEW
@given(crowds(), st.sampled_from(["parquet", "csv"]))
def test_folder_round_trip(ds, table):
    with tempfile.TemporaryDirectory() as folder:
        path = write_folder(ds, Path(folder) / "crowd", table=table)
        assert_same(read_dataset(path), ds)
        assert sorted(p.name for p in Path(folder).iterdir()) == ["crowd"]


@FEW
@given(crowds(media=False), st.sampled_from(["parquet", "csv"]))
def test_long_round_trip(ds, table):
    """A long file keeps the annotations, and gold and split of annotated tasks; ids come in order of appearance."""
    assume(not all(re.fullmatch(r"-?[0-9]+(\.0+)?", name) for name in ds.classes))  # 1.0 needs its list of classes
    with tempfile.TemporaryDirectory() as folder:
        path = write_long(ds, Path(folder) / f"crowd.{table}")
        again = read_dataset(path, classes=ds.classes, accept=True)
    assert annotations(again) == annotations(ds)
    used = ds.task_ids[ds.annotated]
    assert list(again.task_ids) == list(used)
    np.testing.assert_array_equal(again.gold, ds.gold[ds.annotated] if ds.has_gold else -np.ones(len(used)))
    np.testing.assert_array_equal(again.split, ds.split[ds.annotated])


@FEW
@given(crowds(media=False))
def test_frame_round_trip(ds):
    again = from_frame(ds.annotations, classes=ds.classes, accept=True)
    assert annotations(again) == annotations(ds)


def annotations(ds) -> list[tuple[str, str, str]]:
    """Task, worker and label of each annotation, in order."""
    ids, who = list(ds.task_ids), list(ds.worker_ids)
    return [(ids[i], who[r], ds.classes[c]) for i, r, c in zip(ds.task, ds.worker, ds.label, strict=True)]


@pytest.mark.parametrize("table", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["labelme", "cifar10s", "anaesthesia", "leaves"])
def test_real_data_round_trip(data_folder, tmp_path, name, table):
    ds = read_dataset(data_folder / name)
    again = read_dataset(write_folder(ds, tmp_path / name, table=table))
    assert again.fingerprint == ds.fingerprint
    if ds.features is not None:
        np.testing.assert_array_equal(again.features[:100], ds.features[:100])


NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=True).map(lambda x: x + 0.0)


@st.composite
def rated(draw, repeats=False):
    """Ratings of any numbers in a range that just holds them; tasks and workers without ratings, and gold."""
    n_tasks, n_workers = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    cells = st.tuples(st.integers(0, n_tasks - 1), st.integers(0, n_workers - 1))
    given = sorted(draw(st.lists(cells, min_size=1, max_size=20, unique=not repeats)))
    numbers = draw(st.lists(NUMBERS, min_size=len(given), max_size=len(given)))
    low, high = min(numbers), max(numbers) + 1
    gold = draw(st.lists(st.just(np.nan) | st.floats(low, high), min_size=n_tasks, max_size=n_tasks))
    ids = [pd.Index([f"{kind}{i}" for i in range(n)]) for kind, n in (("t", n_tasks), ("w", n_workers))]
    task, worker = (np.array(part) for part in zip(*given, strict=True))
    return RatingDataset("rated", low, high, *ids, task, worker, np.array(numbers), gold=np.array(gold) + 0.0)


def ratings(ds, tasks=None):
    return [(ds.task_ids[t], ds.worker_ids[w], r) for t, w, r in zip(ds.task, ds.worker, ds.rating, strict=True)]


@FEW
@given(rated(repeats=True), st.sampled_from(["parquet", "csv"]))
def test_folder(ds, table):
    with tempfile.TemporaryDirectory() as folder:
        again = cc.read_ratings(write_folder(ds, Path(folder) / "rated", table=table))
    assert again.fingerprint == ds.fingerprint
    assert (again.low, again.high) == (ds.low, ds.high)


@FEW
@given(rated(repeats=True), st.sampled_from(["parquet", "csv"]))
def test_long(ds, table):
    with tempfile.TemporaryDirectory() as folder:
        again = cc.read_ratings(write_long(ds, Path(folder) / f"rated.{table}"), ds.low, ds.high)
    assert ratings(again) == ratings(ds)
    np.testing.assert_array_equal(again.gold, ds.gold[ds.annotated])


@FEW
@given(rated(), st.sampled_from(["parquet", "csv"]))
def test_wide(ds, table):
    with tempfile.TemporaryDirectory() as folder:
        path = write_wide(ds, Path(folder) / f"rated.{table}")
        workers = [str(worker) for worker in ds.worker_ids]
        again = cc.read_ratings(path, ds.low, ds.high, workers=workers, missing=[], accept=True)
    assert ratings(again) == ratings(ds)
    assert list(again.task_ids) == list(ds.task_ids)
    np.testing.assert_array_equal(again.gold, ds.gold)


def test_words_split_and_further_columns_stay_in_a_folder(tmp_path):
    frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["good", "bad", "fair"]})
    frame["seconds"] = [1.5, 2.5, 3.5]
    ds = cc.ratings_from_frame(frame, levels=["bad", "fair", "good"], gold={"a": "good"})
    again = cc.read_ratings(write_folder(ds, tmp_path / "words"))
    assert (again.levels, again.low, again.high) == (("bad", "fair", "good"), 1, 3)
    assert again.rating.tolist() == [3, 1, 2]
    pd.testing.assert_frame_equal(again.annotations, ds.annotations)
    assert again.fingerprint == ds.fingerprint


def test_what_a_wide_table_cannot_hold(tmp_path):
    ids = pd.Index(["a"]), pd.Index(["gold", "x"])
    with pytest.raises(DataError, match="A worker is called 'gold'"):
        write_wide(RatingDataset("r", 0, 1, *ids, np.array([0]), np.array([0]), np.array([1.0])), tmp_path / "r.csv")
    twice = RatingDataset("r", 0, 1, ids[0], pd.Index(["x"]), np.zeros(2, int), np.zeros(2, int), np.zeros(2))
    with pytest.raises(DataError, match="A worker of r rated a task twice"):
        write_wide(twice, tmp_path / "r.csv")


def test_the_real_ones(data_folder, tmp_path):
    movies = cc.load_ratings("movie_reviews", accept=True)
    assert cc.read_ratings(write_folder(movies, tmp_path / "movies")).fingerprint == movies.fingerprint


def test_classes_are_no_ratings():
    with pytest.raises(DataError, match=r"^The labels are classes \(zero, one, two, three, four …\), not ratings"):
        cc.load_ratings("demo")
