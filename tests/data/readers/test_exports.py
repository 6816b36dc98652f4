"""Exports of tools: each field, each fault, and Label Studio's."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.data import MappingError, examine
from crowdcore.data.readers import readers
from testkit import exports
from testkit.export_tables import mturk
from tests.data.reading.read_case import check, placed

NAMES = list(exports.COUNTS)
MUTATIONS, SEED = 15, 0
JUNK: tuple[Any, ...] = (None, "", "x", 0, -1, 1.5, True, [], {}, ["x"], {"x": 1}, [[1]], [{}], "pos|neg", "\u2028")


@pytest.fixture
def files(tmp_path):
    """File name -> its path."""
    return exports.write(tmp_path)


def test_every_format_but_the_plain_ones_has_an_export():
    plain = {"long", "wide", "counts", "triples", "pairs", "preferences", "questions", "turned", "folder", "conll"}
    plain |= {"brat", "files", "image-folder", "nested", "webanno", "zooniverse"}
    plain |= {"every-eval-ever", "inspect-log", "lm-eval", "promptfoo", "mlflow", "langfuse", "braintrust"}
    plain |= {"judge-bench", "alt-test", "verdicts"}  # of models and judges: `testkit.judge_files`
    assert {name.partition(".")[0] for name in NAMES} == set(readers) - plain


@pytest.mark.parametrize("name", NAMES)
class TestEveryExport:
    def test_is_found_and_read(self, name, files):
        imported = examine(files[name])
        report = imported.report
        assert report.format == name.partition(".")[0]
        n_answers, n_annotations = exports.COUNTS[name]
        assert (report.n_rows, report.n_annotations) == (n_answers, n_annotations)
        assert n_answers - n_annotations == sum(f.left_out for f in report.changes)
        data = imported.dataset(accept=True)
        assert set(data.classes) == ({"7", "8"} if name.startswith("mt-bench") else {"pos", "neg"})
        assert set(data.media.columns["text"]) == set(exports.TEXTS.values())

    def test_combinations_can_be_kept_as_classes(self, name, files):
        dropped = sum(f.count for f in examine(files[name]).report.findings if f.code == "several-choices")
        report = examine(files[name], multi_select="keep").report
        assert report.n_annotations == exports.COUNTS[name][1] + dropped
        assert ("neg|pos" in report.classes) is bool(dropped) or report.classes_from == "file"

    def test_columns_that_are_fixed_cannot_be_chosen(self, name, files):
        with pytest.raises(CrowdError, match="nowhere"):
            examine(files[name], worker="nowhere", format=name.partition(".")[0])


def studio(document: Any) -> int:
    return sum(
        len(entry["annotations"]) + len(entry["drafts"] if is_list(entry.get("drafts")) else ()) for entry in document
    )


def argilla(document: Any) -> int:
    flat = "sentiment.responses"
    return sum(len((r.get("responses") or {}).get("sentiment") or r.get(flat) or ()) for r in document)


def lighttag(document: Any) -> int:
    n = 0
    for example in document["examples"]:
        worker = [t for c in example.get("classifications") or () for t in c.get("classified_by") or ()]
        worker += example.get("seen_by") or ()
        n += len({str(t.get("annotator") or t.get("annotator_id") or "") for t in worker})
    return n


def lewidi(document: Any) -> int:
    n = 0
    for item in document.values():
        worker = str(item["annotators"]).split(",") if item.get("annotators") else []
        n += len({*worker, *item["annotations"]}) if isinstance(item["annotations"], dict) else len(worker)
    return n


def is_list(value: object) -> bool:
    return isinstance(value, list)


def labelbox(document: Any) -> int:
    return sum(len(p.get("labels") or ()) for row in document for p in (row.get("projects") or {}).values())


ANSWERS: dict[str, Callable[[Any], int]] = {
    "labelbox.jsonl": labelbox,
    "label-studio.json": studio,
    "argilla.json": argilla,
    "argilla.jsonl": argilla,
    "sagemaker.json": lambda document: sum(len(record["annotations"]) for record in document),
    "lighttag.json": lighttag,
    "lewidi.json": lewidi,
}


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """Yield every place in a document: its container and its key."""
    pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if is_list(value) else []
    return [place for key, inner in pairs for place in ((value, key), *nodes(inner))]


def mutate_document(text: str, as_lines: bool, chance: random.Random) -> tuple[str, Any]:
    """Replace, remove or repeat a value somewhere."""
    document = [json.loads(line) for line in text.splitlines()] if as_lines else json.loads(text)
    container, key = chance.choice(nodes(document))
    kind = chance.randrange(3)
    if kind == 0:
        container[key] = chance.choice(JUNK)
    elif kind == 1:
        del container[key]
    elif is_list(container):
        container.insert(key, json.loads(json.dumps(container[key])))
    written = exports.lines(document) if as_lines else json.dumps(document)
    return written, json.loads(json.dumps(document))


def mutate_text(text: str, chance: random.Random) -> str:
    """Cut, remove, repeat or replace characters."""
    start = chance.randrange(len(text))
    end = min(len(text), start + chance.choice((1, 1, 2, 10, 60)))
    return chance.choice(
        [text[:start], text[:start] + text[end:], text[:end] + text[start:],
         text[:start] + chance.choice('"\',;\t\n{}[]|0\u00e9\ufeff') + text[end:]]
    )  # fmt: skip


def examined(path, **how):
    """The report, None for a refusal in one sentence; a lost row or another exception fails."""
    try:
        report = examine(path, **how).report
    except CrowdError as error:
        assert 10 < len(str(error)) < 1500
        assert "lost count" not in str(error)
        return None
    assert report.n_rows == report.n_annotations + report.n_left_out
    return report


@pytest.mark.parametrize(
    ("name", "flagged"),
    [("mturk.csv", (6, 14)), ("toloka.tsv", (4, 10)), ("appen.csv", (2, 8)), ("label-studio-table.csv", ())],
)
def test_exports_joined_end_to_end(name, flagged, tmp_path):
    path = tmp_path / name
    text = mturk(reviewed=True) if name == "mturk.csv" else exports.FILES[name]
    path.write_text(2 * text, encoding="utf-8", newline="")
    report = examined(path)
    n_answers, n_annotations = exports.COUNTS[name]
    assert (report.n_rows, report.n_annotations) == (2 * n_answers + 1, 2 * n_annotations)
    by_code = {f.code: f for f in report.findings}
    assert (by_code["repeated-header"].left_out, by_code["repeated-header"].rows) == (1, (n_answers + 1,))
    assert not flagged or by_code["flagged"].rows == flagged
    code = "no-choice" if name == "toloka.tsv" else "several-choices"
    first, second = by_code[code].rows
    assert second == first + n_answers + 1


@pytest.mark.parametrize("name", [name for name in NAMES if name != "doccano"])
def test_damaged_exports(name, tmp_path):
    text, path, chance = exports.FILES[name], tmp_path / name, random.Random(f"{name} {SEED}")
    form, as_lines = name.partition(".")[0], name.endswith("jsonl")
    read = 0
    for _ in range(MUTATIONS):
        path.write_text(mutate_text(text, chance), encoding="utf-8", newline="")
        read += examined(path, format=chance.choice((form, None))) is not None
    for _ in range(0 if name.endswith(("csv", "tsv")) else 2 * MUTATIONS):
        written, document = mutate_document(text, as_lines, chance)
        path.write_text(written, encoding="utf-8")
        report = examined(path, format=form)
        if report is not None:
            read += 1
            assert report.n_rows == ANSWERS.get(name, len)(document), written
    assert read > MUTATIONS / 6


def test_damaged_folders_of_doccano(files):
    chance = random.Random(SEED)
    for _ in range(MUTATIONS):
        file = files["doccano"] / chance.choice(list(exports.DOCCANO))
        text = file.read_text(encoding="utf-8")
        file.write_text(mutate_text(text, chance), encoding="utf-8")
        examined(files["doccano"], format="doccano")
        file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "task", "worker", "label"),
    [
        ("mturk.csv", "HITId", "WorkerId", "Answer.sentiment"),
        ("toloka.tsv", "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "OUTPUT:result"),
        ("appen.csv", "_unit_id", "_worker_id", "sentiment"),
        ("label-studio-table.csv", "id", "annotator", "sentiment"),
    ],
)
def test_a_plain_long_table_reads_the_same_annotations(name, task, worker, label, files):
    columns = next(csv.reader(io.StringIO(exports.FILES[name]), delimiter="\t" if name.endswith("tsv") else ","))
    assert {task, worker, label} <= set(columns)
    own = examine(files[name]).dataset(accept=True)
    how = {"classes": own.classes, "task": task, "worker": worker, "label": label}
    plain = examine(files[name], format="long", **how).dataset(accept=True)
    given = [data.annotations[["task", "worker", "label"]].astype(str).to_numpy().tolist() for data in (own, plain)]
    assert given[0] == given[1]


def choice(*choices: str, name: str = "sentiment", **more: Any) -> dict[str, Any]:
    result = {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}
    return {"result": [result], **more}


def entry(*annotations: Any, number: Any = 1, **more: Any) -> dict[str, Any]:
    return {"id": number, "data": {}, "annotations": [*annotations], **more}


def answers(kind: str, key: str, *values: Any) -> dict[str, Any]:
    given = ({"completed_by": v, "result": [{"from_name": kind, "type": kind, "value": {key: v}}]} for v in values)
    return entry(*given)


EXPORT = [
    {"id": 7, "data": {"text": "fine", "image": "a.png"}, "predictions": [], "annotations": [
        choice("pos", completed_by=3, lead_time=1.5, created_at="2024-01-01T00:00:00Z"),
        choice("neg", completed_by={"id": 4, "email": "ann@example.org"}, lead_time=2),
        choice("pos", completed_by=9, ground_truth=True)]},
    {"id": 8, "data": {"text": "bad"}, "annotations": [choice("neg", completed_by=3), choice(completed_by=4)]},
    {"id": 9, "data": {"text": "?"}, "annotations": [choice("pos", completed_by=3, was_cancelled=True)]},
    {"id": 10, "data": {}, "annotations": []},
]  # fmt: skip
TRUE, FALSE = (choice(label, completed_by=n, ground_truth=True) for n, label in ((1, "pos"), (2, "neg")))
ANN, BEN = choice("pos", completed_by=1), choice("neg", completed_by=2)
BOX = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["Car"]}}
WORD = {"from_name": "sentiment", "type": "choices", "value": {"start": 0, "end": 4, "choices": ["neg"]}}
TWO = {"completed_by": 1, "result": choice("calm", name="tone")["result"] + choice("sport", name="topic")["result"]}
LARGE = 2**60 + 1
MIN = [{**record, "source": "imdb"} for record in exports.STUDIO_MIN]
SPANS_MIN = [dict(record) for record in exports.STUDIO_MIN]
SPANS_MIN[0]["sentiment"] = [{"start": 0, "end": 5, "labels": ["pos"]}]
del SPANS_MIN[1]["sentiment"]

STUDIO: dict[str, tuple[Any, ...]] = {
    "annotations, gold and media": (
        EXPORT, {"format": "label-studio", "task_ids": ["7", "8", "9", "10"], "texts": ["fine", "bad", "?", "-"],
        "triples": [("7", "3", "pos"), ("7", "ann@example.org", "neg"), ("8", "3", "neg")], "gold": [1, -1, -1, -1],
        "changes": {"no-choice": (2,), "skipped": (3,), "workers-without-labels": (), "ground-truth": (1,)},
        "lost": {"no-choice": 1, "skipped": 1, "ground-truth": 1}}),
    "contradicting ground truths are no gold": (
        [entry(TRUE, FALSE, choice("pos", completed_by=3))],
        {"gold": [-1], "findings": {"gold-contradicts": {"level": "change", "count": 1, "rows": (1,)}}}),
    "the same ground truth twice": ([entry(TRUE, TRUE, choice("pos", completed_by=3))], {"n_gold": 1}),
    "ids keep every digit": (
        [entry(choice("pos", completed_by=LARGE), number=n) for n in (123456789.0, LARGE)],
        {"changes": {}, "task_ids": ["123456789", str(LARGE)], "worker_ids": [str(LARGE)]},
        ({"label": "tone"}, {"refused": MappingError, "match": r"'tone'.*'sentiment'"})),
    "relations and junk are regions": (
        [entry({**ANN, "result": [*ANN["result"], {"type": "relation", "from_id": "a", "to_id": "b"}, 5]}, BEN)],
        {"changes": {"region"}, "lost": {}, "findings": {"region": {"count": 2, "left_out": 0}}}),
    "regions, predictions and drafts": (
        [entry({**ANN, "result": [*ANN["result"], BOX, WORD]}, BEN, predictions=[{"id": 1}, {"id": 2}],
        drafts=[{"id": 3}])],
        {"changes": {"region", "prediction", "draft"}, "n_rows": 3, "n_annotations": 2, "lost": {"draft": 1},
         "findings": {"region": {"count": 2}, "prediction": {"count": 2}, "draft": {"count": 1}}}),
    "ratings": (
        [answers("rating", "rating", 3, 4)], {"refused": MappingError, "match": r"'rating'.*label=",
        "roles": {"task": "id", "worker": "completed_by", "label": None}},
        ({"label": "rating"}, {"changes": {}, "classes": ("3", "4")})),
    "comparisons": ([answers("pairwise", "selected", "left", "right")], {"changes": {}, "classes": ("left", "right")}),
    "several controls": (
        [entry(TWO)], {"refused": MappingError, "match": r"'tone'.*'topic'.*label=", "columns": ("tone", "topic")},
        ({"label": "topic"}, {"classes": ("sport",), "columns": ("id", "completed_by", "tone", "topic"),
         "has": {"other-questions"}, "text": ("'tone'",)})),
    "the old word for annotations": ([{"id": 1, "data": {}, "completions": [ANN, BEN]}],
        {"changes": {}, "n_annotations": 2}),
    "a control is named where there may be several": (
        MIN, {"refused": MappingError, "match": r"'sentiment'.*'source'"},
        ({"label": "sentiment"}, {"n_annotations": 4})),
    "spans and missing answers": (
        SPANS_MIN, {"lost": {"no-class": 1, "no-choice": 1, "several-choices": 1},
        "findings": {code: {"rows": (k,)} for k, code in enumerate(("no-class", "no-choice", "several-choices"), 1)}}),
    **{sentence: (entries, {"refused": None, "match": sentence}) for entries, sentence in (
        ([entry()], "No annotation holds choices"),
        ([entry({"result": [{"type": "rectanglelabels", "value": {"x": 1}}]})],
         "No annotation holds choices; there are rectanglelabels"),
        ([EXPORT[0], {"id": 2}], r"This entry has no `data` or no `annotations` \(export.json, row 2\)"),
        ([EXPORT[0], entry(5, number=2)], r"An annotation is not a record \(export.json, row 2\)"),
        ([EXPORT[0], EXPORT[0]], "names '7' twice, in rows 1 and 2"),
        ([entry(choice("a"))], "The worker is missing in every row"))},
}  # fmt: skip


@pytest.mark.parametrize("name", STUDIO)
def test_label_studio(name: str, tmp_path: Path) -> None:
    entries, *steps = STUDIO[name]
    check(placed(tmp_path, ("export.json", entries)), *steps)


def test_times_are_no_labels(tmp_path):
    path = placed(tmp_path, ("export.json", EXPORT))
    extra = examine(path).dataset(accept=True).extra
    np.testing.assert_array_equal(extra["seconds"], [1.5, 2.0, np.nan])
    assert extra["timestamp"].fillna("-").tolist() == ["2024-01-01T00:00:00Z", "-", "-"]
    times = {"seconds": [5.25] * 4, "timestamp": ["2024-01-01T10:00:00Z"] * 4}
    check(exports.write(tmp_path)["label-studio-table.csv"], {"extra": times})
