"""Annotations as a reader finds them one after another, and what it leaves out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data.columns import ALIASES, plain
from crowdcore.data.dictionary import encode, strings
from crowdcore.data.readers._times import iso_time
from crowdcore.data.readers.base import Raw, RawTasks, Source
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import JsonTable

__all__ = ["Answers", "as_list", "left_out", "media_of", "records", "text_of"]

# Code of a finding -> what is left out and, after the number of them, why.
_REASONS: dict[str, tuple[str, str]] = {
    "several-choices": ("annotation", "with several choices"),
    "no-choice": ("annotation", "without a choice"),
    "skipped": ("annotation", "skipped by the worker"),
    "rejected": ("annotation", "where the worker refused all options"),
    "draft": ("draft", "that the worker has not submitted"),
    "discarded": ("annotation", "that the worker discarded"),
    "flagged": ("annotation", "flagged by the tool (rejected or not trusted)"),
    "prediction": ("prediction", "by a model"),
    "no-class": ("region or answer", "that is no choice of a class"),
    "no-score": ("judgment", "without a score"),
}
_REMEDIES = {"several-choices": "Pass several='keep' to make each combination a class of its own."}


def left_out(code: str, rows: Sequence[int] | np.ndarray[Any, Any], remedy: str = "") -> Finding:
    """The finding about what is left out, ``rows`` holding the file row of each."""
    noun, reason = _REASONS[code]
    sentence = f"{plural(len(rows), noun)} {reason} would be left out"
    return make_finding(code, "change", sentence, np.asarray(rows), remedy=remedy or _REMEDIES.get(code, ""))


def as_list(value: object) -> list[Any]:
    """A list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: object) -> str | None:
    """A name as text: a string, a number or a truth value; None for what is missing or nested."""
    if value is None or isinstance(value, dict | list) or value != value:
        return None
    return f"{value:g}" if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)


def media_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """Text, image and sound among the named fields of a task; a single text under any name is the text."""
    texts = {name: value for name, value in fields.items() if isinstance(value, str) and value}
    found = {}
    for kind in MEDIA:
        named = next((texts[name] for name in texts if plain(name) in ALIASES[kind]), None)
        if named is not None:
            found[kind] = named
    return found or ({"text": next(iter(texts.values()))} if len(texts) == 1 else {})


def records(source: Source) -> Iterator[dict[str, Any]]:
    """The rows of a table as records, nested values as they are in JSON and Parquet."""
    table = source.need_table()
    if isinstance(table, JsonTable):
        yield from table.records()
        return
    for piece in table.pieces(table.columns):
        yield from piece.to_pylist()


@dataclass
class Answers:
    """Columns as they grow, one entry per annotation, with the tasks and what is left out.

    Args:
        source: where they are from.
        settings: whether annotations of several choices are kept; columns cannot be chosen.
        columns: role -> the name of what plays it in this format.
    """

    source: Source
    settings: ReadSettings
    columns: dict[str, str]
    row: list[int] = field(default_factory=list)
    task: list[str] = field(default_factory=list)
    worker: list[str | None] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    seconds: list[float | None] = field(default_factory=list)
    timestamp: list[str | None] = field(default_factory=list)
    tasks: dict[str, dict[str, str]] = field(default_factory=dict)
    gold: dict[str, dict[str, int]] = field(default_factory=dict)
    dropped: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role in ("task", "worker", "gold", "split", *MEDIA):
            name = getattr(self.settings, role)
            if name not in (None, self.columns.get(role)):
                remedy = "Its columns are fixed; pass format='long' to read the file as a plain table."
                raise SettingError(role, "be left out for this format", name, remedy)

    def add(
        self,
        row: int,
        task: str,
        worker: object,
        choices: Sequence[object],
        seconds: object = None,
        when: object = None,
    ) -> None:
        """One annotation: kept if it is one choice."""
        chosen = list(dict.fromkeys(name for choice in choices if (name := text_of(choice))))
        if len(chosen) > 1 and self.settings.several == "keep":
            chosen = ["|".join(sorted(chosen))]
        if len(chosen) != 1:
            self.leave_out("several-choices" if chosen else "no-choice", row)
            return
        self.row.append(row)
        self.task.append(task)
        self.worker.append(text_of(worker))
        self.label.append(chosen[0])
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        self.seconds.append(float(str(seconds)) if number else None)
        self.timestamp.append(iso_time(when))

    def leave_out(self, code: str, row: int) -> None:
        """One thing that is not taken in: see ``_REASONS``."""
        self.dropped.setdefault(code, []).append(row)

    def list_task(self, task: str, **known: str | None) -> None:
        """What is known of a task (``split``, ``text``, ``image``, ``audio``); the first value counts."""
        about = self.tasks.setdefault(task, {})
        for name, value in known.items():
            if value:
                about.setdefault(name, value)

    def add_gold(self, row: int, task: str, label: str) -> None:
        """A true class of a task; if they contradict each other none counts."""
        self.gold.setdefault(task, {}).setdefault(label, row)

    def raw(self, form: str, **more: Any) -> Raw:
        """All of it as the validation takes it.

        Raises:
            DataError: nothing is left.
        """
        table = self.source.table
        left = tuple(left_out(code, rows) for code, rows in self.dropped.items())
        if not self.row:
            said = f": {'; '.join(f.sentence for f in left)}" if left else ""
            raise DataError(f"No annotation is a choice of one class{said}", file=self.source.path)
        extra = {
            "seconds": pa.array(self.seconds, pa.float64()),
            "timestamp": pa.array(self.timestamp, pa.large_string()),
        }
        extra = {name: values for name, values in extra.items() if values.null_count < len(values)}
        findings = (*(table.findings if table else ()), *left, *self._contradicting_gold(), *more.pop("findings", ()))
        return Raw(
            form,
            encode(strings(self.task)),
            encode(strings(self.worker)),
            encode(strings(self.label)),
            columns=more.pop("columns", tuple(self.columns.values())),
            roles=self.columns,
            rows=np.array(self.row, np.int64),
            encoding=table.encoding if table else None,
            delimiter=table.delimiter if table else None,
            escaped=bool(table and table.escaped),
            missing=self.settings.missing or (),
            extra=pa.table(extra) if extra else None,
            tasks=self._raw_tasks(),
            findings=findings,
            **more,
        )

    def _contradicting_gold(self) -> list[Finding]:
        rows = [max(labels.values()) for labels in self.gold.values() if len(labels) > 1]
        if not rows:
            return []
        sentence = f"{plural(len(rows), 'task')} with contradicting gold would count as unknown"
        return [make_finding("gold-contradicts", "change", sentence, np.array(rows))]

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
        media = {kind: part[kind] for kind in MEDIA if kind in part}
        return RawTasks(encode(strings(about)), True, part.get("gold"), part.get("split"), media, escaped)
