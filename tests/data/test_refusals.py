"""Whatever stands in a file, the answer is a dataset or one clear sentence, never another exception."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import example, given, settings, strategies as st

from crowdcore.core.errors import CrowdError
from crowdcore.data import examine, examine_frame
from crowdcore.data.readers import readers

MANY = settings(max_examples=60, deadline=None)
SUFFIXES = st.sampled_from([".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ""])
FORMATS = st.sampled_from([None, None, None, *readers])


def tried(raw: bytes, suffix: str, **how) -> None:
    """Examine it, and if it can be taken in, take it in."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"labels{suffix}"
        path.write_bytes(raw)
        try:
            found = examine(path, **how)
        except CrowdError as error:
            assert 10 < len(str(error)) < 1000
            return
        ds = found.dataset(accept=True)
        assert ds.n_annotations == found.report.n_annotations <= found.report.n_rows
        assert found.report.text()
        assert json.dumps(found.report.as_dict())
        assert len(found.report.frame()) == len(found.report.findings)


@MANY
@given(st.binary(max_size=300), SUFFIXES, FORMATS)
@example(b"PAR1" + bytes(20) + b"PAR1", ".parquet", None)
@example(b"\xff\xfe\x00", ".csv", None)
@example(b"\xef\xbb\xbf", ".csv", None)
@example(b"\x00\x00\xfe\xff", ".csv", None)
@example(b'"', ".csv", "long")
@example(b"{", ".json", "label-studio")
def test_random_bytes(raw, suffix, form):
    tried(raw, suffix, format=form)


HEADERS = st.lists(
    st.sampled_from(
        ["task", "worker", "label", "gold", "split", "text", "item", "user", "answer", "w1", "w2", "", "x", '"']
    ),
    min_size=1,
    max_size=6,
)
CELLS = st.one_of(
    st.sampled_from(
        ["", "a", "b", "1", "1.0", "-1", " a", "NA", "train", '"', '"x', "\u00e9", "'=1", "0.5", "\r", "nan"]
    ),
    st.text(max_size=3),
)


@MANY
@given(
    HEADERS,
    st.lists(st.lists(CELLS, min_size=1, max_size=6), max_size=8),
    st.sampled_from(",;\t "),
    FORMATS,
    st.booleans(),
)
def test_random_text_tables(header, rows, delimiter, form, ragged):
    width = len(header)
    lines = [header, *(row if ragged else (row * width)[:width] for row in rows)]
    raw = "\n".join(delimiter.join(line) for line in lines).encode("utf-8", "replace")
    tried(raw, ".csv", format=form)


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.sampled_from(["accept", "a", "", "\u2028"])
)
STUDIO = ["id", "data", "annotations", "result", "value", "choices", "from_name", "completed_by", "lead_time"]
PRODIGY = ["answer", "_annotator_id", "options", "accept", "_input_hash", "text", "task", "worker", "label"]
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*STUDIO, *PRODIGY]), inner, max_size=5)
    ),
    max_leaves=25,
)


@MANY
@given(JSON, st.booleans(), FORMATS)
def test_random_json(value, lines, form):
    if lines:
        raw = "\n".join(json.dumps(v) for v in (value if isinstance(value, list) else [value]))
    else:
        raw = json.dumps(value)
    tried(raw.encode(), ".jsonl" if lines else ".json", format=form)


@MANY
@given(st.data())
def test_random_frames(data):
    n = data.draw(st.integers(0, 6))
    names = data.draw(
        st.lists(
            st.one_of(st.sampled_from(["task", "worker", "label", "gold", "w1", "w2"]), st.integers(0, 3)), max_size=5
        )
    )
    cells = st.one_of(st.none(), st.integers(-2, 2), st.floats(), st.booleans(), st.text(max_size=2), st.just(pd.NaT))
    columns = [data.draw(st.lists(cells, min_size=n, max_size=n)) for _ in names]
    table = np.empty((n, len(names)), dtype=object)
    for i, column in enumerate(columns):
        table[:, i] = column
    frame = pd.DataFrame(table, columns=names)
    if data.draw(st.booleans()):
        frame = frame.infer_objects()
    gold = data.draw(st.none() | st.dictionaries(st.sampled_from(["a", 1, None]), st.sampled_from(["a", 1, None])))
    try:
        ds = examine_frame(frame, gold).dataset(accept=True)
    except CrowdError:
        return
    assert ds.n_annotations <= n * max(len(names), 1)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_a_parquet_file_with_flipped_bytes(data):
    frame = pd.DataFrame(
        {"task": [f"t{i}" for i in range(50)], "worker": ["w1", "w2"] * 25, "label": [0, 1, 2, 3, 4] * 10}
    )
    if data.draw(st.booleans()):
        frame = frame.astype({"task": "category", "label": "category"}).assign(note=frame["worker"].astype("category"))
    with tempfile.TemporaryDirectory() as folder:
        frame.to_parquet(Path(folder) / "good.parquet")
        raw = bytearray((Path(folder) / "good.parquet").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    tried(bytes(raw), ".parquet")
