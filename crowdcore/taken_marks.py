"""Marks that were made elsewhere: in a file, or on these data before they changed."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.data.columns import ALIASES, plain
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.dictionary import unescape
from crowdcore.marks import (
    MARKS,
    Mark,
    content_of,
    current_marks,
    looked_at,
    marks_file,
    marks_in,
    new_mark,
    read_marks,
)

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "task": ALIASES["task"],
    "right class": ("right_class", "truth", *ALIASES["gold"], "class"),
    "mark": ("mark",),
    "worker": ALIASES["worker"],
    "comment": ("comment", "note"),
    "by": ("by", "reviewer"),
}
_MOST = 20_000_000  # bytes of a file


@dataclass(frozen=True, eq=False)
class TakenMarks:
    """What can be kept with `keep_marks`, and what cannot.

    Args:
        marks: in the order in which they were made.
        faults: a row for each mark that cannot be kept: ``row`` of the file (the header is row 0) or ``data`` it was
            made on, ``task``, ``column`` at fault, and ``fault``.
        notes: what was not looked at.
    """

    marks: tuple[Mark, ...]
    faults: pd.DataFrame
    notes: tuple[str, ...] = ()


def marks_of_file(dataset: CrowdDataset, file: Path | str, content: bytes | None = None) -> TakenMarks:
    """Marks from a CSV with the columns task and right class, and, if need be, mark, worker, comment, by.

    The CSV of all marks that the page Review offers is such a file. Of several rows of a task, the last counts.

    Args:
        dataset: what the marks are of.
        file: its path, or its name where ``content`` is given.
        content: what it holds.

    Raises:
        DataError: the file cannot be read, or a column is missing or there twice.
    """
    path = Path(file)
    try:
        held = path.read_bytes() if content is None else content
        if len(held) > _MOST:
            raise DataError(f"A file of marks has at most {_MOST // 10**6} MB", "Cut it into parts.", file=path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header would be cut
            frame = pd.read_csv(
                io.BytesIO(held), dtype=str, keep_default_na=False, encoding="utf-8-sig", index_col=False
            )
    except OSError as error:
        raise DataError(f"The marks cannot be read: {error.strerror}", file=path) from error
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError, pd.errors.ParserWarning) as error:
        raise DataError(
            f"This is no CSV: {' '.join(str(error).split())}", "It must be comma-separated UTF-8.", file=path
        ) from error
    frame = frame.fillna("")  # rows shorter than the header
    roles = _roles(frame, path)
    others = [str(name) for name in frame.columns if name not in roles.values()]
    texts = {role: unescape(pa.array(frame[column], pa.large_string())).to_pylist() for role, column in roles.items()}
    marks, faults = [], []
    for row in range(len(frame)):
        said = {role: texts[role][row] if role in texts else "" for role in _COLUMNS}
        try:
            marks.append(_mark(dataset, said))
        except _FaultError as fault:
            place = roles.get(fault.column, fault.column)
            faults.append({"row": row + 1, "task": said["task"], "column": place, "fault": str(fault)})
    notes = (f"Columns that say nothing of a mark, and are not read: {', '.join(others)}.",) if others else ()
    return TakenMarks(tuple(marks), pd.DataFrame(faults, columns=["row", "task", "column", "fault"]), notes)


class _FaultError(Exception):
    """What is wrong with one row, and in which column."""

    def __init__(self, column: str, said: str) -> None:
        self.column = column
        super().__init__(said)


def _roles(frame: pd.DataFrame, path: Path) -> dict[str, str]:
    """What a column says -> its name."""
    named = Counter(plain(str(column)) for column in frame.columns)
    found: dict[str, str] = {}
    for role, aliases in _COLUMNS.items():
        alias = next((name for name in aliases if name in named), None)
        if alias is None and role in {"task", "right class"}:
            there = ", ".join(map(repr, map(str, frame.columns)))
            raise DataError(f"No column holds the {role}", f"Its columns are {there}. Call one {role!r}.", file=path)
        if alias is not None and named[alias] > 1:
            raise DataError(f"Two columns are called {alias!r}", "Rename one.", file=path)
        if alias is not None:
            found[role] = next(str(column) for column in frame.columns if plain(str(column)) == alias)
    return found


def _mark(dataset: CrowdDataset, said: Mapping[str, str]) -> Mark:
    """The mark of one row."""
    task, truth, says, worker = (said[role] for role in ("task", "right class", "mark", "worker"))
    if says and says not in MARKS:
        raise _FaultError("mark", f"{says!r} is none of {', '.join(MARKS)}")
    if not truth and says != "unclear":
        raise _FaultError("right class", "No class is given. Where nobody can tell, write 'unclear' as the mark")
    if truth and says == "unclear":
        raise _FaultError("right class", f"The mark is 'unclear', but {truth!r} is given as the right class")
    if task not in dataset.task_ids:
        raise _FaultError("task", f"There is no task {task!r}")
    try:
        mark = new_mark(dataset, task, truth or None, worker, said["comment"], said["by"])
    except SettingError as error:
        raise _FaultError("right class" if error.argument == "class" else error.argument, str(error)) from None
    except DataError as error:
        raise _FaultError("worker", str(error)) from None
    if says and mark.says != says:
        raise _FaultError("mark", f"The label is {mark.label!r}, so {truth!r} is {mark.says}, and not {says}")
    return mark


def marks_of_earlier_data(dataset: CrowdDataset, workspace: Path | str | None = None) -> TakenMarks:
    """Marks on data of the same name with another content, as far as they fit the data as they are now.

    A mark fits where the task has the same id and the same text, picture and sound, its class is still there, and the
    worker's label that was looked at is the same. Of several marks of a task, the last is taken; a task that is marked
    here already keeps its mark.
    """
    own = marks_file(dataset, workspace)
    here = current_marks(dataset, workspace)
    carried = {_said(mark) for mark in read_marks(dataset, workspace)}
    last: dict[str, tuple[str, Mark]] = {}
    for file, mark in sorted(_earlier(dataset, own), key=lambda pair: pair[1].at):
        last[mark.task] = file, mark
    marks, faults = [], []
    for file, mark in last.values():
        if _said(mark) in carried:
            continue
        fault = _misfit(dataset, mark, here)
        if fault is None:
            marks.append(replace(mark, id=_next_id(mark, dataset), label=looked_at(dataset, mark.task, mark.worker)))
        else:
            faults.append({"data": file, "task": mark.task, "column": fault[0], "fault": fault[1]})
    return TakenMarks(tuple(marks), pd.DataFrame(faults, columns=["data", "task", "column", "fault"]))


def _said(mark: Mark) -> tuple[str, ...]:
    return mark.task, mark.truth, mark.worker, mark.comment, mark.by, mark.at


def _next_id(mark: Mark, dataset: CrowdDataset) -> str:
    """An id of its own, the same whenever the same mark is carried to the same data."""
    return f"{mark.id}-{dataset.fingerprint[:8]}"


def _earlier(dataset: CrowdDataset, own: Path) -> Iterator[tuple[str, Mark]]:
    """Fingerprint and mark, of other data of the same name."""
    for file in sorted(own.parent.glob("*.jsonl")):
        if file != own:
            current = {mark.task: mark for mark in marks_in(file).values()}
            yield from ((file.stem, mark) for mark in current.values() if mark.data == dataset.name)


def _misfit(dataset: CrowdDataset, mark: Mark, here: Mapping[str, Mark]) -> tuple[str, str] | None:
    """The column at fault and why the mark does not fit these data, if so."""
    number = int(dataset.task_ids.get_indexer(pd.Index([mark.task]))[0])
    if number < 0:
        return "task", "The task is not there any more"
    if mark.task in here:
        return "task", "The task has a mark here already"
    if content_of(dataset, number) != mark.content:
        return "task", "The task's text, picture or sound is another one"
    if mark.truth and mark.truth not in dataset.classes:
        return "right class", f"There is no class {mark.truth!r} any more"
    try:
        label = looked_at(dataset, mark.task, mark.worker)
    except CrowdError:
        return "worker", f"{mark.worker} has no label on the task any more"
    if mark.worker and label != mark.label:
        return "worker", f"{mark.worker} says {label!r} now, and said {mark.label!r}"
    return None
