"""Rows in = rows kept + rows reported with a reason: for any small table in any format, and for mutated files."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from crowdcore.data import examine
from testkit import fuzz_readers

CELLS = st.sampled_from(["", "a", "b", "c", " a", "-1", "NA", "é"])
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None)
@given(
    ROWS,
    st.sampled_from(["csv", "tsv", "jsonl", "json", "parquet"]),
    st.sampled_from(["keep", "first", "last", "majority"]),
    st.sampled_from([None, ("a", "b"), ("-1", "a", "b", "c")]),
    st.sampled_from([None, ("NA",)]),
)
def test_rows_of_a_long_table(rows, form, repeats, classes, missing):
    first = ("t", "w", "a")  # so that there is something to read
    frame = pd.DataFrame([first, *rows], columns=["task", "worker", "label"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"votes.{form}"
        if form == "parquet":
            frame.to_parquet(path)
        elif form.startswith("json"):
            frame.to_json(path, orient="records", lines=form == "jsonl")
        else:
            frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
        found = examine(path, repeats=repeats, classes=classes, missing=missing, fill=())
    report, dataset = found.report, found.dataset(accept=True)
    listed = classes or {label.strip() for _, _, label in [first, *rows]}
    good = [
        row
        for task, worker, label in [first, *rows]
        if all(row := (task.strip(), worker.strip(), label.strip()))
        and row[2] in listed
        and not {*row[1:]} & {*(missing or ())}
    ]
    kept = len(good) if repeats == "keep" else len({row[:2] for row in good})
    assert report.n_rows == len(rows) + 1
    assert report.n_left_out == len(rows) + 1 - kept
    assert dataset.n_annotations == kept
    assert bool(report.changes) >= (len(good) <= len(rows))
    if repeats == "keep":
        table = dataset.annotations.astype(str)
        assert Counter(zip(table["task"], table["worker"], table["label"], strict=True)) == Counter(good)
    assert json.loads(json.dumps(report.as_dict()))["n_rows"] == report.n_rows


@pytest.mark.parametrize("first", range(0, 250, 50))
def test_mutated_files_are_read_as_other_parsers_read_them_or_refused(first):
    """The short form of ``python -m benchmarks.fuzz_readers``."""
    verdicts, faults = fuzz_readers.many(range(first, first + 50))
    assert not faults, "\n\n".join(faults)
    assert {verdict for _, verdict in verdicts} == {"read", "asked", "refused"}
