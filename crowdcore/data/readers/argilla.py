"""Argilla's records: JSON of ``dataset.records.to_json``, or the flat columns of ``to_datasets``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from crowdcore.core.errors import DataError
from crowdcore.data.readers._answers import Answers, as_list, media_of, records, text_of
from crowdcore.data.readers._export import only_question, other_questions
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import ReadSettings

__all__ = ["Argilla"]

_LEFT_OUT = {"draft": "draft", "discarded": "discarded", "pending": "draft"}
_FLAT = (".responses", ".responses.users", ".responses.status", ".suggestion", ".suggestion.score", ".suggestion.agent")


class _Response(NamedTuple):
    user: Any
    value: Any
    status: Any


class Argilla(Reader):
    """The label is the response to the only question (or the one named); suggestions are nobody's."""

    name: ClassVar[str] = "argilla"
    title: ClassVar[str] = "Argilla (records)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The first record has fields and responses, or columns of responses and their users."""
        if source.table is None:
            return 0.0
        columns = source.table.columns
        if any(f"{c}.users" in columns for c in columns if c.endswith(".responses")):
            return 0.9
        first = next(records(source), {}) if {"fields", "responses"} <= set(columns) else {}
        return 0.9 if isinstance(first.get("fields"), dict) and isinstance(first.get("responses"), dict | list) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the responses to one question."""
        columns = source.need_table().columns
        questions = list(dict.fromkeys(name for record in records(source) for name in _responses(record)))
        if not questions:
            raise DataError("No record has a response", "Suggestions alone are no annotations.", file=source.path)
        question = only_question(questions, source, settings, {"task": "id", "worker": "user_id"})
        answers = Answers(source, settings, {"task": "id", "worker": "user_id", "label": question})
        for number, record in enumerate(records(source), 1):
            task = text_of(record.get("id")) or str(number)
            answers.list_task(task, **media_of(_fields(record, questions)))
            if _suggested(record, question):
                answers.leave_out("prediction", number)
            for response in _responses(record).get(question, []):
                status = str(response.status).lower()
                values = response.value if isinstance(response.value, list) else [response.value]
                if status in _LEFT_OUT:
                    answers.leave_out(_LEFT_OUT[status], number)
                elif any(isinstance(value, dict | list) for value in values):
                    answers.leave_out("no-class", number)
                else:
                    answers.add(number, task, response.user, values)
        shown = dict.fromkeys(("id", "user_id", *questions, *columns))
        return answers.raw(self.name, columns=tuple(shown), findings=other_questions(questions, question))


def _responses(record: dict[str, Any]) -> dict[str, list[_Response]]:
    """Question -> its responses."""
    found: dict[str, list[_Response]] = {}
    nested = record.get("responses")
    for question, given in nested.items() if isinstance(nested, dict) else ():
        found[question] = [_Response(g.get("user_id"), g.get("value"), g.get("status")) for g in _dicts(given)]
    for given in _dicts(nested):  # one entry per user, as Argilla 1 wrote them
        values = given.get("values")
        for question, answer in values.items() if isinstance(values, dict) else ():
            value = answer.get("value") if isinstance(answer, dict) else answer
            found.setdefault(question, []).append(_Response(given.get("user_id"), value, given.get("status")))
    for column, values in record.items():
        if column.endswith(".responses") and f"{column}.users" in record:
            found[column.removesuffix(".responses")] = list(_flat(record, column, as_list(values)))
    return found


def _flat(record: dict[str, Any], column: str, values: list[Any]) -> Iterator[_Response]:
    users, states = (as_list(record.get(f"{column}.{what}")) for what in ("users", "status"))
    for place, value in enumerate(values):
        user, state = (entry[place] if place < len(entry) else None for entry in (users, states))
        yield _Response(user, value, state)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in as_list(value) if isinstance(entry, dict)]


def _fields(record: dict[str, Any], questions: list[str]) -> dict[str, Any]:
    """What the task shows: ``fields``, or the columns that belong to nothing else."""
    if isinstance(record.get("fields"), dict):
        return dict(record["fields"])
    own = {"id", "status", "_server_id", *(question + part for question in questions for part in _FLAT)}
    return {name: value for name, value in record.items() if name not in own}


def _suggested(record: dict[str, Any], question: str) -> bool:
    nested = record.get("suggestions")
    suggestion = nested.get(question) if isinstance(nested, dict) else record.get(f"{question}.suggestion")
    return suggestion is not None
