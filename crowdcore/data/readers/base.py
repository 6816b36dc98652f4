"""`Reader`: one file format; `Raw`: its unchecked content, input of the validation."""

from __future__ import annotations

import atexit
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, SettingError, did_you_mean
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.columns import read_roles
from crowdcore.data.dataset import SimulatedTruth
from crowdcore.data.dictionary import Codes, clean, strings
from crowdcore.data.encoder import encode
from crowdcore.data.report import Finding, make_change, plural
from crowdcore.data.sentences import Sentences
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import Content, DelimitedTable, JsonTable, ParquetTable, Table, identify, looks_like_conll
from crowdcore.data.tables.base import Arrow

MOST_FILES = 100_000  # in a folder


def open_table(content: Content, settings: ReadSettings) -> Table:
    """Open a file that `identify` found to hold a table."""
    if content.kind == "container":
        raise DataError("This is packed once more", "Unpack it first.", file=content.path)
    if content.kind == "parquet":
        return ParquetTable(content.path)
    if content.kind == "text":
        return DelimitedTable(content, settings)
    return JsonTable(content)


@dataclass(frozen=True, eq=False)
class Source:
    """The source to read: a file, a folder, or a table in memory.

    Args:
        name: its name.
        content: the file and its kind, None for a frame.
        table: the opened table, None if the content is none.
        origin: the file that the content was unpacked from, if no files beside the content belong to it.
        temporary: a folder to remove after reading.
        findings: those made when it was unpacked.
    """

    name: str
    content: Content | None = None
    table: Table | None = None
    origin: Path | None = None
    temporary: Path | None = None
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, content: Content, settings: ReadSettings, **more: Any) -> Source:
        """Source of a recognised file or folder, its table opened."""
        free = content.kind == "folder" or settings.format == "conll" or looks_like_conll(content.sample)
        name = content.path.resolve().name if content.kind == "folder" else content.path.stem
        return cls(
            **{"name": name, "content": content, "table": None if free else open_table(content, settings), **more}
        )

    @property
    def path(self) -> Path | None:
        """The file or folder."""
        return self.origin or (self.content.path if self.content else None)

    def close(self, lends: bool = False) -> None:
        """Remove unpacked files: now, or if a dataset reads from them (``lends``) when this process ends."""
        if self.temporary is not None and lends:
            atexit.register(shutil.rmtree, self.temporary, ignore_errors=True)
        elif self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)

    @property
    def folder(self) -> Path | None:
        """The folder that is to be read, None for a file or a table."""
        return self.path if self.table is None and self.path is not None and self.path.is_dir() else None

    def inside(self, *patterns: str) -> list[Path]:
        """The files of the folder that match one of the patterns, sorted, without hidden ones."""
        files = (file for p in patterns for file in (self.folder.glob(p) if self.folder else ()))
        return sorted(islice((file for file in files if file.name[0] != "." and file.is_file()), MOST_FILES))

    @classmethod
    def at(cls, file: Path) -> Source:
        """Source of a table beside others, named like its file."""
        content = identify(file)
        return cls(file.stem, content, open_table(content, ReadSettings()))

    @property
    def first(self) -> dict[str, Any]:
        """The first record of JSON, empty for everything else."""
        return next(self.table.records(), {}) if isinstance(self.table, JsonTable) else {}

    def need_json(self) -> JsonTable:
        """The table of JSON, or a refusal."""
        if not isinstance(self.table, JsonTable):
            raise DataError("This is not JSON", "Leave `format` out to detect it.", file=self.path)
        return self.table

    def need_table(self, *columns: str) -> Table:
        """The table, if it has these columns; else a refusal."""
        if self.table is None:
            raise DataError("This is not a table", "Leave `format` out to detect it.", file=self.path)
        lacking = {*columns} - {*self.table.columns}
        if lacking:
            raise DataError(f"There is no column {min(lacking)!r}", "The tool's export has one.", file=self.path)
        return self.table


@dataclass(frozen=True, eq=False)
class RawTasks:
    """Task columns before cleaning, aligned with ``task``.

    Args:
        task: (n,) ids; with ``listed`` in the order of the dataset's tasks, else one for each annotation row.
        listed: whether these rows are a list of the tasks (each once) rather than the annotation rows.
        gold: (n,) true classes.
        split: (n,) names of splits.
        media: ``text``, ``image``, ``audio`` -> (n,) values.
        escaped: whether cells may carry our writers' apostrophe before formulas.
    """

    task: Codes
    listed: bool
    gold: Codes | None = None
    split: Codes | None = None
    media: dict[str, Codes] = field(default_factory=dict)
    escaped: bool = False

    @classmethod
    def of(cls, part: Mapping[str, Codes], listed: bool, escaped: bool) -> RawTasks:
        """Build from columns by role."""
        media = {role: part[role] for role in MEDIA if role in part}
        return cls(part["task"], listed, part.get("gold"), part.get("split"), media, escaped)

    def take(self, rows: IntArray) -> RawTasks:
        """Select rows."""
        gold, split = (codes and codes.take(rows) for codes in (self.gold, self.split))
        media = {role: codes.take(rows) for role, codes in self.media.items()}
        return replace(self, task=self.task.take(rows), gold=gold, split=split, media=media)


@dataclass(frozen=True, eq=False)
class Raw:
    """Annotations as read from the file, dictionary-encoded, before cleaning.

    Args:
        format: the reader's name.
        task, worker, label: (n,) aligned columns.
        n_rows: annotation rows of the file: n and those that were left out, according to ``findings``.
        columns: the file's columns.
        roles: role -> column.
        rows: (n,) 1-based row of the file, None: 1, 2, 3 …
        encoding: of a text file.
        delimiter: of a delimited file.
        header: whether its first row held the names.
        escaped: whether cells may carry our writers' apostrophe before formulas.
        extra: pyarrow table of further annotation columns, aligned.
        tasks: columns about the tasks.
        workers: ids in the order to use, None: natural order.
        workers_escaped: whether they may carry our writers' apostrophe before formulas.
        classes: class list of the file, and its origin.
        findings: those of the reader.
        path: the file (filled in for readers), None for a frame.
        arrays: the folder whose features and images belong to the tasks, None without one.
        truth: parameters of a simulated crowd, aligned with the annotation rows and with ``workers``.
        missing: labels that count as missing.
        sentences: the sentences that listed tasks are tokens of.
        target: kind of the labels that the file states: classes, ratings or sequences.
        rating_range: low and high of ratings, if the file states them.
        levels: the words for ratings, if the file states them.
    """

    format: str
    task: Codes
    worker: Codes
    label: Codes
    n_rows: int = field(kw_only=True)
    columns: tuple[str, ...] = ()
    roles: dict[str, str] = field(default_factory=dict)
    rows: IntArray | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = False
    escaped: bool = False
    extra: Arrow | None = None
    tasks: RawTasks | None = None
    workers: tuple[str, ...] | None = None
    workers_escaped: bool = False
    classes: tuple[str, ...] | None = None
    classes_from: str = "file"
    findings: tuple[Finding, ...] = ()
    path: Path | None = None
    arrays: Path | None = None
    truth: SimulatedTruth | None = None
    missing: tuple[str, ...] = ()
    sentences: Sentences | None = None
    target: Literal["classes", "ratings", "sequences"] = "classes"
    rating_range: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()

    @classmethod
    def of_rows(cls, form: str, rows: Iterable[tuple[str | None, ...]], **more: Any) -> Raw:
        """Build from the task, worker and label (or None) of each annotation row; refused without rows."""
        listed = list(rows)
        if not listed:
            raise DataError("This file holds no label")
        task, worker, label = (encode(strings(column)) for column in zip(*listed, strict=True))
        return cls(form, task, worker, label, **{"n_rows": len(listed), **more})

    def keep(self, rows: IntArray, *findings: Finding) -> Raw:
        """Keep some annotation rows, ascending; ``findings`` report the others.

        Refused for a simulated crowd, whose truth is about all rows.
        """
        if self.truth is not None:
            raise DataError("A simulated crowd with its truth is read as it is", file=self.path)
        return replace(
            self,
            **{role: getattr(self, role).take(rows) for role in ("task", "worker", "label")},
            rows=self.row_numbers(rows),
            extra=None if self.extra is None else self.extra.take(rows),
            tasks=self.tasks if self.tasks is None or self.tasks.listed else self.tasks.take(rows),
            findings=(*self.findings, *findings),
        )

    def row_numbers(self, chosen: AnyArray) -> AnyArray:
        """1-based file rows of some annotation rows."""
        return chosen + 1 if self.rows is None else self.rows[chosen]


def read_annotations(
    table: Table, settings: ReadSettings, form: str, about_tasks: bool = True, listed: Arrow = None
) -> Raw:
    """Read a table of one row per annotation; ``about_tasks``: with gold, split and media.

    ``listed``: likely names of the tasks, in this order.
    """
    columns = read_roles(table, settings, ("task", "worker", "label"), only_needed=not about_tasks, listed=listed)
    part = columns.codes
    about = RawTasks.of(part, False, table.escaped)
    return Raw(
        form,
        part["task"],
        part["worker"],
        part["label"],
        **table.about,
        n_rows=table.n_read,
        roles=columns.roles,
        rows=table.rows,
        missing=settings.missing or (),
        extra=columns.extra,
        tasks=about if about.gold or about.split or about.media else None,
        findings=(*columns.findings, *table.repeated_headers(per_row=1)),
    )


class Reader(ABC):
    """Base of every reader, which recognises its format and reads a source without checking it.

    A subclass sets ``name`` (= its file's name, ``_`` as ``-``) and ``title``.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Degree to which the content of a source matches this format, from 0 (no match) to 1 (certain)."""

    @abstractmethod
    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read everything.

        Raises:
            DataError: the file is not in the format; says where.
        """


def with_gold(raw: Raw, task: Codes, gold: Codes, where: str) -> Raw:
    """Add true classes (n,) of tasks (n,), each once; ``where`` names the place of the tasks in a refusal."""
    tasks = raw.tasks or RawTasks(raw.task, False)
    ids, key = clean(tasks.task, whole="mixed").codes, clean(task, whole="mixed").codes
    twice = np.flatnonzero(np.bincount(key.codes[key.codes >= 0], minlength=len(key.values)) > 1)
    if len(twice):
        raise DataError(f"`gold` names task {key.values[int(twice[0])].as_py()!r} twice")
    value = np.full(len(key.values) + 1, -1, np.int32)
    value[key.codes] = np.where(key.missing, -1, gold.codes)
    place = np.asarray(pc.index_in(ids.values, value_set=key.values).fill_null(-1))
    given = value[np.append(place, -1)[ids.codes]]
    absent = len(key.values) - len(np.unique(place[place >= 0]))
    findings = raw.findings
    if absent:
        what = f"Gold of {plural(absent, 'task')} outside the {where}"
        findings = (*findings, make_change("gold-not-listed", what, "be left out", count=absent))
    return replace(raw, tasks=replace(tasks, gold=Codes(gold.values, given)), findings=findings)


def gold_of_workers(raw: Raw, given: str | tuple[str, ...]) -> Raw:
    """Turn the labels of one or several workers into the gold of each task on which they agree."""
    names = [given] if isinstance(given, str) else [*given]
    there = pc.utf8_trim_whitespace(raw.worker.values)
    for name in names:
        if not pc.any(pc.equal(there, name.strip())).as_py():
            remedy = did_you_mean(name, there[:1000].to_pylist())
            raise SettingError("gold_worker", "name a worker of the file", name, remedy)
    if raw.tasks is not None and raw.tasks.gold is not None:
        raise SettingError("gold_worker", "be left out where a column holds the gold", given)
    chosen = np.asarray(pc.is_in(there, value_set=strings(name.strip() for name in names)))
    golden = np.append(chosen, False)[raw.worker.codes]
    rows, quoted = np.flatnonzero(golden), " and ".join(map(repr, names))
    what = f"{plural(len(rows), 'label')} of {quoted} {'was' if len(rows) == 1 else 'were'} read as the gold"
    findings = [Finding("gold-worker", "note", what, len(rows), left_out=len(rows))]
    label = clean(raw.label.take(rows), raw.missing, raw.escaped).codes
    filled = np.flatnonzero(~label.missing)
    task, label = clean(raw.task.take(rows[filled]), whole="mixed").codes, label.take(filled)
    known = np.flatnonzero(~task.missing)
    first, where, differs = task.first_rows, task.codes[known], np.zeros(len(task.values), bool)
    np.logical_or.at(differs, where, label.codes[known] != label.codes[first[where]])
    if differs.any():
        of = f"{plural(int(differs.sum()), 'task')} on which the labels of {quoted} differ"
        findings.append(make_change("gold-contradicts", of, "have no gold", count=int(differs.sum())))
    agreed = rows[filled[first[~differs]]]
    others = raw.keep(np.flatnonzero(~golden), *findings)
    return with_gold(others, raw.task.take(agreed), raw.label.take(agreed), "other labels")
