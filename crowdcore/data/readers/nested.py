"""Records that hold the labels of several workers: lists of records, lists of equal length, maps, counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import IntArray
from crowdcore.data.columns import ALIASES, plain
from crowdcore.data.dictionary import compact, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers._answers import records, text_of
from crowdcore.data.readers._layouts import COUNTER, Layout, entries, find_layout, is_named
from crowdcore.data.readers._stacked import no_workers, repeat_labels
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source, read_annotations
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import ArrowTable, JsonTable, Table
from crowdcore.data.tables.base import HEAD_ROWS, Arrow
from crowdcore.data.tables.json_table import KEY, decoded, only_value, text_of_json

_SHOWN, _DASH = 8, "-"
_IDS = {"id", "_id", "uuid"}
_SPLITS = {"train", "valid", "validation", "dev", "test"}
BATCH = 1 << 14  # records that become rows at once
ROW = "record"
"""Column of a record's number, which is the task if no field names it."""


class Nested(Reader):
    """One label for each entry of a record's list or map; the record's other fields are about the task."""

    name: ClassVar[str] = "nested"
    title: ClassVar[str] = "Nested records (the labels of a task in one record)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The first records have a field with the labels of several workers."""
        if source.table is None or not source.table.nests:
            return 0.0
        if _columns_of(source.table) is not None:
            return 0.65
        layout = find_layout(_head(source), settings)
        return 0.0 if layout is None else 0.35 if source.table.written_nested else 0.65

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every entry of every record."""
        columns = _columns_of(source.need_table())
        if columns is not None:
            return replace(read_annotations(columns, settings, self.name), format=self.name)
        layout = find_layout(_head(source), settings)
        if layout is None:
            raise DataError("No field of these records holds labels of workers", file=source.path, code="no-label")
        if layout.questions:
            remedies = tuple(Remedy("question", name) for name in layout.questions[:_SHOWN])
            what = (
                f"Workers answered {len(layout.questions)} questions: {', '.join(map(repr, layout.questions[:_SHOWN]))}"
            )
            raise DataError(what, file=source.path, code="several-questions", remedies=remedies)
        if layout.kind == "places":
            _refuse_numbers(source, layout)
        if layout.kind == "counts":
            return self._counts(source, layout, settings)
        table = _Rows(source, layout)
        roles = table.roles(settings)
        if ROW not in roles.values():
            table.name_columns(name for name in table.columns if name != ROW)
        raw = read_annotations(table, settings.model_copy(update=roles), self.name)
        findings = (*raw.findings, *_findings(table, raw, layout, settings))
        return replace(raw, n_rows=raw.n_rows + table.n_empty, findings=findings, tasks=_without_dash(raw))

    def _counts(self, source: Source, layout: Layout, settings: ReadSettings) -> Raw:
        """Read maps of labels to numbers of workers."""
        ids, labels, task, label, count = [], dict[str, int](), list[int](), list[int](), list[float]()
        task_field = _task_field(_head(source), settings)
        name = task_field if isinstance(task_field, str) else None
        about: dict[str, list[str | None]] = {}
        for number, record in enumerate(_records(source)):
            ids.append(text_of(record.get(name)) if name else str(number + 1))
            for role in ("text", "gold", "split"):
                field = getattr(settings, role) or next((f for f in record if plain(f) in ALIASES[role]), None)
                about.setdefault(role, []).append(text_of(record.get(field)) if field else None)
            for option, n in (record.get(layout.field) or {}).items():
                if n:
                    task.append(number)
                    label.append(labels.setdefault(str(option), len(labels)))
                    count.append(n)
        try:
            counts = np.array(count, float)
        except (ValueError, TypeError):
            what = f"{layout.field!r} holds other things than counts"
            raise DataError(what, file=source.path, column=layout.field, code="not-counts") from None
        if (counts != np.round(counts)).any() or (counts < 0).any():
            what = f"{layout.field!r} holds shares of a number that is not known"
            advice = "Give the number of labels of each class, or the labels one by one."
            raise DataError(what, advice, file=source.path, column=layout.field, code="shares")
        part = {"task": encode(strings(ids))} | {
            role: encode(strings(values)) for role, values in about.items() if any(values)
        }
        table = source.need_table()
        return repeat_labels(
            self.name,
            RawTasks.of(part, True, False),
            list(labels),
            np.array(task, np.int64),
            np.array(label, np.int64),
            counts.astype(np.int64),
            np.array(task, np.int64) + 1,
            **table.about,
            roles={"task": name or ROW, "label": layout.field},
            findings=table.findings,
            remedies=(Remedy("format", self.name, when=f"{layout.field!r} names workers"),),
            path=source.path,
        )


def _refuse_numbers(source: Source, layout: Layout) -> None:
    """Refuse lists of equally many numbers that sum to 1 or 100, or are called counts."""
    lists = [[e["label"] for e in _entries(record, layout)] for record in _head(source)]
    filled = [each for each in lists if each]
    if len({*map(len, filled)}) != 1 or any(type(value) not in (int, float) for each in filled for value in each):
        return
    sums = np.array([*map(sum, filled)])
    shares = any(np.allclose(sums, whole, rtol=0.02) for whole in (1, 100)) and len({*map(str, filled)}) > 1
    if shares or COUNTER & {*plain(layout.field).split("_")}:
        what = f"{layout.field!r} lists {'shares' if shares else 'counts'} of classes that are not named"
        advice = 'Write how many labels each class got, {"cat": 3, "dog": 2}, in place of each list.'
        raise DataError(what, advice, file=source.path, column=layout.field, code="shares")


def _head(source: Source) -> list[dict[str, Any]]:
    return list(islice(_records(source), HEAD_ROWS))


def _records(source: Source) -> Iterator[dict[str, Any]]:
    """The records; of a document with one list of records, those of the list."""
    table = source.table
    if isinstance(table, JsonTable) and table.is_one_record:
        inside = _unwrapped(table.document).values()
        lists = [v for v in inside if isinstance(v, list) and len(v) > 1 and isinstance(v[0], dict)]
        if len(lists) == 1 and any(isinstance(v, list | dict) for v in lists[0][0].values()):
            return (record for record in lists[0] if isinstance(record, dict))
    written = table.written_nested if table is not None else {}
    if written:
        return (decoded(record, written) for record in records(source))
    return map(_with_inner_fields, records(source)) if isinstance(table, JsonTable) else records(source)


def _with_inner_fields(record: dict[str, Any]) -> dict[str, Any]:
    """A record with the fields of inner records that have an id: ``{"item": {"id": 3}}`` also as ``{"item.id": 3}``."""
    records = {name: value for name, value in record.items() if isinstance(value, dict)}
    inner = {n: v for n, v in records.items() if _IDS & v.keys() or any(plain(key) in ALIASES["task"] for key in v)}
    inside = ((f"{name}.{key}", part) for name, value in inner.items() for key, part in value.items())
    return record | {name: part for name, part in inside if not isinstance(part, dict | list)}


def _unwrapped(document: dict[str, Any]) -> dict[str, Any]:
    """The innermost only record of a document, ``{"data": {"items": […]}}``, if it has lists of annotations."""
    inside = document
    while len(inner := [v for v in inside.values() if isinstance(v, dict | list) and v]) == 1:
        if isinstance(inner[0], list):
            entries = [e for e in inner[0] if isinstance(e, dict)]
            nests = len(entries) > 1 and any(isinstance(v, dict | list) for v in entries[0].values())
            return inside if entries and (_is_row(entries[0]) or nests) else document
        inside = inner[0]
    return document


def _columns_of(table: Table) -> ArrowTable | None:
    """A document of columns, as pandas writes a frame: ``{"task": {"0": …}, "label": {"0": …}}``, or with lists.

    By columns, by index or split, as pandas calls it, or with all rows in one field. None for another document.
    """
    document = table.document if isinstance(table, JsonTable) and (table.is_keyed or table.is_one_record) else {}
    document = _unwrapped(document)
    columns: Mapping[str, Any] = document
    lists = {n: [*v.values()] if isinstance(v, dict) else v for n, v in document.items() if isinstance(v, dict | list)}
    rows = [(name, row) for name, listed in lists.items() if listed and all(map(_is_row, listed)) for row in listed]
    named = [(t, w, _labelled(v)) for t, given in document.items() if isinstance(given, dict) for w, v in given.items()]
    every: list[dict[str, Any]] = []
    if {*document} == {"columns", "index", "data"}:
        columns = {name: [row[k] for row in document["data"]] for k, name in enumerate(document["columns"])}
    elif document and all(isinstance(row, dict) and _has_roles(row) for row in document.values()):
        every = [*document.values()]
    elif len({name for name, _ in rows}) == len(document):
        name = "split" if document.keys() <= _SPLITS else KEY
        every = [{name: part, **row} for part, row in rows]
    elif len({name for name, _ in rows}) == 1:
        every = [row for _, row in rows]
    elif named and {*lists} == {*document} and all(labels for *_, labels in named):
        every = [{"task": task, "worker": worker, **labels} for task, worker, labels in named]
    if every:
        columns = {name: [row.get(name) for row in every] for name in dict.fromkeys(chain(*every))}
    columns = {n: dict(enumerate(v)) if isinstance(v, list) else v for n, v in columns.items()}
    if not _has_roles(columns) or not all(isinstance(column, dict) for column in columns.values()):
        return None
    order = [list(column) for column in columns.values()]
    if any(names != order[0] for names in order):
        return None
    cells = {name: strings(map(text_of_json, column.values())) for name, column in columns.items()}
    return ArrowTable(pa.table(cells), table.path, table.findings)


def _labelled(value: Any) -> dict[str, Any]:
    """The record of a worker's answer, if it is a record with a label or one label in a list; else empty."""
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], dict | list):
        return {"label": value[0]}
    return value if isinstance(value, dict) and any(is_named(name, "label") for name in value) else {}


def _is_row(entry: Any) -> bool:
    """Return whether a record names a task, a worker and a label."""
    return isinstance(entry, dict) and _has_roles(entry) and any(is_named(name, "task") for name in entry)


def _has_roles(names: Iterable[str]) -> bool:
    """Return whether columns are named like worker and label."""
    return all(any(is_named(name, role) for name in names) for role in ("worker", "label"))


def _task_field(head: list[dict[str, Any]], settings: ReadSettings) -> str | tuple[str, ...] | None:
    """The field that names the task: one that differs in each record, by its name or as the only one."""
    fields = dict.fromkeys(name for record in head for name in record)
    flat = [name for name in fields if not any(isinstance(record.get(name), list | dict) for record in head)]
    if settings.task is not None or KEY in flat[:1]:
        return settings.task or KEY
    different = [n for n in flat if len({text_of(r.get(n)) for r in head} - {None}) == len(head)]
    named = [n for alias in ALIASES["task"] for n in different if plain(n) == alias]
    again = [n for alias in ALIASES["task"] for n in flat if plain(n) == alias] if not different else []
    again += [n for n in flat if not different and "." in n and is_named(n, "task")]
    named += again[:1]  # a record for each annotation
    ending = [n for n in different if n.lower().endswith(("id", "key"))]
    return next(iter([*named, *ending, *(different if len(different) == 1 else ())]), None)


def _without_dash(raw: Raw) -> RawTasks | None:
    """The columns about tasks; gold ``-`` becomes missing, as in SNLI, if no label is ``-``."""
    if raw.tasks is None or raw.tasks.gold is None or raw.label.holds((_DASH,)):
        return raw.tasks
    gold = raw.tasks.gold
    none = np.append([name == _DASH for name in gold.values.to_pylist()], True)
    return replace(raw.tasks, gold=compact(gold.values, np.where(none[gold.codes], np.int32(-1), gold.codes)))


class _Rows(Table):
    """A row for each entry, with the plain fields of its record."""

    def __init__(self, source: Source, layout: Layout) -> None:
        inner = source.need_table()
        self.path, self.encoding, self.findings = inner.path, inner.encoding, inner.findings
        self._source, self._layout, self.first_records = source, layout, _head(source)
        self.first_kinds = None if isinstance(inner, JsonTable) or inner.written_nested else inner.head.schema
        fields = dict.fromkeys(name for record in self.first_records for name in record)
        nested = {n for n in fields if any(isinstance(r.get(n), list | dict) for r in self.first_records)}
        self._fields = [n for n in fields if n not in nested]
        inside = layout.field if layout.kind in ("records", "places") else ""
        keys = dict.fromkeys(k for r in self.first_records for e in _entries(r, layout) if inside for k in e)
        self._keys = {f"{inside}.{key}": key for key in keys} if layout.kind == "records" else {}
        self._worker = self._name("worker")
        self._label = f"{inside}.{layout.label}" if self._keys else self._name("label")
        if not self._keys:
            self._keys = {self._worker: "worker", self._label: "label"}
        self.name_columns([ROW, *self._fields, *self._keys])
        self.n_empty = 0
        self._numbers: list[IntArray] = []

    def _name(self, role: str) -> str:
        field, layout = self._layout.field, self._layout
        if role == "worker" and layout.kind == "records":
            return f"{field}.{layout.worker}"
        if layout.kind == "lists":
            return str(layout.worker if role == "worker" else field)
        return f"{field} ({role})"

    def roles(self, settings: ReadSettings) -> dict[str, Any]:
        """Role -> column."""
        layout = self._layout
        task: Any = f"{layout.field}.{layout.task}" if layout.task else _task_field(self.first_records, settings) or ROW
        if layout.kind == "records" and layout.worker is None:  # the record belongs to a worker
            named = next((n for n in self._fields if is_named(n, "worker")), None)
            worker = named or _task_field(self.first_records, settings.model_copy(update={"task": None})) or ROW
            return {"task": task, "worker": settings.worker or worker, "label": self._label}
        if layout.may_turn and settings.turn:
            return {"task": self._worker, "worker": task, "label": self._label}
        return {"task": task, "worker": self._worker, "label": self._label}

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The entries, in batches of some thousand records."""
        self.n_empty, self._numbers = 0, []
        if self._are_flat():
            yield from self._flattened(columns)
            return
        records, first = _records(self._source), 0
        while batch := list(islice(records, BATCH)):
            each = [self._with_label(_entries(r, self._layout, self.path, n)) for n, r in enumerate(batch, first + 1)]
            parent = np.repeat(np.arange(len(batch)), [len(part) for part in each])
            self._numbers.append(parent + first + 1)
            rows, cells = [entry for part in each for entry in part], {}
            for name in columns:
                if name in self._keys:
                    values = (entry.get(self._keys[name]) for entry in rows)
                    one = only_value if name == self._label else _single
                    cells[name] = strings(text_of_json(one(value)) for value in values)
                elif name == ROW:
                    cells[name] = strings(map(str, parent + first + 1))
                else:
                    cells[name] = strings(text_of_json(r.get(name)) for r in batch).take(pa.array(parent))
            yield pa.table(cells)
            first += len(batch)

    def _are_flat(self) -> bool:
        """Return whether the entries are Arrow lists, which are flattened without making Python objects."""
        kinds = {} if self.first_kinds is None else {field.name: field.type for field in self.first_kinds}
        lists = [kinds.get(n) for n in (self._layout.field, *([self._worker] if self._layout.kind == "lists" else ()))]
        if self._layout.kind not in ("records", "lists", "places") or not all(k and pa.types.is_list(k) for k in lists):
            return False
        inside = [k.value_type for k in lists if k]
        struct = self._layout.kind == "records" and pa.types.is_struct(inside[0])
        inside = [part.type for part in inside[0]] if struct else inside
        return (struct or self._layout.kind != "records") and not any(map(pa.types.is_nested, inside))

    def _flattened(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        field, kind, first = self._layout.field, self._layout.kind, 0
        fields = [n for n in columns if n in self._fields]
        lists = [field, *([self._worker] if kind == "lists" else [])]
        for chunk in self._source.need_table().stream((*fields, *lists)):
            each = {name: chunk[name].combine_chunks() for name in lists}
            sizes = {n: np.asarray(pc.list_value_length(column).fill_null(0)) for n, column in each.items()}
            for row in np.flatnonzero(sizes[field] != sizes[lists[-1]])[:1]:
                n, n_workers = (int(sizes[name][row]) for name in lists)
                raise _uneven(self._layout, n, n_workers, self.path, first + int(row) + 1)
            parent = np.repeat(np.arange(len(chunk)), sizes[field])
            inside = {n: column.flatten() for n, column in each.items()}
            if kind == "records":
                inside = {n: pc.struct_field(inside[field], key) for n, key in self._keys.items()}
            elif kind == "places":
                place = np.arange(len(parent)) - (np.cumsum(sizes[field]) - sizes[field])[parent] + 1
                inside = {self._label: inside[field], self._worker: strings(f"place {k}" for k in place)}
            keep = pa.array(np.asarray(pc.is_valid(inside[self._label])))
            self.n_empty += len(parent) - pc.sum(keep).as_py() if len(parent) else 0
            parent = parent[np.asarray(keep)]
            self._numbers.append(parent + first + 1)
            cells = {n: column.filter(keep) for n, column in inside.items() if n in columns}
            cells |= {name: chunk[name].take(pa.array(parent)) for name in fields}
            cells |= {ROW: strings(map(str, parent + first + 1))} if ROW in columns else {}
            yield pa.table({name: cells[name] for name in columns})
            first += len(chunk)

    def _with_label(self, given: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The entries that have a label."""
        key = self._keys[self._label]
        filled = [entry for entry in given if entry.get(key) is not None]
        self.n_empty += len(given) - len(filled)
        return filled

    @property
    def rows(self) -> IntArray | None:
        """The record of each row."""
        return np.concatenate(self._numbers) if self._numbers else None


def _single(value: Any) -> Any:
    """The only entry of a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _entries(
    record: Mapping[str, Any], layout: Layout, path: Path | None = None, row: int | None = None
) -> list[Mapping[str, Any]]:
    """The entries of a record."""
    value = record.get(layout.field)
    if layout.kind == "map":
        return [{"worker": k, "label": v} for k, v in value.items()] if isinstance(value, Mapping) else []
    given = entries(value)
    if layout.kind == "records":
        return [entry for entry in given if isinstance(entry, Mapping)]
    if layout.kind == "places":
        labels = [e.get(layout.label) if isinstance(e, Mapping) and layout.label else e for e in given]
        return [{"worker": f"place {k}", "label": label} for k, label in enumerate(labels, 1)]
    workers = entries(record.get(str(layout.worker)))
    if len(workers) != len(given):
        raise _uneven(layout, len(given), len(workers), path, row)
    return [{"worker": worker, "label": label} for worker, label in zip(workers, given, strict=True)]


def _uneven(layout: Layout, n: int, n_workers: int, path: Path | None, row: int | None) -> DataError:
    what = f"{layout.field!r} lists {n}, but {layout.worker!r} {n_workers}"
    return DataError(what, "Both lists must be as long.", file=path, row=row, code="lengths")


def _findings(table: _Rows, raw: Raw, layout: Layout, settings: ReadSettings) -> list[Finding]:
    """Findings: labels without workers, empty entries, more workers than tasks, counts that may be labels."""
    findings: list[Finding] = []
    if table.n_empty:
        sentence = f"{plural(table.n_empty, 'place')} in lists hold no label"
        findings.append(Finding("empty-cells", "note", sentence, table.n_empty, left_out=table.n_empty))
    sizes = {len(_entries(record, layout)) for record in table.first_records} if layout.kind == "places" else {0}
    if layout.kind == "places" and not settings.turn:
        findings.append(no_workers(max(sizes, default=0), Remedy("worker", when="a field names them")))
    if layout.kind == "map" and not layout.sure:
        sentence = f"{layout.field!r} was read as a label of each worker; it may count labels instead"
        remedies = (Remedy("format", "counts", when="it counts"), Remedy("format", "nested", when="it names workers"))
        findings.append(Finding("counts-or-workers", "question", sentence, column=layout.field, remedies=remedies))
    n_workers, n_tasks = len(raw.worker.values), len(raw.task.values)
    open_to_both = layout.may_turn and len(sizes) == 1 and settings.turn is None and settings.worker is None
    if open_to_both and n_workers > n_tasks:
        sentence = f"{n_workers:,} workers labelled {n_tasks:,} tasks; it may be the other way round"
        remedies = (
            Remedy("turn", True, when="the outer names are workers"),
            Remedy("turn", False, when="they are tasks"),
        )
        findings.append(Finding("turned", "question", sentence, remedies=remedies))
    return findings
