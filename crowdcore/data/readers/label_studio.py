"""Label Studio's exports (JSON, and its table), and Prodigy's JSON lines: choices, or marked spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.data.columns import ALIASES, MappingError, plain
from crowdcore.data.readers._answers import Answers, as_list, as_record, media_of, other_questions, records, text_of
from crowdcore.data.readers._marked_texts import MarkedTexts
from crowdcore.data.readers._tokens import Span, is_span, read_spans, tokens_of
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding, make_change, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import JsonTable
from crowdcore.data.tables.json_table import read_json

SPANS = "spans"  # kind of a control that marks texts
_KINDS = ("choices", "pairwise", "rating")
_ANSWERS = dict(zip(("choices", "selected", "rating"), _KINDS, strict=True))  # key of the value -> kind of control


class LabelStudio(Reader):
    """A list of tasks, each with ``data`` and ``annotations``; choices are read, or the labels of spans of texts.

    An annotation marked as ground truth becomes the task's gold, and no worker's annotation.
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
        control = _choose_control(controls, settings.label, source)
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
    """Add an annotation: for its worker, or as gold."""
    worker = _annotator(annotation)
    if annotation.get("was_cancelled"):
        answers.leave_out("skipped", number, worker)
        return
    choices: list[object] = []
    for result in _results(annotation):
        if str(result.get("from_name")) == control and _kind(result):
            choices += _chosen_values(result)
        elif not _kind(result):
            answers.leave_out("region", number)
    if annotation.get("ground_truth") and len(choices) == 1 and (label := text_of(choices[0])):
        answers.add_gold(number, task, label)
        return
    answers.add(number, task, worker, choices, annotation.get("lead_time"), annotation.get("created_at"))


def _annotator(annotation: dict[str, Any]) -> Any:
    worker = annotation.get("completed_by")
    return worker.get("email") or worker.get("id") if isinstance(worker, dict) else worker


def _mark(
    texts: MarkedTexts, number: int, task: str, annotation: dict[str, Any], control: str, text: str | None
) -> None:
    """Add the spans of an annotation: for its worker, or as gold."""
    worker = _annotator(annotation)
    if annotation.get("was_cancelled"):
        texts.refuse("skipped", number, worker, text)
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
        texts.mark(number, task, worker, text, spans)


def _is_span(result: Mapping[str, Any]) -> bool:
    """Return whether a region is a span of a text."""
    return {"start", "end", "labels"} <= result["value"].keys() and result.get("type") in ("labels", None)


def _annotations(entry: dict[str, Any]) -> list[Any] | None:
    annotations = entry.get("annotations", entry.get("completions"))
    return annotations if isinstance(annotations, list) else None


def _results(annotation: Any) -> Iterator[Mapping[str, Any]]:
    for result in as_list(annotation.get("result")) if isinstance(annotation, dict) else ():
        known = as_record(result)
        yield known if isinstance(known.get("value"), dict) else {**known, "value": {}}


def _kind(result: Mapping[str, Any]) -> str | None:
    """The kind of answer about the whole task, None for a region (of a text, an image …) and the rest."""
    return _ANSWERS.get(next(iter(result["value"]))) if len(result["value"]) == 1 else None


def _chosen_values(result: Mapping[str, Any]) -> list[object]:
    (value,) = result["value"].values()
    return value if isinstance(value, list) else [value]


def _controls(table: JsonTable) -> dict[str, str]:
    """Name of each control with answers -> its kind; regions have their own type, spans of texts are spans."""
    kinds: dict[str, str] = {}
    for entry in table.records():
        for annotation in _annotations(entry) or ():
            for result in _results(annotation):
                name, kind = str(result.get("from_name")), _kind(result)
                kinds[name] = kind or kinds.get(name, SPANS if _is_span(result) else f"region {result.get('type')}")
    return kinds


def _choose_control(controls: dict[str, str], named: str | None, source: Source) -> str:
    """The control that is named, else the only one with choices, else the only one with spans."""
    faults = {
        ("choices", "pairwise"): "Several controls hold choices",
        (SPANS,): "Several controls hold spans",
        ("rating",): "No annotation holds choices, only ratings",
    }
    by_kind = {what: [name for name, kind in controls.items() if kind in kinds] for kinds, what in faults.items()}
    roles = {"task": "id", "worker": "completed_by"}
    if named is not None and any(named in names for names in by_kind.values()):
        return named
    for what, names in by_kind.items():
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
            annotator, seconds, when = (record.get(name) for name in ("annotator", "lead_time", "created_at"))
            answers.add(number, task, annotator or None, choices, seconds, when)
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
    """The choices in a cell: one as text, several as ``{"choices": […]}``; None for regions and the rest."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = read_json(value, [value])
    if isinstance(value, dict):
        return value["choices"] if isinstance(value.get("choices"), list) else None
    if any(isinstance(entry, dict) for entry in as_list(value)):
        return None
    return value if isinstance(value, list) else [value]


_ANNOTATORS = ("_annotator_id", "_session_id")
_SUGGESTIONS = ("classification", "ner", "spans", "pos", "dep", "image", "audio", "text", "html", "compare", "diff")
_MARKING = ("ner_manual", "spans_manual")
_DRAWN = ("spans", "relations", "arcs", "audio_spans")  # marks inside a text, an image or a sound


class Prodigy(Reader):
    """With ``options`` the label is the accepted option; without, the question is the suggestion (text and label
    together, ``_task_hash``) and the label is ``accept`` or ``reject``. Lines of spans that workers marked are read
    as tags of tokens if there is nothing else, or with ``label="spans"``.
    """

    name: ClassVar[str] = "prodigy"
    title: ClassVar[str] = "Prodigy (JSON lines)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The first line has an annotator and an answer."""
        first = source.first
        return 0.8 if "answer" in first and any(name in first for name in _ANNOTATORS) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every answer to one kind of question."""
        table = source.need_json()
        question = _one_question(table, settings.label, source)
        if question == SPANS:
            return self._spans(table, source, settings)
        choice = question == "accept"
        by = "_input_hash" if choice else "_task_hash"
        answers = Answers(source, settings, {"task": by, "worker": "_annotator_id", "label": question})
        options: dict[str, dict[str | None, int]] = {}  # id -> text of the option -> its first line
        for number, record in enumerate(table.records(), 1):
            answer = record.get("answer")
            worker = next((record[name] for name in _ANNOTATORS if record.get(name) is not None), None)
            if _question_of(record) != question:
                answers.leave_out("no-class", number, worker)
                continue
            if choice:
                for name, text in _options_of(record, number, source).items():
                    options.setdefault(name, {}).setdefault(text, number)
            if answer not in ("accept", "reject"):
                answers.leave_out("skipped", number, worker)
            elif choice and answer == "reject":
                answers.leave_out("rejected", number, worker)
            else:
                task = _task_of(record, by, number, source)
                answers.list_task(task, **_media(record))
                accepted = record.get("accept") if choice else answer
                chosen = accepted if isinstance(accepted, list) else [accepted]
                answers.add(number, task, worker, chosen, when=record.get("_timestamp"))
        classes = tuple(options) if choice else ("accept", "reject")
        combined = sorted(set(answers.label) - set(classes)) if settings.multi_select == "keep" else ()
        return answers.raw(
            self.name, columns=table.columns, classes=(*classes, *combined), findings=_other_texts(options)
        )

    def _spans(self, table: JsonTable, source: Source, settings: ReadSettings) -> Raw:
        """Read the spans of every accepted text, with Prodigy's tokens."""
        columns = {"task": "_input_hash", "worker": "_annotator_id", "label": SPANS}
        texts = MarkedTexts(source, settings, columns)
        for number, record in enumerate(table.records(), 1):
            worker = next((record[name] for name in _ANNOTATORS if record.get(name) is not None), None)
            answer, text = record.get("answer"), record.get("text")
            if not _marks(record):
                texts.refuse("no-class" if _question_of(record) is None else "other-question", number, worker, text)
            elif answer != "accept":
                texts.refuse("rejected" if answer == "reject" else "skipped", number, worker, text)
            else:
                tokens = tokens_of(record.get("tokens"), text) if isinstance(text, str) else None
                task = _task_of(record, "_input_hash", number, source)
                texts.mark(number, task, worker, text, read_spans(as_list(record.get(SPANS))), tokens)
        return texts.raw(self.name, columns=table.columns)


def _question_of(record: dict[str, Any]) -> str | None:
    """The field that answers the question: ``accept`` (options), ``answer`` (a suggestion), None for marked spans."""
    if isinstance(record.get("options"), list):
        return "accept"
    view = record.get("_view_id")
    if view is None:
        marking = "label" not in record and any(name in record for name in (SPANS, "tokens"))
        return None if marking or any(as_list(record.get(name)) for name in _DRAWN) else "answer"
    return "answer" if view in _SUGGESTIONS else None


def _marks(record: dict[str, Any]) -> bool:
    """Return whether a worker marked spans of a text, or could have."""
    if _question_of(record) is not None or not isinstance(record.get("text"), str):
        return False
    if record.get("_view_id") in _MARKING:
        return True
    return any(name in record for name in (SPANS, "tokens")) and all(map(is_span, as_list(record.get(SPANS))))


def _one_question(table: JsonTable, named: str | None, source: Source) -> str:
    """The named field, or the only one that answers the questions of the file; spans if none does."""
    questions: dict[str, None] = {}
    marked = False
    for record in table.records():
        if (question := _question_of(record)) is not None:
            questions[question] = None
        marked = marked or _marks(record)
    roles = {"worker": "_annotator_id"}
    if marked and (named == SPANS or (named is None and not questions)):
        return SPANS
    if named in questions:
        return str(named)
    if questions and named is not None:
        raise MappingError(f"No line has an answer in {named!r}", questions, roles, source.path, "label")
    if len(questions) > 1:
        raise MappingError("There are choices and accepted suggestions", questions, roles, source.path, "label")
    if not questions:
        what = "These lines hold regions or texts that workers drew or wrote, not classes or spans of texts"
        raise DataError(what, "Choices, accepted or rejected suggestions, and spans are read.", file=source.path)
    return next(iter(questions))


def _options_of(record: dict[str, Any], number: int, source: Source) -> dict[str, str | None]:
    """The id of each option of a line (its text without one) -> its text, None if it has only an id."""
    options: dict[str, str | None] = {}
    for option in record["options"]:
        known = option if isinstance(option, dict) else {"text": option}
        text = text_of(known.get("text"))
        name = text_of(known.get("id")) or text
        if not name:
            raise DataError("An option of this line has no id and no text", file=source.path, row=number)
        if options.setdefault(name, text) != text:
            what = f"Two options of this line go by {name!r}, so an answer does not say which of them was chosen"
            raise DataError(what, "Give every option an id of its own.", file=source.path, row=number)
    return options


def _other_texts(options: Mapping[str, Mapping[str | None, int]]) -> list[Finding]:
    """The finding on ids whose text differs between lines."""
    reused = {name: texts for name, texts in options.items() if len(texts) > 1}
    if not reused:
        return []
    name, texts = next(iter(reused.items()))
    meanings = " and ".join(repr(text) for text in list(texts)[:2])
    what = f"{plural(len(reused), 'option')} whose text differs between lines"
    rows = np.array(sorted(line for texts in reused.values() for line in texts.values()))
    remedy = f"{name!r} is {meanings}. If they are not the same class, give each an id of its own."

    return [
        make_change(
            "option-texts", what, "count as one class", rows, count=len(reused), examples=tuple(reused), remedy=remedy
        )
    ]


def _media(record: dict[str, Any]) -> dict[str, str | None]:
    return {kind: next((text_of(v) for k, v in record.items() if plain(k) in ALIASES[kind]), None) for kind in MEDIA}


def _task_of(record: dict[str, Any], by: str, number: int, source: Source) -> str:
    for name in (by, "_input_hash", "_task_hash", "text"):
        if (task := text_of(record.get(name))) is not None:
            return task
    what = "This line names no task: _input_hash, _task_hash and text are missing"
    raise DataError(what, file=source.path, row=number)
