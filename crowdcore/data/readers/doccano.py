"""doccano's exports: a file per user (the unpacked ZIP), or lines that name the user; classes, or spans of texts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from crowdcore.core.errors import DataError
from crowdcore.data.readers._answers import Answers, as_list, first_of, records, text_of
from crowdcore.data.readers._marked_texts import MarkedTexts
from crowdcore.data.readers._tokens import is_span, read_spans
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import JsonTable

_SUFFIXES = (".jsonl", ".json", ".csv")
_ITEM = {"text": "text", "data": "text", "filename": "image"}  # field -> what it is
_TEXT = tuple(field for field, kind in _ITEM.items() if kind == "text")
_GIVEN = ("label", "labels", "entities")
_ID, _USER = ("id", "doc_id"), ("username", "user")
_SEEN = 1000  # examples that say whether labels are spans


class _Given(NamedTuple):
    """Labels of one user."""

    source: Source
    number: int
    record: dict[str, Any]
    user: str | None
    labels: Any


class Doccano(Reader):
    """Each file is called after its user (``ann.jsonl``) and holds ``id``, ``text`` and ``label`` of each example.

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
        seen = [label for given in islice(_given(source, sources), _SEEN) for label in as_list(given.labels)]
        if 2 * sum(map(is_span, seen)) > len(seen):
            return self._spans(source, settings, sources)
        answers = Answers(source, settings, {"task": "id", "worker": "file name", "label": "label"})
        for given in _given(source, sources):
            _add(answers, given)
        return answers.raw(self.name, findings=_noticed(sources))

    def _spans(self, source: Source, settings: ReadSettings, sources: list[Source]) -> Raw:
        columns = {"task": "id", "worker": "file name" if sources else "user", "label": "spans"}
        texts = MarkedTexts(source, settings, columns, unmarked="drop")
        for given in _given(source, sources):
            record = given.record
            text = first_of(record, _TEXT)
            texts.mark(given.number, _task(texts, given), given.user, text, read_spans(as_list(given.labels)))
            for _ in as_list(record.get("relations")):
                texts.leave_out("relation", given.number)
        return texts.raw(self.name, findings=_noticed(sources))


def _given(source: Source, sources: list[Source]) -> Iterator[_Given]:
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
                entry = annotation if isinstance(annotation, dict) else {}
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
    """Whether it has an id, a text or file, and labels: a list, or in a CSV a text."""
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
    """The class of an old annotation, which is a record; a record or list where it has none."""
    if not isinstance(entry, dict) or is_span(entry):
        return entry
    label = entry.get("label", entry.get("text"))
    return [] if label is None else label
