"""Argilla's records: JSON of ``dataset.records.to_json``, or columns of ``to_datasets``, of Argilla 2 and 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from crowdcore.core.errors import DataError
from crowdcore.data.readers._answers import Answers, media_of, need_records, records
from crowdcore.data.readers._export import only_question, other_questions
from crowdcore.data.readers._layouts import entries
from crowdcore.data.readers._marked_texts import MarkedTexts
from crowdcore.data.readers._tokens import is_span, read_spans
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings

_LEFT_OUT = {"draft": "draft", "discarded": "discarded", "pending": "draft"}
_DATASETS = "Write dataset.records.to_datasets() to tell them apart."
_ANSWER = {"user_id", "value"}  # of each response of Argilla 1, in the column of its question
_FLAT = (".responses", ".responses.users", ".responses.status", ".suggestion", ".suggestion.score", ".suggestion.agent")


class _Response(NamedTuple):
    value: Any
    user: Any
    status: Any


class Argilla(Reader):
    """The label is the response to the only question (or the one named); suggestions are nobody's.

    Responses to a question of spans are lists of records with start, end and label.
    """

    name: ClassVar[str] = "argilla"
    title: ClassVar[str] = "Argilla (records)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The first record has fields and responses, or columns of responses and their users."""
        if source.table is None:
            return 0.0
        columns = source.table.columns
        if any(f"{c}.users" in columns for c in columns if c.endswith(".responses")):
            return 0.9
        first = next(records(source), {})
        if any(_answers(value) for value in first.values()):
            return 0.9
        return 0.9 if isinstance(first.get("fields"), dict) and isinstance(first.get("responses"), dict | list) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the responses to one question."""
        columns = source.need_table().columns
        found = [_responses(record, number, source) for number, record in enumerate(records(source), 1)]
        questions = list(dict.fromkeys(name for given in found for name in given))
        if not questions:
            raise DataError("No record has a response", "Suggestions alone are not annotations.", file=source.path)
        question = only_question(questions, source, settings, {"task": "id", "worker": "user_id"})
        spans = _are_spans(response.value for given in found for response in given.get(question, ()))
        form = MarkedTexts if spans else Answers
        answers = form(source, settings, {"task": "id", "worker": "user_id", "label": question})
        for number, record in enumerate(records(source), 1):
            task = answers.task_name(record.get("id"), number)
            media = media_of(_fields(record, questions))
            answers.list_task(task, **media)
            if _suggested(record, question):
                answers.leave_out("prediction", number)
            for response in found[number - 1].get(question, []):
                status = str(response.status).lower()
                values = response.value if isinstance(response.value, list) else [response.value]
                if isinstance(answers, MarkedTexts):
                    if status in _LEFT_OUT:
                        answers.refuse(_LEFT_OUT[status], number, response.user, media.get("text"))
                    else:
                        given = read_spans(response.value if isinstance(response.value, list) else ())
                        answers.mark(number, task, response.user, media.get("text"), given)
                elif status in _LEFT_OUT:
                    answers.leave_out(_LEFT_OUT[status], number, response.user)
                elif any(isinstance(value, dict | list) for value in values):
                    answers.leave_out("no-class", number, response.user)
                else:
                    answers.add(number, task, response.user, values)
        shown = dict.fromkeys(("id", "user_id", *questions, *columns))
        findings = other_questions(questions, question)
        if "responses" in columns:
            sentence = "This file does not say which responses are drafts or discarded; all that say nothing count"
            findings.append(Finding("status-unknown", "warning", sentence, remedy=_DATASETS))
        return answers.raw(self.name, columns=tuple(shown), findings=findings)


def _are_spans(values: Iterable[Any]) -> bool:
    """Whether most entries of the responses are spans."""
    entries = [isinstance(e, dict) and is_span(e) for v in values for e in (v if isinstance(v, list) else [v])]
    return 2 * sum(entries) > len(entries)


def _responses(record: dict[str, Any], number: int, source: Source) -> dict[str, list[_Response]]:
    """Question -> its responses."""
    found: dict[str, list[_Response]] = {}
    nested = record.get("responses")
    if isinstance(nested, dict):
        for question in nested:
            given = need_records(nested, question, source, number)
            found[question] = [_Response(g.get("value"), g.get("user_id"), g.get("status")) for g in given]
    elif nested is not None:  # one entry per user, as Argilla 1 wrote them
        for given_by in need_records(record, "responses", source, number):
            values = given_by.get("values")
            for question, answer in values.items() if isinstance(values, dict) else ():
                value = answer.get("value") if isinstance(answer, dict) else answer
                response = _Response(value, given_by.get("user_id"), given_by.get("status"))
                found.setdefault(question, []).append(response)
    for column, responses in record.items():
        if answers := _answers(responses):
            found[column] = [_Response(a["value"], a["user_id"], a.get("status")) for a in answers]
        if column.endswith(".responses") and responses is not None:
            users, states = record.get(f"{column}.users"), record.get(f"{column}.status")
            lists = [part for part in (responses, users, states) if isinstance(part, list)]
            if len(lists) < 2 + (states is not None) or len({len(part) for part in lists}) > 1:
                what = f"{column!r}, its users and their status are not lists of the same length"
                raise DataError(what, file=source.path, row=number)
            question = column.removesuffix(".responses")
            found[question] = [_Response(*answer, *([None] * (3 - len(lists)))) for answer in zip(*lists, strict=True)]
    return found


def _answers(value: Any) -> list[Any]:
    """The responses of Argilla 1 to the question of a column; empty where it is none."""
    given = entries(value)
    return given if all(isinstance(entry, dict) and set(entry) >= _ANSWER for entry in given) else []


def _fields(record: dict[str, Any], questions: list[str]) -> dict[str, Any]:
    """What the task shows: ``fields``, or the columns that belong to nothing else."""
    if isinstance(record.get("fields"), dict):
        return dict(record["fields"])
    own = {"id", "status", "_server_id", "external_id", "metadata", *(f"{q}-suggestion" for q in questions)}
    own |= {question + part for question in questions for part in _FLAT}
    return {name: value for name, value in record.items() if name not in own}


def _suggested(record: dict[str, Any], question: str) -> bool:
    nested = record.get("suggestions")
    suggestion = (
        nested.get(question)
        if isinstance(nested, dict)
        else record.get(f"{question}.suggestion", record.get(f"{question}-suggestion"))
    )
    return suggestion is not None
