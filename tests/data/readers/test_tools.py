"""Exports of doccano, LightTag, Argilla, Prodigy and SageMaker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pandas as pd
import pytest

from crowdcore.data import MappingError
from testkit import exports
from tests.data.reading.read_case import check, placed

OPTIONS = [{"id": "SPORT", "text": "Sport"}, {"id": "POLITICS", "text": "Politics"}, {"id": "OTHER"}]
SPANS = [{"start": 0, "end": 4, "label": "ORG"}]
NOBODY: dict[str, tuple[int, ...]] = {"workers-without-labels": ()}


def line(text: str, who: str | None, accept: Any = (), answer: str = "accept", **more: Any) -> dict[str, Any]:
    number = crc32(text.encode())  # Python's own hash differs from process to process, and may be equal
    return {
        "text": text, "_input_hash": number, "_task_hash": number + 1, "options": OPTIONS,
        "_annotator_id": who, "answer": answer, "accept": list(accept), "_timestamp": 1_700_000_000, **more,
    }  # fmt: skip


def prodigy(*records: dict[str, Any]) -> tuple[str, Any]:
    return "export.jsonl", [*records]


def suggested(*answers: tuple[str, str], **more: Any) -> tuple[str, Any]:
    """Suggestions of one text, each accepted or rejected by one person."""
    same = {"text": "goal", "_task_hash": 11, **more}
    return prodigy(*({**same, "_annotator_id": worker, "answer": answer} for worker, answer in answers))


def option(*of: dict[str, Any], accept: Any, text: str = "goal") -> dict[str, Any]:
    return line(text, "ann", [accept], options=[*of])


# https://docs.aws.amazon.com/sagemaker/latest/dg/sms-data-output.html, "Worker response"
RESPONSE = {
    "acceptanceTime": "2021-03-08T23:05:40Z", "submissionTime": "2021-03-08T23:05:49.111Z", "timeSpentInSeconds": 9.2,
    "workerMetadata": {"identityData": {"sub": "x"}},
}  # fmt: skip


def responses(*contents: dict[str, Any]) -> dict[str, Any]:
    return {
        "answers": [
            {**RESPONSE, "workerId": f"private.us-east-1.{n}", "answerContent": c} for n, c in enumerate(contents)
        ]
    }


def labelled(*labels: str) -> dict[str, Any]:
    return responses(*({"crowd-image-classifier": {"label": label}} for label in labels))


FOLDER = "annotations/worker-response/iteration-1"
JOB = {
    f"{FOLDER}/{task}/2021-03-08_23:06:49.json": json.dumps(labelled(*labels))
    for task, labels in (("0", ("cat", "dog")), ("1", ("dog", "dog")))
}  # fmt: skip
PASSED_ON = [  # as the sample of a post-annotation function in aws-samples/aws-sagemaker-ground-truth-recipe does
    {"source-ref": f"s3://b/{task}.png",
     "job-metadata": {"type": "groundtruth/custom", "job-name": "job", "human-annotated": "yes"},
     "job": {"annotationsFromAllWorkers": [
         {"workerId": f"private.us-east-1.{who}",
         "annotationData": {"content": json.dumps({"reply": {"label": label}})}}
         for who, label in zip("AB", labels, strict=True)]}}
    for task, labels in (("1", ("cat", "dog")), ("2", ("dog", "dog")))
]  # fmt: skip
CONSOLIDATED = {"source-ref": "s3://b/1.png", "job": 0, "job-metadata": {
    "class-name": "cat", "human-annotated": "yes", "confidence": 0.9,
        "type": "groundtruth/image-classification"}}  # fmt: skip
OLD_DOCCANO = {
    "id": 1, "text": "great film", "meta": {}, "annotation_approver": None,
    "annotations": [
        {"id": 1, "label": 2, "user": 1, "created_at": "2020-01-01T00:00:00Z"}, {"id": 2, "label": 3, "user": 2},
        {"id": 3, "label": 2, "user": 3}, {"id": 4, "label": 3, "user": 3},
        {"id": 5, "label": 3, "user": 4, "start_offset": 0, "end_offset": 5},
    ],
}  # fmt: skip
SEVERAL: list[Any] = json.loads(json.dumps(exports.ARGILLA))
SEVERAL[0]["responses"]["spans"] = [{"value": [{"start": 0, "end": 5, "label": "x"}], "user_id": "u"}]
ARGILLA_1 = {"id": "r1", "fields": {"text": "great film"}, "responses": [
    {"user_id": who, "status": status, "values": {"sentiment": {"value": value}}}
    for who, value, status in (("u1", "pos", "submitted"), ("u2", "neg", "submitted"), ("u3", "neg", "discarded"))
]}  # fmt: skip
BINARY = {"text": "goal", "label": "SPORT", "_task_hash": 11, "_annotator_id": "ann", "answer": "accept"}
MARKED = {"text": "goal", "_input_hash": 1, "_annotator_id": "ann", "answer": "accept"}
BY_BOB = line("goal", "bob", ["SPORT"])
UNTAGGED = {"examples": [{**example, "classifications": []} for example in exports.LIGHTTAG["examples"]]}
TWO_ELEMENTS = {"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}}
BOXES = {"boundingBox": {"boundingBoxes": [{"label": "cat", "left": 1}]}}
PRESSED = [{"yes": {"on": who == "A"}, "no": {"on": who == "B"}} for who in "AB"]

CASES: dict[str, tuple[Any, ...]] = {
    "prodigy": (
        prodigy(line("goal", "db-ann", ["SPORT"]), line("goal", "db-bob", ["OTHER"]),
        line("vote", "db-ann", ["POLITICS"]),
                line("vote", "db-bob", answer="ignore")),
        {"format": "prodigy", "classes": ("SPORT", "POLITICS", "OTHER"), "label": [0, 2, 1], "lost": {"skipped": 1},
         "worker_ids": ["db-ann", "db-bob"], "changes": {"skipped": (4,)}, "texts": ["goal", "vote"],
         "extra": {"timestamp": ["2023-11-14T22:13:20Z"] * 3}}),
    "accepted and rejected suggestions": (
        suggested(("ann", "accept"), ("bob", "reject"), ("eve", "ignore"), label="SPORT", _input_hash=1),
        {"classes": ("accept", "reject"), "label": [0, 1], "task_ids": ["11"]}),
    "what is left out": (
        prodigy(line("goal", "ann", ["SPORT"]), line("goal", "bob", ["SPORT", "OTHER"]),
        line("vote", "ann", answer="reject"),
                line("vote", "bob")),
        {"changes": {"several-choices": (2,), "rejected": (3,), "no-choice": (4,), **NOBODY}, "n_annotations": 1}),
    "the session stands in for the annotator": (
        prodigy(line("goal", None, ["SPORT"], _session_id="2024-s1")), {"changes": {}, "worker_ids": ["2024-s1"]}),
    **{f"marked spans, {more}, are no suggestions": (
        prodigy(MARKED | more), {"refused": None,
        "match": "^(These lines hold regions or texts that workers drew|No worker"
                                 " marked a span in a text)"})
                                     for more in ({"_view_id": "ner_manual"}, {"_view_id": "blocks"})},
    "marked spans are tags": (prodigy(MARKED | {"spans": SPANS}), {"classes": ("O", "B-ORG", "I-ORG")}),
    **{f"marked spans, {more}, beside a choice": (
        prodigy(MARKED | more, BY_BOB), {"lost": {"no-class": 1}, "changes": {"no-class": (1,), **NOBODY}})
       for more in ({"_view_id": "ner_manual"}, {"_view_id": "blocks"}, {"spans": SPANS})},
    "spans beside a choice": (
        prodigy(MARKED | {"spans": SPANS}, BY_BOB), ({"label": "spans"}, {"lost": {"other-question": 1}})),
    "a suggested span": (
        suggested(("ann", "accept"), ("bob", "reject"), _view_id="ner", spans=SPANS),
        {"classes": ("accept", "reject")}),
    "choices and suggestions in one file": (
        prodigy(BINARY, line("goal", "ann", ["SPORT"])),
        {"refused": MappingError, "match": r"'answer'.*'accept'.*label="},
        ({"label": "answer"}, {"classes": ("accept", "reject")}), ({"label": "accept"}, {"n_classes": 3}),
        ({"label": "tone"}, {"refused": MappingError, "match": "'tone'"})),
    "nothing but skipped": (
        prodigy(line("goal", "ann", answer="ignore")), {"refused": None, "match": r"1 annotation.*skipped"}),
    "no text": (
        prodigy({"answer": "accept", "_annotator_id": "ann", "label": "X"}),
        {"refused": None, "match": r"line.*row 1"}),
    "an option without id called as another": (
        prodigy(option({"id": "sport", "text": "Sport"}, {"text": "sport"}, {"text": "other-text"}, accept="sport")),
        {"refused": None, "match": r"'sport'.*row 1"}),
    "options apart": (
        prodigy(option({"id": 1, "text": "Sport"}, {"id": 2.0, "text": "1"}, {"text": "other-text"}, accept=2)),
        {"classes": ("1", "2", "other-text")}),
    "an option of nothing": (prodigy(option({"id": None}, accept="sport")),
        {"refused": None, "match": r"option.*row 1"}),
    "an id that means something else in other lines": (
        prodigy(option({"id": 0, "text": "Sport"}, {"id": 1, "text": "Other"}, accept=0),
                option({"id": 0, "text": "Politics"}, {"id": 1, "text": "Other"}, accept=0, text="vote")),
        {"changes": {"option-texts": (1, 2)}, "text": ("'0' is 'Sport' and 'Politics'.",)}),
    "users are the names of doccano's files": (
        lambda folder: exports.write(folder)["doccano"], {"worker_ids": ["ann", "bob", "eve"], "task_ids": ["1", "2"]}),
    "doccano's csv joins labels by a hash": (
        ("crowd", {f"{who}.csv": f"id,text,label\n1,great film,{label}\n"
                   for who, label in (("ann", "pos"), ("bob", "pos#neg"), ("eve", "neg"))}),
        {"format": "doccano", "changes": {"several-choices", *NOBODY}, "lost": {"several-choices": 1},
        "classes": ("neg", "pos")}),
    "one file of all users names no worker": (
        ("all.jsonl", [{"id": 1, "text": "great film", "label": ["pos"], "Comments": []}]),
        {"refused": None, "match": "doccano"}),
    "doccano's old exports name the user": (
        ("file.json1.jsonl", [OLD_DOCCANO]),
        {"classes": ("2", "3"), "n_annotations": 2, "n_rows": 4, "lost": {"several-choices": 1, "no-class": 1}}),
    "who saw and who classified": (
        lambda folder: exports.write(folder)["lighttag.json"],
        {"changes": {"region", "several-choices", "no-choice", *NOBODY}, "lost": {"several-choices": 1, "no-choice": 1},
         "findings": {code: {"count": 1} for code in ("region", "several-choices", "no-choice")},
         "extra": {"timestamp": ["2020-03-01T10:00:00Z"] * 4}}),
    "lighttag's tags alone are no classes": (
        ("tags.json", UNTAGGED), {"refused": None, "match": r"choice.*1 region.*6 annotations.*row for each"}),
    "lighttag's classes that name their annotator": (
        ("own.json", {"examples": [{"example_id": t, "classifications": [
            {"classname": c, "annotator": w} for w, c in (("ann", "pos"), ("bob", "neg"))]} for t in "xy"]}),
        {"worker_ids": ["ann", "bob"], "classes": ("neg", "pos"), "n_annotations": 4, "changes": {}}),
    "answers of nobody": (
        ("scale.json", [{"task_id": t, "response": {"category": "ab"[t % 2]}} for t in range(9)]),
        {"refused": None, "match": "who gave it"}),
    "argilla's dataset in parquet": (
        lambda folder: pd.DataFrame(exports.ARGILLA_FLAT).to_parquet(folder / "x.parquet") or folder / "x.parquet",
        {"format": "argilla", "n_rows": 6, "n_annotations": 4, "lost": {"discarded": 1, "draft": 1},
         "findings": {code: {"count": 1} for code in ("prediction", "discarded", "draft")}}),
    "argilla's json that says no status": (
        ("export.json", exports.ARGILLA), {"findings": {"status-unknown": {"level": "warning"}}}),
    "several questions of argilla": (
        ("export.json", SEVERAL), {"refused": MappingError, "match": r"'sentiment'.*'spans'.*label="},
        ({"label": "sentiment"}, {"n_annotations": 5}), ({"label": "spans"}, {"classes": ("O", "B-x", "I-x")})),
    "records of argilla 1": (
        ("export.json", [ARGILLA_1]), {"n_annotations": 2, "n_rows": 3, "classes": ("neg", "pos")}),
    "suggestions alone are no annotations": (
        ("export.json", [{**r, "responses": {}} for r in exports.ARGILLA]), {"refused": None, "match": "response"}),
    **{f"sagemaker's folder, {part!r}": (
        lambda folder, part=part: placed(folder, ("job", JOB)) / part,
        {"format": "sagemaker", "n_rows": 4, "changes": {}, "task_ids": ["0", "1"], "label": [0, 1, 1, 1],
         "extra": {"seconds": [9.2] * 4, "timestamp": ["2021-03-08T23:05:49.111000Z"] * 4}})
       for part in ("", "annotations", "annotations/worker-response", FOLDER)},
    "one response file is one task": (
        lambda folder: next(placed(folder, ("job", JOB)).rglob("0/*.json")), {"changes": {}, "task_ids": ["0"]}),
    "a manifest of consolidated labels": (("output.manifest", CONSOLIDATED),
        {"refused": None, "match": "consolidated"}),
    "a manifest to which the answers of all workers were passed on": (
        ("output.manifest", "".join(json.dumps(record) + "\n" for record in PASSED_ON)),
        {"changes": {}, "task_ids": ["s3://b/1.png", "s3://b/2.png"], "images": ["s3://b/1.png", "s3://b/2.png"],
        "label": [0, 1, 1, 1]}),
    "radio buttons": (("response.json", responses(*PRESSED)), ({"label": "buttons"}, {"classes": ("no", "yes")})),
    "several elements": (
        ("response.json", responses(TWO_ELEMENTS)), {"refused": MappingError, "match": "'animal', 'sure'"},
        ({"label": "sure"}, {"classes": ("yes",)})),
    "boxes": (("response.json", responses(BOXES)), {"refused": None, "match": "choice"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, tmp_path: Path) -> None:
    content, *steps = CASES[name]
    check(placed(tmp_path, content), *steps)
