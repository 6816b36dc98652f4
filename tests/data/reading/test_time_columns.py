"""When labels were given: columns by name and content; times that cannot be read are reported by row."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, examine_ratings, from_frame, read_dataset, read_ratings, write_folder
from crowdcore.data.times import TIME, about_time, durations, moments, names_time

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


COLUMNS = ("time", "date", "created_at", "submitted_at", "Timestamp", "submitTime", "Datum")


@pytest.mark.parametrize(("way", "column"), [*zip(WAYS, COLUMNS, strict=True), *((way, "time") for way in WAYS)])
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
        assert names_time(name), name
    for name in ("time_spent", "seconds", "lead_time_ms", "timezone", "time zone", "Duration"):
        assert not names_time(name), name
    assert all(map(about_time, ("seconds", "time_spent", "Work time", "start")))
    assert not any(map(about_time, ("label", "sentiment", "updating", "format", "latitude")))


N_VOTES = 12
TWELVE_VOTES = pd.DataFrame(
    {
        "task": [f"t{i // 3}" for i in range(N_VOTES)],
        "worker": [f"w{i % 3}" for i in range(N_VOTES)],
        "label": ["4", "5", "4"] * 4,
    }
)
NUMBERS = [str(1_700_000_000 + 10 * i) for i in range(N_VOTES)]
DATES = [f"2024-05-01T10:00:{i:02d}Z" for i in range(N_VOTES)]


def save(path, column, values):
    """The votes with one more column, as a file of the path's kind; values are texts, None = missing."""
    frame = TWELVE_VOTES.assign(**{column: pd.Series(values, dtype=object)})
    if path.suffix == ".parquet":
        pq.write_table(pa.table({name: pa.array(frame[name].tolist()) for name in frame}), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in frame.to_dict("records")))
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize(
    ("kind", "column", "values", "wrong"),
    [
        *((kind, "timestamp", NUMBERS, "soon") for kind in ("csv", "tsv", "jsonl", "parquet")),
        ("csv", "timestamp", NUMBERS, "2024-05-01T10:00:00Z"),
        *((kind, "timestamp", DATES, "30/06/2024 10:00") for kind in ("csv", "parquet")),
        ("jsonl", "timestamp", DATES, "1700000000"),
        *((kind, "seconds", [str(i + 0.5) for i in range(N_VOTES)], "3.2 s") for kind in ("csv", "parquet")),
        *(("csv", "seconds", [str(i) for i in range(N_VOTES)], wrong) for wrong in ("-1", "inf")),
    ],
)
def test_one_cell_that_cannot_be_read_is_named_and_the_others_are_kept(tmp_path, kind, column, values, wrong):
    values = [*values[:4], wrong, *values[5:]]
    path = save(tmp_path / f"votes.{kind}", column, values)
    report = examine(path).report
    change = next(f for f in report.changes if f.code == f"{column}-unreadable")
    assert (change.rows, change.column, change.examples, change.left_out) == ((5,), column, (wrong,), 0)
    assert repr(wrong) in change.sentence
    assert change.remedy
    assert report.times == (column,)
    with pytest.raises(DataError, match=r"column.*row 5"):
        read_dataset(path)
    ds = read_dataset(path, accept=True)
    assert ds.n_annotations == N_VOTES
    read = (moments if column == "timestamp" else durations)(ds.extra[column])
    assert np.flatnonzero(np.isnan(read)).tolist() == np.flatnonzero(ds.file_row == 5).tolist() == [4]
    again = read_dataset(write_folder(ds, tmp_path / "again"))  # no consent is asked for what is gone
    np.testing.assert_array_equal((moments if column == "timestamp" else durations)(again.extra[column]), read)


def test_ratings_report_times_as_classes_do(tmp_path):
    path = save(tmp_path / "stars.csv", "timestamp", ["never", *NUMBERS[1:]])
    changes = examine_ratings(path, low=1, high=5).report.changes
    assert [f.code for f in changes] == ["timestamp-unreadable"]
    assert read_ratings(path, 1, 5, accept=True).extra["timestamp"].isna().sum() == 1


def test_numbers_in_words_of_their_own_are_times(tmp_path):
    values = [f" {value}.0" if i % 2 else f"{int(value) / 1e9:.11f}e9" for i, value in enumerate(NUMBERS)]
    ds = read_dataset(save(tmp_path / "votes.csv", "timestamp", values))
    np.testing.assert_allclose(moments(ds.extra["timestamp"]), np.array(NUMBERS, float))


def test_cells_said_to_be_missing_are_missing(tmp_path):
    path = save(tmp_path / "votes.csv", "timestamp", ["NA", "", *NUMBERS[2:]])
    assert [f.rows for f in examine(path).report.changes] == [(1,)]
    assert read_dataset(path, missing=["NA"]).extra["timestamp"].isna().sum() == 2


def test_rows_without_a_label_lose_no_time(tmp_path):
    path = tmp_path / "votes.csv"
    TWELVE_VOTES.assign(timestamp=["never", *NUMBERS[1:]], label=[None, *TWELVE_VOTES["label"][1:]]).to_csv(
        path, index=False
    )
    assert [f.code for f in examine(path).report.changes] == ["missing-label"]


def test_a_column_without_any_time_is_said_so(tmp_path):
    report = examine(save(tmp_path / "votes.csv", "timestamp", ["morning"] * N_VOTES)).report
    assert report.changes[0].count == N_VOTES
    assert report.times == ()


@pytest.mark.parametrize("unit", [1, 1e3, 1e6, 1e9])
def test_seconds_milliseconds_microseconds_and_nanoseconds_since_1970(unit):
    np.testing.assert_allclose(moments(pd.Series([1.7e9 * unit, np.nan])), [1.7e9, np.nan])


def test_times_of_every_type():
    when = pd.Series(pd.to_datetime(["2023-11-14T22:13:20Z", None], utc=True))
    for values in (when, when.dt.tz_convert("Asia/Tokyo"), when.dt.tz_localize(None), when.astype("str")):
        np.testing.assert_array_equal(moments(values), [1.7e9, np.nan])
    for took in (pd.Series(pd.to_timedelta([1.5, None], unit="s")), pd.Series(["1.5", ""]), pd.Series([1.5, -2])):
        np.testing.assert_array_equal(durations(took), [1.5, np.nan])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("never", ["0001-01-01T00:00:00", "9999-12-31T23:59:59Z"])
def test_dates_that_stand_for_never_are_no_times(tmp_path, kind, never):
    path = save(tmp_path / f"votes.{kind}", "timestamp", [never, *DATES[1:]])
    assert [(f.code, f.rows) for f in examine(path).report.changes] == [("timestamp-unreadable", (1,))]
    read = moments(read_dataset(path, accept=True).extra["timestamp"])
    assert np.flatnonzero(np.isnan(read)).tolist() == [0]


def test_numbers_and_dates_of_other_centuries_are_no_times():
    np.testing.assert_array_equal(moments(pd.Series([1.7e9, 5e10, -5e10])), [1.7e9, np.nan, np.nan])
    dates = pd.Series(pd.to_datetime(["9999-12-31", "2024-05-01"], utc=True).as_unit("us"))
    np.testing.assert_array_equal(moments(dates), [np.nan, 1_714_521_600])
