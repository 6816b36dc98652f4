"""When labels were given: columns are recognised by name and content, and can be named by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, from_frame, read_dataset
from crowdcore.data.times import TIME, about_time, moments, tells_time

N = 30
START = 1_700_000_000
VOTES = pd.DataFrame(
    {
        "task": [f"t{i // 3}" for i in range(N)],
        "worker": [f"w{i % 3}" for i in range(N)],
        "label": [("cat", "dog")[i % 5 == 0] for i in range(N)],
    }
)
WHEN = START + 86_400.0 * np.arange(N)
STAMPS = pd.Series(pd.to_datetime(WHEN, unit="s", utc=True))
WAYS: dict[str, Any] = {
    "ISO 8601": STAMPS.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "with a blank": STAMPS.dt.strftime("%Y-%m-%d %H:%M:%S"),
    "seconds": WHEN.astype(np.int64),
    "milliseconds": (1000 * WHEN).astype(np.int64),
    "day first": STAMPS.dt.strftime("%d.%m.%Y %H:%M:%S"),
    "month first": STAMPS.dt.strftime("%m/%d/%Y %H:%M:%S"),
    "dates of a frame": STAMPS,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("column", ["time", "date", "created_at", "submitted_at", "Timestamp", "submitTime", "Datum"])
def test_a_column_of_times_is_recognised(way: str, column: str) -> None:
    dataset = from_frame(VOTES.assign(**{column: WAYS[way]}))
    assert column not in dataset.extra or column == TIME
    np.testing.assert_allclose(moments(dataset.extra[TIME]), WHEN[dataset.file_row - 1])
    assert any(repr(column) in note and "time" in note for note in dataset.notes)


def test_the_report_names_the_column(tmp_path) -> None:
    VOTES.assign(created_at=WAYS["ISO 8601"]).to_csv(tmp_path / "votes.csv", index=False)
    report = examine(tmp_path / "votes.csv").report
    assert report.roles["time"] == "created_at"
    assert report.times == (TIME,)
    assert not report.changes


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("time", np.arange(N)),  # a position
        ("time_spent", WAYS["seconds"]),
        ("created_at", ["soon", *WAYS["ISO 8601"][1:]]),  # nothing would say that a cell was lost
        ("date", ["05/06/2024"] * (N - 1) + ["06/06/2024"]),  # June or May
        ("published", WAYS["ISO 8601"]),
        ("created_at", [f"2024-01-{1 + i // 3:02d}" for i in range(N)]),  # of the task
        ("created_at", [f"2024-01-{1 + i % 3:02d}" for i in range(N)]),  # of the worker
    ],
)
def test_what_is_no_time_of_a_label_stays_as_it_is(column: str, values: Any) -> None:
    dataset = from_frame(VOTES.assign(**{column: values}))
    assert TIME not in dataset.extra
    assert column in dataset.extra


def test_the_submission_goes_before_the_start_and_timestamp_before_all() -> None:
    rows = VOTES.assign(started_at=WAYS["seconds"], submitted_at=WAYS["seconds"] + 7)
    np.testing.assert_allclose(moments(from_frame(rows).extra[TIME]), WHEN + 7)
    assert "started_at" in from_frame(rows).extra
    rows = rows.assign(timestamp=WAYS["seconds"] + 9)
    assert {"started_at", "submitted_at"} < {*from_frame(rows).extra}
    np.testing.assert_allclose(moments(from_frame(rows).extra[TIME]), WHEN + 9)


def test_a_column_is_mapped_by_hand_in_python_and_refused_where_it_holds_no_times(tmp_path) -> None:
    path = tmp_path / "votes.csv"
    VOTES.assign(clock=WAYS["day first"], timestamp="x", step=np.arange(N), shift="early").to_csv(path, index=False)
    dataset = read_dataset(path, time="clock")
    np.testing.assert_allclose(moments(dataset.extra[TIME]), WHEN[dataset.file_row - 1])
    assert "x" in dataset.extra["other timestamp"].to_numpy()
    np.testing.assert_allclose(moments(read_dataset(path, time="step").extra[TIME]), np.arange(N))
    for column in ("shift", "worker", "nothing"):
        with pytest.raises(DataError):
            read_dataset(path, time=column)


def test_one_owner_of_the_names_that_mean_times() -> None:
    for name in ("time", "Timestamp", "created_at", "submittedAt", "Submission Date", "WHEN", "labelled_at", "Datum"):
        assert tells_time(name), name
    for name in ("time_spent", "seconds", "lead_time_ms", "timezone", "time zone", "Duration"):
        assert not tells_time(name), name
    assert all(map(about_time, ("seconds", "time_spent", "Work time", "start")))
    assert not any(map(about_time, ("label", "sentiment", "updating", "format", "latitude")))
