"""Marks of reviewers on tasks and labels: added here, or read from a file or from marks on earlier data.

A workspace keeps them in ``marks/<fingerprint>.jsonl``, a file that only grows: a line per mark, and per mark undone.
"""

from __future__ import annotations

import errno
import functools
import io
import json
import os
import uuid
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core import files
from crowdcore.core.errors import CrowdError, DataError, SettingError, need_posix
from crowdcore.data.columns import ALIASES, plain
from crowdcore.data.dataset import CrowdDataset, Media
from crowdcore.data.dictionary import unescape

MARKS: Mapping[str, str] = {
    "right": "the label is right",
    "wrong": "another class is right",
    "unclear": "nobody can tell the class",
}
"""Value of a mark -> its meaning."""
_COMMENT, _NAME = 2000, 200  # characters at most
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "task": ALIASES["task"],
    "right class": ("right_class", "truth", *ALIASES["gold"], "class"),
    "mark": ("mark",),
    "worker": ALIASES["worker"],
    "comment": ("comment", "note"),
    "by": ("by", "reviewer"),
}
_MOST = 20_000_000  # bytes of a file


@dataclass(frozen=True)
class Mark:
    """One person's verdict on one task.

    Args:
        task: its id.
        truth: the right class; empty if unclear.
        label: the reviewed label: the worker's, or the most frequent one of the task.
        worker: id of the label's worker; empty if the task was marked as a whole.
        comment: in the reviewer's words.
        by: name of the reviewer; empty without sign-in.
        at: time of the mark, ISO 8601 in UTC.
        id: of the mark, to undo it.
        data: name of the dataset when it was marked.
        content: digest of the task's text, picture and sound; empty where it has none.
    """

    task: str
    truth: str
    label: str
    worker: str = ""
    comment: str = ""
    by: str = ""
    at: str = ""
    id: str = ""
    data: str = ""
    content: str = ""

    @property
    def says(self) -> str:
        """Kind of the mark, a key of `MARKS`."""
        return "unclear" if not self.truth else "right" if self.truth == self.label else "wrong"


def add_mark(
    dataset: CrowdDataset,
    task: str,
    truth: str | None,
    *,
    worker: str = "",
    comment: str = "",
    by: str = "",
    workspace: Path | str | None = None,
) -> Mark:
    """Add a mark to a task; it replaces earlier marks of the task.

    Args:
        dataset: the marked data, identified by content (`CrowdDataset.fingerprint`), not by name.
        task: id of a task.
        truth: the right class, or None if unclear.
        worker: id of the worker of the reviewed label; empty: the task as a whole.
        comment: at most 2,000 characters.
        by: author of the mark.
        workspace: the folder; None: ``CROWDCORE_WORKSPACE``, else ``workspace`` in the current folder.

    Raises:
        DataError: no such task, or no label of this worker on it.
        SettingError: no such class, or a comment that is too long or is not text.
        CrowdError: the workspace cannot be written.

    Examples:
        >>> import tempfile
        >>> import crowdcore as cc
        >>> demo, folder = cc.load_dataset("demo"), tempfile.mkdtemp()
        >>> cc.marks.add_mark(demo, "digit-0001", "seven", workspace=folder).says
        'wrong'
        >>> len(cc.marks.read_marks(demo, folder))
        1
    """
    mark = new_mark(dataset, task, truth, worker, comment, by)
    keep_marks(dataset, [mark], workspace)
    return mark


def new_mark(dataset: CrowdDataset, task: str, truth: str | None, worker: str, comment: str, by: str) -> Mark:
    """Make the mark that `add_mark` keeps; raises the same errors."""
    if truth is not None and truth not in dataset.classes:
        raise SettingError("class", f"be one of {', '.join(dataset.classes)}", truth)
    for what, text, most in (("comment", comment, _COMMENT), ("by", by, _NAME)):
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise SettingError(what, "be text in UTF-8", ascii(text[:60]))
        if len(text) > most:
            raise SettingError(what, f"have at most {most:,} characters", f"{len(text):,}")
    label = looked_at(dataset, task, worker)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    digest = content_of(dataset, int(dataset.task_ids.get_indexer(pd.Index([task]))[0]))
    return Mark(task, truth or "", label, worker, comment.strip(), by, now, uuid.uuid4().hex[:12], dataset.name, digest)


def keep_marks(dataset: CrowdDataset, marks: Iterable[Mark], workspace: Path | str | None = None) -> None:
    """Append marks to the file, in their order and all at once."""
    _append(marks_file(dataset, workspace), [asdict(mark) for mark in marks])


def undo_mark(
    dataset: CrowdDataset, id: str = "", *, by: str | None = None, workspace: Path | str | None = None
) -> Mark:
    """Undo a mark: the earlier mark of the task counts again.

    Args:
        dataset: the marked data.
        id: of the mark; default: the last one.
        by: without ``id``: the last one of this person.
        workspace: as in `add_mark`.

    Raises:
        DataError: there is no such mark.
    """
    kept = read_marks(dataset, workspace)
    candidates = [mark for mark in kept if (mark.id == id if id else by is None or mark.by == by)]
    if not candidates:
        raise DataError(f"{dataset.name} has no mark {id!r}" if id else f"{dataset.name} has no mark to take back")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    _append(marks_file(dataset, workspace), [{"undo": candidates[-1].id, "by": by or "", "at": now}])
    return candidates[-1]


def read_marks(dataset: CrowdDataset, workspace: Path | str | None = None) -> tuple[Mark, ...]:
    """Read all marks that were not undone, the oldest first.

    Raises:
        DataError: a line of the file is not a mark on these data.
    """
    file = marks_file(dataset, workspace)
    by_row = marks_in(file)
    for row, mark in by_row.items():
        if mark.truth and mark.truth not in dataset.classes:
            raise DataError(f"There is no class {mark.truth!r}", "Delete the line.", file=file, row=row)
    return tuple(by_row.values())


def current_marks(dataset: CrowdDataset, workspace: Path | str | None = None) -> dict[str, Mark]:
    """Task -> the mark that counts: the last one."""
    return {mark.task: mark for mark in read_marks(dataset, workspace)}


def marks_version(dataset: CrowdDataset, workspace: Path | str | None = None) -> tuple[str, int, int]:
    """Path, size and time of the file: they change with every mark."""
    file = marks_file(dataset, workspace)
    return (str(file), *_stamp(file))


def content_of(dataset: CrowdDataset, task: int) -> str:
    """Digest of a task's text, picture and sound; empty where it has none."""
    media, digest = dataset.media or Media(), blake2b(digest_size=8)
    columns = {} if media.columns is None else media.columns.iloc[task].dropna().to_dict()
    if dataset.sentences is not None:
        columns["word"] = dataset.sentences.words[task]
    parts = [f"{name} {text}".encode() for name, text in sorted(columns.items()) if text]
    if media.images is not None and media.images.present[task]:
        parts.append(media.images[np.array([task])][0].tobytes())
    for part in parts:
        digest.update(part)
    return digest.hexdigest() if parts else ""


def looked_at(dataset: CrowdDataset, task: str, worker: str) -> str:
    """Return the worker's first label on the task, or the most frequent one of all; empty where there is none."""
    number = dataset.task_ids.get_indexer(pd.Index([task]))[0]
    if number < 0:
        raise DataError(
            f"{dataset.name} has no task {task!r}", "If the data have changed, marks on the old data do not fit them."
        )
    rows = slice(dataset.task_start[number], dataset.task_start[number + 1])
    given = dataset.label[rows]
    if worker:
        given = given[dataset.worker_ids[dataset.worker[rows]] == worker]
        if not len(given):
            raise DataError(f"{dataset.name} has no label of worker {worker!r} on task {task!r}")
        return str(dataset.classes[given[0]])
    return str(dataset.classes[np.bincount(given).argmax()]) if len(given) else ""


def marks_file(dataset: CrowdDataset, workspace: Path | str | None) -> Path:
    """File of the marks on these data."""
    folder = files.workspace(workspace)
    return folder / "marks" / f"{dataset.fingerprint}.jsonl"


def _stamp(file: Path) -> tuple[int, int]:
    """Size and time of a file; zeros where there is none."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns


def marks_in(file: Path) -> dict[int, Mark]:
    """Line -> mark, of those that were not undone."""
    return _read(file, _stamp(file))


@functools.lru_cache(maxsize=64)
def _read(file: Path, stamp: tuple[int, int]) -> dict[int, Mark]:
    """Marks of a file at the time of its ``stamp``; a last line without its end is still being written."""
    if not stamp[0]:
        return {}
    kept: dict[str, tuple[int, Mark]] = {}
    whole = file.read_text(encoding="utf-8").split("\n")[:-1]
    for row, line in enumerate(whole, 1):
        try:
            record = json.loads(line)
            if "undo" in record:
                kept.pop(record["undo"], None)
                continue
            mark = Mark(**record)
        except (ValueError, TypeError) as error:
            raise DataError("This line is no mark", "Delete it, or restore a backup.", file=file, row=row) from error
        kept[mark.id] = row, mark
    return dict(kept.values())


def _append(file: Path, values: Sequence[Mapping[str, Any]]) -> None:
    """Append whole lines, under a lock; an incomplete last line of an earlier writer is removed."""
    need_posix("Keeping marks")
    import fcntl

    lines = b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                size = os.pread(handle, size, 0).rfind(b"\n") + 1
                os.ftruncate(handle, size)
            if os.write(handle, lines) < len(lines):
                os.ftruncate(handle, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise CrowdError(f"The mark cannot be kept in {file.parent}: {error.strerror}.") from error


@dataclass(frozen=True, eq=False)
class TakenMarks:
    """Marks that `keep_marks` accepts, and faults of the others.

    Args:
        marks: in the order in which they were made.
        faults: a row for each other mark: ``row`` of the file (the header is row 0) or ``data`` it was made on,
            ``task``, ``column`` at fault, and ``fault``.
        notes: on columns that were not read.
    """

    marks: tuple[Mark, ...]
    faults: pd.DataFrame
    notes: tuple[str, ...] = ()


def marks_of_file(dataset: CrowdDataset, file: Path | str, content: bytes | None = None) -> TakenMarks:
    """Read marks from a CSV with the columns task and right class, and optionally mark, worker, comment, by.

    The CSV of all marks on the page Review is such a file. Of several rows of a task, the last counts.

    Args:
        dataset: the marked data.
        file: path of the file, or its name if ``content`` is given.
        content: of the file.

    Raises:
        DataError: the file cannot be read, or a column is missing or occurs twice.
    """
    path = Path(file)
    try:
        data = path.read_bytes() if content is None else content
        if len(data) > _MOST:
            raise DataError(f"A file of marks has at most {_MOST // 10**6} MB", "Cut it into parts.", file=path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header would be cut
            frame = pd.read_csv(
                io.BytesIO(data), dtype=str, keep_default_na=False, encoding="utf-8-sig", index_col=False
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
        cells = {role: texts[role][row] if role in texts else "" for role in _COLUMNS}
        try:
            marks.append(_mark(dataset, cells))
        except _FaultError as fault:
            place = roles.get(fault.column, fault.column)
            faults.append({"row": row + 1, "task": cells["task"], "column": place, "fault": str(fault)})
    notes = (f"Columns that say nothing of a mark, and are not read: {', '.join(others)}.",) if others else ()
    return TakenMarks(tuple(marks), pd.DataFrame(faults, columns=["row", "task", "column", "fault"]), notes)


class _FaultError(Exception):
    """Fault of one row, and its column."""

    def __init__(self, column: str, fault: str) -> None:
        self.column = column
        super().__init__(fault)


def _roles(frame: pd.DataFrame, path: Path) -> dict[str, str]:
    """Role -> name of its column."""
    named = Counter(plain(str(column)) for column in frame.columns)
    roles: dict[str, str] = {}
    for role, aliases in _COLUMNS.items():
        alias = next((name for name in aliases if name in named), None)
        if alias is None and role in {"task", "right class"}:
            there = ", ".join(map(repr, map(str, frame.columns)))
            raise DataError(f"No column holds the {role}", f"Its columns are {there}. Call one {role!r}.", file=path)
        if alias is not None and named[alias] > 1:
            raise DataError(f"Two columns are called {alias!r}", "Rename one.", file=path)
        if alias is not None:
            roles[role] = next(str(column) for column in frame.columns if plain(str(column)) == alias)
    return roles


def _mark(dataset: CrowdDataset, cells: Mapping[str, str]) -> Mark:
    """Make the mark of one row."""
    task, truth, says, worker = (cells[role] for role in ("task", "right class", "mark", "worker"))
    if says and says not in MARKS:
        raise _FaultError("mark", f"{says!r} is none of {', '.join(MARKS)}")
    if not truth and says != "unclear":
        raise _FaultError("right class", "No class is given. Where nobody can tell, write 'unclear' as the mark")
    if truth and says == "unclear":
        raise _FaultError("right class", f"The mark is 'unclear', but {truth!r} is given as the right class")
    if task not in dataset.task_ids:
        raise _FaultError("task", f"There is no task {task!r}")
    try:
        mark = new_mark(dataset, task, truth or None, worker, cells["comment"], cells["by"])
    except SettingError as error:
        raise _FaultError("right class" if error.argument == "class" else error.argument, str(error)) from None
    except DataError as error:
        raise _FaultError("worker", str(error)) from None
    if says and mark.says != says:
        raise _FaultError("mark", f"The label is {mark.label!r}, so {truth!r} is {mark.says}, and not {says}")
    return mark


def marks_of_earlier_data(dataset: CrowdDataset, workspace: Path | str | None = None) -> TakenMarks:
    """Marks on earlier data of the same name, as far as they fit the present data.

    A mark fits if the task has the same id, text, picture and sound, its class still exists, and the reviewed label of
    the worker is the same. Of several marks of a task, the last counts; a task that is marked here already keeps its
    mark.
    """
    own = marks_file(dataset, workspace)
    here = current_marks(dataset, workspace)
    carried = {_identity(mark) for mark in read_marks(dataset, workspace)}
    last: dict[str, tuple[str, Mark]] = {}
    for file, mark in sorted(_earlier(dataset, own), key=lambda pair: pair[1].at):
        last[mark.task] = file, mark
    marks, faults = [], []
    for file, mark in last.values():
        if _identity(mark) in carried:
            continue
        fault = _misfit(dataset, mark, here)
        if fault is None:
            marks.append(replace(mark, id=_next_id(mark, dataset), label=looked_at(dataset, mark.task, mark.worker)))
        else:
            faults.append({"data": file, "task": mark.task, "column": fault[0], "fault": fault[1]})
    return TakenMarks(tuple(marks), pd.DataFrame(faults, columns=["data", "task", "column", "fault"]))


def _identity(mark: Mark) -> tuple[str, ...]:
    return mark.task, mark.truth, mark.worker, mark.comment, mark.by, mark.at


def _next_id(mark: Mark, dataset: CrowdDataset) -> str:
    """New id, equal whenever the same mark is carried to the same data."""
    return f"{mark.id}-{dataset.fingerprint[:8]}"


def _earlier(dataset: CrowdDataset, own: Path) -> Iterator[tuple[str, Mark]]:
    """Fingerprint and mark, for other data of the same name."""
    for file in sorted(own.parent.glob("*.jsonl")):
        if file != own:
            current = {mark.task: mark for mark in marks_in(file).values()}
            yield from ((file.stem, mark) for mark in current.values() if mark.data == dataset.name)


def _misfit(dataset: CrowdDataset, mark: Mark, here: Mapping[str, Mark]) -> tuple[str, str] | None:
    """Column at fault and reason if the mark does not fit these data, else None."""
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
