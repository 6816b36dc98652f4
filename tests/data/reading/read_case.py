"""Small files in shapes that people have, and the reports on them.

``tests/data/cases/NAME`` holds one, and ``expected.txt`` what is right.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crowdcore.analysis import agreement
from crowdcore.core.errors import CrowdError, DataError, Remedy
from crowdcore.data import Import, examine, examine_frame

CASES = Path(__file__).resolve().parents[1] / "cases"
ANIMALS = ("bird", "cat", "dog")
CROWD = (24, 4, 90, 0.337748)
"""Tasks, workers, annotations and Krippendorff's α of the crowd that most cases hold."""


def path_of(case: str) -> Path:
    """The one file or folder of a case."""
    (path,) = (path for path in (CASES / case).iterdir() if path.name != "expected.txt")
    return path


def read_case(case: str, **mapping: Any) -> Import:
    """Examine the file of a case."""
    return examine(path_of(case), **mapping)


def table(rows: Iterable[Sequence[Any]], *names: str, delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([*([names] if names else []), *rows])
    return out.getvalue()


def written(folder: Path, name: str, content: Any) -> Path:
    """Write a file; of a dictionary a folder, or a ``.zip``, of its files (arrays, too); of other objects JSON."""
    path = folder / name
    if isinstance(content, dict) and path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for inner, text in content.items():
                archive.writestr(inner, text)
    elif isinstance(content, dict) and not path.suffix:
        for inner, text in content.items():
            (path / inner).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, np.ndarray):
                np.save(path / inner, text)
            elif isinstance(text, dict):
                np.savez(path / inner, **text)
            else:
                (path / inner).write_bytes(text if isinstance(text, bytes) else text.encode())
    elif isinstance(content, str | bytes):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    else:
        lines = [json.dumps(record) for record in content] if path.suffix == ".jsonl" else [json.dumps(content)]
        path.write_text("\n".join(lines) + "\n")
    return path


def placed(folder: Path, content: Any) -> Any:
    """A case's name or a frame as it is; a file of a CSV's text, of a name and what it holds, or made by a function."""
    if callable(content):
        return content(folder)
    if isinstance(content, tuple):
        return written(folder, *content)
    return written(folder, "votes.csv", content) if isinstance(content, str) and "\n" in content else content


def chosen(remedies: Iterable[Remedy]) -> list[dict[str, Any]]:
    """Settings of each remedy, one after another."""
    return [choice for remedy in remedies for choice in remedy.choices]


class Told:
    """A file as it was read, in plain values; further attributes are the report's or the dataset's."""

    def __init__(self, found: Import) -> None:
        self.found, self.report = found, found.report

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.report if hasattr(self.report, name) else self.dataset, name)
        return value.tolist() if hasattr(value, "tolist") else value

    @cached_property
    def dataset(self) -> Any:
        """Take the file in, with consent if, and only if, there are changes."""
        if self.report.changes:
            with pytest.raises(DataError):
                self.found.dataset()
        return self.found.dataset(accept=bool(self.report.changes))

    @property
    def size(self) -> tuple[int, int, int]:
        return self.dataset.n_tasks, self.dataset.n_workers, self.dataset.n_annotations

    @property
    def crowd(self) -> tuple[int, int, int, float]:
        return *self.size, round(agreement(self.dataset).alpha.value, 6)

    @property
    def asked(self) -> dict[str, list[dict[str, Any]]]:
        """The questions, each with what its remedies set."""
        return {f.code: chosen(f.remedies) for f in self.report.questions}

    @property
    def doubts(self) -> list[str]:
        return [*self.asked]

    @property
    def changes(self) -> dict[str, tuple[int, ...]]:
        """Rows of each change that takes consent."""
        return {f.code: f.rows for f in self.report.changes}

    @property
    def lost(self) -> dict[str, int]:
        return {f.code: f.left_out for f in self.report.findings if f.left_out}

    @property
    def aliases(self) -> int:
        """Number of columns recognised by another name."""
        return sum(f.code == "alias" for f in self.report.findings)

    @property
    def labels(self) -> list[str]:
        return [self.dataset.classes[c] for c in self.dataset.label]

    @property
    def golds(self) -> list[str]:
        """The true class of each task, "" where it is unknown."""
        return [self.dataset.classes[c] if c >= 0 else "" for c in self.dataset.gold]

    @property
    def texts(self) -> list[str]:
        return self.dataset.media.columns["text"].fillna("-").tolist()

    @property
    def images(self) -> list[str]:
        return self.dataset.media.columns["image"].tolist()

    @property
    def triples(self) -> list[tuple[str, str, str]]:
        """Task, worker and label of each annotation."""
        return [(*row,) for row in self.dataset.annotations[["task", "worker", "label"]].astype(str).to_numpy()]


Step = Mapping[str, Any] | tuple[Mapping[str, Any], Mapping[str, Any]]


def check(content: Any, *steps: Step) -> None:
    """Examine a path, a case's name or a frame, and compare what is told.

    A step is what is expected, by the names of `Told`, maybe after the settings to read with; a set is compared as one.
    ``has`` and ``lacks`` are codes of findings, ``findings`` attributes of them by their codes, ``text`` parts of the
    report, ``extra`` further columns. Where ``refused`` is expected, a code, a class or None, the others are attributes
    of the error.
    """
    for step in steps:
        how, expected = step if isinstance(step, tuple) else ({}, step)
        if "refused" in expected:
            told: Any = refusal(content, **how)
            code = expected["refused"]
            assert isinstance(told, code) if isinstance(code, type) else code in (None, told.code), (how, told)
        else:
            told = Told(found := examined(content, **how))
            codes = [f.code for f in found.report.findings]
        for name, value in expected.items():
            if name == "refused":
                continue
            if name == "choices":
                assert chosen(told.remedies) == value, how
            elif name in ("first", "proposed"):  # of the only question, or of the refusal
                remedies = told.remedies if "refused" in expected else told.questions[0].remedies
                assert value in (chosen(remedies)[:1] if name == "first" else chosen(remedies)), (how, remedies)
            elif name == "match":
                assert re.search(value, str(told)), told
            elif name == "extra":
                assert {column: told.dataset.extra[column].tolist() for column in value} == value, how
            elif name == "text":
                assert [part for part in value if part not in told.report.text()] == [], how
            elif name in ("has", "lacks"):
                assert {*codes} & value == (value if name == "has" else set()), (how, codes)
            elif name == "findings" and value:
                for code, parts in value.items():
                    (finding,) = (f for f in found.report.findings if f.code == code)
                    facts = {"choices": chosen(finding.remedies)}
                    assert {part: facts.get(part, getattr(finding, part, None)) for part in parts} == parts, (how, code)
            else:
                got = getattr(told, name)
                got = {part: got.get(part) for part in value} if name == "roles" else got
                got = {*got} if isinstance(value, set) else [*got] if isinstance(value, list) else got
                assert got == value, (how, name)


def examined(content: Any, **how: Any) -> Import:
    if isinstance(content, pd.DataFrame):
        return examine_frame(content, **how)
    return examine(path_of(content) if isinstance(content, str) else content, **how)


def summary(imported: Import) -> tuple[int, int, int, float]:
    """Tasks, workers, annotations and α, whatever consent the file needs."""
    return Told(imported).crowd


def refusal(content: Any, **how: Any) -> CrowdError:
    """The error that a case, a path or a frame is refused with, before or after its report."""
    try:
        examined(content, **how).dataset()
    except CrowdError as error:
        return error
    raise AssertionError(f"{content} opens without a question")
