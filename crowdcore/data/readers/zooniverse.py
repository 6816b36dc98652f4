"""Zooniverse's export of classifications: JSON in the cells of a CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.readers._answers import Answers, records
from crowdcore.data.readers._export import other_questions
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings

NO_LOGIN = "not-logged-in-"
"""What the names of people without an account begin with; a hash of their address follows."""
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
        asked: Counter[str] = Counter()
        titles: dict[str, str] = {}
        several = len({record.get("workflow_id") for record in records(source)}) > 1
        for number, record in enumerate(records(source), 1):
            for name, title, _ in _answers(record, several, source, number):
                asked[name] += 1
                titles.setdefault(name, title)
        chosen = settings.question or settings.label or next(iter(asked), "")
        remedies = tuple(Remedy("question", name, effect=f"read {titles[name][:60]!r}") for name in [*asked][:_SHOWN])
        if chosen not in asked:
            what = f"There is no question {chosen!r}" if asked else "No classification has an answer"
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
        findings = other_questions(asked, chosen) if named else []
        if len(asked) > 1 and not named:
            sentence = f"People answered {len(asked)} questions; {chosen!r} ({titles[chosen]}) was read"
            findings.append(Finding("several-questions", "question", sentence, len(asked), remedies=remedies))
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

    Args:
        record: a row.
        several: whether there are several workflows, whose questions have the same names.
        source: to refuse a damaged cell; None: it holds no answer.
        row: its number.
    """
    cell = record.get("annotations")
    try:
        found = json.loads(cell) if isinstance(cell, str) and cell else []
    except (ValueError, RecursionError) as error:
        if source is None:
            return
        what = f"This cell is not JSON ({str(error)[:100]})"
        raise DataError(what, file=source.path, row=row, column="annotations", header=True) from None
    waiting = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
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
    """The chosen options; None: a drawing, a transcription in parts, or another answer that is no class."""
    names = []
    for part in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(part, dict):  # of a survey the animal, of a menu the option
            part = part.get("choice", part.get("label") if "option" in part else None)
            if part is None:
                return None
        names.append(part)
    return names
