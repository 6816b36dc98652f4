"""Datasets from frames, their parts and splits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import (
    CrowdDataset,
    Rows,
    SimulatedTruth,
    examine,
    from_frame,
    read_dataset,
    split_tasks,
)
from testkit.crowds import simulate_crowd
from tests.data.crowds import crowds
from tests.data.reading.read_case import check

LONG = pd.DataFrame({"task": ["t1", "t1", "t2"], "worker": ["w1", "w2", "w1"], "label": ["a", "b", "b"]})


ROWS = {"task": [1, 1, 2, 2], "worker": ["ann", "ben", "ann", "ben"], "label": ["hi", "lo", "lo", "lo"]}
MATRIX = pd.DataFrame({"A1": [0, 1, np.nan, 2], "A2": [np.nan, 1, 0, 2], "A3": [0, np.nan, np.nan, 1]})
NUMERIC = pd.DataFrame({"task": [1, 1, 2], "worker": [7, 8, 7], "label": [0, 1, 1]})
NAMED_ROWS = pd.DataFrame({"A1": ["x", "y"], "A2": [None, "x"]}, index=["first", "second"])
UNNAMED = LONG.set_index(["task", "worker"]).rename_axis([None, None])
BY_PLACE = pd.Series([0, 1, 2, 1])
ARROW = {"ann": ["x", "y", "x", "x"], "ben": ["x", "y", None, "y"], "cem": ["y", "y", "y", None]}
ORDER = LONG.assign(label=pd.Categorical(["b", "b", "a"], categories=["unused", "b", "a"]))


def levels(ordered: bool) -> pd.DataFrame:
    names = ["lo", "mid", "hi"] if ordered else ["hi", "lo", "mid"]
    return pd.DataFrame(ROWS).astype({"label": pd.CategoricalDtype(names, ordered=ordered)})


FRAMES: dict[str, tuple[Any, ...]] = {
    "gold by task": (
        LONG, ({"gold": pd.Series({"t2": "a", "t1": "b"}, name="true_label").rename_axis("task")}, {"gold": [1, 0]}),
        ({"gold": {"t2": "a"}}, {"gold": [-1, 0]}), ({"gold": pd.Series({"t1": "c"})}, {"classes": ("a", "b", "c")}),
        ({"gold": pd.Series({"t1": "b", "t9": "a"})},
         {"changes": {"gold-not-listed": ()}, "text": ("1 task",), "gold": [1, -1]}),
        ({"gold": pd.Series(["a", "b"], index=["t1", "t1"])}, {"refused": DataError, "match": r"`gold`.*'t1'"}),
        ({"gold": np.array([1, 2])}, {"refused": SettingError, "match": "`gold`"})),
    "gold in a column": (LONG.assign(truth=["b", "b", "a"]), ({"gold": "truth"}, {"gold": [1, 0]})),
    "gold with numeric ids": (
        NUMERIC, ({"gold": pd.Series({1: 1, 2: 0})}, {"gold": [1, 0]}),
        ({"gold": pd.Series({1: 1.0, 2: np.nan})}, {"gold": [1, -1]})),
    "no rows": (LONG[:0], {"refused": DataError, "match": "empty"}),
    "cleanlab's: a row per example, a column per annotator, NaN where it gave no label": (
        MATRIX, {"format": "wide", "changes": {}, "task_ids": ["1", "2", "3", "4"], "worker_ids": ["A1", "A2", "A3"],
                 "task": [0, 0, 1, 1, 2, 3, 3, 3], "label": [0, 0, 1, 1, 0, 2, 2, 1]},
        ({"gold": BY_PLACE}, {"gold": [0, 1, 2, 1]}), ({"gold": BY_PLACE[::-1]}, {"gold": [0, 1, 2, 1]})),
    "gold of the last rows of a wide frame": (
        MATRIX[2:], ({"gold": BY_PLACE}, {"gold": [2, 1], "text": ("2 tasks",), "has": {"gold-not-listed"}})),
    "an index that names rows twice": (
        MATRIX.set_axis([0, 0, 1, 2]), ({"gold": BY_PLACE}, {"refused": DataError, "match": "index"})),
    "an index of names": (MATRIX.set_axis([*"abcd"]), ({"gold": {"c": 2}}, {"gold": [-1, -1, 2, -1]})),
    "a wide frame with named rows": (
        NAMED_ROWS, ({"gold": {"second": "y"}}, {"task_ids": ["first", "second"], "gold": [-1, 1]})),
    "a categorical keeps its order and what does not occur": (ORDER, {"classes": ("unused", "b", "a")}),
    "the rows of a categorical": (ORDER.iloc[::-1], {"task_ids": ["t2", "t1"]}),
    "an index without names": (
        UNNAMED, {"refused": DataError, "match": r"'level_0'.*'level_1'.*'label'"},
        ({"task": "level_0", "worker": "level_1"}, {"n_annotations": 3})),
    "an index called as another column": (
        LONG.set_index("task", drop=False).assign(task=["x", "y", "z"]), {"refused": DataError, "match": "'task'"}),
    "half a surrogate": (
        LONG.assign(label=pd.Series(["\ud800", "b", "c"], dtype=object)), {"refused": DataError, "match": "'label'"}),
    **{f"{type(values).__name__} are no names": (LONG.assign(task=values), {"refused": DataError, "match": "'task'"})
       for values in (pd.period_range("2024", periods=3, freq="D"), pd.interval_range(0, 3))},
    "categories spelled alike": (
        pd.DataFrame(ROWS).replace({"label": {"hi": "lo "}}).astype({"label": "category"}), {"classes": ("lo",)}),
    "categories that are missing, or only gold has": (
        levels(False).assign(truth=["far", "far", "-1", "-1"]),
        ({"missing": ["hi"], "gold": "truth"}, {"classes": ("far", "lo", "mid")})),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_frames(name: str) -> None:
    content, *steps = FRAMES[name]
    check(content, *steps)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # crowd-kit's own
def test_crowd_kit_itself_gives_such_frames():
    dataset = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    ds = cc.from_frame(LONG)
    frame = ds.annotations.astype(str)
    assert dataset.MajorityVote().fit_predict(frame).to_dict() == {"t1": "a", "t2": "b"}


@pytest.mark.parametrize("dtype", ["str", "category", "object", "string[python]", "string[pyarrow]"])
def test_any_type_of_strings(dtype):
    ds = cc.from_frame(LONG.astype(dtype))
    assert ds.fingerprint == cc.from_frame(LONG).fingerprint


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "+02:00"])
def test_times_of_a_zone_are_read_and_written(tmp_path, zone):
    """Without pandas' warning that pyarrow will see something else one day; warnings are errors here."""
    when = pd.to_datetime(["2024-03-31T00:59:00Z", None, "2024-03-31T01:01:00Z"], utc=True).tz_convert(zone)
    crowd = cc.data.from_frame(LONG.assign(timestamp=when))
    again = cc.read_dataset(cc.data.write_long(crowd, tmp_path / "crowd.parquet"))
    assert [*again.extra["timestamp"].dropna()] == [*crowd.extra["timestamp"].dropna()] == [*when.dropna()]
    shown = cc.exhibits.tasks.task_labels(cc.exhibits.view(crowd, "majority-vote"), "t2").table
    assert pa.table(shown)["timestamp"][0].as_py() == str(when[2])


def test_odd_cells():
    frame = pd.DataFrame({"task": [("a", 1), "t", 3], "worker": [1, None, pd.NA], "label": [b"x", 2.5, True]})
    ds = cc.from_frame(frame, accept=True)
    assert (list(ds.task_ids), ds.n_annotations) == (["('a', 1)", "t", "3"], 1)


def test_the_frame_is_left_as_it_is():
    frame = LONG.copy()
    cc.from_frame(frame)
    pd.testing.assert_frame_equal(frame, LONG)


def test_an_index_of_several_levels():
    for frame in (LONG.set_index(["task", "worker"]), LONG.set_index(["task", "worker"], drop=False)):
        assert cc.from_frame(frame).fingerprint == cc.from_frame(LONG).fingerprint


@pytest.mark.parametrize(
    "make",
    [pa.table, lambda rows: nw.from_native(pa.table(rows)), lambda rows: nw.from_native(pd.DataFrame(rows)).lazy()],
)
def test_frames_of_any_library_hold_what_a_pandas_frame_holds(make: Any) -> None:
    dataset = from_frame(make(ROWS), gold={1: "hi"})
    assert dataset.fingerprint == from_frame(pd.DataFrame(ROWS), gold={1: "hi"}).fingerprint


def test_gold_of_a_wide_arrow_table_is_by_row() -> None:
    assert from_frame(pa.table(ARROW), gold={0: "x", 3: "y"}).gold.tolist() == [0, -1, -1, 1]


@pytest.mark.parametrize("frame", [[1, 2], "votes.csv", None])
def test_what_is_no_frame(frame: Any) -> None:
    with pytest.raises(SettingError):
        from_frame(frame)


def test_an_empty_arrow_table() -> None:
    with pytest.raises(DataError):
        from_frame(pa.table({"task": [], "worker": [], "label": []}))


@pytest.mark.parametrize(("ordered", "classes"), [(True, ("lo", "mid", "hi")), (False, ("hi", "lo", "mid"))])
def test_categories_keep_their_order_and_those_unused(ordered: bool, classes: tuple[str, ...], tmp_path: Path) -> None:
    frame = levels(ordered)
    assert from_frame(frame).classes == classes
    frame.to_parquet(tmp_path / "votes.parquet")
    assert read_dataset(tmp_path / "votes.parquet").classes == classes
    wide = frame.pivot(index="task", columns="worker", values="label").astype(frame["label"].dtype).reset_index()
    assert from_frame(wide).classes == classes
    assert from_frame(frame, classes=["hi", "lo"]).classes == ("hi", "lo")


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


@pytest.fixture
def folded():
    crowd = simulate_crowd(300)
    return replace(crowd, split=None)


def test_shares_hold_in_every_class_to_one_task(folded):
    tasks = split_tasks(folded, valid=0.1, test=0.25, seed=3)
    assert (tasks.split == 2).sum() == 75 and abs((tasks.split == 1).sum() - 30) <= 1
    for c in range(folded.n_classes):
        of = folded.gold == c
        assert abs((tasks.split[of] == 2).sum() - 0.25 * of.sum()) < 1
        assert abs((tasks.split[of] == 1).sum() - 0.1 * of.sum()) < 2
    np.testing.assert_array_equal(tasks.split, split_tasks(folded, valid=0.1, test=0.25, seed=3).split)
    assert (tasks.split != split_tasks(folded, valid=0.1, test=0.25, seed=4).split).any()


def test_without_gold_the_votes_stratify(folded):
    tasks = split_tasks(replace(folded, gold=None), test=0.2)
    votes = pd.crosstab(folded.task, folded.label).to_numpy().argmax(1)
    for c in range(folded.n_classes):
        assert abs((tasks.split[votes == c] == 2).sum() - 0.2 * (votes == c).sum()) < 1


def test_groups_stay_together(folded):
    patient = folded.task // 7
    tasks = split_tasks(replace(folded, extra=pd.DataFrame({"patient": patient})), valid=0.2, test=0.2, group="patient")
    assert pd.Series(tasks.split).groupby(np.arange(300) // 7).nunique().max() == 1
    assert all(35 < (tasks.split == k).sum() < 85 for k in (1, 2))
    torn = replace(folded, extra=pd.DataFrame({"patient": np.arange(folded.n_annotations)}))
    with pytest.raises(DataError, match="two groups"):
        split_tasks(torn, test=0.2, group="patient")


def test_what_cannot_be_is_refused(folded):
    with pytest.raises(SettingError, match="further column"):
        split_tasks(folded, test=0.2, group="patient")
    with pytest.raises(SettingError, match="leave"):
        split_tasks(folded, valid=0.5, test=0.5)
    with pytest.raises(DataError, match="already"):
        split_tasks(split_tasks(folded, test=0.2), test=0.2)
    with pytest.raises(DataError, match="tasks"):
        split_tasks(simulate_crowd(3), valid=0.01, test=0.01)


def test_a_file_is_divided_when_it_is_read(folded, tmp_path):
    file = tmp_path / "votes.csv"
    folded.annotations.to_csv(file, index=False)
    imported = examine(file, valid_share=0.1, test_share=0.2)
    assert "210 tasks train, 30 validate, 60 test" in imported.report.text()
    assert np.bincount(read_dataset(file, valid_share=0.1, test_share=0.2).split).tolist() == [210, 30, 60]
