"""SageMaker Ground Truth's worker responses: a folder of them, one of them, or a consolidation request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from crowdcore.core.errors import DataError
from crowdcore.data.readers._answers import (
    Answers,
    as_list,
    as_record,
    chosen,
    need_records,
    only_question,
    other_questions,
    records,
    text_of,
)
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import JsonTable
from crowdcore.data.tables.json_table import read_json

_OWN = "annotationsFromAllWorkers"  # in output.manifest, by AWS's sample of a post-annotation function
_PLACES = ("", "worker-response/", "annotations/worker-response/")
_PATTERNS = ("*/*.json", *(f"{place}iteration-*/*/*.json" for place in _PLACES))


class _Answer(NamedTuple):
    row: int
    task: str | None
    worker: Any
    choices: dict[str, list[str]]
    seconds: Any
    when: Any
    shown: str | None


class SageMaker(Reader):
    """``annotations/worker-response/iteration-1/<task>/<time>.json``; few output.manifest hold workers' labels."""

    name: ClassVar[str] = "sagemaker"
    title: ClassVar[str] = "SageMaker Ground Truth (worker responses)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Worker responses, a consolidation request, or the manifest (which is then refused)."""
        if not isinstance(source.table, JsonTable):
            files = _files(source)[:1]
            try:
                return 0.9 if any(_is_response(next(records(Source.at(file)), {})) for file in files) else 0.0
            except DataError:
                return 0.0
        first = source.first
        return 0.9 if _is_response(first) or _is_request(first) or _is_manifest(first) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the answers to one question."""
        by_line = list(_answers(source))
        questions = list(dict.fromkeys(question for answer in by_line for question in answer.choices))
        if not questions:
            raise DataError("No worker's answer is a choice", "Only choices are read so far.", file=source.path)
        roles = {"task": "dataset object", "worker": "workerId"}
        question = only_question(questions, source, settings, roles)
        answers = Answers(source, settings, {**roles, "label": question})
        for answer in by_line:
            picture = answer.shown is not None and answer.shown.startswith("s3://")
            task = answers.task_name(answer.task, answer.row)
            answers.list_task(task, **{"image" if picture else "text": answer.shown})
            choices = answer.choices.get(question, [])
            answers.add(answer.row, task, answer.worker, choices, answer.seconds, answer.when)
        columns = (*roles.values(), *questions)
        return answers.raw(self.name, columns=columns, findings=other_questions(questions, question))


def _answers(source: Source) -> Iterator[_Answer]:
    """All answers of any such file; ``row`` counts the entries of a file, or the files of a folder."""
    for number, file in enumerate(_files(source), 1):
        opened = Source.at(file)
        for record in records(opened):
            if not _is_response(record):
                raise DataError("This is not a response of a worker", file=file)
            yield from _responses(number, file.parent.name, record, opened)
    if source.table is None:
        return
    for number, record in enumerate(records(source), 1):
        request = record if _is_request(record) else _passed_on(record)
        if request is not None:
            yield from _requested(number, request, source)
        elif _is_manifest(record):
            what = "This is output.manifest: one consolidated label per object, and no worker's own"
            remedy = "Give the folder annotations/worker-response of the same job."
            raise DataError(what, remedy, file=source.path)
        elif _is_response(record):
            yield from _responses(number, source.path.parent.name if source.path else source.name, record, source)
        else:
            raise DataError("This is not a response of a worker", file=source.path, row=number)


def _responses(number: int, task: str, record: dict[str, Any], source: Source) -> Iterator[_Answer]:
    for answer in need_records(record, "answers", source, number):
        choices = chosen(answer.get("answerContent"))
        seconds, when = answer.get("timeSpentInSeconds"), answer.get("submissionTime")
        yield _Answer(number, task, answer.get("workerId"), choices, seconds, when, None)


def _requested(number: int, record: dict[str, Any], source: Source) -> Iterator[_Answer]:
    about = as_record(record.get("dataObject"))
    shown = text_of(about.get("content")) or text_of(about.get("s3Uri"))
    task = text_of(record.get("datasetObjectId"))
    for annotation in need_records(record, "annotations", source, number):
        content = read_json(as_record(annotation.get("annotationData")).get("content"), None)
        yield _Answer(number, task, annotation.get("workerId"), chosen(content), None, None, shown)


def _files(source: Source) -> list[Path]:
    return next((files for pattern in _PATTERNS if (files := source.inside(pattern))), [])


def _is_response(record: dict[str, Any]) -> bool:
    answers = as_list(record.get("answers"))
    return bool(answers) and all(isinstance(a, dict) and "answerContent" in a for a in answers)


def _is_request(record: dict[str, Any]) -> bool:
    return "datasetObjectId" in record and isinstance(record.get("annotations"), list)


def _passed_on(record: dict[str, Any]) -> dict[str, Any] | None:
    """A line of output.manifest to which the post-annotation function added the workers' answers, as a request."""
    own = next((value[_OWN] for value in record.values() if isinstance(value, dict) and _OWN in value), None)
    about = {"content": record.get("source"), "s3Uri": record.get("source-ref")}
    request = {"datasetObjectId": record.get("source-ref"), "dataObject": about, "annotations": own}
    return request if own is not None and _is_manifest(record) else None


def _is_manifest(record: dict[str, Any]) -> bool:
    about = [value for name, value in record.items() if name.endswith("-metadata") and isinstance(value, dict)]
    return bool({"source", "source-ref"} & set(record)) and any("human-annotated" in value for value in about)
