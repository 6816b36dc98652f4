"""Logs of Inspect (``.json`` and ``.eval``, or a folder of them): graders judge outputs, or models answer questions."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.data.readers._answers import as_list, as_record, text_of
from crowdcore.data.readers._panel import Run, Verdict, name_of, read_runs, read_verdicts
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import JsonTable
from crowdcore.data.tables.json_table import load_record
from crowdcore.data.unpack import unpack_zip

_HEADERS = ("header.json", "_journal/start.json")  # of an unpacked log: a finished one, and an interrupted one
_WORKERS = ("scorer", "model")
_LOOKED_AT = 3  # files by which a folder of logs is recognised


class _Log(NamedTuple):
    """Contents of one log.

    Args:
        name: of its file.
        header: version, status, eval, results.
        samples: the records of its samples.
    """

    name: str
    header: Mapping[str, Any]
    samples: list[dict[str, Any]]

    @property
    def about(self) -> Mapping[str, Any]:
        """The record of the evaluation."""
        return as_record(self.header.get("eval"))

    @property
    def task(self) -> str:
        """Name of the evaluated task."""
        return text_of(self.about.get("task")) or self.name

    @property
    def model(self) -> str:
        """Name of the evaluated model."""
        return text_of(self.about.get("model")) or self.name

    @property
    def judges(self) -> dict[str, str]:
        """Scorer -> name of its judge: the grading model, if each scorer has another one."""
        used = [text_of(name) for name in self._scorers()]
        names = {name for name in used if name}
        models = {name: _grader(self._scorers()[name]) for name in names}
        given = [model for model in models.values() if model]
        apart = len({*given}) == len(given)
        return {name: model if apart and (model := models[name]) else name for name in sorted(names)}

    def _scorers(self) -> dict[str, Mapping[str, Any]]:
        """Scorer -> its options: those in the results, and those of any sample."""
        options: dict[str, Mapping[str, Any]] = {}
        for entry in as_list(as_record(self.header.get("results")).get("scores")):
            if name := text_of(as_record(entry).get("name")):
                options.setdefault(name, as_record(as_record(entry).get("params")))
        for entry in as_list(self.about.get("scorers")):
            if name := text_of(as_record(entry).get("name")):
                options.setdefault(name, as_record(as_record(entry).get("options")))
        scored = {name: None for sample in self.samples for name in as_record(sample.get("scores"))}
        return {name: options.get(name, {}) for name in scored} if scored else options


class InspectLog(Reader):
    """With several scorers these are the workers (``worker="model"``: the models), and each output is a task.

    With one scorer the workers are the evaluated models: see `_panel.read_runs` for their labels. Each value of a
    score of several is a question. ``gold`` names a field of the samples' metadata.
    """

    name: ClassVar[str] = "inspect-log"
    title: ClassVar[str] = "Inspect (evaluation logs)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A document of an evaluation and its samples, or a folder of such files."""
        if isinstance(source.table, JsonTable):
            return 0.95 if _is_log(source.first) else 0.0
        if source.folder and any((source.folder / name).is_file() for name in _HEADERS):
            return 0.95
        files = _files(source)
        return 0.95 if any(map(_looks_like_log, files[:_LOOKED_AT])) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the scores of every sample of every log."""
        logs, findings = _logs(source)
        names = dict.fromkeys(name for log in logs for name in log.judges)
        models = dict.fromkeys(log.model for log in logs)
        if settings.worker not in (None, *_WORKERS):
            raise SettingError("worker", "be scorer or model for Inspect's logs", settings.worker)
        if settings.label in names:
            names = {settings.label: None}
        worker = settings.worker or _WORKERS[len(names) < 2]
        if settings.worker is None and len(names) > 1:
            findings += _scorers_as_judges([*names], len(models))
        settings = settings.model_copy(update={"worker": worker})
        read = _verdicts if worker == "scorer" else _runs
        return read(self.name, source, settings, logs, [*names], findings)


def _verdicts(
    form: str, source: Source, settings: ReadSettings, logs: list[_Log], names: list[str], findings: list[Finding]
) -> Raw:
    """Each scorer's verdict on each output."""
    tasks, models = {log.task for log in logs}, {log.model for log in logs}
    again = Counter((log.task, log.model) for log in logs)
    columns = {"task": "sample", "worker": "scorer", "label": "value"}
    if settings.gold:
        columns["gold"] = settings.gold
    fields = dict.fromkeys(name for log in logs for sample in log.samples for name in as_record(sample.get("metadata")))
    if settings.gold and settings.gold not in fields:
        raise SettingError("gold", f"be a field of the samples' metadata ({', '.join([*fields][:8])})", settings.gold)
    given, row = list[Verdict](), 0
    for log in logs:
        epochs = len({text_of(sample.get("epoch")) for sample in log.samples}) > 1
        judges = {name: judge for name, judge in log.judges.items() if name in names}
        for k, sample in enumerate(log.samples, 1):
            part = [log.task] * (len(tasks) > 1) + [log.model] * (len(models) > 1)
            part += [log.name] * (again[log.task, log.model] > 1)
            number = [f"epoch {text_of(sample.get('epoch'))}"] if epochs else []
            item = name_of(*part, text_of(sample.get("id")) or f"sample {k}", *number)
            scores, text = as_record(sample.get("scores")), _text(sample.get("input"))
            gold = as_record(sample.get("metadata")).get(settings.gold) if settings.gold else None
            for name, judge in judges.items():
                for key, value in _values(scores.get(name)):
                    row += 1
                    lost = "sample-error" if sample.get("error") else "no-score"
                    given.append(Verdict(row, judge, item, value, key, gold, lost, text))
    return read_verdicts(form, source, settings.model_copy(update={"label": None}), given, columns, findings)


def _runs(
    form: str, source: Source, settings: ReadSettings, logs: list[_Log], names: list[str], findings: list[Finding]
) -> Raw:
    """Each model's answers, with the scores of one scorer."""
    chosen = names[0] if names else ""
    if len(names) > 1:
        left = sum(len(log.samples) * (len(log.judges) - 1) for log in logs)
        remedies = tuple(Remedy("label", name) for name in names[1:6])
        sentence = f"The scorer {chosen!r} was read, and no other of {plural(len(names), 'scorer')}"
        findings = [*findings, Finding("other-questions", "note", sentence, left, left_out=left, remedies=remedies)]
    label = settings.label if settings.label in ("answer", "score") else None
    runs, row = list[Run](), 0
    for log in logs:
        for k, sample in enumerate(log.samples, 1):
            score = as_record(as_record(sample.get("scores")).get(chosen))
            value = score.get("value")
            row += 1
            lost = "sample-error" if sample.get("error") else "no-score"
            item, outcome = name_of(sample.get("id")), None if isinstance(value, dict | list) else value
            item = item or f"sample {k}"
            scored = None if outcome is None else text_of(score.get("answer"))
            text = _text(sample.get("input"))
            runs.append(Run(row, log.task, item, log.model, scored, _target(sample), outcome, lost, text))
    columns = {"task": "sample", "worker": "model"}
    settings = settings.model_copy(update={"label": label})
    return read_runs(form, source, settings, runs, columns, findings)


def _scorers_as_judges(names: list[str], n_models: int) -> list[Finding]:
    """A question if scorers may ask different questions, or models may be the workers."""
    same = len({name.rstrip("0123456789").rstrip("_") for name in names}) == 1
    if same and n_models == 1:
        return []
    sentence = f"{plural(len(names), 'scorer')} were read as judges of one question: {', '.join(map(repr, names[:5]))}"
    remedies = [Remedy("worker", "scorer", when="so")]
    remedies += [Remedy("worker", "model", when="the evaluated models are meant")] if n_models > 1 else []
    remedies += [Remedy("label", name, when="they ask different questions") for name in names[:3]]
    return [Finding("scorers-as-judges", "question", sentence, len(names), remedies=tuple(remedies))]


def _values(score: Any) -> list[tuple[str, Any]]:
    """Question -> value of a score; one value answers the only question."""
    value = as_record(score).get("value")
    return [*value.items()] if isinstance(value, dict) and value else [("", value)]


def _grader(options: Mapping[str, Any]) -> str | None:
    model = options.get("model")
    return text_of(model.get("model") if isinstance(model, dict) else model)


def _target(sample: Mapping[str, Any]) -> str | None:
    target = sample.get("target")
    return text_of(target[0] if isinstance(target, list) and len(target) == 1 else target) or None


def _text(given: Any) -> str | None:
    """The prompt: a text, or the last message of the user."""
    messages = [message for message in as_list(given) if as_record(message).get("role") == "user"]
    return text_of(messages[-1].get("content")) if messages else text_of(given)


def _is_log(record: Mapping[str, Any]) -> bool:
    return "eval" in record and "status" in record and "version" in record


def _files(source: Source) -> list[Path]:
    return source.inside("**/*.eval", "**/*.json")


def _looks_like_log(file: Path) -> bool:
    """Return whether a file is a log, by its ending or the names at its beginning."""
    if file.suffix == ".eval":
        return True
    with suppress(OSError), file.open(encoding="utf-8", errors="replace") as opened:
        start = opened.read(500)
        return '"version"' in start and '"status"' in start and '"eval"' in start
    return False


def _logs(source: Source) -> tuple[list[_Log], list[Finding]]:
    """The logs of a source, and findings on those without samples."""
    if isinstance(source.table, JsonTable):
        logs = [_of_document(source.name, source.first)]
    elif source.folder and any((source.folder / name).is_file() for name in _HEADERS):
        logs = [_of_folder(source.name, source.folder)]
    else:
        logs = [_open(file) for file in _files(source) if _looks_like_log(file)]
    findings, empty = list[Finding](), [log.name for log in logs if not log.samples]
    if not logs or len(empty) == len(logs):
        raise DataError("No sample is in this log", "Run the evaluation, or try again.", file=source.path)
    if empty:
        sentence = f"{plural(len(empty), 'log')} without samples: {', '.join(map(repr, empty[:5]))}"
        findings.append(Finding("empty-logs", "warning", sentence, len(empty), examples=tuple(empty[:5])))
    cut = [log.name for log in logs if log.samples and log.header.get("status") != "success"]
    if cut:
        sentence = f"{plural(len(cut), 'log')} of evaluations that did not end well: {', '.join(map(repr, cut[:5]))}"
        findings.append(Finding("unfinished-logs", "warning", sentence, len(cut), examples=tuple(cut[:5])))
    return [log for log in logs if log.samples], findings


def _open(file: Path) -> _Log:
    """Open a file beside others."""
    if file.suffix != ".eval":
        return _of_document(file.stem, _load(file))
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="crowdcore-")), "log")
        unpack_zip(file, folder)
        return _of_folder(file.stem, folder)


def _of_document(name: str, record: Mapping[str, Any]) -> _Log:
    if not _is_log(record):
        raise DataError(f"{name!r} is no log of Inspect")
    return _Log(name, record, [entry for entry in as_list(record.get("samples")) if isinstance(entry, dict)])


def _of_folder(name: str, folder: Path) -> _Log:
    """An unpacked log."""
    header = next((folder / file for file in _HEADERS if (folder / file).is_file()), None)
    if header is None:
        raise DataError(f"{name!r} is no log of Inspect: it has no header")
    samples = [_load(file) for file in (folder / "samples").glob("*.json")]
    return _Log(name, _load(header), sorted(samples, key=lambda s: (str(s.get("id")), str(s.get("epoch")))))


def _load(file: Path) -> dict[str, Any]:
    return {name: value for name, value in load_record(file).items() if name not in _HEAVY}


_HEAVY = ("messages", "events", "attachments", "store", "output", "model_usage")  # large unused fields of a sample
