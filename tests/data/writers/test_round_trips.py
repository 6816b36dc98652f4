"""What is written is read back equal, by every writer and reader that belong together."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from crowdcore.data import from_frame, read_dataset, write_folder, write_long
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
