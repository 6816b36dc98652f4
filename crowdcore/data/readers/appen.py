"""Appen's (Figure Eight's, CrowdFlower's) full report: a row per judgment, with gold of test questions and trust."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.data.columns import ALIASES, assign_roles, plain
from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers._export import (
    drop_flagged,
    joined,
    listed,
    only_question,
    other_questions,
    read_export,
    read_labels,
)
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import make_change, plural
from crowdcore.data.settings import MEDIA, ReadSettings

_ALWAYS = {"_unit_id", "_worker_id"}
_OFTEN = {"_trust", "_tainted", "_golden", "_created_at"}
_AGGREGATED = {"_unit_id", "_trusted_judgments"}


class Appen(Reader):
    """The label is the field with a column ``<field>_gold`` (or the one named); lines and JSON lists are choices."""

    name: ClassVar[str] = "appen"
    title: ClassVar[str] = "Appen (full report)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Appen's own columns are there, or gold as Appen names it."""
        columns = set(source.table.columns) if source.table is not None else set()
        own = columns & _OFTEN or any(f"{column}_gold" in columns for column in columns)
        return 0.95 if (columns >= _ALWAYS and own) or columns >= _AGGREGATED else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read one field."""
        table = source.need_table()
        lacking = {"_unit_id", "_worker_id"} - set(table.columns)
        if lacking:
            what = f"There is no column {min(lacking)!r}: the aggregated report holds no worker's own judgments"
            raise DataError(what, "Download the full report.", file=source.path)
        roles = {"task": "_unit_id", "worker": "_worker_id"}
        fields = _fields(table.columns)
        question = settings.label
        if question is None:
            named = assign_roles(table, settings).get("label")
            question = named if named in fields else only_question(fields, source, settings, roles)
        roles["label"] = question
        if f"{question}_gold" in table.columns:
            roles["gold"] = f"{question}_gold"
        raw = read_export(self.name, source, settings, roles, "_created_at")
        raw = replace(raw, findings=(*raw.findings, *other_questions(fields, question)))
        raw = drop_flagged(raw, table, "_tainted", ("true",), settings)
        return read_labels(_read_gold(raw, settings), _choices, settings)


def _fields(columns: tuple[str, ...]) -> list[str]:
    """The fields that workers filled in: those with gold, else all that are not Appen's own nor a text or image."""
    with_gold = [c for c in columns if f"{c}_gold" in columns]
    if with_gold:
        return with_gold
    media = {alias for kind in MEDIA for alias in ALIASES[kind]}
    return [c for c in columns if not c.startswith(("_", "orig_")) and plain(c) not in media]


def _choices(cell: str) -> list[str] | None:
    """A line each, or (from forms with scripts of their own) a JSON list."""
    return listed(cell) if cell.startswith("[") else [line for line in cell.splitlines() if line.strip()]


def _read_gold(raw: Raw, settings: ReadSettings) -> Raw:
    """Several accepted answers of a test question are no single gold."""
    gold = raw.tasks.gold if raw.tasks is not None else None
    if raw.tasks is None or gold is None:
        return raw
    cells = [_choices(cell) or [] for cell in gold.values.to_pylist()]
    merge = settings.multi_select == "keep"
    names = encode(strings(joined(c) if len(c) == 1 or (c and merge) else None for c in cells))
    known = Codes(names.values, np.append(names.codes, np.int32(-1))[gold.codes])
    rows = np.flatnonzero(np.array([len(c) > 1 and not merge for c in cells] + [False])[gold.codes])
    findings = []
    if len(rows):
        what, column = f"{plural(len(rows), 'row')} whose gold is several answers", raw.roles.get("gold")
        findings = [make_change("several-gold", what, "count as unknown", rows + 1, column=column)]
    return replace(raw, tasks=replace(raw.tasks, gold=known), findings=(*raw.findings, *findings))
