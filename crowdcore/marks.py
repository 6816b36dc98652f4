"""Marks: what people said of tasks and labels that they looked at; kept in the workspace, one file per dataset.

Nothing is overwritten: `<workspace>/marks/<fingerprint>.jsonl` has a line per mark and per mark taken back.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.core import places
from crowdcore.core.errors import CrowdError, DataError, SettingError, need_posix
from crowdcore.data.dataset import CrowdDataset, Media

MARKS: Mapping[str, str] = {
    "right": "the label is right",
    "wrong": "another class is right",
    "unclear": "nobody can tell the class",
}
"""What a mark says, in words."""
_COMMENT, _NAME = 2000, 200  # characters at most


@dataclass(frozen=True)
class Mark:
    """What one person said of one task.

    Args:
        task: its id.
        truth: the class that is right; empty where nobody can tell.
        label: the label that was looked at: the worker's, or the most frequent one of the task.
        worker: id of the worker whose label it is; empty where the task was marked as a whole.
        comment: in the person's words.
        by: who marked; empty where nobody had to sign in.
        at: when, ISO 8601 in UTC.
        id: of the mark, to take it back.
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
        """A key of `MARKS`."""
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
    """Keep what somebody said of a task; it counts instead of what was said of the same task before.

    Args:
        dataset: the marks belong to these data (`CrowdDataset.fingerprint`), whatever they are called.
        task: id of a task.
        truth: the class that is right, or None where nobody can tell.
        worker: id of the worker whose label was looked at; empty: the task as a whole.
        comment: at most 2,000 characters.
        by: who says so.
        workspace: the folder; None: ``CROWDCORE_WORKSPACE``, else ``workspace`` in the current folder.

    Raises:
        DataError: no such task, or no label of this worker on it.
        SettingError: no such class, or too long a comment.
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
    """The mark that `add_mark` keeps, refused for the same reasons."""
    if truth is not None and truth not in dataset.classes:
        raise SettingError("class", f"be one of {', '.join(dataset.classes)}", truth)
    for what, text, most in (("comment", comment, _COMMENT), ("by", by, _NAME)):
        if len(text) > most:
            raise SettingError(what, f"have at most {most:,} characters", f"{len(text):,}")
    label = looked_at(dataset, task, worker)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    digest = content_of(dataset, int(dataset.task_ids.get_indexer(pd.Index([task]))[0]))
    return Mark(task, truth or "", label, worker, comment.strip(), by, now, uuid.uuid4().hex[:12], dataset.name, digest)


def keep_marks(dataset: CrowdDataset, marks: Iterable[Mark], workspace: Path | str | None = None) -> None:
    """Keep marks, in their order and all at once.

    Raises:
        CrowdError: the workspace cannot be written.
    """
    _append(marks_file(dataset, workspace), [asdict(mark) for mark in marks])


def undo_mark(
    dataset: CrowdDataset, id: str = "", *, by: str | None = None, workspace: Path | str | None = None
) -> Mark:
    """Take a mark back: what was said of the task before counts again.

    Args:
        dataset: whose marks.
        id: of the mark; default: the last one.
        by: with no ``id``: the last one of this person only.
        workspace: as in `add_mark`.

    Raises:
        DataError: there is no such mark.
    """
    kept = read_marks(dataset, workspace)
    found = [mark for mark in kept if (mark.id == id if id else by is None or mark.by == by)]
    if not found:
        raise DataError(f"{dataset.name} has no mark {id!r}" if id else f"{dataset.name} has no mark to take back")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    _append(marks_file(dataset, workspace), [{"undo": found[-1].id, "by": by or "", "at": now}])
    return found[-1]


def read_marks(dataset: CrowdDataset, workspace: Path | str | None = None) -> tuple[Mark, ...]:
    """All marks that were not taken back, the oldest first.

    Raises:
        DataError: a line of the file is no mark on these data.
    """
    file = marks_file(dataset, workspace)
    found = marks_in(file)
    for row, mark in found.items():
        if mark.truth and mark.truth not in dataset.classes:
            raise DataError(f"There is no class {mark.truth!r}", "Delete the line.", file=file, row=row)
    return tuple(found.values())


def current_marks(dataset: CrowdDataset, workspace: Path | str | None = None) -> dict[str, Mark]:
    """Task -> the mark that counts: the last one."""
    return {mark.task: mark for mark in read_marks(dataset, workspace)}


def marks_version(dataset: CrowdDataset, workspace: Path | str | None = None) -> tuple[str, int, int]:
    """What changes with every mark: the file, its size and when it was written."""
    file = marks_file(dataset, workspace)
    return (str(file), *_stamp(file))


def content_of(dataset: CrowdDataset, task: int) -> str:
    """Digest of what a task shows or says; empty where it has nothing but its id."""
    media, found = dataset.media or Media(), blake2b(digest_size=8)
    columns = {} if media.columns is None else media.columns.iloc[task].dropna().to_dict()
    if dataset.sentences is not None:
        columns["word"] = dataset.sentences.words[task]
    parts = [f"{name} {text}".encode() for name, text in sorted(columns.items()) if text]
    if media.images is not None and media.images.present[task]:
        parts.append(media.images[np.array([task])][0].tobytes())
    for part in parts:
        found.update(part)
    return found.hexdigest() if parts else ""


def looked_at(dataset: CrowdDataset, task: str, worker: str) -> str:
    """The worker's first label on the task, or the most frequent one of all; empty where there is none."""
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
    """Where the marks on these data are."""
    folder = places.workspace(workspace)
    return folder / "marks" / f"{dataset.fingerprint}.jsonl"


def _stamp(file: Path) -> tuple[int, int]:
    """Size and time of a file; zeros where there is none."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def marks_in(file: Path) -> dict[int, Mark]:
    """Line -> mark, of those that were not taken back.

    Raises:
        DataError: a line is no mark.
    """
    return _read(file, _stamp(file))


@functools.lru_cache(maxsize=64)
def _read(file: Path, stamp: tuple[int, int]) -> dict[int, Mark]:
    """Marks of a file as it was then; a last line without its end is one that is being written."""
    if not stamp[0]:
        return {}
    kept: dict[str, tuple[int, Mark]] = {}
    whole = file.read_text(encoding="utf-8").split("\n")[:-1]
    for row, line in enumerate(whole, 1):
        try:
            said = json.loads(line)
            if "undo" in said:
                kept.pop(said["undo"], None)
                continue
            mark = Mark(**said)
        except (ValueError, TypeError) as error:
            raise DataError("This line is no mark", "Delete it, or restore a backup.", file=file, row=row) from error
        kept[mark.id] = row, mark
    return dict(kept.values())


def _append(file: Path, values: Sequence[Mapping[str, Any]]) -> None:
    """Write whole lines; writers of other processes wait, and a line that one of them left torn is closed."""
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
