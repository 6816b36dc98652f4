"""Whatever a file contains, the answer is a dataset or one sentence, and every remedy works as it says."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st

from crowdcore.cli._output import in_command
from crowdcore.core.errors import CrowdError, DataError, Remedy, in_python
from crowdcore.core.settings import text_settings
from crowdcore.core.spelling import read_options
from crowdcore.data import Finding, examine, examine_frame
from crowdcore.data.readers import readers
from crowdcore.data.settings import ReadSettings
from testkit import exports
from tests.data.reading.read_case import CASES, path_of

MANY = settings(max_examples=30, deadline=None)
SUFFIXES = st.sampled_from([".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ""])
FORMATS = st.sampled_from([None, None, None, *readers])


def tried(raw: bytes, suffix: str, **how) -> None:
    """Examine a file, and take it in if possible."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"labels{suffix}"
        path.write_bytes(raw)
        try:
            imported = examine(path, **how)
        except CrowdError as error:
            assert 10 < len(str(error)) < 1000
            return
        ds = imported.dataset(accept=True)
        assert ds.n_annotations == imported.report.n_annotations <= imported.report.n_rows
        assert imported.report.text()
        assert json.dumps(imported.report.as_dict())
        assert len(imported.report.frame()) == len(imported.report.findings)


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


LEVELS = 2  # remedies that are applied one upon the other
LONG = "task,worker,label\n"
TABLES = {  # what calls for each of the remedies that are older than the cases
    "variants.csv": LONG + "a,ann,cat\na,Ann,Cat\nb,ann,dog\nb,ben,cat\n",
    "repeats.csv": LONG + "a,ann,cat\na,ann,dog\nb,ben,cat\nb,ann,cat\n",
    "combinations.csv": LONG + "a,ann,cat|dog\na,ben,cat\nb,ben,dog\nb,ann,cat\n",
    "numbers.csv": LONG + "".join(f"t{n},w{n % 3},{3 * n}\n" for n in range(30)),
    "gold.csv": "task,worker,label,gold\na,ann,0,-1\na,ben,1,-1\nb,ann,1,1\n",
    "minus-one.csv": "task,ann,ben\na,-1,1\nb,0,1\nc,1,-1\nd,1,0\ne,0,-1\n",
    "alone.csv": "item,ann\n" + "".join(f"t{n},{['cat', 'dog'][n % 2]}\n" for n in range(8)),
    "one-label-each.csv": LONG + "".join(f"{n},ann,{['cat', 'dog'][n % 2]}\n" for n in range(12)),
    "rivals.csv": "task,worker,label,rating,judge\n" + "a,ann,cat,1,x\nb,ben,dog,2,y\nb,ann,dog,2,y\n",
    "missing.csv": LONG + "a,ann,NA\na,ben,cat\nb,ann,dog\nb,ben,N/A\n",
    "latin.csv": LONG + "a,ann,café\na,bén,chat\nb,ann,chat\n",
    "same-tasks.csv": LONG + "1,ann,cat\n01,ben,cat\n2,ann,dog\n2,ben,dog\n",
    "experts.csv": LONG
    + "".join(f"t{n},{w},{'ab'[n % 2]}\n" for n in range(9) for w in ("ann", "expert_1", "expert_2")),
    "thousands.csv": LONG + "".join(f't{n // 2},w{n % 2},"{n % 3 + 1},200"\n' for n in range(30)),
    "no-label.csv": LONG + "a,ann,\nb,ben,\n",
}
EXPORTS = {"studio.json": exports.STUDIO}


def written(folder: Path, name: str) -> Path:
    text = json.dumps(EXPORTS[name]) if name in EXPORTS else TABLES[name]
    (folder / name).write_bytes(text.encode("latin-1" if name.startswith("latin") else "utf-8"))
    return folder / name


@dataclass
class Outcome:
    """Outcome of reading a file: a report's findings, or a refusal."""

    rows: int = -1
    unit: str = ""
    findings: tuple[Finding, ...] = ()
    refusal: DataError | None = None
    asked: frozenset[Any] = field(default_factory=frozenset)

    @property
    def remedies(self) -> list[Remedy]:
        findings = [remedy for finding in self.findings for remedy in finding.remedies]
        return [*findings, *(self.refusal.remedies if self.refusal else ())]


def read(path: Path, mapping: dict[str, Any]) -> Outcome:
    try:
        report = examine(path, **mapping).report
    except DataError as refusal:
        return Outcome(refusal=refusal, asked=frozenset([(refusal.code, str(refusal))]))
    questions = frozenset((f.code, f.column, f.examples, f.count) for f in report.questions)
    return Outcome(report.n_rows, report.format, report.findings, asked=questions)


def paste(remedy: Remedy) -> None:
    """A remedy printed as a command's option or as Python is read back as its choice."""
    for choice in remedy.choices:
        value = [*choice.values()] if isinstance(remedy.setting, tuple) else choice[remedy.setting]
        alone = replace(remedy, value=value)
        words = shlex.split(in_command(alone))
        options = [words[k + 1] for k, word in enumerate(words) if word == "--read"]
        assert ReadSettings(**read_options(options, texts=text_settings(ReadSettings))) == ReadSettings(**choice)
        arguments = in_python(alone).removeprefix("pass ")
        assert eval(f"dict({arguments.replace(' and ', ', ') if len(choice) > 1 else arguments})") == choice


def walk(path: Path, mapping: dict[str, Any], levels: int = LEVELS) -> Iterator[tuple[Remedy, str]]:
    """Yield each remedy that does not keep its word, with its fault."""
    before = read(path, mapping)
    for remedy in before.remedies:
        if remedy.of not in ("read", "kind"):
            continue
        if remedy.of == "read" and levels == LEVELS:
            paste(remedy)
        for choice in remedy.choices:
            after = read(path, mapping | choice)
            if before.refusal is not None and after.asked == before.asked:
                yield remedy, f"the same refusal: {after.refusal}"
            # another format counts cells instead of rows, and another question is another crowd
            alike = before.unit == after.unit and not {"label", "question", "format", "header"} & choice.keys()
            if alike and 0 <= after.rows < before.rows:
                yield remedy, f"{after.rows} rows instead of {before.rows}"
            answered = [f for f in before.findings if f.level == "question" and remedy in f.remedies]
            if any((f.code, f.column, f.examples, f.count) in after.asked for f in answered):
                yield remedy, "the same question"
            if levels > 1 and any(f.level == "question" for f in after.findings) | (after.refusal is not None):
                yield from walk(path, mapping | choice, levels - 1)


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_remedies_of_a_case(case: str) -> None:
    assert [(str(remedy), wrong) for remedy, wrong in walk(path_of(case), {})] == []


@pytest.mark.parametrize("name", [*TABLES, *EXPORTS])
def test_remedies_of_a_table(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name)
    assert read(path, {}).remedies
    assert [(str(remedy), wrong) for remedy, wrong in walk(path, {})] == []


def test_texts_are_taken_as_they_are_written() -> None:
    texts = text_settings(ReadSettings)
    assert read_options(["task=1", "label=01", "missing=[99, 1.0]", "gold=true", 'worker="a b"'], texts=texts) == {
        "task": "1",
        "label": "01",
        "missing": ["99", "1.0"],
        "gold": "true",
        "worker": "a b",
    }
    assert read_options(["low=1", "header=false"], texts=texts) == {"low": 1, "header": False}
    assert ReadSettings(task=1, missing=[99], classes=(0, 1)) == ReadSettings(
        task="1", missing=("99",), classes=("0", "1")
    )
