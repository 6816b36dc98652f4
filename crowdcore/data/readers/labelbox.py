"""Labelbox's export of data rows: lines of JSON with the labels of each project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from crowdcore.data.readers._answers import Answers, as_list, media_of, need_records, records, text_of
from crowdcore.data.readers._export import only_question, other_questions
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import ReadSettings

_ROLES = {"task": "data_row", "worker": "created_by"}


class Labelbox(Reader):
    """``data_row`` and ``projects``, each with ``labels``: the classifications of the whole row, no objects in it.

    Source: the fields of ``Project.export`` of Labelbox's SDK.
    """

    name: ClassVar[str] = "labelbox"
    title: ClassVar[str] = "Labelbox (data rows)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A data row with projects."""
        return 0.95 if all(isinstance(source.first.get(name), dict) for name in ("data_row", "projects")) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the answers to one question; who labelled a row without an answer to it is reported."""
        source.need_json()
        every = [(record, [*_labels(record, source, n)]) for n, record in enumerate(records(source), 1)]
        asked = Counter(question for _, labels in every for label in labels for question, _ in _answers(label))
        question = only_question(asked, source, settings, _ROLES)
        answers = Answers(source, settings, {**_ROLES, "label": question})
        for number, (record, labels) in enumerate(every, 1):
            row = _dict(record.get("data_row"))
            task = answers.task_name(row.get("global_key") or row.get("external_id") or row.get("id"), number)
            about = str(row.get("row_data") or "")
            image = str(_dict(record.get("media_attributes")).get("mime_type", "")).startswith("image/")
            answers.list_task(task, **media_of({"image" if image else "text": about}))
            for label in labels:
                details, spent = _dict(label.get("label_details")), _dict(label.get("performance_details"))
                given = [option for q, options in _answers(label) if q == question for option in options]
                when, seconds = details.get("created_at"), spent.get("seconds_to_create")
                answers.add(number, task, details.get("created_by"), given, seconds, when)
                for _ in as_list(_dict(label.get("annotations")).get("objects")):
                    answers.leave_out("region", number)
        return answers.raw(self.name, findings=other_questions(asked, question))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _labels(record: dict[str, Any], source: Source, row: int) -> Iterator[dict[str, Any]]:
    """The labels of a row in all projects."""
    projects = record.get("projects")
    listed = [*projects.values()] if isinstance(projects, dict) else projects
    for project in need_records({"projects": listed}, "projects", source, row):
        yield from need_records(project, "labels", source, row)


def _answers(label: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Question and chosen options, also of questions that an option opens."""
    waiting = as_list(_dict(label.get("annotations")).get("classifications"))[:]
    while waiting:
        entry = _dict(waiting.pop(0))
        chosen = [_dict(o) for o in [entry.get("radio_answer"), *as_list(entry.get("checklist_answers"))] if o]
        if (question := text_of(entry.get("name"))) and chosen:
            yield question, [text_of(option.get("name")) or "" for option in chosen]
        waiting += [inner for option in chosen for inner in as_list(option.get("classifications"))]
