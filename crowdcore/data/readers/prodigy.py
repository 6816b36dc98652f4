"""Prodigy's JSON lines with ``_annotator_id``: choices, accepted and rejected suggestions, or marked spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.data.columns import ALIASES, MappingError, plain
from crowdcore.data.readers._answers import Answers, as_list, text_of
from crowdcore.data.readers._marked_texts import MarkedTexts
from crowdcore.data.readers._tokens import is_span, read_spans, tokens_of
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding, make_change, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import JsonTable

_WHO = ("_annotator_id", "_session_id")
_SUGGESTIONS = ("classification", "ner", "spans", "pos", "dep", "image", "audio", "text", "html", "compare", "diff")
SPANS = "spans"  # the field of what workers mark in a text
_MARKING = ("ner_manual", "spans_manual")
_DRAWN = ("spans", "relations", "arcs", "audio_spans")  # what workers mark inside a text, an image or a sound


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
        return 0.8 if "answer" in first and any(name in first for name in _WHO) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every answer to one kind of question."""
        table = source.need_json()
        question = _one_question(table, settings.label, source)
        if question == SPANS:
            return self._spans(table, source, settings)
        choice = question == "accept"
        by = "_input_hash" if choice else "_task_hash"
        answers = Answers(source, settings, {"task": by, "worker": "_annotator_id", "label": question})
        options: dict[str, dict[str | None, int]] = {}  # id -> what the option says -> the first line
        for number, record in enumerate(table.records(), 1):
            answer = record.get("answer")
            who = next((record[name] for name in _WHO if record.get(name) is not None), None)
            if _question(record) != question:
                answers.leave_out("no-class", number, who)
                continue
            if choice:
                for name, says in _options(record, number, source).items():
                    options.setdefault(name, {}).setdefault(says, number)
            if answer not in ("accept", "reject"):
                answers.leave_out("skipped", number, who)
            elif choice and answer == "reject":
                answers.leave_out("rejected", number, who)
            else:
                task = _task(record, by, number, source)
                answers.list_task(task, **_media(record))
                accepted = record.get("accept") if choice else answer
                chosen = accepted if isinstance(accepted, list) else [accepted]
                answers.add(number, task, who, chosen, when=record.get("_timestamp"))
        classes = tuple(options) if choice else ("accept", "reject")
        combined = sorted(set(answers.label) - set(classes)) if settings.multi_select == "keep" else ()
        return answers.raw(
            self.name, columns=table.columns, classes=(*classes, *combined), findings=_other_texts(options)
        )

    def _spans(self, table: JsonTable, source: Source, settings: ReadSettings) -> Raw:
        """Read the spans of every accepted text, with the tokens that Prodigy says."""
        columns = {"task": "_input_hash", "worker": "_annotator_id", "label": SPANS}
        texts = MarkedTexts(source, settings, columns)
        for number, record in enumerate(table.records(), 1):
            who = next((record[name] for name in _WHO if record.get(name) is not None), None)
            answer, text = record.get("answer"), record.get("text")
            if not _marks(record):
                texts.refuse("no-class" if _question(record) is None else "other-question", number, who, text)
            elif answer != "accept":
                texts.refuse("rejected" if answer == "reject" else "skipped", number, who, text)
            else:
                tokens = tokens_of(record.get("tokens"), text) if isinstance(text, str) else None
                task = _task(record, "_input_hash", number, source)
                texts.mark(number, task, who, text, read_spans(as_list(record.get(SPANS))), tokens)
        return texts.raw(self.name, columns=table.columns)


def _question(record: dict[str, Any]) -> str | None:
    """Which field answers the question: ``accept`` (options), ``answer`` (a suggestion), None for marked spans."""
    if isinstance(record.get("options"), list):
        return "accept"
    view = record.get("_view_id")
    if view is None:
        marking = "label" not in record and any(name in record for name in (SPANS, "tokens"))
        return None if marking or any(as_list(record.get(name)) for name in _DRAWN) else "answer"
    return "answer" if view in _SUGGESTIONS else None


def _marks(record: dict[str, Any]) -> bool:
    """Whether a worker marked spans of a text, or could have."""
    if _question(record) is not None or not isinstance(record.get("text"), str):
        return False
    if record.get("_view_id") in _MARKING:
        return True
    return any(name in record for name in (SPANS, "tokens")) and all(map(is_span, as_list(record.get(SPANS))))


def _one_question(table: JsonTable, named: str | None, source: Source) -> str:
    """The field that is named, or the only one that answers the questions of the file; spans where none does."""
    found: dict[str, None] = {}
    marked = False
    for record in table.records():
        if (question := _question(record)) is not None:
            found[question] = None
        marked = marked or _marks(record)
    roles = {"worker": "_annotator_id"}
    if marked and (named == SPANS or (named is None and not found)):
        return SPANS
    if named in found:
        return str(named)
    if found and named is not None:
        raise MappingError(f"No line has an answer in {named!r}", found, roles, source.path, "label")
    if len(found) > 1:
        raise MappingError("There are choices and accepted suggestions", found, roles, source.path, "label")
    if not found:
        what = "These lines hold regions or texts that workers drew or wrote, not classes or spans of texts"
        raise DataError(what, "Choices, accepted or rejected suggestions, and spans are read.", file=source.path)
    return next(iter(found))


def _options(record: dict[str, Any], number: int, source: Source) -> dict[str, str | None]:
    """The id of each option of a line (its text where it has none) -> its text, None where it has only an id."""
    found: dict[str, str | None] = {}
    for option in record["options"]:
        known = option if isinstance(option, dict) else {"text": option}
        says = text_of(known.get("text"))
        name = text_of(known.get("id")) or says
        if not name:
            raise DataError("An option of this line has no id and no text", file=source.path, row=number)
        if found.setdefault(name, says) != says:
            what = f"Two options of this line go by {name!r}, so an answer does not say which of them was chosen"
            raise DataError(what, "Give every option an id of its own.", file=source.path, row=number)
    return found


def _other_texts(options: Mapping[str, Mapping[str | None, int]]) -> list[Finding]:
    """The finding about ids that mean one thing in some lines and another in others."""
    reused = {name: texts for name, texts in options.items() if len(texts) > 1}
    if not reused:
        return []
    name, texts = next(iter(reused.items()))
    said = " and ".join(repr(text) for text in list(texts)[:2])
    what = f"{plural(len(reused), 'option')} whose text differs between lines"
    rows = np.array(sorted(line for texts in reused.values() for line in texts.values()))
    remedy = f"{name!r} is {said}. If they are not the same class, give each an id of its own."

    return [
        make_change(
            "option-texts", what, "count as one class", rows, count=len(reused), examples=tuple(reused), remedy=remedy
        )
    ]


def _media(record: dict[str, Any]) -> dict[str, str | None]:
    return {kind: next((text_of(v) for k, v in record.items() if plain(k) in ALIASES[kind]), None) for kind in MEDIA}


def _task(record: dict[str, Any], by: str, number: int, source: Source) -> str:
    for name in (by, "_input_hash", "_task_hash", "text"):
        if (task := text_of(record.get(name))) is not None:
            return task
    what = "This line names no task: _input_hash, _task_hash and text are missing"
    raise DataError(what, file=source.path, row=number)
