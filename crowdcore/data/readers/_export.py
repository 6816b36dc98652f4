"""Tables that annotation tools write with a row per annotation; answers to forms of Crowd HTML Elements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import Remedy
from crowdcore.core.types import BoolArray
from crowdcore.data.columns import ALIASES, MappingError, plain
from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers._answers import left_out, text_of, without_labels
from crowdcore.data.readers.base import Raw, Source, read_annotations
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.times import iso_time

_BUTTONS = "buttons"  # the question of all buttons with names of their own


def chosen(content: Any) -> dict[str, list[str]]:
    """Question -> chosen options; what is no choice (boxes, entities, polygons) is left away.

    A classifier answers ``{"label": "cat"}``, one for several classes ``{"labels": ["cat", "dog"]}``, buttons of one
    name ``{"cat": true, "dog": false}``, other inputs a text. Buttons with names of their own (``{"cat": {"on": true},
    "dog": {"on": false}}``: radio buttons of a group, or checkboxes) are a question of yes and no each, and together
    the question ``buttons``: the form does not say which belong together.

    Examples:
        >>> chosen({"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}, "box": {"boxes": []}})
        {'animal': ['cat'], 'sure': ['yes']}
        >>> chosen({"cat": {"on": True}, "dog": {"on": False}})
        {'cat': ['true'], 'dog': ['false'], 'buttons': ['cat']}
    """
    found: dict[str, list[str]] = {}
    buttons: dict[str, bool] = {}
    for question, answer in content.items() if isinstance(content, dict) else ():
        options = _options(answer)
        if options is not None:
            found[str(question)] = [name for option in options if (name := text_of(option))]
        if _are_buttons(answer) and len(answer) == 1:
            (buttons[str(question)],) = answer.values()
            found[str(question)] = [str(buttons[str(question)]).lower()]
    if len(buttons) > 1:
        found.setdefault(_BUTTONS, [name for name, pressed in buttons.items() if pressed])
    return found


def _are_buttons(answer: Any) -> bool:
    return isinstance(answer, dict) and bool(answer) and all(isinstance(pressed, bool) for pressed in answer.values())


def _options(answer: Any) -> list[Any] | None:
    if not isinstance(answer, dict | list):
        return [answer]
    if isinstance(answer, dict) and set(answer) & {"label", "labels"}:
        answer = answer.get("labels", answer.get("label"))
        answer = answer if isinstance(answer, list) else [answer]
    elif isinstance(answer, dict):
        return [name for name, pressed in answer.items() if pressed] if _are_buttons(answer) else None
    return None if any(isinstance(option, dict | list) for option in answer) else answer


def only_question(questions: Iterable[str], source: Source, settings: ReadSettings, roles: Mapping[str, str]) -> str:
    """The question named in the settings, or the only one."""
    names = list(questions)
    if settings.label is None and len(names) == 1:
        return names[0]
    if settings.label in names:
        return str(settings.label)
    what = f"There is no question {settings.label!r}" if settings.label else "There are several questions"
    refusal = MappingError(what, names, dict(roles), source.path, "label")
    refusal.remedies = (Remedy("label", tuple(names)),) if names else refusal.remedies
    raise refusal


def other_questions(questions: Iterable[str], chosen: str) -> list[Finding]:
    """The note about the questions that are not read."""
    others = [name for name in questions if name != chosen]
    if not others:
        return []
    listed = ", ".join(map(repr, others[:5])) + (" …" if len(others) > 5 else "")
    sentence = f"{chosen!r} is read; the answers to {listed} are not"
    return [
        Finding(
            "other-questions", "note", sentence, len(others), remedies=(Remedy("label", when="another one is meant"),)
        )
    ]


def input_roles(columns: Iterable[str], prefix: str) -> dict[str, str]:
    """The columns of the task's gold, text, image and sound among those that begin with ``prefix``."""
    found: dict[str, str] = {}
    names = [c for c in columns if c.startswith(prefix)]
    for role in ("gold", *MEDIA):
        named = next((c for c in names if plain(c.removeprefix(prefix)) in ALIASES[role]), None)
        if named is not None:
            found[role] = named
    if len(names) == 1 and not found:
        found["text"] = names[0]
    return found


def read_export(
    form: str, source: Source, settings: ReadSettings, roles: Mapping[str, str], when: str | None, seconds: str = ""
) -> Raw:
    """Read a table whose columns are known; columns named in the settings win.

    Args:
        form: the reader's name.
        source: the table.
        settings: columns named by the user.
        roles: role -> column.
        when: the column of the time of an annotation, kept as ``timestamp`` in ISO 8601.
        seconds: that of its duration, kept as ``seconds``.
    """
    known = {role: column for role, column in roles.items() if getattr(settings, role) is None or role == "label"}
    raw = read_annotations(source.need_table(), settings.model_copy(update=known), form)
    extra = raw.extra
    if extra is not None:
        names = {when: "timestamp", seconds: "seconds"}
        there = extra.column_names
        renamed = [names[c] if c in names and names[c] not in there else c for c in there]
        extra = extra.rename_columns(renamed)
        if "timestamp" in renamed:
            times = pa.array([iso_time(v) for v in extra["timestamp"].to_pylist()], pa.large_string())
            extra = extra.set_column(renamed.index("timestamp"), "timestamp", times)
        extra = extra.select(sorted(renamed, key=lambda name: name not in ("timestamp", "seconds")))
    return replace(raw, extra=extra)


def read_labels(raw: Raw, choices: Callable[[str], list[str] | None], settings: ReadSettings) -> Raw:
    """Read the cells of the label column; rows of several choices, or of none, are left out and reported.

    Args:
        raw: the rows with their cells as labels.
        choices: the choices in a cell, None if it holds something else than choices.
        settings: whether combinations are kept as classes.
    """
    cells = [choices(cell) for cell in raw.label.values.to_pylist()]
    merge = settings.multi_select == "keep"
    names = [joined(c) if c and (merge or len(set(c)) == 1) else None for c in cells]
    several = np.array([bool(c) and n is None for c, n in zip(cells, names, strict=True)] + [False])
    nothing = np.array([c is None for c in cells] + [False])
    empty = np.array([c == [] for c in cells] + [True])
    new = encode(strings(names))
    read = replace(raw, label=Codes(new.values, np.append(new.codes, np.int32(-1))[raw.label.codes]))
    reasons = {"several-choices": several, "no-class": nothing, "no-choice": empty}
    return _without(read, {code: flags[raw.label.codes] for code, flags in reasons.items()})


def listed(cell: str) -> list[str] | None:
    """The choices in a cell: a text, or a JSON list of them."""
    if not cell.startswith(("[", "{")):
        return [cell] if cell else []
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return [cell]
    names = [text_of(entry) for entry in value] if isinstance(value, list) else [None]
    return None if None in names else [name for name in names if name]


def joined(choices: Iterable[str]) -> str:
    """A single choice as it is written; several, in order, with ``|`` between them."""
    names = {*choices}
    return "|".join(sorted(name.strip() for name in names)) if len(names) > 1 else next(iter(names))


def drop_flagged(raw: Raw, table: Table, column: str, bad: Iterable[str], settings: ReadSettings) -> Raw:
    """Report the rows that a tool flags (before any are left out); leave them out if the settings say so.

    Args:
        raw: all rows of the table.
        table: where the flags are.
        column: the column of the flags.
        bad: values, in lower case, that mean a rejected or not trusted annotation.
        settings: whether such rows are kept.
    """
    if column not in table.columns:
        return raw
    flags = table.encode((column, raw.roles["task"]))[0][column]
    wrong = np.array([value.strip().lower() in set(bad) for value in flags.values.to_pylist()] + [False])[flags.codes]
    if not wrong.any():
        return raw
    if settings.flagged == "drop":
        return _without(raw, {"flagged": wrong}, column)
    rows = np.flatnonzero(wrong)
    sentence = (
        f"{plural(len(rows), 'annotation')} kept although {column} says {flags.values[int(flags.codes[rows[0]])]}"
    )
    remedies = (Remedy("flagged", "drop", "leave them out"),)
    found = make_finding("flagged", "warning", sentence, raw.row_numbers(rows), remedies=remedies)
    return replace(raw, findings=(*raw.findings, found))


def _without(raw: Raw, reasons: Mapping[str, BoolArray], column: str | None = None) -> Raw:
    """The rows for which no reason (code -> (n,) flags) speaks; each row is reported once."""
    keep = np.ones(len(raw.task), bool)
    findings: list[Finding] = []
    for code, flags in reasons.items():
        rows = np.flatnonzero(flags & keep)
        if len(rows):
            findings.append(replace(left_out(code, raw.row_numbers(rows)), column=column or raw.roles.get("label")))
            keep[rows] = False
    if keep.all():
        return raw
    rows = np.flatnonzero(keep)
    for what, codes in (("worker", raw.worker), ("task", raw.task)):
        idle = np.setdiff1d(codes.codes, codes.codes[rows])
        findings += without_labels(what, codes.values.take(pa.array(idle[idle >= 0])).to_pylist())
    return raw.keep(rows, *findings)
