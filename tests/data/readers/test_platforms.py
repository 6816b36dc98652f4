"""Exports of Toloka, Appen and Mechanical Turk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crowdcore.data import MappingError
from testkit import export_tables as exports
from tests.data.reading.read_case import check, placed, table

SENTIMENT = exports.MTURK_HEADER.index("Answer.sentiment")
NOBODY: dict[str, tuple[int, ...]] = {"workers-without-labels": ()}
LEFT: dict[str, Any] = {"changes": {"several-choices": (3,), "no-choice": (4,), **NOBODY}}


def batch(answers: Any = exports.MTURK_ANSWERS, columns: Any = ("Answer.sentiment",), inputs: Any = ("Input.text",)):
    """Answers under some columns ``Answer.*``."""
    header = [*exports.MTURK_HEADER[: SENTIMENT - 1], *inputs, *columns, "Approve", "Reject"]
    return "Batch_1_batch_results.csv", exports.mturk(answers, header)


def forms(*given: Any) -> Any:
    """A form of Crowd HTML Elements for each worker."""
    rows = [
        ("1", f"A{n}", {"Answer.taskAnswers": form if isinstance(form, str) else json.dumps([form])}, "Approved")
        for n, form in enumerate(given)
    ]
    return batch(rows, ("Answer.taskAnswers",))


def toloka(*replacements: tuple[str, str]) -> tuple[str, str]:
    return "assignments.tsv", exports.replaced(exports.TOLOKA, replacements)


def appen(*replacements: tuple[str, str]) -> tuple[str, str]:
    return "f123.csv", exports.replaced(exports.APPEN, replacements)


def of_appen(rows: str, *names: str) -> tuple[str, str]:
    return "f124.csv", ",".join(("_unit_id", "_worker_id", *names)) + "\n" + rows


REVIEWED = exports.mturk(reviewed=True)
CUT = exports.mturk().splitlines(keepends=True)
CUT[3] = CUT[3].rstrip() + ",x,\r\n"
TONE_AND_TOPIC = [
    ("1", w, {"Answer.tone": t, "Answer.topic": "film"}, "Approved") for w, t in (("A", "calm"), ("B", "loud"))
]
INPUTS = {"Input.image_url": "https://example.org/a.png", "Input.gold": "neg"}
WITH_GOLD = [("1", w, {**INPUTS, "Answer.sentiment": label}, "Approved") for w, label in (("A", "pos"), ("B", "neg"))]
BLANKS = [("1", "A1", "pos", "Approved"), ("1", "A2", "pos ", "Approved"), ("2", "A1", "neg", "Approved")]
FORM = [
    {"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}, "box": {"boxes": []}},
    {"animal": {"label": "dog"}, "sure": {"yes": False, "no": True}},
    {"animal": {"labels": ["cat", "dog"]}, "sure": {"yes": False, "no": False}}, "[{",
]  # fmt: skip
# Buttons with names of their own, as crowd-radio-group and crowd-checkbox answer them (Crowd HTML Elements).
PRESSED = [("cat",), ("dog",), ("cat", "dog"), ()]
BUTTONS = [{name: {"on": name in names} for name in ("cat", "dog")} for names in PRESSED]
# What ``<crowd-form answer-format="flatten-objects">`` gives, beside a classifier's ``Answer.animal.label``.
SPREAD = [
    ("1", f"A{n}", {f"Answer.{name}.on": str(name in names).lower()
    for name in ("cat", "dog")} | {"Answer.animal.label": "cow"},
     "Approved") for n, names in enumerate(PRESSED)
]  # fmt: skip
SPREAD_COLUMNS = ("Answer.cat.on", "Answer.dog.on", "Answer.animal.label", "Answer.note.text")
OLDER = ("_unit_id", "_created_at", "_golden", "_canary", "_tainted", "_trust", "_worker_id", "kind",
         "_trusted_judgments", "_unit_state", "text")  # fmt: skip
OLDER_ROW = ("8/24/2013 20:28:31", "true", "", "false", "0.9211")

CASES: dict[str, tuple[Any, ...]] = {
    "mturk": (
        batch(), {"roles": {"task": "HITId", "worker": "WorkerId", "label": "Answer.sentiment", "text": "Input.text"},
        "extra": {"timestamp": ["2011-06-16T19:59:33Z"] * 5, "seconds": [30, 31, 33, 34, 35]},
        "texts": ["great film", "dull plot"], "has": {"unfilled-columns"},
        "findings": {"flagged": {"level": "warning", "count": 1, "rows": (6,)}}},
        ({"flagged": "drop"}, {"n_annotations": 4, "n_rows": 7,
         "lost": {"flagged": 1, "several-choices": 1, "no-choice": 1},
         "changes": {"flagged": (6,), "several-choices": (3,), "no-choice": (7,), **NOBODY}})),
    "the columns of a review have cells only after it": (
        ("reviewed.csv", REVIEWED), {"lacks": {"unfilled-columns"}, "label": [1, 0, 0, 0, 1]}),
    "some of a review's cells": (
        ("reviewed.csv", "".join(CUT)), {"refused": None, "match": r"\d+ cells.* \d+ columns \(reviewed.csv, row 1 "}),
    "several questions of mturk": (
        batch(TONE_AND_TOPIC, ("Answer.tone", "Answer.topic")),
        {"refused": MappingError, "match": r"'Answer.tone'.*'Answer.topic'.*label=",
         "roles": {"task": "HITId", "worker": "WorkerId", "label": None, "text": "Input.text"}},
        ({"label": "Answer.tone"}, {"classes": ("calm", "loud"), "has": {"other-questions"},
        "text": ("'Answer.topic'",)}),
        ({"label": "tone"}, {"refused": MappingError, "match": "'tone'"})),
    "a form of crowd html elements": (
        forms(*FORM), {"refused": MappingError, "match": "'animal', 'sure'"},
        ({"label": "animal"}, {"roles": {"label": "animal"}, "has": {"several-choices", "no-choice"},
         "lost": {"several-choices": 1, "no-choice": 1},
             "findings": {"several-choices": {"rows": (3,)}, "no-choice": {"rows": (4,)}}}),
        ({"label": "sure"}, {"classes": ("no", "yes")})),
    "gold and image among the inputs": (
        batch(WITH_GOLD, inputs=tuple(INPUTS)),
        {"roles": {"image": "Input.image_url", "gold": "Input.gold"}, "gold": [0],
                                                 "images": ["https://example.org/a.png"], "changes": {}}),
    "a batch without answers": (batch(columns=()), {"refused": None, "match": "results"}),
    "a batch without its status": (
        "HITId,WorkerId,Answer.output\n3A,W1,B\n3A,W2,C\n3B,W1,B\n", {"format": "mturk", "n_annotations": 3}),
    "buttons with names of their own": (
        forms(*BUTTONS), {"refused": MappingError, "match": "'cat', 'dog', 'buttons'"},
        ({"label": "buttons"}, {"classes": ("cat", "dog"), **LEFT}),
        ({"label": "dog"}, {"changes": {}, "label": [0, 1, 1, 0], "classes": ("false", "true")})),
    "buttons spread over columns": (
        batch(SPREAD, SPREAD_COLUMNS),
        {"refused": MappingError, "match": r"'Answer.animal.label', 'Answer.note.text', 'cat', 'dog', 'buttons'"},
        ({"label": "buttons"}, {"classes": ("cat", "dog"), "roles": {"label": "buttons"}, **LEFT, "label": [0, 1]}),
        ({"label": "Answer.animal.label"}, {"changes": {}, "classes": ("cow",)})),
    "answers of mturk that differ by a blank": (
        batch(BLANKS), {"changes": {"merged-labels": (2,)}, "classes": ("neg", "pos"),
                        "findings": {"merged-labels": {"examples": ("pos ",)}}}),
    "toloka": (
        toloka(), {"gold": [1, -1], "extra": {"timestamp": ["2023-01-05T11:44:27.393000"] * 4,
                                              "ASSIGNMENT:status": ["APPROVED"] * 3 + ["REJECTED"]}},
        ({"flagged": "drop"}, {"changes": {"flagged": (4,), "no-choice": (5,), **NOBODY}})),
    "toloka's file of the web page has only the start": (  # only the interface for programs gives ``submitted``
        toloka(("ASSIGNMENT:submitted", "ACCEPT:comment")),
        {"extra": {"timestamp": ["2023-01-05T11:44:01.123000"] * 4}}),
    "the only input is the task where no task is named": (
        toloka(("ASSIGNMENT:task_id", "ASSIGNMENT:other")), {"roles": {"task": "INPUT:text"}}),
    "one of two inputs": (
        toloka(("ASSIGNMENT:task_id", "INPUT:more")), {"refused": MappingError, "match": r"'INPUT:text'.*'INPUT:more'"},
        ({"task": "INPUT:text"}, {"n_tasks": 2})),
    "several outputs": (
        toloka(("HINT:text", "OUTPUT:sure")), {"refused": MappingError, "match": "'OUTPUT:result', 'OUTPUT:sure'"},
        ({"label": "OUTPUT:result"}, {"roles": {"gold": "GOLDEN:result"}})),
    "lists of choices of toloka": (
        toloka(("\tpos\tpos", '\t"[""pos"", ""neg""]"\tpos'), ("\tneg\tpos", '\t"[""neg""]"\tpos')),
        {"changes": {"several-choices": (1,), "no-choice": (5,), **NOBODY}, "classes": ("neg", "pos")}),
    "appen": (
        appen(), {"roles": {"gold": "sentiment_gold"}, "gold": [1, -1], "extra": {"_trust": [0.9167] * 4,
        "timestamp": ["2014-06-30T14:28:16"] * 4}, "findings": {"flagged": {"level": "warning", "rows": (2,)}}},
        ({"flagged": "drop"}, {"n_annotations": 3})),
    "several accepted answers are no gold": (
        appen((",,,pos,,great", ',,,"pos\nneg",,great')),
        {"n_gold": 0, "findings": {"several-gold": {"level": "change", "count": 3, "column": "sentiment_gold"}}}),
    "fields without gold": (
        appen(("sentiment_gold,", "orig_x,")), {"refused": MappingError, "match": r"'sentiment'.*'comment'"},
        ({"label": "sentiment"}, {"n_annotations": 4})),
    "a field with a known name": (
        appen(("sentiment_gold,", "orig_x,"), (",sentiment,", ",category,")),
        {"roles": {"label": "category"}, "n_gold": 0}),
    "a cut report is known by its gold": (
        of_appen("1,a,cat,dog\n1,b,dog,dog\n2,a,cat,\n", "category", "category_gold"),
        {"changes": {}, "gold": [1, -1]}),
    "the aggregated report": (
        "_unit_id,_golden,_unit_state,_trusted_judgments,sentiment\n1,FALSE,finalized,3,pos\n",
        {"refused": None, "match": "aggregated"}),
    "answers of appen that differ by a blank": (
        of_appen("1,a,1.0,cat,cat\n1,b,1.0,cat ,cat \n2,a,1.0,dog,\n", "_trust", "kind", "kind_gold"),
        {"changes": {"merged-labels": (2,), "merged-golds": (2,)}, "classes": ("cat", "dog")}),
    "a report made from an older report": (  # whose columns (``_trusted_judgments`` …) make it no aggregated report
        table([(f"7{unit}", *OLDER_ROW, who, "Yes", "1", "finalized", "sunny") for unit in (1, 2) for who in "ab"],
        *OLDER),
        {"format": "appen", "roles": {"label": "kind"}, "n_annotations": 4}),
    "choices that a script wrote as a list": (  # as in the tutorial of https://github.com/CrowdTruth/CrowdTruth-core
        of_appen('1,a,1,"[""Other""]"\n1,b,1,"[""Other"",""Artist""]"\n2,a,1,"[""Artist""]"\n2,b,1,[IS_A]\n', "_trust",
        "answer"),
        {"classes": ("Artist", "Other", "[IS_A]"), "changes": {"several-choices": (2,)}}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, tmp_path: Path) -> None:
    content, *steps = CASES[name]
    check(placed(tmp_path, content), *steps)
