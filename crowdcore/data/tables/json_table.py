"""JSON lines, and JSON files that hold one list of flat records."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, islice
from pathlib import Path
from textwrap import shorten
from typing import Any

import pyarrow as pa
from pydantic_core import from_json

from crowdcore.core.errors import DataError
from crowdcore.data.report import Finding
from crowdcore.data.tables.base import HEAD_ROWS, Arrow, Table
from crowdcore.data.tables.content import Content
from crowdcore.data.tables.header import KNOWN, find_header

MAX_JSON = 256 << 20  # a JSON document has to be held as a whole
MAX_LINE = 16 << 20
BATCH = 1 << 16
KEY, VALUE = "key", "value"
"""Columns of the name and the content of each record, in a document of records by name."""
RECORDS = 'Save a list of records, [{"task": …, "worker": …, "label": …}, …]; in pandas: df.to_json(orient="records").'
_NAMES = ("id", "_id", "value", "username", "name", "label", "text", "title")  # fields that name a record, best first


class JsonTable(Table):
    """Records with fields; a field that a record lacks is missing there, and values are read as text."""

    def __init__(self, content: Content) -> None:
        self.path, self.encoding, self.findings = content.path, content.encoding, content.findings
        self._lines = content.kind == "json-lines"
        self.nested: dict[str, tuple[int, str]] = {}
        names: dict[str, Any] = {}
        for row, record in enumerate(self.records()):
            names.update(record)
            self.nests = self.nests or (row < HEAD_ROWS and any(isinstance(v, (dict, list)) for v in record.values()))
        if not names:
            raise DataError("There are no records", file=self.path)
        if [*names][:2] == ["1", "2"] and not self._lines:
            sentence = "The rows have no names: their columns are called 1, 2, 3 …"
            self.findings += (Finding("no-header", "warning", sentence, len(names)),)
        if not self._lines and not isinstance(self.document, list):
            self.nested_remedy = RECORDS
        for name in names:
            if not _is_text(name):
                raise DataError(f"The name {name!r} holds half a surrogate pair, which is not text", file=self.path)
        self.name_columns(names)

    @cached_property
    def document(self) -> Any:
        """The parsed JSON document (not for JSON lines)."""
        assert self.path is not None
        return _rows_as_records(_load(self.path, self.encoding or "utf-8", _record))

    @cached_property
    def is_keyed(self) -> bool:
        """True if the document holds several records by name: ``{"photo1": {…}, "photo2": {…}}``."""
        values = [*self.document.values()] if not self._lines and isinstance(self.document, dict) else []
        return len(values) > 1 and (all(isinstance(value, dict) for value in values) or _are_records(values))

    @property
    def is_one_record(self) -> bool:
        """True if the document is a record."""
        return not self._lines and isinstance(self.document, dict) and not self.is_keyed

    def records(self) -> Iterator[dict[str, Any]]:
        """The records one after another."""
        if not self._lines:
            document = self.document
            if self.is_keyed:
                document = [_keyed(name, record) for name, record in document.items()]
            for row, record in enumerate(document if isinstance(document, list) else [document], 1):
                if not isinstance(record, dict):
                    remedy = RECORDS if isinstance(record, list) else ""
                    raise DataError("This entry is not a record of names and values", remedy, file=self.path, row=row)
                yield record
            return
        assert self.path is not None
        with self.path.open(encoding=self.encoding or "utf-8") as file:
            row = 0
            while line := file.readline(MAX_LINE):
                if not line.strip():
                    continue
                row += 1
                if len(line) == MAX_LINE:
                    raise DataError(f"This line is longer than {MAX_LINE >> 20} MiB", file=self.path, row=row)
                try:
                    record = _parsed(line)
                except (ValueError, RecursionError) as error:
                    raise DataError(f"This line is not JSON ({error})", file=self.path, row=row) from None
                if not isinstance(record, dict):
                    raise DataError("This line is not a record of names and values", file=self.path, row=row)
                yield record

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """Tables of 65,536 records."""
        records = self.records()
        row = 1
        while batch := list(islice(records, BATCH)):
            yield pa.table([self._column(batch, name, row) for name in columns], names=list(columns))
            row += len(batch)

    def _column(self, batch: list[dict[str, Any]], name: str, row: int) -> Arrow:
        values = [record.get(name) for record in batch]
        if all(value is None or isinstance(value, dict) for value in values):
            values = [*map(name_in, values)]
        if name not in self.nested:
            for number, value in enumerate(values, row):
                if isinstance(value, (dict, list)):
                    self.nested[name] = (number, shorten(json.dumps(value), 60, placeholder=" …"))
                    break
        texts = [text_of_json(value) for value in values]
        try:
            return pa.array(texts, pa.large_string())
        except UnicodeEncodeError:
            number = next(number for number, text in enumerate(texts, row) if text is not None and not _is_text(text))
            sentence = "This value holds half a surrogate pair, which is not text"
            raise DataError(sentence, file=self.path, row=number, column=name) from None


def _load(path: Path, encoding: str, as_record: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """The document in a JSON file; refuses a large or damaged one."""
    size = path.stat().st_size
    if size > MAX_JSON:
        sentence = f"This JSON file has {size >> 20:,} MiB; documents over {MAX_JSON >> 20} MiB are not read"
        raise DataError(sentence, "Export it as JSON lines, CSV or Parquet.", file=path)
    try:
        with path.open(encoding=encoding) as file:
            return json.load(file, object_pairs_hook=as_record)
    except (ValueError, RecursionError) as error:
        raise DataError(f"This is not JSON ({error})", file=path) from None


def load_record(path: Path) -> dict[str, Any]:
    """The record in a JSON file; refuses anything else."""
    document = _load(path, "utf-8")
    if not isinstance(document, dict):
        raise DataError("This is not a record of names and values", file=path)
    return document


def _rows_as_records(document: Any) -> Any:
    """A list of rows of plain values as records, with fields named by the first row if it can; others unchanged."""
    rows = document if isinstance(document, list) and all(isinstance(row, list) for row in document) else []
    if len({*map(len, rows)}) != 1 or any(isinstance(cell, (dict, list)) for row in rows for cell in row):
        return document
    head = find_header([[text_of_json(c) or "" for c in row] for row in rows[:200]], KNOWN, None, 0, titles=False)
    names = [text_of_json(cell) or "" for cell in rows[0]] if head.named else [str(i + 1) for i in range(len(rows[0]))]
    return (
        document if len({*names}) < len(names) else [dict(zip(names, row, strict=True)) for row in rows[head.named :]]
    )


def _are_records(values: list[Any]) -> bool:
    """Return whether all values are lists of records with the same fields, or of the same few plain values."""
    if not all(isinstance(value, list) and value for value in values):
        return False
    entries = [entry for value in values for entry in value]
    if all(isinstance(entry, dict) for entry in entries):
        return len({frozenset(entry) for entry in entries}) == 1
    words = {str(entry) for entry in entries} if not any(isinstance(e, (dict, list)) for e in entries) else set()
    return 1 < len(words) <= len(entries) // 3


def name_in(value: Any) -> Any:
    """The id or value in a small record such as ``{"id": 3, "email": …}``; anything else unchanged."""
    if isinstance(value, dict) and value.keys() <= {*_NAMES, "url", "email"}:
        plainly = not any(isinstance(part, (dict, list)) for part in value.values())
        return next((value[key] for key in _NAMES if key in value and plainly), value)
    return value


def _keyed(name: str, record: Any) -> dict[str, Any]:
    """A record with its name; one of plain values, which may map workers to labels, stays in one field."""
    if isinstance(record, list):
        return {KEY: name, VALUE: record}
    nests = any(isinstance(value, (dict, list)) for value in record.values())
    return {KEY: name, **record} if nests else {KEY: name, VALUE: record}


def _parsed(line: str) -> Any:
    """A line of JSON; refuses a record with a repeated field."""
    try:
        value = from_json(line, cache_strings="keys")  # at least twice as fast as `json`
    except ValueError:  # for example a lone surrogate, which `json` reads
        value = json.loads(line)
    if isinstance(value, dict) and line.count(":") == len(value):
        return value
    return json.loads(line, object_pairs_hook=_record)


def _record(pairs: list[tuple[str, Any]]) -> Any:
    """A JSON object; refuses a repeated field."""
    if len(pairs) == 1 and pairs[0][0].startswith("$"):
        return pairs[0][1]  # MongoDB's {"$oid": …}
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {twice!r} stands twice in a record")
    return record


def read_json(cell: object, otherwise: Any) -> Any:
    """The value of a JSON text; ``otherwise`` if it is none."""
    try:
        return json.loads(cell) if isinstance(cell, str) else otherwise
    except (ValueError, RecursionError):
        return otherwise


def _is_text(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


def text_of_json(value: object) -> str | None:
    """A JSON value as text; true as ``True``, whole floats with their point, nested values as JSON."""
    if value is None or value != value:
        return None
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


_JOINTS = "|;,"
_SHORT = 30  # letters of a label
_LEAST = 4  # fewer rows of lists of the same length are no evidence


def nested_columns(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> dict[str, str]:
    """Column -> separator of its entries, "" where cells are written in JSON or Python.

    Joined lists are recognised by another column that has as many entries in each row.
    """
    cells = {name: [row[k].strip() if k < len(row) else "" for row in rows] for k, name in enumerate(columns)}
    joints = {name: "" for name, column in cells.items() if _are_brackets(column)}
    for joint in _JOINTS if len(rows) >= _LEAST else "":
        sizes = {name: [cell.count(joint) for cell in column] for name, column in cells.items() if name not in joints}
        long = {name: n for name, n in sizes.items() if 2 * sum(map(bool, n)) > len(rows)}
        for one, other in combinations(long, 2):
            if long[one] == long[other]:
                joints |= {one: joint, other: joint}
    for joint in _JOINTS:
        again = [name for name, column in cells.items() if name not in joints and _repeat(column, joint)]
        joints |= dict.fromkeys(again, joint)
    return joints


def _repeat(column: Sequence[str], joint: str) -> bool:
    """Return whether a third of the cells repeat an entry, as labels of workers do, but not classes of one answer."""
    lists = [[part.strip() for part in cell.split(joint)] for cell in column if joint in cell]
    short = all(len(part) < _SHORT for parts in lists for part in parts)
    return short and len(lists) >= _LEAST and 3 * sum(len({*parts}) < len(parts) for parts in lists) > len(column)


def _are_brackets(column: Sequence[str]) -> bool:
    filled = [cell for cell in column if cell]
    return bool(filled) and all(cell[0] + cell[-1] in ("[]", "{}") for cell in filled)


def decoded(record: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """The record of a row with lists and records in place of their text; unreadable ones stay text."""
    return {name: _decoded(value, columns[name]) if name in columns else value for name, value in record.items()}


_TELLING = ("name", "label", "value", "class", "choice")  # keys of a record's label, beside others


def only_value(value: Any) -> Any:
    """The label in a list or record of one: ``{"categories": [{"name": "cat", "confidence": 9}]}`` is cat."""
    while isinstance(value, list | dict):
        inside = [*value.values()] if isinstance(value, dict) else value
        if isinstance(value, dict) and len(inside) > 1:
            inside = [value[key] for key in _TELLING if key in value][:1]
        if len(inside) != 1:
            break
        (value,) = inside
    return value


def labels_of_cells(cells: Sequence[str]) -> list[str | None]:
    """Labels in place of lists and records that hold one and stand as text; lists of several as JSON."""
    values = [_decoded(cell, "") if cell[:1] in ("[", "{") else cell for cell in cells]
    if len({tuple(value) for value in values if isinstance(value, dict)}) > 1:  # counts, by their names
        return [*cells]
    told = [only_value(value) for value in values]
    several = [isinstance(value, list) and not any(isinstance(part, list | dict) for part in value) for value in told]
    return [
        cell if isinstance(value, list | dict | tuple) and not plain else text_of_json(value)
        for cell, value, plain in zip(cells, told, several, strict=True)
    ]


def _decoded(cell: Any, joint: str) -> Any:
    if not isinstance(cell, str) or not cell.strip():
        return None
    if joint:
        return [part.strip() for part in cell.split(joint)]
    for read in (json.loads, ast.literal_eval):
        try:
            return read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return cell
