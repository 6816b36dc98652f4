"""Label Studio's CSV and JSON-MIN exports: a row per annotation."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from crowdcore.data.columns import ALIASES, MappingError, plain
from crowdcore.data.readers._answers import Answers, as_list, media_of, records
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import MEDIA, ReadSettings

_ALWAYS = {"id", "annotator", "annotation_id"}
_TOOL = {*_ALWAYS, "created_at", "updated_at", "lead_time", "agreement"}


class LabelStudioTable(Reader):
    """Columns of the task's data and of the controls, with ``annotator``, ``annotation_id`` and ``lead_time``."""

    name: ClassVar[str] = "label-studio-table"
    title: ClassVar[str] = "Label Studio (CSV or JSON-MIN)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The columns that Label Studio always writes are there."""
        return 0.9 if source.table is not None and set(source.table.columns) >= _ALWAYS else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read one control's choices."""
        columns = source.need_table(*_ALWAYS).columns
        control = settings.label or _control(source)
        if control not in columns:
            raise MappingError(f"There is no column {control!r}", columns, {}, source.path, "label")
        answers = Answers(source, settings, {"task": "id", "worker": "annotator", "label": control})
        for number, record in enumerate(records(source), 1):
            task = answers.task_name(record.get("id"), number)
            data = {name: value for name, value in record.items() if name not in _TOOL and name != control}
            answers.list_task(task, **media_of(data))
            choices = _choices(record.get(control))
            if choices is None:
                answers.leave_out("no-class", number, record.get("annotator"))
                continue
            who, seconds, when = (record.get(name) for name in ("annotator", "lead_time", "created_at"))
            answers.add(number, task, who or None, choices, seconds, when)
        return answers.raw(self.name, columns=columns)


def _control(source: Source) -> str:
    """The column of the only control: the one that is neither Label Studio's own nor a text, image or sound."""
    media = {alias for kind in MEDIA for alias in ALIASES[kind]}
    names = [c for c in source.need_table().columns if c not in _TOOL and plain(c) not in media]
    if len(names) != 1:
        roles = {"task": "id", "worker": "annotator"}
        raise MappingError("Which column holds the choices is not certain", names, roles, source.path, "label")
    return names[0]


def _choices(value: Any) -> list[Any] | None:
    """The choices in a cell: one as text, several as ``{"choices": […]}``; None for regions and all else."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    if isinstance(value, dict):
        return value["choices"] if isinstance(value.get("choices"), list) else None
    if any(isinstance(entry, dict) for entry in as_list(value)):
        return None
    return value if isinstance(value, list) else [value]
