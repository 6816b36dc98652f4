"""Prodigy's JSON lines with ``_annotator_id``: choices among options, or accepted and rejected suggestions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.columns import ALIASES, plain
from crowdcore.data.dictionary import encode, strings
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import JsonTable

__all__ = ["Prodigy"]

_WHO = ("_annotator_id", "_session_id")


class Prodigy(Reader):
    """With ``options`` the label is the accepted option; without, the question is the suggestion (text and label
    together, ``_task_hash``) and the label is ``accept`` or ``reject``. Ignored questions have no label.
    """

    name: ClassVar[str] = "prodigy"
    title: ClassVar[str] = "Prodigy (JSON lines)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The first line has an annotator and an answer."""
        if not isinstance(source.table, JsonTable):
            return 0.0
        first = next(source.table.records(), {})
        return 0.8 if "answer" in first and any(name in first for name in _WHO) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every answer."""
        table = source.table
        if not isinstance(table, JsonTable):
            raise DataError("These are not JSON lines of Prodigy", file=source.path)
        rows, tasks, workers, labels, stamps = [], [], [], [], []
        media: dict[str, list[str | None]] = {kind: [] for kind in MEDIA}
        options: dict[str, None] = {}
        several, refused, ignored, number = [], [], [], 0
        for number, record in enumerate(table.records(), 1):
            choice = isinstance(record.get("options"), list)
            if choice:
                options.update(dict.fromkeys(_option(option) for option in record["options"]))
            label = _label(record, choice)
            if record.get("answer") == "reject" and choice:
                refused.append(number)
            elif not label:
                ignored.append(number)
            elif len(label) > 1:
                several.append(number)
            else:
                rows.append(number)
                tasks.append(_task(record, choice, number, source))
                workers.append(next((str(record[name]) for name in _WHO if record.get(name) is not None), None))
                labels.append(label[0])
                stamps.append(record.get("_timestamp") if isinstance(record.get("_timestamp"), int) else None)
                for kind in MEDIA:
                    media[kind].append(next((str(v) for k, v in record.items() if plain(k) in ALIASES[kind]), None))
        if not rows:
            raise DataError("No line holds an answer", file=source.path)
        task = encode(strings(tasks))
        shown = {kind: encode(strings(values)) for kind, values in media.items() if any(values)}
        return Raw(
            self.name,
            task,
            encode(strings(workers)),
            encode(strings(labels)),
            n_rows=number,
            columns=table.columns,
            roles={"task": "_input_hash" if options else "_task_hash", "worker": "_annotator_id", "label": "answer"},
            rows=np.array(rows, np.int64),
            encoding=table.encoding,
            missing=settings.missing or (),
            extra=pa.table({"timestamp": pa.array(stamps)}) if any(stamps) else None,
            tasks=RawTasks(task, False, media=shown) if shown else None,
            classes=tuple(options) or ("accept", "reject"),
            findings=(*table.findings, *_findings(several, refused, ignored)),
        )


def _option(option: Any) -> str:
    return str(option.get("id", option.get("text"))) if isinstance(option, dict) else str(option)


def _label(record: dict[str, Any], choice: bool) -> list[str] | None:
    """The labels given, None if the question was ignored."""
    answer = record.get("answer")
    if answer not in ("accept", "reject"):
        return None
    if not choice:
        return [str(answer)]
    accepted = record.get("accept", [])
    return [str(option) for option in (accepted if isinstance(accepted, list) else [accepted])]


def _task(record: dict[str, Any], choice: bool, number: int, source: Source) -> str:
    names = ("_input_hash", "_task_hash", "text") if choice else ("_task_hash", "_input_hash", "text")
    for name in names:
        if record.get(name) is not None:
            return str(record[name])
    raise DataError(
        "This line names no task: _input_hash, _task_hash and text are missing", file=source.path, row=number
    )


def _findings(several: list[int], refused: list[int], ignored: list[int]) -> list[Finding]:
    findings = []
    if several:
        sentence = f"{plural(len(several), 'answer')} with several options would be left out"
        remedy = "One class each is read so far."
        findings.append(
            make_finding("several-choices", "change", sentence, np.array(several), left_out=len(several), remedy=remedy)
        )
    if refused:
        sentence = f"{plural(len(refused), 'rejected question')} would be left out: the worker refused all options"
        findings.append(make_finding("rejected", "change", sentence, np.array(refused), left_out=len(refused)))
    if ignored:
        sentence = f"{plural(len(ignored), 'question')} ignored or left without an option"
        findings.append(make_finding("skipped", "note", sentence, np.array(ignored), left_out=len(ignored)))
    return findings
