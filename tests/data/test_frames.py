"""Frames: crowd-kit's, cleanlab's, those of other libraries, and what users make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine_frame, from_frame, read_dataset

LONG = pd.DataFrame({"task": ["t1", "t1", "t2"], "worker": ["w1", "w2", "w1"], "label": ["a", "b", "b"]})


def test_crowd_kit_frames_with_gold_by_task():
    gold = pd.Series({"t2": "a", "t1": "b"}, name="true_label").rename_axis("task")
    ds = cc.from_frame(LONG, gold=gold)
    assert ds.gold.tolist() == [1, 0]
    assert cc.from_frame(LONG, gold={"t2": "a"}).gold.tolist() == [-1, 0]
    assert cc.from_frame(LONG.assign(truth=["b", "b", "a"]), gold="truth").gold.tolist() == [1, 0]
    assert cc.from_frame(LONG, gold=pd.Series({"t1": "c"})).classes == ("a", "b", "c")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # crowd-kit's own
def test_crowd_kit_itself_gives_such_frames():
    dataset = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    ds = cc.from_frame(LONG)
    frame = ds.annotations.astype(str)
    assert dataset.MajorityVote().fit_predict(frame).to_dict() == {"t1": "a", "t2": "b"}


def test_gold_of_other_tasks_needs_acceptance():
    gold = pd.Series({"t1": "b", "t9": "a"})
    with pytest.raises(DataError, match="Gold of 1 task outside the frame would be left out"):
        cc.from_frame(LONG, gold=gold)
    assert cc.from_frame(LONG, gold=gold, accept=True).gold.tolist() == [1, -1]


def test_gold_with_numeric_ids():
    frame = pd.DataFrame({"task": [1, 1, 2], "worker": [7, 8, 7], "label": [0, 1, 1]})
    assert cc.from_frame(frame, gold=pd.Series({1: 1, 2: 0})).gold.tolist() == [1, 0]
    assert cc.from_frame(frame, gold=pd.Series({1: 1.0, 2: np.nan})).gold.tolist() == [1, -1]


def test_gold_that_cannot_be():
    with pytest.raises(DataError, match="`gold` names task 't1' twice"):
        cc.from_frame(LONG, gold=pd.Series(["a", "b"], index=["t1", "t1"]))
    with pytest.raises(SettingError, match="`gold` must be a series or mapping by task"):
        cc.from_frame(LONG, gold=np.array([1, 2]))
    with pytest.raises(SettingError, match="`frame` must be a frame"):
        cc.from_frame([1, 2])
    with pytest.raises(DataError, match="The frame is empty"):
        cc.from_frame(LONG[:0])


def test_cleanlab_frames():
    """A row per example (by position), a column per annotator, NaN where it gave no label."""
    frame = pd.DataFrame({"A1": [0, 1, np.nan, 2], "A2": [np.nan, 1, 0, 2], "A3": [0, np.nan, np.nan, 1]})
    found = examine_frame(frame)
    assert found.report.format == "wide"
    ds = found.dataset()
    assert list(ds.task_ids) == ["1", "2", "3", "4"]
    assert list(ds.worker_ids) == ["A1", "A2", "A3"]
    assert ds.task.tolist() == [0, 0, 1, 1, 2, 3, 3, 3]
    assert ds.label.tolist() == [0, 0, 1, 1, 0, 2, 2, 1]


def test_a_wide_frame_with_named_rows_and_gold():
    frame = pd.DataFrame({"A1": ["x", "y"], "A2": [None, "x"]}, index=["first", "second"])
    ds = cc.from_frame(frame, gold={"second": "y"})
    assert list(ds.task_ids) == ["first", "second"]
    assert ds.gold.tolist() == [-1, 1]


@pytest.mark.parametrize("dtype", ["str", "category", "object", "string[python]", "string[pyarrow]"])
def test_any_type_of_strings(dtype):
    ds = cc.from_frame(LONG.astype(dtype))
    assert ds.fingerprint == cc.from_frame(LONG).fingerprint


def test_a_categorical_keeps_its_order_and_what_does_not_occur():
    frame = LONG.assign(label=pd.Categorical(["b", "b", "a"], categories=["unused", "b", "a"]))
    assert cc.from_frame(frame).classes == ("unused", "b", "a")
    assert list(cc.from_frame(frame.iloc[::-1]).task_ids) == ["t2", "t1"]


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
    assert list(ds.task_ids) == ["('a', 1)", "t", "3"]
    assert ds.n_annotations == 1
    with pytest.raises(DataError, match=r"A value holds characters that are not text \(column 'label'\)"):
        cc.from_frame(LONG.assign(label=pd.Series(["\ud800", "b", "c"], dtype=object)))


def test_the_frame_is_left_as_it_is():
    frame = LONG.copy()
    cc.from_frame(frame)
    pd.testing.assert_frame_equal(frame, LONG)


def test_gold_of_a_wide_frame_is_matched_by_its_index():
    frame = pd.DataFrame({"A1": [0, 1, np.nan, 2], "A2": [np.nan, 1, 0, 2], "A3": [0, np.nan, np.nan, 1]})
    gold = pd.Series([0, 1, 2, 1])
    assert cc.from_frame(frame, gold=gold).gold.tolist() == [0, 1, 2, 1]
    assert cc.from_frame(frame, gold=gold[::-1]).gold.tolist() == [0, 1, 2, 1]
    with pytest.raises(DataError, match="Gold of 2 tasks outside the frame would be left out"):
        cc.from_frame(frame[2:], gold=gold)
    assert cc.from_frame(frame[2:], gold=gold, accept=True).gold.tolist() == [2, 1]
    with pytest.raises(DataError, match="by the frame's index, which names a row twice"):
        cc.from_frame(frame.set_axis([0, 0, 1, 2]), gold=gold)
    assert cc.from_frame(frame.set_axis(["a", "b", "c", "d"]), gold={"c": 2}).gold.tolist() == [-1, -1, 2, -1]


def test_an_index_of_several_levels():
    for frame in (LONG.set_index(["task", "worker"]), LONG.set_index(["task", "worker"], drop=False)):
        assert cc.from_frame(frame).fingerprint == cc.from_frame(LONG).fingerprint
    unnamed = LONG.set_index(["task", "worker"]).rename_axis([None, None])
    with pytest.raises(DataError, match=r"No column was recognised .* 'level_0', 'level_1', 'label'"):
        cc.from_frame(unnamed)
    assert cc.from_frame(unnamed, task="level_0", worker="level_1").n_annotations == 3
    with pytest.raises(DataError, match="The index and a column are both called 'task', and differ"):
        cc.from_frame(LONG.set_index("task", drop=False).assign(task=["x", "y", "z"]))


def test_columns_of_a_type_that_is_no_name_are_named():
    for values in (pd.period_range("2024", periods=3, freq="D"), pd.interval_range(0, 3)):
        with pytest.raises(DataError, match=r"This column holds .*, not names or numbers \(column 'task'\)"):
            cc.from_frame(LONG.assign(task=values))


ROWS = {"task": [1, 1, 2, 2], "worker": ["ann", "ben", "ann", "ben"], "label": ["hi", "lo", "lo", "lo"]}


@pytest.mark.parametrize(
    "make",
    [pa.table, lambda rows: nw.from_native(pa.table(rows)), lambda rows: nw.from_native(pd.DataFrame(rows)).lazy()],
)
def test_frames_of_any_library_hold_what_a_pandas_frame_holds(make: Any) -> None:
    dataset = from_frame(make(ROWS), gold={1: "hi"})
    assert dataset.fingerprint == from_frame(pd.DataFrame(ROWS), gold={1: "hi"}).fingerprint


def test_gold_of_a_wide_arrow_table_is_by_row() -> None:
    rows = {"ann": ["x", "y", "x", "x"], "ben": ["x", "y", None, "y"], "cem": ["y", "y", "y", None]}
    assert from_frame(pa.table(rows), gold={0: "x", 3: "y"}).gold.tolist() == [0, -1, -1, 1]


@pytest.mark.parametrize("frame", [[1, 2], "votes.csv", None])
def test_what_is_no_frame(frame: Any) -> None:
    with pytest.raises(SettingError):
        from_frame(frame)


def test_an_empty_arrow_table() -> None:
    with pytest.raises(DataError):
        from_frame(pa.table({"task": [], "worker": [], "label": []}))


def levels(ordered: bool) -> pd.DataFrame:
    names = ["lo", "mid", "hi"] if ordered else ["hi", "lo", "mid"]
    return pd.DataFrame(ROWS).astype({"label": pd.CategoricalDtype(names, ordered=ordered)})


@pytest.mark.parametrize(("ordered", "classes"), [(True, ("lo", "mid", "hi")), (False, ("hi", "lo", "mid"))])
def test_categories_keep_their_order_and_those_unused(ordered: bool, classes: tuple[str, ...], tmp_path: Path) -> None:
    frame = levels(ordered)
    assert from_frame(frame).classes == classes
    frame.to_parquet(tmp_path / "votes.parquet")
    assert read_dataset(tmp_path / "votes.parquet").classes == classes
    wide = frame.pivot(index="task", columns="worker", values="label").astype(frame["label"].dtype).reset_index()
    assert from_frame(wide).classes == classes
    assert from_frame(frame, classes=["hi", "lo"]).classes == ("hi", "lo")


def test_categories_that_are_spelled_alike_are_labels_like_others() -> None:
    frame = pd.DataFrame(ROWS).replace({"label": {"hi": "lo "}}).astype({"label": "category"})
    assert examine_frame(frame).report.classes == ("lo",)


def test_categories_lack_what_is_missing_and_have_what_only_gold_has() -> None:
    frame = levels(False).assign(truth=["far", "far", "-1", "-1"])
    found = examine_frame(frame, missing=["hi"], gold="truth")
    assert found.report.classes == ("far", "lo", "mid")
