"""Frames of other libraries, and columns whose type lists their classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine_frame, from_frame, read_dataset

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
