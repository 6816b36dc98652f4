"""Label Studio's JSON export, with several annotators per task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.columns import ALIASES, MappingError, plain
from crowdcore.data.dictionary import encode, strings
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import JsonTable

__all__ = ["LabelStudio"]


class LabelStudio(Reader):
    """A list of tasks, each with ``data`` and ``annotations``; choices are read.

    An annotation marked as ground truth becomes the task's gold, and is nobody's annotation.
    """

    name: ClassVar[str] = "label-studio"
    title: ClassVar[str] = "Label Studio (JSON)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The first entry has ``data`` and ``annotations``."""
        if not isinstance(source.table, JsonTable):
            return 0.0
        first = next(source.table.records(), {})
        return 0.9 if isinstance(first.get("data"), dict) and _annotations(first) is not None else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the choices of one control."""
        table = source.table
        if not isinstance(table, JsonTable):
            raise DataError("This is not a JSON export of Label Studio", file=source.path)
        control = settings.label or _only_control(table, source)
        rows = _Rows()
        for number, entry in enumerate(table.records(), 1):
            rows.add_task(number, entry, control, source)
        if not rows.ids:
            raise DataError("There are no tasks", file=source.path)
        extra = {name: values for name, values in rows.extra.items() if any(v is not None for v in values)}
        media = {kind: encode(strings(values)) for kind, values in rows.media.items() if any(values)}
        tasks = RawTasks(encode(strings(rows.ids)), True, encode(strings(rows.gold)), None, media)
        return Raw(
            self.name,
            encode(strings(rows.task)),
            encode(strings(rows.worker)),
            encode(strings(rows.label)),
            n_rows=rows.n_annotations,
            columns=("id", "completed_by", control),
            roles={"task": "id", "worker": "completed_by", "label": control},
            rows=np.array(rows.row, np.int64),
            encoding=table.encoding,
            missing=settings.missing or (),
            extra=pa.table({name: pa.array(values) for name, values in extra.items()}) if extra else None,
            tasks=tasks,
            findings=(*table.findings, *rows.findings()),
        )


@dataclass
class _Rows:
    """Columns as they grow: one list per column, tasks and annotations apart."""

    ids: list[str] = field(default_factory=list)
    gold: list[str | None] = field(default_factory=list)
    media: dict[str, list[str | None]] = field(default_factory=lambda: {kind: [] for kind in MEDIA})
    row: list[int] = field(default_factory=list)
    task: list[str] = field(default_factory=list)
    worker: list[str | None] = field(default_factory=list)
    label: list[str | None] = field(default_factory=list)
    extra: dict[str, list[Any]] = field(default_factory=lambda: {"seconds": [], "timestamp": []})
    several: list[int] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    truths: int = 0
    n_annotations: int = 0

    def add_task(self, number: int, entry: dict[str, Any], control: str, source: Source) -> None:
        data, annotations = entry.get("data"), _annotations(entry)
        if not isinstance(data, dict) or annotations is None:
            raise DataError("This entry has no `data` or no `annotations`", file=source.path, row=number)
        self.ids.append(str(entry.get("id", number)))
        self.gold.append(None)
        for kind in MEDIA:
            value = next((v for k, v in data.items() if plain(k) in ALIASES[kind] and isinstance(v, str)), None)
            self.media[kind].append(value)
        self.n_annotations += len(annotations)
        for annotation in annotations:
            if not isinstance(annotation, dict):
                raise DataError("An annotation is not a record", file=source.path, row=number)
            choices = list(_choices(annotation, control))
            if annotation.get("was_cancelled") or not choices:
                self.skipped.append(number)
            elif len(choices) > 1:
                self.several.append(number)
            elif annotation.get("ground_truth"):
                self.gold[-1] = choices[0]
                self.truths += 1
            else:
                self._add(number, annotation, choices[0])

    def _add(self, number: int, annotation: dict[str, Any], choice: str) -> None:
        completed_by = annotation.get("completed_by")
        if isinstance(completed_by, dict):
            completed_by = completed_by.get("email") or completed_by.get("id")
        self.row.append(number)
        self.task.append(self.ids[-1])
        self.worker.append(None if completed_by is None else str(completed_by))
        self.label.append(choice)
        seconds, when = annotation.get("lead_time"), annotation.get("created_at")
        self.extra["seconds"].append(float(seconds) if isinstance(seconds, int | float) else None)
        self.extra["timestamp"].append(when if isinstance(when, str) else None)

    def findings(self) -> tuple[Finding, ...]:
        findings = []
        if self.several:
            sentence = f"{plural(len(self.several), 'annotation')} with several choices would be left out"
            rows, remedy = np.array(self.several), "One class each is read so far."
            findings.append(
                make_finding("several-choices", "change", sentence, rows, left_out=len(rows), remedy=remedy)
            )
        if self.skipped:
            sentence = f"{plural(len(self.skipped), 'annotation')} skipped by the worker or without a choice"
            rows = np.array(self.skipped)
            findings.append(make_finding("skipped", "note", sentence, rows, left_out=len(rows)))
        if self.truths:
            sentence = (
                f"{plural(self.truths, 'annotation')} marked as ground truth became gold, and count for no worker"
            )
            findings.append(Finding("ground-truth", "note", sentence, self.truths, left_out=self.truths))
        return tuple(findings)


def _annotations(entry: dict[str, Any]) -> list[Any] | None:
    annotations = entry.get("annotations", entry.get("completions"))
    return annotations if isinstance(annotations, list) else None


def _results(annotation: Any) -> Iterator[dict[str, Any]]:
    results = annotation.get("result") if isinstance(annotation, dict) else None
    for result in results if isinstance(results, list) else ():
        if isinstance(result, dict) and isinstance(result.get("value"), dict):
            yield result


def _choices(annotation: dict[str, Any], control: str) -> Iterator[str]:
    for result in _results(annotation):
        choices = result["value"].get("choices")
        if str(result.get("from_name")) == control and isinstance(choices, list):
            yield from (str(choice) for choice in choices)


def _only_control(table: JsonTable, source: Source) -> str:
    """The name of the only control with choices.

    Raises:
        DataError: there is none.
        MappingError: there are several.
    """
    names: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for entry in table.records():
        for annotation in _annotations(entry) or ():
            for result in _results(annotation):
                kinds[str(result.get("type"))] += 1
                if "choices" in result["value"]:
                    names[str(result.get("from_name"))] += 1
    if not names:
        seen = f"; there are {', '.join(kinds)}" if kinds else ""
        raise DataError(f"No annotation holds choices{seen}", "Only choices are read so far.", file=source.path)
    if len(names) > 1:
        raise MappingError("Several controls hold choices", names, {}, source.path, "label=…")
    return next(iter(names))
