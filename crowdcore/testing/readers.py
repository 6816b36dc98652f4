"""Promises of every reader, and `check_reader` to hold your own to them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pandas as pd

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.data import examine, read_dataset
from crowdcore.data.readers import Reader, readers
from crowdcore.data.reading.examine import open_source
from crowdcore.data.settings import ReadSettings
from crowdcore.testing.crowds import run_checks

OTHERS = {
    "long.csv": "task,worker,label\nt1,ann,cat\nt1,ben,dog\nt2,ann,dog\nt2,ben,dog\n",
    "wide.csv": "task,ann,ben,cem\nt1,cat,dog,cat\nt2,dog,dog,dog\nt3,cat,cat,dog\n",
    "lines.jsonl": '{"task":"t1","worker":"ann","label":"cat"}\n{"task":"t1","worker":"ben","label":"dog"}\n',
    "nested.json": '[{"id":"t1","annotations":[{"annotator":"ann","label":"cat"},{"annotator":"ben","label":"dog"}]}]',
    "tags.conll": "token ann ben\nto O O\nRome B-LOC ?\n\nParis B-LOC ?\n",
}
"""Files that only our readers may read."""
_CUTS = 8


@dataclass(frozen=True)
class _Case:
    """A reader, a file in its format, and the annotations that the file holds."""

    reader: type[Reader]
    file: Path
    rows: list[tuple[str, str, str]]

    def rows_of(self, file: Path) -> list[tuple[str, str, str]]:
        """Read the annotations from a file in this format."""
        annotations = read_dataset(file, format=self.reader.name, accept=True).annotations
        return sorted(map(tuple, annotations.iloc[:, :3].astype(str).to_numpy().tolist()))


def _describes_itself(case: _Case) -> None:
    assert case.reader.name and case.reader.title, "`name` and `title` must be given"
    assert case.reader.__doc__, "the class docstring must say what the format is"


def _recognises_its_file(case: _Case) -> None:
    sureness = case.reader().fits(open_source(case.file, ReadSettings()), ReadSettings())
    assert 0 < sureness <= 1, f"`fits` must be above 0 and at most 1, but is {sureness!r}"
    try:
        read_by = examine(case.file).report.format
    except CrowdError as refusal:
        raise AssertionError(f"the file must be read, but is refused: {refusal}") from refusal
    assert read_by == case.reader.name, f"the file is read by {read_by!r}, which is surer, or first by name"


def _reads_what_the_file_holds(case: _Case) -> None:
    try:
        rows = case.rows_of(case.file)
    except CrowdError as refusal:
        raise AssertionError(f"the file must be read, but is refused: {refusal}") from refusal
    lost, made_up = sorted({*case.rows} - {*rows}), sorted({*rows} - {*case.rows})
    assert rows == sorted(case.rows), f"annotations are lost ({lost[:3]}) or made up ({made_up[:3]})"


def _leaves_other_files_alone(case: _Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in OTHERS.items():
            file = Path(folder, name)
            file.write_text(text, encoding="utf-8")
            try:
                sureness = case.reader().fits(open_source(file, ReadSettings()), ReadSettings())
            except CrowdError:  # a column is not there
                continue
            except Exception as error:
                raise AssertionError(f"`fits` must not fail on {name}, but raises {error!r}") from error
            try:
                taken = examine(file).report.format == case.reader.name
            except CrowdError:
                taken = True
            built_in = case.reader.name in readers.modules
            assert built_in or not taken, f"{name} is taken for this format: `fits` is {sureness!r}"


def _the_same_twice_and_the_file_unchanged(case: _Case) -> None:
    before = case.file.read_bytes() if case.file.is_file() else b""
    first, second = (read_dataset(case.file, format=case.reader.name, accept=True) for _ in range(2))
    assert first.fingerprint == second.fingerprint, "two readings of one file must be the same"
    assert before == (case.file.read_bytes() if case.file.is_file() else b""), "reading must not change the file"


def _damaged_files_are_read_or_refused(case: _Case) -> None:
    if not case.file.is_file():
        return
    content = case.file.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        for cut in (len(content) * part // _CUTS for part in range(_CUTS)):
            file = Path(folder, case.file.name)
            file.write_bytes(content[:cut])
            try:
                read_dataset(file, format=case.reader.name, accept=True)
            except CrowdError as refusal:
                assert len(str(refusal)) > 20, "a refusal is a sentence"
            except Exception as error:
                raise AssertionError(
                    f"a file that ends after {cut} bytes must be refused, not raise {error!r}"
                ) from error


READER_CHECKS: Mapping[str, Callable[[Any], None]] = {
    "it describes itself": _describes_itself,
    "it recognises its file": _recognises_its_file,
    "it reads what the file holds": _reads_what_the_file_holds,
    "it leaves other files alone": _leaves_other_files_alone,
    "the same file gives the same, and is not changed": _the_same_twice_and_the_file_unchanged,
    "a damaged file is read or refused in a sentence": _damaged_files_are_read_or_refused,
}
"""Promise -> the function that checks it."""


@contextmanager
def _installed(reader: type[Reader]) -> Iterator[None]:
    """Context in which the reader's package appears installed."""
    name = getattr(reader, "name", "")
    entry = SimpleNamespace(
        name=name, value=reader.__qualname__, dist=None, module=reader.__module__, load=lambda: reader
    )
    with mock.patch.dict(readers.plugins, {} if not name or name in readers else {name: entry}):
        yield


def check_reader(
    reader: str | type[Reader],
    file: str | Path,
    annotations: pd.DataFrame | Iterable[tuple[str, str, str]],
    only: str = "",
) -> None:
    """Check the promises of a reader: it recognises content, loses nothing, and refuses in sentences.

    Args:
        reader: a name or class, whether installed or not.
        file: a small file or folder in its format.
        annotations: task, worker and label of each annotation that the file holds, in any order.
        only: one of `READER_CHECKS`; "": all of them.

    Raises:
        AssertionError: it breaks a promise, which a note names.
        SettingError: no such reader or check.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "votes.csv")
        ...     _ = file.write_text("task,worker,label\\nt1,ann,cat\\nt1,ben,dog\\n")
        ...     check_reader("long", file, [("t1", "ann", "cat"), ("t1", "ben", "dog")])
    """
    made = readers.find(reader)
    if not Path(file).exists():
        raise SettingError("file", "be a file or folder that exists", str(file))
    given = annotations.to_numpy().tolist() if isinstance(annotations, pd.DataFrame) else annotations
    rows = [(str(task), str(worker), str(label)) for task, worker, label in given]
    with _installed(made):
        run_checks(READER_CHECKS, only, _Case(made, Path(file), rows), getattr(made, "name", made.__name__))
