"""Amazon Mechanical Turk's batch results: a row per assignment, ``Input.*`` and ``Answer.*`` columns."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.readers._crowd_form import chosen
from crowdcore.data.readers._export import (
    drop_flagged,
    input_roles,
    only_question,
    other_questions,
    read_export,
    read_labels,
)
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import ReadSettings

__all__ = ["MTurk"]

_ALWAYS = {"HITId", "AssignmentId", "WorkerId", "AssignmentStatus"}
_FORM = "Answer.taskAnswers"  # all answers of a form of Crowd HTML Elements, as JSON


class MTurk(Reader):
    """The task is the HIT, the label the only answer (or the one named); ``a|b`` are several choices."""

    name: ClassVar[str] = "mturk"
    title: ClassVar[str] = "Mechanical Turk (batch results)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The columns that Mechanical Turk always writes are there."""
        return 0.95 if source.table is not None and set(source.table.columns) >= _ALWAYS else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the answers to one question."""
        table = source.need_table()
        lacking = (_ALWAYS - {"AssignmentId", "AssignmentStatus"}) - set(table.columns)
        if lacking:
            raise DataError(f"There is no column {min(lacking)!r}", "Batch results have one.", file=source.path)
        columns = [c for c in table.columns if c.startswith("Answer.") and c != _FORM]
        cells = table.encode((_FORM,))[0][_FORM].values.to_pylist() if _FORM in table.columns else []
        forms = {cell: _answers(cell) for cell in cells}
        inside = dict.fromkeys(question for answers in forms.values() for question in answers)
        questions = [*columns, *inside]
        if not questions:
            what = "There is no answer that is a choice or a text (in a column Answer.…)"
            raise DataError(what, "Give the batch's results; only choices are read so far.", file=source.path)
        roles = {"task": "HITId", "worker": "WorkerId", **input_roles(table.columns, "Input.")}
        question = only_question(questions, source, settings, roles)
        roles["label"] = question if question in columns else _FORM
        raw = read_export(self.name, source, settings, roles, "SubmitTime", "WorkTimeInSeconds")
        raw = replace(
            raw,
            roles=raw.roles | {"label": question},
            columns=(*table.columns, *inside),
            findings=(*raw.findings, *other_questions(questions, question)),
        )
        raw = drop_flagged(raw, table, "AssignmentStatus", ("rejected",), settings)
        if question in columns:
            return read_labels(raw, lambda cell: [part for name in cell.split("|") if (part := name.strip())], settings)
        return read_labels(raw, lambda cell: forms[cell].get(question, []), settings)


def _answers(cell: str) -> dict[str, list[str]]:
    """The answers of a form: a list of one record."""
    try:
        content = json.loads(cell)
    except (ValueError, RecursionError):
        return {}
    return chosen(content[0] if isinstance(content, list) and content else content)
