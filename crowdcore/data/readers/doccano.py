"""doccano's exports of classifications: a file per user (the unpacked ZIP), or old ones that name the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.readers._answers import Answers, as_list, records, text_of
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import JsonTable, identify, open_table

__all__ = ["Doccano"]

_SUFFIXES = (".jsonl", ".json", ".csv")
_ITEM = {"text": "text", "data": "text", "filename": "image"}  # field -> what it is


class Doccano(Reader):
    """Each file is called after its user (``ann.jsonl``) and holds ``id``, ``text`` and ``label`` of each example."""

    name: ClassVar[str] = "doccano"
    title: ClassVar[str] = "doccano (a file per user)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A folder of such files, or one file with lists of labels."""
        if isinstance(source.table, JsonTable):
            return 0.7 if _is_example(next(source.table.records(), {})) else 0.0
        files = _files(source)
        if not files:
            return 0.0
        try:
            return 0.8 if _is_example(next(records(_open(files[0])), {})) else 0.0
        except DataError:
            return 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the labels of every user."""
        answers = Answers(source, settings, {"task": "id", "worker": "file name", "label": "label"})
        files = _files(source)
        if files:
            findings: list[Finding] = []
            for opened in map(_open, files):
                for number, record in enumerate(records(opened), 1):
                    if not _is_example(record) or "label" not in record:
                        raise DataError("This is no example with `id` and `label`", file=opened.path, row=number)
                    _add(answers, number, record, record["label"], opened.name)
                findings += [*opened.need_table().findings, *opened.need_table().repeated_headers(per_row=1)]
            return answers.raw(self.name, findings=findings)
        if source.table is None:
            raise DataError("This is no export of doccano", file=source.path)
        for number, record in enumerate(records(source), 1):
            given = record.get("annotations")
            if not isinstance(given, list):
                what = "These labels name no worker: doccano writes a file for each user"
                remedy = "Give the whole ZIP (or its folder), from a project without collaborative annotation."
                raise DataError(what, remedy, file=source.path, row=number)
            users: dict[str | None, list[Any]] = {}
            for annotation in given:
                entry = annotation if isinstance(annotation, dict) else {}
                label = None if "start_offset" in entry else entry.get("label", entry.get("text"))
                users.setdefault(text_of(entry.get("user")), []).append([] if label is None else label)
            for user, labels in users.items():
                _add(answers, number, record, labels, user)
        return answers.raw(self.name)


def _files(source: Source) -> list[Path]:
    folder = source.path
    if source.table is not None or folder is None or not folder.is_dir():
        return []
    return sorted(f for f in folder.iterdir() if f.suffix.lower() in _SUFFIXES and not f.name.startswith("."))


def _open(file: Path) -> Source:
    content = identify(file)
    return Source(file.stem, content, open_table(content, ReadSettings()))


def _is_example(record: dict[str, Any]) -> bool:
    """Whether it has an id, a text or file, and labels: a list, or in a CSV a text."""
    if "id" not in record or not any(name in record for name in _ITEM):
        return False
    given = record.get("annotations")
    if isinstance(given, list):
        return all(isinstance(a, dict) and "user" in a for a in given)
    return isinstance(record.get("label"), list) or (isinstance(record.get("label"), str) and len(record) <= 4)


def _add(answers: Answers, number: int, record: dict[str, Any], label: Any, user: str | None) -> None:
    """One user's labels of an example; in a CSV several are joined by ``#``."""
    task = text_of(record.get("id")) or str(number)
    answers.list_task(task, **{kind: text_of(record.get(name)) for name, kind in _ITEM.items() if name in record})
    labels = [part for part in label.split("#") if part] if isinstance(label, str) else as_list(label)
    if any(isinstance(entry, list | dict) for entry in labels):
        answers.leave_out("no-class", number, user)
    else:
        answers.add(number, task, user, labels)
