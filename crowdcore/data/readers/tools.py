"""JSON of annotation tools (doccano, LightTag, Labelbox and Argilla), and of the shared tasks LeWiDi."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from crowdcore.core.errors import DataError
from crowdcore.data.readers._answers import (
    Answers,
    as_list,
    as_record,
    first_of,
    media_of,
    need_records,
    only_question,
    other_questions,
    records,
    text_of,
)
from crowdcore.data.readers._layouts import entries
from crowdcore.data.readers._marked_texts import MarkedTexts
from crowdcore.data.readers._tokens import is_span, read_spans
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import JsonTable
from crowdcore.data.tables.json_table import read_json

_SUFFIXES = (".jsonl", ".json", ".csv")
_ITEM = {"text": "text", "data": "text", "filename": "image"}  # field -> kind of media
_TEXT = tuple(field for field, kind in _ITEM.items() if kind == "text")
_GIVEN = ("label", "labels", "entities")
_ID, _USER = ("id", "doc_id"), ("username", "user")
_SEEN = 1000  # examples by which spans are recognised


class _Given(NamedTuple):
    """Labels of one user."""

    source: Source
    number: int
    record: dict[str, Any]
    user: str | None
    labels: Any


class Doccano(Reader):
    """Each file is named after its user (``ann.jsonl``) and holds ``id``, ``text`` and ``label`` of each example.

    ``label`` is a list of classes, or of spans: ``[0, 4, "LOC"]``; in exports with relations they are ``entities``.
    """

    name: ClassVar[str] = "doccano"
    title: ClassVar[str] = "doccano (a file per user)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A folder of such files, or one file with lists of labels."""
        if isinstance(source.table, JsonTable):
            first = next(source.table.records(), {})
            named = any(first_of(first, names) for names in (_USER, ("annotations",)))
            return (0.7 if named else 0.62) if _is_example(first) else 0.0
        files = _files(source)
        if not files:
            return 0.0
        try:
            return 0.8 if _is_example(next(records(Source.at(files[0])), {})) else 0.0
        except DataError:
            return 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the labels of every user."""
        sources = [Source.at(file) for file in _files(source)]
        seen = [label for given in islice(_labels_of_users(source, sources), _SEEN) for label in as_list(given.labels)]
        if 2 * sum(map(is_span, seen)) > len(seen):
            return self._spans(source, settings, sources)
        answers = Answers(source, settings, {"task": "id", "worker": "file name", "label": "label"})
        for given in _labels_of_users(source, sources):
            _add(answers, given)
        return answers.raw(self.name, findings=_noticed(sources))

    def _spans(self, source: Source, settings: ReadSettings, sources: list[Source]) -> Raw:
        columns = {"task": "id", "worker": "file name" if sources else "user", "label": "spans"}
        texts = MarkedTexts(source, settings, columns, unmarked="drop")
        for given in _labels_of_users(source, sources):
            record = given.record
            text = first_of(record, _TEXT)
            texts.mark(given.number, _task(texts, given), given.user, text, read_spans(as_list(given.labels)))
            for _ in as_list(record.get("relations")):
                texts.leave_out("relation", given.number)
        return texts.raw(self.name, findings=_noticed(sources))


def _labels_of_users(source: Source, sources: list[Source]) -> Iterator[_Given]:
    """The labels of each user for each example."""
    for opened in sources:
        for number, record in enumerate(records(opened), 1):
            if not _is_example(record) or (labels := first_of(record, _GIVEN)) is None:
                raise DataError("This is not an example with `id` and `label`", file=opened.path, row=number)
            yield _Given(opened, number, record, opened.name, labels)
    if sources:
        return
    if source.table is None:
        raise DataError("This is not a doccano export", file=source.path)
    for number, record in enumerate(records(source), 1):
        named, annotations = text_of(first_of(record, _USER)), record.get("annotations")
        if named is not None and (labels := first_of(record, _GIVEN)) is not None:
            yield _Given(source, number, record, named, labels)
        elif isinstance(annotations, list):
            users: dict[str | None, list[Any]] = {}
            for annotation in annotations:
                entry = as_record(annotation)
                users.setdefault(text_of(entry.get("user")), []).append(entry)
            for user, entries in users.items():
                yield _Given(source, number, record, user, entries)
        else:
            what = "These labels name no worker: doccano writes a file for each user"
            remedy = "Give the whole ZIP (or its folder), from a project without collaborative annotation."
            raise DataError(what, remedy, file=source.path, row=number)


def _noticed(sources: list[Source]) -> list[Finding]:
    tables = [opened.need_table() for opened in sources]
    return [f for table in tables for f in (*table.findings, *table.repeated_headers(per_row=1))]


def _files(source: Source) -> list[Path]:
    return [file for file in source.inside("*") if file.suffix.lower() in _SUFFIXES]


def _is_example(record: dict[str, Any]) -> bool:
    """Return whether a record has an id, a text or file, and labels: a list, or in a CSV a text."""
    if not any(name in record for name in _ID) or not any(name in record for name in _ITEM):
        return False
    given = record.get("annotations")
    if isinstance(given, list):
        return all(isinstance(a, dict) and "user" in a for a in given)
    labels = first_of(record, _GIVEN)
    return isinstance(labels, list) or (isinstance(labels, str) and len(record) <= 4)


def _task(answers: Answers, given: _Given) -> str:
    return answers.task_name(next(filter(None, (text_of(given.record.get(name)) for name in _ID)), None), given.number)


def _add(answers: Answers, given: _Given) -> None:
    """One user's labels of an example; in a CSV several are joined by ``#``."""
    _, number, record, user, label = given
    task = _task(answers, given)
    answers.list_task(task, **{kind: text_of(record.get(name)) for name, kind in _ITEM.items() if name in record})
    labels = [part for part in label.split("#") if part] if isinstance(label, str) else as_list(label)
    labels = [_class(entry) for entry in labels]
    if any(isinstance(entry, list | dict) for entry in labels):
        answers.leave_out("no-class", number, user)
    else:
        answers.add(number, task, user, labels)


def _class(entry: Any) -> Any:
    """The class of an annotation in the old format, a record; a record or list if it has none."""
    if not isinstance(entry, dict) or is_span(entry):
        return entry
    label = entry.get("label", entry.get("text"))
    return [] if label is None else label


class LightTag(Reader):
    """``examples``, each with ``classifications`` (``classname``, ``classified_by``) and ``seen_by``; no tags."""

    name: ClassVar[str] = "lighttag"
    title: ClassVar[str] = "LightTag (JSON)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """One document with ``examples``."""
        examples = as_list(source.first.get("examples"))
        return 0.9 if examples and isinstance(examples[0], dict) and "example_id" in examples[0] else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the classifications; annotators who have seen an example and gave it no class are reported."""
        source.need_json()
        answers = Answers(source, settings, {"task": "example_id", "worker": "annotator", "label": "classname"})
        for example_number, example in enumerate(as_list(source.first.get("examples")), 1):
            if not isinstance(example, dict):
                raise DataError("This example is not a record", file=source.path, row=example_number)
            task = answers.task_name(example.get("example_id"), example_number)
            answers.list_task(task, **media_of({"text": example.get("content")}))
            given: dict[str, list[Any]] = {}
            when: dict[str, Any] = {}
            for person in need_records(example, "seen_by", source, example_number):
                given[_annotator(person)] = []
            for entry in need_records(example, "classifications", source, example_number):
                by = next((field for field in ("classified_by", "annotated_by") if field in entry), None)
                for person in need_records(entry, by, source, example_number) if by else [entry]:
                    given.setdefault(_annotator(person), []).append(entry.get("classname"))
                    when[_annotator(person)] = person.get("timestamp")
            for tag in need_records(example, "annotations", source, example_number):
                for _ in need_records(tag, "annotated_by", source, example_number):
                    answers.leave_out("region", example_number)
            for worker, names in given.items():
                answers.add(example_number, task, worker or None, names, when=when.get(worker))
        return answers.raw(self.name)


def _annotator(person: dict[str, Any]) -> str:
    """The annotator's name or number, empty for nobody."""
    return text_of(person.get("annotator")) or text_of(person.get("annotator_id")) or ""


_ROLES = {"task": "data_row", "worker": "created_by"}


class Labelbox(Reader):
    """``data_row`` and ``projects``, each with ``labels``: classifications of the whole row, not objects in it.

    Source: the fields of ``Project.export`` of Labelbox's SDK.
    """

    name: ClassVar[str] = "labelbox"
    title: ClassVar[str] = "Labelbox (data rows)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A data row with projects."""
        return 0.95 if all(isinstance(source.first.get(name), dict) for name in ("data_row", "projects")) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the answers to one question; labels without an answer to it are reported."""
        source.need_json()
        every = [(record, [*_labels(record, source, n)]) for n, record in enumerate(records(source), 1)]
        questions = Counter(question for _, labels in every for label in labels for question, _ in _classified(label))
        question = only_question(questions, source, settings, _ROLES)
        answers = Answers(source, settings, {**_ROLES, "label": question})
        for number, (record, labels) in enumerate(every, 1):
            row = as_record(record.get("data_row"))
            task = answers.task_name(row.get("global_key") or row.get("external_id") or row.get("id"), number)
            about = str(row.get("row_data") or "")
            image = str(as_record(record.get("media_attributes")).get("mime_type", "")).startswith("image/")
            answers.list_task(task, **media_of({"image" if image else "text": about}))
            for label in labels:
                details, spent = as_record(label.get("label_details")), as_record(label.get("performance_details"))
                given = [option for q, options in _classified(label) if q == question for option in options]
                when, seconds = details.get("created_at"), spent.get("seconds_to_create")
                answers.add(number, task, details.get("created_by"), given, seconds, when)
                for _ in as_list(as_record(label.get("annotations")).get("objects")):
                    answers.leave_out("region", number)
        return answers.raw(self.name, findings=other_questions(questions, question))


def _labels(record: dict[str, Any], source: Source, row: int) -> Iterator[dict[str, Any]]:
    """The labels of a row in all projects."""
    projects = record.get("projects")
    listed = [*projects.values()] if isinstance(projects, dict) else projects
    for project in need_records({"projects": listed}, "projects", source, row):
        yield from need_records(project, "labels", source, row)


def _classified(label: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Question and chosen options, also of questions that an option opens."""
    waiting = as_list(as_record(label.get("annotations")).get("classifications"))[:]
    while waiting:
        entry = as_record(waiting.pop(0))
        chosen = [as_record(o) for o in [entry.get("radio_answer"), *as_list(entry.get("checklist_answers"))] if o]
        if (question := text_of(entry.get("name"))) and chosen:
            yield question, [text_of(option.get("name")) or "" for option in chosen]
        waiting += [inner for option in chosen for inner in as_list(option.get("classifications"))]


_LEFT_OUT = {"draft": "draft", "discarded": "discarded", "pending": "draft"}
_DATASETS = "Write dataset.records.to_datasets() to tell them apart."
_ANSWER = {"user_id", "value"}  # of each response of Argilla 1, in the column of its question
_FLAT = (".responses", ".responses.users", ".responses.status", ".suggestion", ".suggestion.score", ".suggestion.agent")


class _Response(NamedTuple):
    value: Any
    user: Any
    status: Any


class Argilla(Reader):
    """The label is the response to the only question (or the one named); suggestions have no worker.

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
        by_record = [_responses(record, number, source) for number, record in enumerate(records(source), 1)]
        questions = list(dict.fromkeys(name for given in by_record for name in given))
        if not questions:
            raise DataError("No record has a response", "Suggestions alone are not annotations.", file=source.path)
        question = only_question(questions, source, settings, {"task": "id", "worker": "user_id"})
        spans = _are_spans(response.value for given in by_record for response in given.get(question, ()))
        form = MarkedTexts if spans else Answers
        answers = form(source, settings, {"task": "id", "worker": "user_id", "label": question})
        for number, record in enumerate(records(source), 1):
            task = answers.task_name(record.get("id"), number)
            media = media_of(_fields(record, questions))
            answers.list_task(task, **media)
            if _suggested(record, question):
                answers.leave_out("prediction", number)
            for response in by_record[number - 1].get(question, []):
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
    """Return whether most entries of the responses are spans."""
    entries = [isinstance(e, dict) and is_span(e) for v in values for e in (v if isinstance(v, list) else [v])]
    return 2 * sum(entries) > len(entries)


def _responses(record: dict[str, Any], number: int, source: Source) -> dict[str, list[_Response]]:
    """Question -> its responses."""
    reply: dict[str, list[_Response]] = {}
    nested = record.get("responses")
    if isinstance(nested, dict):
        for question in nested:
            given = need_records(nested, question, source, number)
            reply[question] = [_Response(g.get("value"), g.get("user_id"), g.get("status")) for g in given]
    elif nested is not None:  # one entry per user, as Argilla 1 wrote them
        for given_by in need_records(record, "responses", source, number):
            values = given_by.get("values")
            for question, answer in values.items() if isinstance(values, dict) else ():
                value = answer.get("value") if isinstance(answer, dict) else answer
                response = _Response(value, given_by.get("user_id"), given_by.get("status"))
                reply.setdefault(question, []).append(response)
    for column, responses in record.items():
        if answers := _answers(responses):
            reply[column] = [_Response(a["value"], a["user_id"], a.get("status")) for a in answers]
        if column.endswith(".responses") and responses is not None:
            users, states = record.get(f"{column}.users"), record.get(f"{column}.status")
            lists = [part for part in (responses, users, states) if isinstance(part, list)]
            if len(lists) < 2 + (states is not None) or len({len(part) for part in lists}) > 1:
                what = f"{column!r}, its users and their status are not lists of the same length"
                raise DataError(what, file=source.path, row=number)
            question = column.removesuffix(".responses")
            reply[question] = [_Response(*answer, *([None] * (3 - len(lists)))) for answer in zip(*lists, strict=True)]
    return reply


def _answers(value: Any) -> list[Any]:
    """The responses of Argilla 1 in the column of a question; empty for other values."""
    given = entries(value)
    return given if all(isinstance(entry, dict) and set(entry) >= _ANSWER for entry in given) else []


def _fields(record: dict[str, Any], questions: list[str]) -> dict[str, Any]:
    """Contents of the task: ``fields``, or the columns without another role."""
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


class LeWiDi(Reader):
    """``{"1": {"text", "annotators": "Ann1,Ann2", "annotations": "0,1", "split", …}}``; hard and soft labels are
    made from the same annotations and are not gold.
    """

    name: ClassVar[str] = "lewidi"
    title: ClassVar[str] = "LeWiDi (JSON)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The first item has annotators and annotations."""
        first = next(iter(_items(source).values()), None) if isinstance(source.table, JsonTable) else None
        return 0.9 if isinstance(first, dict) and {"annotators", "annotations"} <= set(first) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every annotator's label of every item."""
        answers = Answers(source, settings, {"task": "key", "worker": "annotators", "label": "annotations"})
        hard = False
        for number, (task, item) in enumerate(_items(source).items(), 1):
            if not isinstance(item, dict):
                raise DataError("This item is not a record", file=source.path, row=number)
            answers.list_task(task, text=_text_of(item.get("text")), split=text_of(item.get("split")))
            for annotator, label in _pairs(item, source, number):
                answers.add(number, task, annotator, label)
            hard = hard or bool(item.get("hard_label") or item.get("soft_label"))
        sentence = "Hard and soft labels are made from the same annotations, and are not read as gold"
        return answers.raw(self.name, findings=[Finding("not-gold", "note", sentence)] if hard else [])


def _items(source: Source) -> dict[str, Any]:
    table = source.need_json()
    return table.document if isinstance(table.document, dict) else next(table.records(), {})


def _pairs(item: dict[str, Any], source: Source, number: int) -> list[tuple[str, list[str]]]:
    """Annotator and labels: one each in 2023, maybe several joined by commas in 2025."""
    annotators, given = _split(item.get("annotators")), item.get("annotations")
    if isinstance(given, dict):
        return [(name, _split(given.get(name))) for name in dict.fromkeys([*annotators, *given])]
    labels = _split(given)
    if len(annotators) != len(labels):
        what = f"{len(labels)} annotations by {len(annotators)} annotators"
        raise DataError(what, "There must be one each, separated by commas.", file=source.path, row=number)
    return [(name, [label] if label else []) for name, label in zip(annotators, labels, strict=True)]


def _split(value: Any) -> list[str]:
    text = text_of(value) or ""
    return [word.strip() for word in text.split(",")] if text else []


def _text_of(value: Any) -> str | None:
    """The text, or the parts of a conversation with their names, a record or (in ConvAbuse) JSON."""
    if isinstance(value, str) and value.startswith("{"):
        value = read_json(value, value)
    if isinstance(value, dict):
        return "\n".join(f"{name}: {part}" for name, part in value.items() if isinstance(part, str)) or None
    return text_of(value)
