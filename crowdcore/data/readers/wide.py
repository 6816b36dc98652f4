"""Wide tables: a row per task, a column per worker."""

from __future__ import annotations

import re
from collections import Counter
from typing import ClassVar

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.columns import ALIASES, alias_findings, assign_roles, plain
from crowdcore.data.dictionary import Codes, Encoder, encode, strings
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.report import Finding
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.tables.base import Arrow

__all__ = ["WideTable"]

MISSING = ("-1", "-1.0")
_ABOUT_TASKS = ("task", "gold", "split", "text", "image", "audio")


class WideTable(Reader):
    """A matrix of labels; empty cells and -1 are missing. Rows without an id column are called 1, 2, 3 …"""

    name: ClassVar[str] = "wide"
    title: ClassVar[str] = "Wide table (tasks × workers)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """No column is the worker's, and the columns share their labels."""
        if source.table is None or settings.worker or settings.label:
            return 0.0
        roles, workers = _split_columns(source.table, settings)
        if len(workers) < 2 or any(plain(c) in (*ALIASES["worker"], *ALIASES["label"]) for c in workers):
            return 0.0
        head = source.table.head
        cells = [head.column(source.table.columns.index(c)).to_pylist() for c in workers]
        filled = [[str(v).strip() for v in column if not _is_missing(v)] for column in cells]
        if not roles and len(workers) == 3 and all(len(column) == len(head) for column in filled):
            return 0.0  # may as well be task, worker and label under names nobody knows
        return 0.4 if _share_labels([column for column in filled if column]) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the filled cells, piece by piece."""
        table = source.need_table()
        missing = ("", *(MISSING if settings.missing is None else settings.missing))
        roles, workers = _split_columns(table, settings)
        if not workers:
            raise DataError("There is no column of a worker", file=source.path)
        if table.repeated:
            twice = min(table.repeated)
            raise DataError(f"Two columns are called {twice!r}", "Rename one.", file=source.path, column=twice)
        about = {role: Encoder() for role in roles}
        labels, rows, columns = Encoder(), [], []
        n = 0
        for piece in table.pieces(table.columns):
            chunk = pa.table(piece) if isinstance(piece, pa.RecordBatch) else piece
            for role, encoder in about.items():
                with table.naming(roles[role]):
                    encoder.add(chunk[roles[role]])
            row, column, values = _melt(table, chunk, workers, missing)
            labels.add(values)
            rows.append(row + n)
            columns.append(column)
            n += chunk.num_rows
        if n == 0:
            raise DataError("There are columns, but no rows", file=source.path)
        task_row, worker = np.concatenate(rows), np.concatenate(columns)
        part = {role: encoder.finish() for role, encoder in about.items()}
        ids = part.get("task") or Codes(strings(str(i + 1) for i in range(n)), np.arange(n, dtype=np.int32))
        media = {role: part[role] for role in MEDIA if role in part}
        counts = np.bincount(worker, minlength=len(workers))
        findings = alias_findings({r: c for r, c in roles.items() if r in part}, (), settings)
        return Raw(
            self.name,
            ids.take(task_row),
            encode(strings(workers).take(pa.array(worker))),
            labels.finish(),
            table.columns,
            {**roles, "worker": f"{len(workers)} columns"},
            rows=task_row + 1,
            encoding=table.encoding,
            delimiter=table.delimiter,
            escaped=table.escaped,
            tasks=RawTasks(ids, True, part.get("gold"), part.get("split"), media, table.escaped),
            findings=(*table.findings, *findings, *_empty_columns(workers, counts)),
        )


def _empty_columns(workers: tuple[str, ...], counts: IntArray) -> list[Finding]:
    empty = [worker for worker, count in zip(workers, counts, strict=True) if count == 0]
    if not empty:
        return []
    listed = ", ".join(repr(w) for w in empty[:5]) + (" …" if len(empty) > 5 else "")
    sentence = f"{len(empty)} worker column{'s are' if len(empty) > 1 else ' is'} empty and left out: {listed}"
    return [Finding("empty-worker-column", "change", sentence, len(empty), examples=tuple(empty[:5]))]


def _share_labels(columns: list[list[str]]) -> bool:
    """Whether the cells of several columns look like labels of one list: few, and numbers or common to columns."""
    spread = Counter(word for column in columns for word in set(column))
    n = sum(map(len, columns))
    if not n or len(spread) > max(20, n // 10):
        return False
    common = sum(any(spread[word] > 1 for word in column) for column in columns)
    return 2 * common >= len(columns) or all(re.fullmatch(r"-?[0-9]+(\.0*)?", word) for word in spread)


def _split_columns(table: Table, settings: ReadSettings) -> tuple[dict[str, str], tuple[str, ...]]:
    """Roles of the columns about tasks, and the workers' columns (all others)."""
    assigned = assign_roles(table, settings)
    roles = {role: column for role, column in assigned.items() if role in _ABOUT_TASKS}
    if "task" not in roles and table.columns and _names_tasks(table):
        roles = {"task": table.columns[0], **roles}
    return roles, tuple(c for c in table.columns if c not in roles.values())


def _names_tasks(table: Table) -> bool:
    """Whether the first column looks like ids: without a name, or all different and unlike the second column."""
    first = table.head.column(0).to_pylist()
    if table.columns[0] in ("", "Unnamed: 0"):
        return True
    distinct = set(map(str, first))
    other = set(map(str, table.head.column(1).to_pylist())) if len(table.columns) > 1 else set()
    return len(first) > 1 and len(distinct) == len(first) and not distinct & other


def _is_missing(value: object) -> bool:
    return value is None or value != value or str(value).strip() in ("", *MISSING)


def _melt(
    table: Table, chunk: Arrow, workers: tuple[str, ...], missing: tuple[str, ...]
) -> tuple[IntArray, IntArray, Arrow]:
    """Row, worker number and text of the filled cells, row by row."""
    rows, columns, texts = [], [], []
    for number, name in enumerate(workers):
        with table.naming(name):
            codes = encode(chunk[name])
        void = np.array([v.strip() in missing for v in codes.values.to_pylist()] + [True])
        filled = np.flatnonzero(~void[codes.codes])
        rows.append(filled)
        columns.append(np.full(len(filled), number))
        texts.append(codes.values.take(pa.array(codes.codes[filled])))
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(row, kind="stable")
    return row[order], column[order], pa.chunked_array(texts, pa.large_string()).take(pa.array(order))
