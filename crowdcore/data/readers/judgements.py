"""Exports of judges' verdicts: promptfoo, MLflow, Langfuse, Braintrust, JudgeBench, AltTest, MT-bench; and tables."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from crowdcore.core.errors import Remedy
from crowdcore.data.columns import ALIASES, plain
from crowdcore.data.readers._answers import Answers, as_list, as_record, first_of, records, text_of
from crowdcore.data.readers._panel import Verdict, has_question, name_of, ordered, read_verdicts
from crowdcore.data.readers.base import Raw, Reader, Source, read_annotations
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import JsonTable
from crowdcore.data.tables.json_table import load_record

_ITEM = ("traceId", "trace_id", "id", "span_id", "request_id")
_SHOWN = 5
_LOOKED_AT = 100  # records by which a tool is recognised


class _Tool(Reader):
    """An export whose records hold the verdicts on one item each; scores without common questions are judges."""

    columns: ClassVar[dict[str, str]]

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """One of the first records is from the tool."""
        first = islice(records(source), _LOOKED_AT) if isinstance(source.table, JsonTable) else ()
        return 0.92 if any(map(self.recognises, first)) else 0.0

    @abstractmethod
    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record is from the tool."""

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every verdict."""
        given = list[Verdict]()
        for number, record in enumerate(self.entries(source), 1):
            given += self.verdicts(number, record)
        given, findings = _names_as_judges(given, settings)
        return read_verdicts(self.name, source, settings, given, self.columns, findings)

    def entries(self, source: Source) -> Iterator[Mapping[str, Any]]:
        """The records of items."""
        yield from records(source)

    @abstractmethod
    def verdicts(self, number: int, record: Mapping[str, Any]) -> Iterator[Verdict]:
        """The verdicts of one record."""


def _names_as_judges(given: list[Verdict], settings: ReadSettings) -> tuple[list[Verdict], list[Finding]]:
    """Turn questions into judges if each has a single judge, with a question about it."""
    judges: dict[str, set[str | None]] = {}
    for verdict in filter(has_question, given):
        judges.setdefault(verdict.question, set()).add(verdict.judge)
    if settings.question is not None or len(judges) < 2 or max(map(len, judges.values())) > 1:
        return given, []
    names = [*judges]
    sentence = (
        f"{plural(len(names), 'score')} were read as judges of one question: {', '.join(map(repr, names[:_SHOWN]))}"
    )
    remedies = tuple(Remedy("question", name, when="they ask different ones") for name in names[:_SHOWN])
    finding = Finding("scorers-as-judges", "question", sentence, len(names), remedies=remedies)
    return [v._replace(judge=v.question if has_question(v) else v.judge, question="") for v in given], [finding]


class Promptfoo(_Tool):
    """The results of an evaluation: each output is a task, and each grader by a rubric is a worker."""

    name: ClassVar[str] = "promptfoo"
    title: ClassVar[str] = "promptfoo (results as JSON)"
    columns: ClassVar[dict[str, str]] = {"task": "test, prompt, provider", "worker": "assertion", "label": "pass"}

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """The document has results, each with its grading."""
        results = as_record(record.get("results")).get("results")
        return isinstance(results, list) and ("evalId" in record or "config" in record)

    def entries(self, source: Source) -> Iterator[Mapping[str, Any]]:
        """The outputs."""
        source.need_json()
        yield from map(as_record, as_list(as_record(source.first.get("results")).get("results")))

    def verdicts(self, number: int, record: Mapping[str, Any]) -> Iterator[Verdict]:
        """Each assertion's verdict; an output that was not graded has none."""
        provider = record.get("provider")
        judge_name = first_of(provider, ("label", "id")) if isinstance(provider, dict) else provider
        item = name_of(record.get("testIdx"), record.get("promptIdx"), judge_name) or f"row {number}"
        variables = as_record(record.get("vars"))
        text = text_of(next(iter(variables.values()), None)) if len(variables) == 1 else None
        graded = [as_record(part) for part in as_list(as_record(record.get("gradingResult")).get("componentResults"))]
        lost = "sample-error" if record.get("error") else "no-score"
        if not graded:
            yield Verdict(number, None, item, None, lost=lost)
        for part in graded:
            about = as_record(part.get("assertion"))
            by = about.get("provider")
            judge = text_of(by.get("id") if isinstance(by, dict) else by) or text_of(about.get("type"))
            question = text_of(first_of(about, ("metric", "value"))) or text_of(about.get("type")) or ""
            label = {True: "pass", False: "fail"}.get(part["pass"]) if isinstance(part.get("pass"), bool) else None
            yield Verdict(number, judge, item, label, question, lost=lost, text=text)


class MLflow(_Tool):
    """Traces with assessments: an assessment's name is the question, an expectation of that name is the gold."""

    name: ClassVar[str] = "mlflow"
    title: ClassVar[str] = "MLflow (traces with assessments)"
    columns: ClassVar[dict[str, str]] = {
        "task": "trace_id",
        "worker": "source_id",
        "label": "feedback",
        "gold": "expectation",
    }

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """A trace has assessments, or a row is one."""
        about = {**as_record(record.get("info")), **record}
        return any("assessment_name" in as_record(entry) for entry in [record, *as_list(about.get("assessments"))])

    def verdicts(self, number: int, record: Mapping[str, Any]) -> Iterator[Verdict]:
        """The feedback of each source, without overridden ones."""
        about = {**as_record(record.get("info")), **record}
        given = [record] if "assessment_name" in record else as_list(about.get("assessments"))
        item = text_of(first_of(about, _ITEM)) or f"row {number}"
        true = {
            text_of(entry.get("assessment_name")): as_record(entry["expectation"]).get("value")
            for entry in map(as_record, given)
            if entry.get("expectation") is not None
        }
        for entry in map(as_record, given):
            if entry.get("expectation") is None:
                name, by = text_of(entry.get("assessment_name")) or "", as_record(entry.get("source"))
                value = as_record(entry.get("feedback")).get("value") if entry.get("valid", True) else None
                lost = "no-score" if entry.get("valid", True) else "discarded"
                judge, when = text_of(by.get("source_id")), entry.get("create_time")
                yield Verdict(number, judge, item, value, name, true.get(name), lost, when=when)


class Langfuse(_Tool):
    """Scores: the name is the question, the worker who annotated it, or the source of the score."""

    name: ClassVar[str] = "langfuse"
    title: ClassVar[str] = "Langfuse (scores)"
    columns: ClassVar[dict[str, str]] = {"task": "traceId", "worker": "authorUserId", "label": "value"}

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The columns are those of scores."""
        return 0.92 if source.table is not None and self.recognises(dict.fromkeys(source.table.columns)) else 0.0

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """The fields of a score are there."""
        return {"traceId", "name", "source"} <= record.keys() and ("value" in record or "stringValue" in record)

    def verdicts(self, number: int, record: Mapping[str, Any]) -> Iterator[Verdict]:
        """One score."""
        item = name_of(record.get("traceId"), record.get("observationId"))
        judge = text_of(record.get("authorUserId")) or text_of(record.get("source"))
        value = record.get("stringValue") or record.get("value")
        name, when = text_of(record.get("name")) or "", record.get("timestamp") or record.get("createdAt")
        yield Verdict(number, judge, item, value, name, when=when)


class Braintrust(_Tool):
    """Rows of an experiment: each score of an output is a judge, if all judge the same question."""

    name: ClassVar[str] = "braintrust"
    title: ClassVar[str] = "Braintrust (rows of an experiment)"
    columns: ClassVar[dict[str, str]] = {"task": "id", "worker": "name of the score", "label": "score"}

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """The scores of a row are a record of numbers."""
        scores = as_record(record.get("scores"))
        numbers = all(value is None or isinstance(value, int | float) for value in scores.values())
        return bool(scores) and numbers and {"input", "output"} <= record.keys()

    def verdicts(self, number: int, record: Mapping[str, Any]) -> Iterator[Verdict]:
        """Each score."""
        scores = as_record(record.get("scores"))
        item, text = text_of(first_of(record, _ITEM[2:])) or f"row {number}", text_of(record.get("input"))
        lost = "sample-error" if record.get("error") else "no-score"
        if not scores:
            yield Verdict(number, None, item, None, lost=lost, text=text)
        for name, value in scores.items():
            yield Verdict(number, name, item, value, name, lost=lost, text=text)


class JudgeBench(_Tool):
    """JudgeBench's outputs: each judge compared both orders; the second order's decision is turned back."""

    name: ClassVar[str] = "judge-bench"
    title: ClassVar[str] = "JudgeBench (outputs of judges)"
    columns: ClassVar[dict[str, str]] = {
        "task": "pair_id",
        "worker": "judge_model",
        "label": "decision",
        "gold": "label",
    }

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The records are pairs with judgments, in one file or in a folder with a file for each judge."""
        given = isinstance(source.table, JsonTable) or self._files(source)
        return 0.95 if given and any(map(self.recognises, islice(self.entries(source), _LOOKED_AT))) else 0.0

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """A pair has judgments that decide."""
        given = map(as_record, as_list(record.get("judgments")))
        return {"pair_id", "label"} <= record.keys() and any("decision" in entry for entry in given)

    def _files(self, source: Source) -> list[Path]:
        return [file for file in source.inside("**/*.jsonl") if "judge_" in file.name and file.stat().st_size]

    def entries(self, source: Source) -> Iterator[Mapping[str, Any]]:
        """The pairs, each with its judge, from the name of the file or the record."""
        for opened in map(Source.at, self._files(source)) if source.table is None else [source]:
            named = dict(part.partition("=")[::2] for part in opened.name.split(","))
            judge = named.get("judge_model") or named.get("judge_name") or opened.name
            opened.need_json()
            for record in records(opened):
                yield {"judge": judge, **record}

    def verdicts(self, number: int, record: Mapping[str, Any]) -> Iterator[Verdict]:
        """Both decisions."""
        item, judge = text_of(record.get("pair_id")) or f"row {number}", text_of(record.get("judge"))
        for place, entry in enumerate(map(as_record, as_list(record.get("judgments")))):
            decision = text_of(entry.get("decision"))
            turned = decision.translate(str.maketrans("AB", "BA")) if decision and place else decision
            sides = re.fullmatch(r"([AB])([<>]+)([AB])", turned or "")
            if sides and sides[1] == "B":
                turned = f"A{sides[2].translate(str.maketrans('<>', '><'))}B"
            gold = text_of(record.get("label"))
            gold = "A<B" if gold == "B>A" else gold
            decided = turned.replace("B=A", "A=B") if turned else None
            yield Verdict(number, judge, item, decided, "", gold, swapped=bool(place))


class AltTest(Reader):
    """The alternative-annotator test's folder: ``{annotator: {instance: label}}`` of people and of models."""

    name: ClassVar[str] = "alt-test"
    title: ClassVar[str] = "AltTest (human_annotations.json and llm_annotations.json)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Both files are there."""
        return 0.95 if len(source.inside("human_annotations.json", "llm_annotations.json")) > 1 else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the labels of people and models."""
        given = list[Verdict]()
        for file in source.inside("human_annotations.json", "llm_annotations.json"):
            for user, labels in load_record(file).items():
                labels = labels if isinstance(labels, dict) else {file.stem: None}
                given += [Verdict(len(given) + k, user, item, word) for k, (item, word) in enumerate(labels.items(), 1)]
        columns = {"task": "instance", "worker": "annotator", "label": "label"}
        return read_verdicts(self.name, source, settings, given, columns)


_MT_BENCH = {"question_id", "model", "judge", "judgment", "score"}


class MTBench(Reader):
    """The task is a model's answer to a question (and turn), the worker the judge, the label the score."""

    name: ClassVar[str] = "mt-bench"
    title: ClassVar[str] = "MT-bench (judgments)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are a question, a model, a judge, the judgment's text and a score."""
        return 0.9 if source.table is not None and set(source.table.columns) >= _MT_BENCH else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the scores; -1 means that the judge's text has none."""
        source.need_table(*_MT_BENCH)
        answers = Answers(source, settings, {"task": "question_id, model", "worker": "judge", "label": "score"})
        for number, record in enumerate(records(source), 1):
            task = name_of(*(record.get(name) for name in ("question_id", "model", "turn")))
            named = record.get("judge")  # a name, or a name with its prompt
            judge = name_of(*named) or None if isinstance(named, list) else text_of(named)
            score = text_of(record.get("score"))
            if not score or score in ("-1", "-1.0"):
                answers.leave_out("no-score", number, judge)
                continue
            answers.list_task(task, text=text_of(record.get("user_prompt")))
            answers.add(number, task, judge, [score], when=record.get("tstamp"))
        return answers.raw(self.name)


_JUDGE = ("judge", "judge_model", "judge_name", "judge_id", "grader", "grader_model", "evaluator", "scorer")
_LABEL = ("verdict", "score", "grade", "decision")
_TRUE = ("target", "gold", "gold_label", "human", "human_label", "truth", "ground_truth")
_ABOUT = (
    *(
        "item",
        "item_id",
        "sample_id",
        "sample",
        "question_id",
        "example_id",
        "instance_id",
        "prompt_id",
        "task",
        "task_id",
    ),
    *("question", "prompt", "id"),
)


class VerdictTable(Reader):
    """A row for each verdict: ``judge``, ``item``, ``verdict`` or ``score``, and perhaps ``target``."""

    name: ClassVar[str] = "verdicts"
    title: ClassVar[str] = "Table of verdicts (judge, item, verdict, target)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The columns have these names, and items recur."""
        named = settings.task or settings.worker or settings.label or settings.gold or settings.workers or settings.turn
        return 0.62 if source.table is not None and not named and _roles(source) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read it as a table of these columns."""
        roles = _roles(source) or {}
        named = {role: column for role, column in roles.items() if getattr(settings, role) is None}
        raw = read_annotations(source.need_table(), settings.model_copy(update=named), self.name)
        columns = [raw.label, *([raw.tasks.gold] if raw.tasks and raw.tasks.gold else [])]
        words = {word for codes in columns for word in codes.values.to_pylist() if word and word.strip()}
        more, findings = ordered(words - {*(settings.missing or ())}, settings)
        return replace(raw, findings=(*raw.findings, *findings), **more)


def _roles(source: Source) -> dict[str, str] | None:
    """Role -> column; None if one is missing, or no item recurs."""
    table = source.need_table()
    by_name = {plain(column): column for column in reversed(table.columns)}
    wanted = {"worker": _JUDGE, "label": _LABEL, "gold": _TRUE, "task": _ABOUT}
    roles = {role: first_of(by_name, names) for role, names in wanted.items()}
    roles = {role: column for role, column in roles.items() if column}
    if not {"worker", "label", "task"} <= {*roles} or {*by_name} & {*ALIASES["label"]}:
        return None
    if {*by_name} & ({*ALIASES["worker"]} - {*_JUDGE}) and len({*table.words(roles["worker"])}) < 2:
        return None  # a single judge, beside the workers
    items = table.words(roles["task"])
    return roles if len({*items}) < len(items) else None
