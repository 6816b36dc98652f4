"""Models' answers to the items of a benchmark: samples of lm-evaluation-harness, instances of Every Eval Ever."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from crowdcore.core.errors import SettingError
from crowdcore.data.readers._answers import as_list, first_of, records, text_of
from crowdcore.data.readers._panel import Run, read_runs
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import JsonTable

_SAMPLES = re.compile(r"(?:(?P<model>.+?)_)?samples_(?P<task>.+?)(?:_(?P<time>\d{4}-\d\d-\d\dT[-\d.:]+))?")
_METRICS = ("acc", "exact_match", "acc_norm", "correct", "pass@1")  # 1 for a right answer, else 0
_ASKED = ("question", "query", "prompt", "input", "problem", "text", "sentence", "passage", "goal", "ctx")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _File(NamedTuple):
    """A file of samples, with its model and task."""

    path: Path | None
    model: str
    task: str
    lines: Source


class LmEval(Reader):
    """A folder of ``samples_TASK_TIME.jsonl`` in a folder for each model, or one such file.

    The label of a multiple choice is the likeliest option: its text where all items have the same options, else its
    letter. Of several filters the first is read, and of several metrics the one that says what is right; ``label``
    names another one.
    """

    name: ClassVar[str] = "lm-eval"
    title: ClassVar[str] = "lm-evaluation-harness (samples)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are samples with a document, answers and a target."""
        if source.table is not None:
            return 0.95 if {"doc_id", "resps", "target"} <= {*source.table.columns} else 0.0
        return 0.95 if _sample_files(source) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every sample of every file."""
        metric = settings.label if settings.label not in ("answer", "score") else None
        first, metrics, options = dict[str, str | None](), dict[str, None](), set[tuple[str, ...]]()
        runs, left = list[Run](), 0
        for file in _open_files(source):
            for number, entry in enumerate(records(file.lines), 1):
                metrics |= dict.fromkeys(_metrics(entry))
                if text_of(entry.get("filter")) != first.setdefault(file.task, text_of(entry.get("filter"))):
                    left += 1
                    continue
                options.add(_options(entry))
                runs.append(_sample(file, len(runs) + 1, number, entry, metric))
        if metric is not None and metric not in metrics:
            raise SettingError("label", f"be answer, score or one of {', '.join(metrics)}", metric)
        if len(options) == 1:
            called = dict(zip(_LETTERS, *options, strict=False))
            runs = [run._replace(answer=_word(run.answer, called), target=_word(run.target, called)) for run in runs]
        settings = settings.model_copy(update={"label": "score" if metric else settings.label})
        findings = [*_about_filters(left, {name for name in first.values() if name}), *_about_empty(source)]
        return read_runs(self.name, source, settings, runs, {"task": "doc_id", "worker": "model"}, findings)


def _word(letter: str | None, called: Mapping[str, str]) -> str | None:
    return called.get(letter, letter) if letter else letter


def _sample(file: _File, row: int, number: int, entry: Mapping[str, Any], metric: str | None) -> Run:
    """The answer of one line; of a multiple choice its letter."""
    names = [metric] if metric else [name for name in (*_METRICS, *_metrics(entry)) if name in entry]
    outcome = entry.get(names[0]) if names else None
    options, given, target = _options(entry), entry.get("filtered_resps"), text_of(entry.get("target"))
    answer = None
    if options:
        odds = [pair[0] if isinstance(pair, list) and pair else pair for pair in as_list(given)]
        if len(odds) == len(options) and all(isinstance(x, int | float) and x == x for x in odds):
            answer, target = _LETTERS[odds.index(max(odds))], _letter(target, options)
    else:
        only = given[0] if isinstance(given, list) and len(given) == 1 else given
        only = only[0] if isinstance(only, list) and len(only) == 1 else only
        answer = only.strip() if isinstance(only, str) else None
        target = target and target.strip()
    doc = entry.get("doc")
    question = first_of(doc, _ASKED) if isinstance(doc, dict) else None
    item = text_of(entry.get("doc_id")) or f"row {number}"
    return Run(row, file.task, item, file.model, answer, target, outcome, "no-score", text_of(question))


def _letter(target: str | None, options: tuple[str, ...]) -> str | None:
    """The option that a target names by its text or its number."""
    if target is not None and target.strip() in options:
        return _LETTERS[options.index(target.strip())]
    return _LETTERS[int(target)] if target and target.isdecimal() and int(target) < len(options) else None


def _options(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The continuations between which a model chose; empty if it wrote freely."""
    given = entry.get("arguments")
    pairs = [*given.values()] if isinstance(given, dict) else as_list(given)
    ends = [[*pair.values()] if isinstance(pair, dict) else pair for pair in pairs]
    texts = tuple(str(end[1]).strip() for end in ends if isinstance(end, list) and len(end) > 1)
    free = any(isinstance(end, list) and len(end) > 1 and not isinstance(end[1], str) for end in ends)
    return () if free or len(texts) < 2 or len(texts) < len(ends) or len(texts) > len(_LETTERS) else texts


def _metrics(entry: Mapping[str, Any]) -> list[str]:
    return [name for name in map(text_of, as_list(entry.get("metrics"))) if name and name in entry]


def _about_filters(left: int, names: set[str]) -> list[Finding]:
    if not left:
        return []
    sentence = f"{plural(left, 'line')} of other filters than {' and '.join(map(repr, sorted(names)))} were not read"
    return [Finding("other-questions", "note", sentence, left, examples=tuple(sorted(names)[:5]), left_out=left)]


def _about_empty(source: Source) -> list[Finding]:
    empty = [str(file.relative_to(source.path or "")) for file in _sample_files(source) if not file.stat().st_size]
    if not empty:
        return []
    sentence = f"{plural(len(empty), 'file')} without a line: {', '.join(map(repr, empty[:5]))}"
    return [Finding("empty-files", "warning", sentence, len(empty), examples=tuple(empty[:5]))]


def _sample_files(source: Source) -> list[Path]:
    return [file for file in source.inside("**/*.jsonl") if _SAMPLES.fullmatch(file.stem)]


def _open_files(source: Source) -> list[_File]:
    """The files, each with its model: the name of its folder, or what differs between files of one folder."""
    if source.table is not None:
        match = _SAMPLES.fullmatch(source.name)
        folder = source.path.resolve().parent.name if source.path and match and not match["model"] else ""
        model, task = ((match["model"] or folder), match["task"]) if match else ("model", source.name)
        return [_File(source.path, model, task, source)]
    files = []
    for path in _sample_files(source):
        if path.stat().st_size:
            match = _SAMPLES.fullmatch(path.stem)
            assert match is not None
            model = match["model"] or _model_in_results(path.parent, match["time"]) or path.parent.name
            files.append(_File(path, model, match["task"], Source.at(path)))
            files[-1].lines.need_json()
    if len({file.model for file in files}) > 1 or len(files) < 2:
        return files
    same = {tuple(_documents(file)) for file in files}
    names = [file.task for file in files]
    if len(same) > 1 or len({*names}) < len(names):
        return files
    words = [name.split("_") for name in names]
    cut = next(k for k, column in enumerate(zip_longest(*words)) if len({*column}) > 1)
    parts = zip(files, words, strict=True)
    return [file._replace(model="_".join(w[cut:]) or file.task, task="_".join(w[:cut])) for file, w in parts]


def _documents(file: _File) -> Iterator[str | None]:
    """Fields that identify the documents of a file."""
    for entry in records(file.lines):
        yield text_of(entry.get("doc_hash")) or json.dumps(entry.get("doc"), sort_keys=True)


@cache
def _model_in_results(folder: Path, time: str | None) -> str | None:
    """The model named by the results beside the samples."""
    with suppress(OSError, ValueError, AttributeError):
        return text_of(json.loads((folder / f"results_{time}.json").read_text(encoding="utf-8")).get("model_name"))
    return None


class EveryEvalEver(Reader):
    """JSON lines of instances (``instance_level_eval`` 0.2), of one model or several; a folder of such files."""

    name: ClassVar[str] = "every-eval-ever"
    title: ClassVar[str] = "Every Eval Ever (instances)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The records have a model, a sample, an evaluation and its score."""
        if isinstance(source.table, JsonTable):
            return 0.95 if _is_instance(source.first) else 0.0
        files = source.inside("**/*.jsonl")
        return 0.95 if files and _is_instance(next(records(Source.at(files[0])), {})) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every instance."""
        opened = [source] if source.table is not None else [Source.at(f) for f in source.inside("**/*.jsonl")]
        every = (entry for one in opened if one.need_json() for entry in records(one))
        runs = [_instance(row, entry) for row, entry in enumerate(every, 1)]
        return read_runs(self.name, source, settings, runs, {"task": "sample_id", "worker": "model_id"})


def _is_instance(record: Mapping[str, Any]) -> bool:
    return {"model_id", "sample_id", "evaluation_name", "evaluation"} <= {*record}


def _instance(row: int, entry: Mapping[str, Any]) -> Run:
    inputs, output = entry.get("input"), entry.get("output")
    inputs, output = (part if isinstance(part, dict) else {} for part in (inputs, output))
    scored = entry.get("evaluation")
    scored = scored if isinstance(scored, dict) else {}
    right = scored.get("is_correct")
    outcome = right if isinstance(right, bool) else scored.get("score")
    answer, target = (_only(part) for part in (output.get("raw"), inputs.get("reference")))
    options = [_only(option) for option in as_list(inputs.get("choices"))]
    letters = [*_LETTERS[: len(options)]]
    if answer in letters and answer not in options and options.count(target) == 1:  # HELM names options by letters
        target = letters[options.index(target)]
    item = text_of(entry.get("sample_id")) or f"row {row}"
    part, model = (text_of(entry.get(name)) or "" for name in ("evaluation_name", "model_id"))
    return Run(row, part, item, model, answer, target, outcome, "no-score", text_of(inputs.get("raw")))


def _only(value: Any) -> str | None:
    """The only text of a list."""
    text = text_of(value[0] if isinstance(value, list) and len(value) == 1 else value)
    return text.strip() if text else None
