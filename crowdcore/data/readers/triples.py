"""Long tables without column names: the content of three columns says which is the task, the worker and the label."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pandas as pd

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.readers._worker_columns import label_columns
from crowdcore.data.readers.base import Raw, Reader, Source, read_annotations
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Table

_MOST, _LEAST, _AGAIN = 7, 10, 0.02  # columns and rows of a table without names, and rows that may repeat a pair


class Triples(Reader):
    """Three columns: hardly a worker labels a task twice, few labels are different, and tasks outnumber workers."""

    name: ClassVar[str] = "triples"
    title: ClassVar[str] = "Long table without column names"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are no names, and only one column can be the label."""
        table = source.table
        if table is None or table.header or settings.turn or table.columns[:2] != ("1", "2"):
            return 0.0
        return 0.5 if roles_by_content(table, settings) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the columns, and say which is which."""
        table = source.need_table()
        roles = roles_by_content(table, settings)
        if roles is None:
            what = "The content does not say which column is the task, the worker and the label"
            raise DataError(what, file=source.path, code="columns", remedies=[Remedy(("task", "worker", "label"))])
        raw = read_annotations(table, settings.model_copy(update=roles), self.name)
        listed = ", ".join(f"column {column!r} as the {role}" for role, column in roles.items())
        remedies = tuple(Remedy(role, when="not") for role in roles if getattr(settings, role) is None)
        found = Finding("roles-by-content", "warning", f"By their content, {listed} was read", remedies=remedies)
        return replace(raw, findings=(*raw.findings, found))


def proposed(table: Table, settings: ReadSettings) -> tuple[Remedy, ...]:
    """Task, worker and label by content where the names of three columns say nothing, to be confirmed."""
    roles = roles_by_content(table, settings)
    if roles is None:
        return ()
    for role in ("worker", "label"):  # content does not tell one column of numbers from another
        if pd.to_numeric(table.head[roles[role]].to_pandas(), errors="coerce").notna().mean() > 0.5:
            return ()
    needed = "task", "worker", "label"
    return (Remedy(needed, [roles[role] for role in needed], when="that is what they hold"),)


def roles_by_content(table: Table, settings: ReadSettings) -> dict[str, str] | None:
    """Task, worker and label by content, but for those that the settings name; gold where a column may be it."""
    columns = _varying(table)
    labels = label_columns(table, columns)
    if len(labels) != 1 or settings.workers or settings.gold:
        return None
    given = {role: column for role in ("task", "worker", "label") if (column := getattr(settings, role)) is not None}
    distinct = {name: len(table.head[name].unique()) for name in columns}
    label = given.get("label", columns[labels[0]])
    others = sorted((c for c in columns if c not in (*given.values(), label)), key=lambda c: -distinct[c])
    roles = {"label": label, **given}
    for role in ("task", "worker"):
        if role not in roles:
            if not others:
                return None
            roles[role] = others.pop(0)
    if len({*roles.values()}) < 3:
        return None
    cells = table.head.to_pandas()
    for column in [c for c in table.columns if c not in columns]:
        shared = {*cells[column].dropna()} <= {*cells[label].dropna()}
        if shared and cells[column].nunique() > 1 and (cells.groupby(roles["task"])[column].nunique() < 2).all():
            roles["gold"] = column
    return roles


def _varying(table: Table) -> tuple[str, ...]:
    """The columns that may be task, worker and label: of more than three those that repeat, but not for each task."""
    if not 3 < len(table.columns) < _MOST or len(table.head) < _LEAST:
        return table.columns
    cells = table.head.to_pandas()
    left = [c for c in table.columns if 1 < cells[c].nunique() < 0.98 * len(cells)]
    same = {tuple(cells[c].factorize()[0]): c for c in reversed(left)}  # of columns that say the same the first
    left = [c for c in left if c in same.values()]
    pairs = [(a, b) for k, a in enumerate(left) for b in left[:k] if cells.duplicated([a, b]).mean() < _AGAIN]
    if len(pairs) != 1:
        return table.columns
    task = max(pairs[0], key=lambda c: cells[c].nunique())
    return tuple(c for c in left if c in pairs[0] or (cells.groupby(task)[c].nunique() > 1).any())
