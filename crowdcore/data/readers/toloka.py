"""Toloka's assignments (TSV): ``INPUT:``, ``OUTPUT:``, ``GOLDEN:``, ``HINT:`` and ``ASSIGNMENT:`` columns."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.columns import MappingError
from crowdcore.data.readers._export import (
    drop_flagged,
    input_roles,
    listed,
    only_question,
    other_questions,
    read_export,
    read_labels,
)
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import ReadSettings

_ALWAYS = {"ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id"}
_TASK = "ASSIGNMENT:task_id"
_TIMES = ("ASSIGNMENT:submitted", "ASSIGNMENT:started")  # of a page of tasks; the web page's file has the start only


class Toloka(Reader):
    """The label is the only output (or the one named); ``GOLDEN:`` values of control tasks are gold."""

    name: ClassVar[str] = "toloka"
    title: ClassVar[str] = "Toloka (assignments)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are an assignment, its worker and an output."""
        columns = source.table.columns if source.table is not None else ()
        return 0.95 if set(columns) >= _ALWAYS and any(c.startswith("OUTPUT:") for c in columns) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read one output."""
        table = source.need_table()
        outputs, inputs = ([c for c in table.columns if c.startswith(kind)] for kind in ("OUTPUT:", "INPUT:"))
        if "ASSIGNMENT:worker_id" not in table.columns or not outputs:
            what = "There is no column ASSIGNMENT:worker_id or none that begins with OUTPUT:"
            raise DataError(what, "Download the assignments of the pool.", file=source.path)
        roles = {"worker": "ASSIGNMENT:worker_id", **input_roles(table.columns, "INPUT:")}
        task = str(settings.task or "") or (
            _TASK if _TASK in table.columns else inputs[0] if len(inputs) == 1 else None
        )
        if task is None:
            what = "Which column names the task is not certain"
            raise MappingError(what, inputs or table.columns, roles, source.path, "task")
        question = only_question(outputs, source, settings, {"task": task, **roles})
        roles |= {"task": task, "label": question}
        golden = question.replace("OUTPUT:", "GOLDEN:", 1)
        if golden in table.columns:
            roles["gold"] = golden
        when = next((name for name in _TIMES if name in table.columns), None)
        raw = read_export(self.name, source, settings, roles, when)
        raw = replace(raw, findings=(*raw.findings, *other_questions(outputs, question)))
        raw = drop_flagged(raw, table, "ASSIGNMENT:status", ("rejected",), settings)
        return read_labels(raw, listed, settings)
