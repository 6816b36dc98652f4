"""Label Studio's exports: JSON, and its table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.columns import ALIASES, MappingError, plain
from crowdcore.data.readers._answers import Answers, as_list, media_of, other_questions, records, text_of
from crowdcore.data.readers._marked_texts import MarkedTexts
from crowdcore.data.readers._tokens import Span
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import JsonTable

SPANS = "spans"  # kind of a control that marks texts
_KINDS = ("choices", "pairwise", "rating")
_ANSWERS = dict(zip(("choices", "selected", "rating"), _KINDS, strict=True))  # key of the value -> kind of control


class LabelStudio(Reader):
    """A list of tasks, each with ``data`` and ``annotations``; choices are read, or the labels of spans of texts.

    An annotation marked as ground truth becomes the task's gold, and is nobody's annotation.
    """

    name: ClassVar[str] = "label-studio"
    title: ClassVar[str] = "Label Studio (JSON)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The first entry has ``data`` and ``annotations``."""
        first = source.first
        return 0.9 if isinstance(first.get("data"), dict) and _annotations(first) is not None else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the choices, or the spans, of one control."""
        table = source.need_json()
        controls = _controls(table)
        control = _one(controls, settings.label, source)
        spans = controls[control] == SPANS
        form = MarkedTexts if spans else Answers
        answers = form(source, settings, {"task": "id", "worker": "completed_by", "label": control})
        listed: dict[str, int] = {}
        for number, entry in enumerate(table.records(), 1):
            data, annotations = entry.get("data"), _annotations(entry)
            if not isinstance(data, dict) or annotations is None:
                raise DataError("This entry has no `data` or no `annotations`", file=source.path, row=number)
            task = answers.task_name(entry.get("id"), number)
            if listed.setdefault(task, number) != number:
                what = f"The list of tasks names {task!r} twice, in rows {listed[task]} and {number}"
                raise DataError(what, "Each task must be listed once.", file=source.path, row=number)
            answers.list_task(task, **media_of(data))
            for code in ("prediction", "draft"):
                for _ in as_list(entry.get(f"{code}s")):
                    answers.leave_out(code, number)
            for annotation in annotations:
                if not isinstance(annotation, dict):
                    raise DataError("An annotation is not a record", file=source.path, row=number)
                if isinstance(answers, MarkedTexts):
                    _mark(answers, number, task, annotation, control, media_of(data).get("text"))
                else:
                    _add(answers, number, task, annotation, control)
        others = other_questions([name for name, kind in controls.items() if kind in (*_KINDS, SPANS)], control)
        return answers.raw(self.name, columns=("id", "completed_by", *controls), findings=others)


def _add(answers: Answers, number: int, task: str, annotation: dict[str, Any], control: str) -> None:
    """Take an annotation in: for its worker, or as gold."""
    who = _who(annotation)
    if annotation.get("was_cancelled"):
        answers.leave_out("skipped", number, who)
        return
    choices: list[object] = []
    for result in _results(annotation):
        if str(result.get("from_name")) == control and _kind(result):
            choices += _chosen(result)
        elif not _kind(result):
            answers.leave_out("region", number)
    if annotation.get("ground_truth") and len(choices) == 1 and (label := text_of(choices[0])):
        answers.add_gold(number, task, label)
        return
    answers.add(number, task, who, choices, annotation.get("lead_time"), annotation.get("created_at"))


def _who(annotation: dict[str, Any]) -> Any:
    who = annotation.get("completed_by")
    return who.get("email") or who.get("id") if isinstance(who, dict) else who


def _mark(
    texts: MarkedTexts, number: int, task: str, annotation: dict[str, Any], control: str, text: str | None
) -> None:
    """Take the spans of an annotation in: for its worker, or as gold."""
    who = _who(annotation)
    if annotation.get("was_cancelled"):
        texts.refuse("skipped", number, who, text)
        return
    spans = []
    for result in _results(annotation):
        if str(result.get("from_name")) == control and _is_span(result):
            value = result["value"]
            words = value.get("text") if isinstance(value.get("text"), str) else None
            labels = as_list(value.get("labels")) or [None]
            spans += [Span(value.get("start"), value.get("end"), label, words) for label in labels]
    if annotation.get("ground_truth"):
        texts.mark_truth(number, task, text, spans)
    else:
        texts.mark(number, task, who, text, spans)


def _is_span(result: dict[str, Any]) -> bool:
    """Whether a region is a span of a text."""
    return {"start", "end", "labels"} <= result["value"].keys() and result.get("type") in ("labels", None)


def _annotations(entry: dict[str, Any]) -> list[Any] | None:
    annotations = entry.get("annotations", entry.get("completions"))
    return annotations if isinstance(annotations, list) else None


def _results(annotation: Any) -> Iterator[dict[str, Any]]:
    for result in as_list(annotation.get("result")) if isinstance(annotation, dict) else ():
        known = result if isinstance(result, dict) else {}
        yield known if isinstance(known.get("value"), dict) else {**known, "value": {}}


def _kind(result: dict[str, Any]) -> str | None:
    """The kind of answer about the whole task, None for a region (of a text, an image …) and for all else."""
    return _ANSWERS.get(next(iter(result["value"]))) if len(result["value"]) == 1 else None


def _chosen(result: dict[str, Any]) -> list[object]:
    (value,) = result["value"].values()
    return value if isinstance(value, list) else [value]


def _controls(table: JsonTable) -> dict[str, str]:
    """Name of each control with answers -> its kind; regions count under their own type, spans of texts as spans."""
    found: dict[str, str] = {}
    for entry in table.records():
        for annotation in _annotations(entry) or ():
            for result in _results(annotation):
                name, kind = str(result.get("from_name")), _kind(result)
                found[name] = kind or found.get(name, SPANS if _is_span(result) else f"region {result.get('type')}")
    return found


def _one(controls: dict[str, str], named: str | None, source: Source) -> str:
    """The control that is named, or the only one with choices, or where there is none the only one with spans."""
    faults = {
        ("choices", "pairwise"): "Several controls hold choices",
        (SPANS,): "Several controls hold spans",
        ("rating",): "No annotation holds choices, only ratings",
    }
    found = {what: [name for name, kind in controls.items() if kind in kinds] for kinds, what in faults.items()}
    roles = {"task": "id", "worker": "completed_by"}
    if named is not None and any(named in names for names in found.values()):
        return named
    for what, names in found.items():
        only = what.endswith("only ratings")
        if named is not None or len(names) > 1 or (names and only):
            what = what if named is None else f"No control called {named!r} holds choices"
            effect = "read them as classes" if only else ""
            raise MappingError(what, names, roles, source.path, "label", effect=effect)
        if names:
            return names[0]
    others = dict.fromkeys(kind.removeprefix("region ") for kind in controls.values())
    seen = f"; there are {', '.join(others)}" if others else ""
    raise DataError(f"No annotation holds choices{seen}", "Choices and spans of texts are read.", file=source.path)


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
