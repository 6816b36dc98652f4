"""Collect annotations one by one, or read them from tables of tools; and findings on those left out."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.columns import ALIASES, MappingError, plain
from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw, RawTasks, Source, read_annotations
from crowdcore.data.report import Finding, make_change, make_finding, plural, quoted
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import JsonTable, Table
from crowdcore.data.tables.json_table import read_json
from crowdcore.data.times import iso_time

# Code of a finding -> noun of what is left out, and the reason, after its number. Those in _BESIDE are no annotations.
_REASONS: dict[str, tuple[str, str]] = {
    "several-choices": ("annotation", "with several choices"),
    "no-choice": ("annotation", "without a choice"),
    "skipped": ("annotation", "skipped by the worker"),
    "rejected": ("annotation", "where the worker refused all options"),
    "draft": ("draft", "that the worker has not submitted"),
    "discarded": ("annotation", "that the worker discarded"),
    "flagged": ("annotation", "flagged by the tool (rejected or not trusted)"),
    "prediction": ("prediction", "by a model"),
    "no-class": ("annotation", "holding no class (but spans, boxes, texts …)"),
    "region": ("region", "holding no class of the whole task"),
    "no-score": ("judgment", "without a score"),
    "no-item": ("judgment", "of an item that is not named"),
    "sample-error": ("sample", "that ended in an error"),
    "no-text": ("annotation", "of a text that is missing or holds no token"),
    "other-text": ("annotation", "of another text than the one first named so"),
    "unmarked": ("annotation", "without a span"),
    "other-question": ("annotation", "that answer another question"),
    "relation": ("relation", "between spans"),
}
_BESIDE = ("prediction", "region", "relation")
_REMEDIES = {
    "several-choices": Remedy("multi_select", "keep", "make each combination a class of its own"),
    "unmarked": Remedy("unmarked", "keep", when="workers have opened all texts that the tool exported"),
}


def left_out(code: str, rows: Sequence[int] | IntArray) -> Finding:
    """The finding on entries left out, at these file ``rows``."""
    noun, reason = _REASONS[code]
    what, lost = f"{plural(len(rows), noun)} {reason}", 0 if code in _BESIDE else len(rows)
    remedies = (_REMEDIES[code],) if code in _REMEDIES else ()
    return make_change(code, what, "be left out", np.asarray(rows), left_out=lost, remedies=remedies)


def ground_truth(rows: IntArray, n: int) -> Finding:
    """The finding on annotations that are gold, each of which stands for ``n`` annotations of the dataset."""
    what = f"{plural(len(rows), 'annotation')} marked as ground truth"
    return make_change("ground-truth", what, "be gold, and count for no worker", rows, left_out=n)


def without_labels(what: str, names: Collection[str]) -> list[Finding]:
    """The finding on workers or tasks without a remaining annotation."""
    if not names:
        return []
    examples = tuple(names)[:5]
    idle, detail = f"{plural(len(names), what)} without any annotation left", f", such as {examples[0]!r}"

    return [
        make_change(f"{what}s-without-labels", idle, "be left out", detail=detail, count=len(names), examples=examples)
    ]


def as_list(value: object) -> list[Any]:
    """A list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []


def as_record(value: object) -> Mapping[str, Any]:
    """A record as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def first_of(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The value of a record's first field among some names; None if it has none."""
    for name in names:
        if name in record:
            return record[name]
    return None


def need_records(record: Mapping[str, Any], name: str, source: Source, row: int) -> list[dict[str, Any]]:
    """The list of records under a name, empty if there is none."""
    entries = record.get(name)
    if entries is None:
        return []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataError(f"{name!r} is not a list of records", file=source.path, row=row)
    return entries


def text_of(value: object) -> str | None:
    """A name as text: a string, a number or a truth value; None for missing and nested values."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, dict | list) or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)


def media_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """Text, image and sound among the fields of a task; a single text under any name is the text."""
    texts = {name: value for name, value in fields.items() if isinstance(value, str) and value}
    media = {}
    for kind in MEDIA:
        named = next((texts[name] for name in texts if plain(name) in ALIASES[kind]), None)
        if named is not None:
            media[kind] = named
    return media or ({"text": next(iter(texts.values()))} if len(texts) == 1 else {})


def records(source: Source) -> Iterator[dict[str, Any]]:
    """The rows of a table as records; nested values of JSON and Parquet stay nested."""
    table = source.need_table()
    if isinstance(table, JsonTable):
        yield from table.records()
        return
    for chunk in table.stream(table.columns):
        for batch in chunk.to_batches(1 << 11):  # often only the first rows are used
            yield from batch.to_pylist()


@dataclass
class Answers:
    """Growing columns with one entry per annotation, the tasks, and the entries left out.

    Args:
        source: the source of the annotations.
        settings: they say whether annotations of several choices are kept; columns cannot be chosen.
        columns: role -> name of its column or field in this format.
    """

    source: Source
    settings: ReadSettings
    columns: dict[str, str]
    row: array[int] = field(default_factory=lambda: array("q"))
    task: list[str] = field(default_factory=list)
    worker: list[str | None] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    seconds: list[str | None] = field(default_factory=list)
    timestamp: list[str | None] = field(default_factory=list)
    swapped: list[bool | None] = field(default_factory=list)
    tasks: dict[str, dict[str, str]] = field(default_factory=dict)
    gold: dict[str, dict[str, int]] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)
    truths: list[int] = field(default_factory=list)
    dropped: dict[str, list[int]] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    numbered: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role in ("task", "worker", "gold", "split", *MEDIA):
            name = getattr(self.settings, role)
            if name not in (None, self.columns.get(role)):
                remedy = Remedy("format", "long", "read the file as a plain table")
                what = "be left out for this format, whose columns are fixed"
                raise SettingError(role, what, name, remedies=(remedy,))

    def task_name(self, given: object, number: int) -> str:
        """Name of a task: its id, else its number."""
        name = text_of(given)
        if name:
            self.ids.add(name)
        else:
            name = str(number)
            self.numbered[name] = number
        if name in self.ids and name in self.numbered:
            what = f"The task in row {self.numbered[name]} has no id, and its number {name} is another task's id"
            raise DataError(what, "Give every task an id.", file=self.source.path)
        return name

    def add(
        self,
        row: int,
        task: str,
        worker: object,
        choices: Sequence[object],
        seconds: object = None,
        when: object = None,
        swapped: bool | None = None,
    ) -> None:
        """Add an annotation; it is kept if it is a single choice."""
        chosen = list(dict.fromkeys(name for choice in choices if (name := text_of(choice))))
        if len(chosen) > 1 and self.settings.multi_select == "keep":
            chosen = ["|".join(sorted(chosen))]
        if len(chosen) != 1:
            self.leave_out("several-choices" if chosen else "no-choice", row, worker)
            return
        self.row.append(row)
        self.task.append(task)
        self.worker.append(text_of(worker))
        self.label.append(chosen[0])
        self.seconds.append(text_of(seconds))
        self.timestamp.append(iso_time(when))
        self.swapped.append(swapped)

    def leave_out(self, code: str, row: int, worker: object = None) -> None:
        """Count an entry that is left out, and its worker; ``code`` is one of ``_REASONS``."""
        self.dropped.setdefault(code, []).append(row)
        if (name := text_of(worker)) is not None:
            self.seen[name] = None

    def list_task(self, task: str, **known: str | None) -> None:
        """Add attributes of a task (``split``, ``text``, ``image``, ``audio``); the first value of each counts."""
        about = self.tasks.setdefault(task, {})
        for name, value in known.items():
            if value:
                about.setdefault(name, value)

    def add_gold(self, row: int, task: str, label: str) -> None:
        """Add a true class of a task; if several contradict each other, none counts."""
        self.gold.setdefault(task, {}).setdefault(label, row)
        self.truths.append(row)

    def raw(self, form: str, **more: Any) -> Raw:
        """Everything as `Raw`."""
        table = self.source.table
        left = tuple(left_out(code, self._file_rows(rows)) for code, rows in self.dropped.items())
        if not self.row:
            reasons = f": {'; '.join(f.sentence for f in left)}" if left else ""
            remedy = "Give a table with a row for each label: its task, its worker and the label."
            raise DataError(f"No annotation is a choice of one class{reasons}", remedy, file=self.source.path)
        columns = {"seconds": self.seconds, "timestamp": self.timestamp}
        extra = {name: pa.array(values, pa.large_string()) for name, values in columns.items()}
        extra["swapped"] = pa.array(self.swapped, pa.bool_())
        extra = {name: values for name, values in extra.items() if values.null_count < len(values)}
        noticed = (*table.findings, *table.repeated_headers(per_row=1)) if table else ()
        kept = set(self.worker)
        idle = without_labels("worker", [worker for worker in self.seen if worker not in kept])
        findings = (*noticed, *left, *idle, *self._about_gold(), *more.pop("findings", ()))
        return Raw(
            form,
            encode(strings(self.task)),
            encode(strings(self.worker)),
            encode(strings(self.label)),
            n_rows=len(self.row) + sum(finding.left_out for finding in findings),
            **(table.about if table else {}) | {"columns": more.pop("columns", tuple(self.columns.values()))},
            roles=self.columns,
            rows=self._file_rows(self.row),
            missing=self.settings.missing or (),
            extra=pa.table(extra) if extra else None,
            tasks=self._raw_tasks(),
            findings=findings,
            **more,
        )

    def _file_rows(self, numbers: Sequence[int]) -> IntArray:
        """Rows of the file by number of record, since records do not count rows that repeat the column names."""
        rows = np.array(numbers, np.int64)
        return rows if self.source.table is None else self.source.table.row_numbers(rows - 1)

    def _about_gold(self) -> list[Finding]:
        findings = []
        if self.truths:
            findings.append(ground_truth(np.array(self.truths), len(self.truths)))
        rows = [max(labels.values()) for labels in self.gold.values() if len(labels) > 1]
        if rows:
            what = f"{plural(len(rows), 'task')} with contradicting gold"
            findings.append(make_change("gold-contradicts", what, "count as unknown", np.array(rows)))
        return findings

    def _raw_tasks(self) -> RawTasks | None:
        about = {task: dict(known) for task, known in self.tasks.items()}
        for task, labels in self.gold.items():
            if len(labels) == 1:
                about.setdefault(task, {})["gold"] = next(iter(labels))
        if not about:
            return None
        for task in self.task:
            about.setdefault(task, {})
        part = {
            name: encode(strings(known.get(name) for known in about.values()))
            for name in ("gold", "split", *MEDIA)
            if any(name in known for known in about.values())
        }
        escaped = bool(self.source.table and self.source.table.escaped)
        return RawTasks.of({**part, "task": encode(strings(about))}, True, escaped)


_BUTTONS = "buttons"  # the question of all buttons of different names


def chosen(content: Any) -> dict[str, list[str]]:
    """Question -> chosen options; boxes, entities and polygons are ignored.

    A classifier answers ``{"label": "cat"}``, one for several classes ``{"labels": ["cat", "dog"]}``, buttons of one
    name ``{"cat": true, "dog": false}``, other inputs a text. Buttons of different names (``{"cat": {"on": true},
    "dog": {"on": false}}``: radio buttons of a group, or checkboxes) are a question of yes and no each, and together
    the question ``buttons``: the form does not say which belong together.

    Examples:
        >>> chosen({"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}, "box": {"boxes": []}})
        {'animal': ['cat'], 'sure': ['yes']}
        >>> chosen({"cat": {"on": True}, "dog": {"on": False}})
        {'cat': ['true'], 'dog': ['false'], 'buttons': ['cat']}
    """
    answers: dict[str, list[str]] = {}
    buttons: dict[str, bool] = {}
    for question, answer in content.items() if isinstance(content, dict) else ():
        options = _options(answer)
        if options is not None:
            answers[str(question)] = [name for option in options if (name := text_of(option))]
        if _are_buttons(answer) and len(answer) == 1:
            (buttons[str(question)],) = answer.values()
            answers[str(question)] = [str(buttons[str(question)]).lower()]
    if len(buttons) > 1:
        answers.setdefault(_BUTTONS, [name for name, pressed in buttons.items() if pressed])
    return answers


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
    """The question named in the settings, else the only one."""
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
    """The note on questions that are not read."""
    others = [name for name in questions if name != chosen]
    if not others:
        return []
    sentence = f"{chosen!r} is read; the answers to {quoted(others)} are not"
    return [
        Finding(
            "other-questions", "note", sentence, len(others), remedies=(Remedy("label", when="another one is meant"),)
        )
    ]


def input_roles(columns: Iterable[str], prefix: str) -> dict[str, str]:
    """The columns of the task's gold, text, image and sound among those that begin with ``prefix``."""
    roles: dict[str, str] = {}
    names = [c for c in columns if c.startswith(prefix)]
    for role in ("gold", *MEDIA):
        named = next((c for c in names if plain(c.removeprefix(prefix)) in ALIASES[role]), None)
        if named is not None:
            roles[role] = named
    if len(names) == 1 and not roles:
        roles["text"] = names[0]
    return roles


def read_export(
    form: str, source: Source, settings: ReadSettings, roles: Mapping[str, str], when: str | None, seconds: str = ""
) -> Raw:
    """Read a table whose columns are known by role; columns named in the settings take precedence.

    ``when`` is the column of an annotation's time, stored as ``timestamp`` in ISO 8601; ``seconds`` that of its length.
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

    ``choices`` returns the choices in a cell, None for other content.
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
    return _drop_rows(read, {code: flags[raw.label.codes] for code, flags in reasons.items()})


def listed(cell: str) -> list[str] | None:
    """The choices in a cell: a text, or a JSON list of them."""
    if not cell.startswith(("[", "{")):
        return [cell] if cell else []
    value = read_json(cell, [cell])
    names = [text_of(entry) for entry in value] if isinstance(value, list) else [None]
    return None if None in names else [name for name in names if name]


def joined(choices: Iterable[str]) -> str:
    """A single choice as written; several sorted, with ``|`` between them."""
    names = {*choices}
    return "|".join(sorted(name.strip() for name in names)) if len(names) > 1 else next(iter(names))


def drop_flagged(raw: Raw, table: Table, column: str, bad: Iterable[str], settings: ReadSettings) -> Raw:
    """Report rows that a tool flags by a value of ``bad`` (in lower case); drop them if the settings say so."""
    if column not in table.columns:
        return raw
    flags = table.encode((column, raw.roles["task"]))[0][column]
    wrong = np.array([value.strip().lower() in set(bad) for value in flags.values.to_pylist()] + [False])[flags.codes]
    if not wrong.any():
        return raw
    if settings.flagged == "drop":
        return _drop_rows(raw, {"flagged": wrong}, column)
    rows = np.flatnonzero(wrong)
    sentence = (
        f"{plural(len(rows), 'annotation')} kept although {column} says {flags.values[int(flags.codes[rows[0]])]}"
    )
    remedies = (Remedy("flagged", "drop", "leave them out"),)
    finding = make_finding("flagged", "warning", sentence, raw.row_numbers(rows), remedies=remedies)
    return replace(raw, findings=(*raw.findings, finding))


def _drop_rows(raw: Raw, reasons: Mapping[str, BoolArray], column: str | None = None) -> Raw:
    """Drop the rows that a reason (code -> (n,) flags) applies to; each row is reported once."""
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
