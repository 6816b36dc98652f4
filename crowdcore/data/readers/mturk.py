"""Amazon Mechanical Turk's batch results: a row per assignment, ``Input.*`` and ``Answer.*`` columns."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.readers._export import (
    chosen,
    drop_flagged,
    input_roles,
    only_question,
    other_questions,
    read_export,
    read_labels,
)
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.tables.base import ArrowTable

_ALWAYS = ("HITId", "WorkerId")
_FORM = "Answer.taskAnswers"  # all answers of a form of Crowd HTML Elements, as JSON
_PRESSED = {"": -1, "false": 0, "true": 1}


class MTurk(Reader):
    """The task is the HIT, the label the only answer (or the one named); ``a|b`` are several choices."""

    name: ClassVar[str] = "mturk"
    title: ClassVar[str] = "Mechanical Turk (batch results)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are a HIT, its worker, and a status or an answer."""
        columns = source.table.columns if source.table is not None else ()
        own = "AssignmentStatus" in columns or any(c.startswith("Answer.") for c in columns)
        return 0.95 if own and {*columns} >= {*_ALWAYS} else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the answers to one question."""
        table = source.need_table(*_ALWAYS)
        if settings.label is None and (places := _places(table.columns)):
            return self._read_places(source, settings, table, places)
        given, spread = _forms(table)
        columns = [c for c in table.columns if c.startswith("Answer.") and c not in (_FORM, *spread)]
        forms = {cell: _answers(cell) for cell in given.values.to_pylist()}
        inside = dict.fromkeys(question for answers in forms.values() for question in answers)
        questions = [*columns, *inside]
        if not questions:
            what = "There is no answer that is a choice or a text (in a column Answer.…)"
            raise DataError(what, "Give the batch's results; only choices are read so far.", file=source.path)
        roles = {"task": "HITId", "worker": "WorkerId", **input_roles(table.columns, "Input.")}
        question = only_question(questions, source, settings, roles)
        roles["label"] = question if question in columns else next(iter(spread), _FORM)
        raw = read_export(self.name, source, settings, roles, "SubmitTime", "WorkTimeInSeconds")
        raw = replace(
            raw,
            label=raw.label if question in columns else given,
            roles=raw.roles | {"label": question},
            columns=(*table.columns, *inside),
            findings=(*raw.findings, *other_questions(questions, question)),
        )
        raw = drop_flagged(raw, table, "AssignmentStatus", ("rejected",), settings)
        if question in columns:
            return read_labels(raw, lambda cell: [name for name in cell.split("|") if name.strip()], settings)
        return read_labels(raw, lambda cell: forms[cell].get(question, []), settings)

    def _read_places(self, source: Source, settings: ReadSettings, table: Table, places: dict[str, list[str]]) -> Raw:
        """Read several items of a HIT: ``H1 / 2`` is the second of H1."""
        every = [column for columns in places.values() for column in columns]
        rest = [c for c in table.columns if c not in every]
        chunks = [*table.stream(table.columns)]
        whole = pa.concat_tables(chunks, promote_options="permissive")
        n, k = len(whole), len(every) // len(places)
        parts = []
        for place in range(k):
            columns = {name: whole[name] for name in rest}
            columns |= {kind: whole[names[place]] for kind, names in places.items()}
            number = re.sub("[^0-9]", "", next(iter(places.values()))[place])
            hit = columns["HITId"].cast(pa.large_string())
            columns["HITId"] = pc.binary_join_element_wise(
                hit, *(pa.scalar(text, hit.type) for text in (number, " / "))
            )
            parts.append(pa.table(columns))
        rows = pa.array(np.arange(n * k).reshape(k, n).T.ravel())
        items = ArrowTable(pa.concat_tables(parts).take(rows), table.path, table.findings)
        raw = self.read(replace(source, table=items), settings)
        listed = " and ".join(f"{names[0]!r} … {names[-1]!r}" for names in places.values())
        remedies = (Remedy("label", when="each is a question of its own"),)
        sentence = f"Each HIT holds {plural(k, 'item')}, which became tasks of their own: {listed}"
        found = Finding("items-of-a-hit", "note", sentence, k, remedies=remedies)
        where = np.arange(1, n + 1) if table.rows is None else table.rows
        numbers = raw.row_numbers(np.arange(len(raw.task)))
        return replace(
            raw,
            rows=where[(numbers - 1) // k],
            **table.about,
            findings=(*(replace(f, rows=tuple(int(where[(r - 1) // k]) for r in f.rows)) for f in raw.findings), found),
        )


def _places(columns: tuple[str, ...]) -> dict[str, list[str]]:
    """Name without its number -> its columns, where inputs and answers have the same numbers, such as 1 to 5."""
    kinds: dict[str, dict[str, str]] = {}
    for column in columns:
        parts = re.split("([0-9]+)", column)
        if len(parts) == 3 and column.startswith(("Input.", "Answer.")):
            kinds.setdefault(parts[0] + parts[2], {})[parts[1]] = column
    kinds = {kind: found for kind, found in kinds.items() if len(found) > 1}
    answers = [found for kind, found in kinds.items() if kind.startswith("Answer.")]
    inputs = [found for kind, found in kinds.items() if kind.startswith("Input.")]
    others = [c for c in columns if c.startswith("Answer.") and not any(c in found.values() for found in answers)]
    if len(answers) != 1 or others or not inputs or any(found.keys() != answers[0].keys() for found in inputs):
        return {}
    return {kind: [*found.values()] for kind, found in kinds.items()}


def _forms(table: Table) -> tuple[Codes, tuple[str, ...]]:
    """Each row's form as JSON, and the columns ``Answer.<question>.<button>`` that it was put together from.

    A form with ``answer-format="flatten-objects"`` spreads its buttons over such columns of ``true`` and ``false``.
    """
    if _FORM in table.columns:
        return table.encode((*_ALWAYS, _FORM))[0][_FORM], ()
    split = [c for c in table.columns if c.startswith("Answer.") and c.count(".") > 1]
    cells = table.encode((*_ALWAYS, *split))[0] if split else {}
    said = {c: [_PRESSED.get(value.lower(), 2) for value in cells[c].values.to_pylist()] for c in split}
    spread = tuple(c for c in split if max(said[c], default=-1) in (0, 1))
    if not spread:
        return Codes(strings([]), np.empty(0, np.int32)), ()
    pressed = np.column_stack([np.array([*said[c], -1], np.int8)[cells[c].codes] for c in spread])
    kinds, which = np.unique(pressed, axis=0, return_inverse=True)
    forms: list[dict[str, dict[str, bool]]] = [{} for _ in kinds]
    for column, values in zip(spread, kinds.T, strict=True):
        question, _, button = column.removeprefix("Answer.").rpartition(".")
        for form, value in zip(forms, values, strict=True):
            if value >= 0:
                form.setdefault(question, {})[button] = bool(value)
    return Codes(strings(map(json.dumps, forms)), which.ravel().astype(np.int32)), spread


def _answers(cell: str) -> dict[str, list[str]]:
    """The answers of a form: a list of one record."""
    try:
        content = json.loads(cell)
    except (ValueError, RecursionError):
        return {}
    return chosen(content[0] if isinstance(content, list) and content else content)
