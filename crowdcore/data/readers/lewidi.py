"""LeWiDi (Learning with Disagreements, 2023 and 2025): one JSON object of items with their annotators' labels."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.readers._answers import Answers, text_of
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import JsonTable


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
            answers.list_task(task, text=_text(item.get("text")), split=text_of(item.get("split")))
            for who, label in _pairs(item, source, number):
                answers.add(number, task, who, label)
            hard = hard or bool(item.get("hard_label") or item.get("soft_label"))
        sentence = "Hard and soft labels are made from the same annotations, and are not read as gold"
        return answers.raw(self.name, findings=[Finding("not-gold", "note", sentence)] if hard else [])


def _items(source: Source) -> dict[str, Any]:
    table = source.need_json()
    return table.document if isinstance(table.document, dict) else next(table.records(), {})


def _pairs(item: dict[str, Any], source: Source, number: int) -> list[tuple[str, list[str]]]:
    """Annotator and labels: one each in 2023, maybe several joined by commas in 2025."""
    who, given = _words(item.get("annotators")), item.get("annotations")
    if isinstance(given, dict):
        return [(name, _words(given.get(name))) for name in dict.fromkeys([*who, *given])]
    labels = _words(given)
    if len(who) != len(labels):
        what = f"{len(labels)} annotations by {len(who)} annotators"
        raise DataError(what, "There must be one each, separated by commas.", file=source.path, row=number)
    return [(name, [label] if label else []) for name, label in zip(who, labels, strict=True)]


def _words(value: Any) -> list[str]:
    text = text_of(value) or ""
    return [word.strip() for word in text.split(",")] if text else []


def _text(value: Any) -> str | None:
    """The text, or the parts of a conversation with their names: a record, or (in ConvAbuse) the JSON of one."""
    if isinstance(value, str) and value.startswith("{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, dict):
        return "\n".join(f"{name}: {part}" for name, part in value.items() if isinstance(part, str)) or None
    return text_of(value)
