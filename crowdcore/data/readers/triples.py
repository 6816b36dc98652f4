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


class Triples(Reader):
    """Three columns: hardly a worker labels a task twice, few labels are different, and tasks outnumber workers."""

    name: ClassVar[str] = "triples"
    title: ClassVar[str] = "Long table without column names"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are no names, and only one column can be the label."""
        table = source.table
        if table is None or table.header or table.delimiter is None or settings.turn:
            return 0.0
        return 0.5 if _roles(table, settings) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the columns, and say which is which.

        Raises:
            DataError: the content does not say it.
        """
        table = source.need_table()
        roles = _roles(table, settings)
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
    roles = _roles(table, settings)
    if roles is None:
        return ()
    for role in ("worker", "label"):  # content does not tell one column of numbers from another
        if pd.to_numeric(table.head[roles[role]].to_pandas(), errors="coerce").notna().mean() > 0.5:
            return ()
    needed = "task", "worker", "label"
    return (Remedy(needed, [roles[role] for role in needed], when="that is what they hold"),)


def _roles(table: Table, settings: ReadSettings) -> dict[str, str] | None:
    """Task, worker and label by content, but for those that the settings name."""
    labels = label_columns(table)
    if len(labels) != 1 or settings.workers or settings.gold:
        return None
    given = {role: column for role in ("task", "worker", "label") if (column := getattr(settings, role)) is not None}
    distinct = {name: len(table.head[name].unique()) for name in table.columns}
    label = given.get("label", table.columns[labels[0]])
    others = sorted((c for c in table.columns if c not in (*given.values(), label)), key=lambda c: -distinct[c])
    roles = {"label": label, **given}
    for role in ("task", "worker"):
        if role not in roles:
            if not others:
                return None
            roles[role] = others.pop(0)
    return roles if len({*roles.values()}) == 3 else None
