"""Tables of crowdsourcing platforms: Appen, Mechanical Turk, Toloka and Zooniverse."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.columns import ALIASES, MappingError, assign_roles, plain
from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers._answers import (
    Answers,
    chosen,
    drop_flagged,
    input_roles,
    joined,
    listed,
    only_question,
    other_questions,
    read_export,
    read_labels,
    records,
)
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding, make_change, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.tables.base import ArrowTable
from crowdcore.data.tables.json_table import read_json

_JUDGMENT = {"_unit_id", "_worker_id"}
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
        return 0.95 if (columns >= _JUDGMENT and own) or columns >= _AGGREGATED else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read one field."""
        table = source.need_table()
        lacking = _JUDGMENT - set(table.columns)
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
        return read_labels(_read_gold(raw, settings), _lines, settings)


def _fields(columns: tuple[str, ...]) -> list[str]:
    """The fields filled in by workers: those with gold, else all but Appen's own, texts and images."""
    with_gold = [c for c in columns if f"{c}_gold" in columns]
    if with_gold:
        return with_gold
    media = {alias for kind in MEDIA for alias in ALIASES[kind]}
    return [c for c in columns if not c.startswith(("_", "orig_")) and plain(c) not in media]


def _lines(cell: str) -> list[str] | None:
    """The lines of a cell, or the entries of a JSON list, as custom scripts of forms write."""
    return listed(cell) if cell.startswith("[") else [line for line in cell.splitlines() if line.strip()]


def _read_gold(raw: Raw, settings: ReadSettings) -> Raw:
    """Leave out gold of test questions with several accepted answers."""
    gold = raw.tasks.gold if raw.tasks is not None else None
    if raw.tasks is None or gold is None:
        return raw
    cells = [_lines(cell) or [] for cell in gold.values.to_pylist()]
    merge = settings.multi_select == "keep"
    names = encode(strings(joined(c) if len(c) == 1 or (c and merge) else None for c in cells))
    known = Codes(names.values, np.append(names.codes, np.int32(-1))[gold.codes])
    rows = np.flatnonzero(np.array([len(c) > 1 and not merge for c in cells] + [False])[gold.codes])
    findings = []
    if len(rows):
        what, column = f"{plural(len(rows), 'row')} whose gold is several answers", raw.roles.get("gold")
        findings = [make_change("several-gold", what, "count as unknown", rows + 1, column=column)]
    return replace(raw, tasks=replace(raw.tasks, gold=known), findings=(*raw.findings, *findings))


_ASSIGNMENT = ("HITId", "WorkerId")
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
        return 0.95 if own and {*columns} >= {*_ASSIGNMENT} else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the answers to one question."""
        table = source.need_table(*_ASSIGNMENT)
        if settings.label is None and (places := _places(table.columns)):
            return self._read_places(source, settings, table, places)
        given, spread = _forms(table)
        columns = [c for c in table.columns if c.startswith("Answer.") and c not in (_FORM, *spread)]
        forms = {cell: _form_answers(cell) for cell in given.values.to_pylist()}
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
        note = Finding("items-of-a-hit", "note", sentence, k, remedies=remedies)
        where = table.row_numbers(np.arange(n))
        numbers = raw.row_numbers(np.arange(len(raw.task)))
        return replace(
            raw,
            rows=where[(numbers - 1) // k],
            **table.about,
            findings=(*(replace(f, rows=tuple(int(where[(r - 1) // k]) for r in f.rows)) for f in raw.findings), note),
        )


def _places(columns: tuple[str, ...]) -> dict[str, list[str]]:
    """Name without its number -> its columns, if inputs and answers have the same numbers, such as 1 to 5."""
    kinds: dict[str, dict[str, str]] = {}
    for column in columns:
        parts = re.split("([0-9]+)", column)
        if len(parts) == 3 and column.startswith(("Input.", "Answer.")):
            kinds.setdefault(parts[0] + parts[2], {})[parts[1]] = column
    kinds = {kind: numbered for kind, numbered in kinds.items() if len(numbered) > 1}
    answers = [numbered for kind, numbered in kinds.items() if kind.startswith("Answer.")]
    inputs = [numbered for kind, numbered in kinds.items() if kind.startswith("Input.")]
    others = [c for c in columns if c.startswith("Answer.") and not any(c in numbered.values() for numbered in answers)]
    if len(answers) != 1 or others or not inputs or any(numbered.keys() != answers[0].keys() for numbered in inputs):
        return {}
    return {kind: [*numbered.values()] for kind, numbered in kinds.items()}


def _forms(table: Table) -> tuple[Codes, tuple[str, ...]]:
    """Each row's form as JSON, and the columns ``Answer.<question>.<button>`` that it was assembled from.

    A form with ``answer-format="flatten-objects"`` spreads its buttons over such columns of ``true`` and ``false``.
    """
    if _FORM in table.columns:
        return table.encode((*_ASSIGNMENT, _FORM))[0][_FORM], ()
    split = [c for c in table.columns if c.startswith("Answer.") and c.count(".") > 1]
    cells = table.encode((*_ASSIGNMENT, *split))[0] if split else {}
    buttons = {c: [_PRESSED.get(value.lower(), 2) for value in cells[c].values.to_pylist()] for c in split}
    spread = tuple(c for c in split if max(buttons[c], default=-1) in (0, 1))
    if not spread:
        return Codes(strings([]), np.empty(0, np.int32)), ()
    pressed = np.column_stack([np.array([*buttons[c], -1], np.int8)[cells[c].codes] for c in spread])
    kinds, which = np.unique(pressed, axis=0, return_inverse=True)
    forms: list[dict[str, dict[str, bool]]] = [{} for _ in kinds]
    for column, values in zip(spread, kinds.T, strict=True):
        question, _, button = column.removeprefix("Answer.").rpartition(".")
        for form, value in zip(forms, values, strict=True):
            if value >= 0:
                form.setdefault(question, {})[button] = bool(value)
    return Codes(strings(map(json.dumps, forms)), which.ravel().astype(np.int32)), spread


def _form_answers(cell: str) -> dict[str, list[str]]:
    """The answers of a form: a list of one record."""
    content = read_json(cell, {})
    return chosen(content[0] if isinstance(content, list) and content else content)


_SUBMISSION = {"ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id"}
_TASK = "ASSIGNMENT:task_id"
_TIMES = ("ASSIGNMENT:submitted", "ASSIGNMENT:started")  # of a page of tasks; downloads by hand have the start only


class Toloka(Reader):
    """The label is the only output (or the one named); ``GOLDEN:`` values of control tasks are gold."""

    name: ClassVar[str] = "toloka"
    title: ClassVar[str] = "Toloka (assignments)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are an assignment, its worker and an output."""
        columns = source.table.columns if source.table is not None else ()
        return 0.95 if set(columns) >= _SUBMISSION and any(c.startswith("OUTPUT:") for c in columns) else 0.0

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


NO_LOGIN = "not-logged-in-"
"""Prefix of the names of people without an account; a hash of their address follows."""
_SHOWN = 10


class Zooniverse(Reader):
    """The task is the subject, the label the answer to one question: the first, unless the settings name another."""

    name: ClassVar[str] = "zooniverse"
    title: ClassVar[str] = "Zooniverse (classifications)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A row for each classification, its annotations a JSON list of answers."""
        if source.table is None:
            return 0.0
        first = next(records(source), {})
        return 0.95 if any(True for _ in _answers(first)) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the answers to one question."""
        count: Counter[str] = Counter()
        titles: dict[str, str] = {}
        several = len({record.get("workflow_id") for record in records(source)}) > 1
        for number, record in enumerate(records(source), 1):
            for name, title, _ in _answers(record, several, source, number):
                count[name] += 1
                titles.setdefault(name, title)
        chosen = settings.question or settings.label or next(iter(count), "")
        remedies = tuple(Remedy("question", name, effect=f"read {titles[name][:60]!r}") for name in [*count][:_SHOWN])
        if chosen not in count:
            what = f"There is no question {chosen!r}" if count else "No classification has an answer"
            raise DataError(what, file=source.path, code="question", remedies=remedies)
        answers = Answers(source, settings, {"task": "subject_ids", "worker": "user_name", "label": chosen})
        guests: set[str] = set()
        for number, record in enumerate(records(source), 1):
            user, task = str(record.get("user_name") or ""), answers.task_name(record.get("subject_ids"), number)
            guests.update([user] if user.startswith(NO_LOGIN) else [])
            given = [value for name, _, value in _answers(record, several, source, number) if name == chosen]
            for value in given:
                choices = _choices(value)
                if choices is None:
                    answers.leave_out("no-class", number, user)
                else:
                    answers.add(number, task, user, choices, None, str(record.get("created_at")).replace(" UTC", "Z"))
        named = settings.question or settings.label
        findings = other_questions(count, chosen) if named else []
        if len(count) > 1 and not named:
            sentence = f"People answered {len(count)} questions; {chosen!r} ({titles[chosen]}) was read"
            findings.append(Finding("several-questions", "question", sentence, len(count), remedies=remedies))
        if guests:
            sentence = (
                f"{plural(len(guests), 'worker')} did not log in: each address counts as one, though several people "
                "may share it, and one may have several"
            )
            findings.append(Finding("not-logged-in", "note", sentence, len(guests)))
        return answers.raw(self.name, columns=source.need_table().columns, findings=findings)


def _answers(
    record: dict[str, Any], several: bool = False, source: Source | None = None, row: int | None = None
) -> Iterator[tuple[str, str, Any]]:
    """Name, title and value of each answer, those of combined tasks one by one.

    ``several``: workflows have questions of the same names; with a ``source``, a damaged cell is refused.
    """
    cell = record.get("annotations")
    try:
        entries = json.loads(cell) if isinstance(cell, str) and cell else []
    except (ValueError, RecursionError) as error:
        if source is None:
            return
        what = f"This cell is not JSON ({str(error)[:100]})"
        raise DataError(what, file=source.path, row=row, column="annotations", header=True) from None
    waiting = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    while waiting:
        entry = waiting.pop(0)
        value = entry.get("value")
        inner = value if isinstance(value, list) else []
        if inner and all(isinstance(part, dict) and "task" in part for part in inner):
            waiting = [*inner, *waiting]
        elif "task" in entry:
            workflow = f"{record.get('workflow_name') or record.get('workflow_id')}: " if several else ""
            yield f"{workflow}{entry['task']}", str(entry.get("task_label") or ""), value


def _choices(value: Any) -> list[Any] | None:
    """The chosen options; None for a drawing, a transcription in parts, or another answer that is no class."""
    names = []
    for part in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(part, dict):  # of a survey the animal, of a menu the option
            part = part.get("choice", part.get("label") if "option" in part else None)
            if part is None:
                return None
        names.append(part)
    return names
