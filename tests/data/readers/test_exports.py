"""Exports of tools: each field, each fault, and Label Studio's."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data import MappingError, examine, read_dataset
from crowdcore.data.readers import readers
from testkit import exports
from testkit.export_tables import mturk

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
        found = examine(files[name])
        report = found.report
        assert report.format == name.partition(".")[0]
        n_answers, n_annotations = exports.COUNTS[name]
        assert (report.n_rows, report.n_annotations) == (n_answers, n_annotations)
        assert n_answers - n_annotations == sum(f.left_out for f in report.changes)
        data = found.dataset(accept=True)
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
        who = [t for c in example.get("classifications") or () for t in c.get("classified_by") or ()]
        who += example.get("seen_by") or ()
        n += len({str(t.get("annotator") or t.get("annotator_id") or "") for t in who})
    return n


def lewidi(document: Any) -> int:
    n = 0
    for item in document.values():
        who = str(item["annotators"]).split(",") if item.get("annotators") else []
        n += len({*who, *item["annotations"]}) if isinstance(item["annotations"], dict) else len(who)
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
    """Every place in a document: its container and its key."""
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
    found = {f.code: f for f in report.findings}
    assert (found["repeated-header"].left_out, found["repeated-header"].rows) == (1, (n_answers + 1,))
    assert not flagged or found["flagged"].rows == flagged
    code = "no-choice" if name == "toloka.tsv" else "several-choices"
    first, second = found[code].rows
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


def choice(*choices, name="sentiment", **more):
    result = {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}
    return {"result": [result], **more}


EXPORT = [
    {
        "id": 7,
        "data": {"text": "fine", "image": "a.png"},
        "annotations": [
            choice("pos", completed_by=3, lead_time=1.5, created_at="2024-01-01T00:00:00Z"),
            choice("neg", completed_by={"id": 4, "email": "ann@example.org"}, lead_time=2),
            choice("pos", completed_by=9, ground_truth=True),
        ],
        "predictions": [],
    },
    {"id": 8, "data": {"text": "bad"}, "annotations": [choice("neg", completed_by=3), choice(completed_by=4)]},
    {"id": 9, "data": {"text": "?"}, "annotations": [choice("pos", completed_by=3, was_cancelled=True)]},
    {"id": 10, "data": {}, "annotations": []},
]


def test_annotations_gold_and_media(write):
    found = examine(write(EXPORT))
    ds = found.dataset(accept=True)
    assert found.report.format == "label-studio"
    assert [tuple(map(str, row)) for row in ds.annotations[["task", "worker", "label"]].to_numpy()] == [
        ("7", "3", "pos"),
        ("7", "ann@example.org", "neg"),
        ("8", "3", "neg"),
    ]
    assert list(ds.task_ids) == ["7", "8", "9", "10"]
    assert ds.gold.tolist() == [1, -1, -1, -1]
    assert ds.media.columns["text"].fillna("-").tolist() == ["fine", "bad", "?", "-"]
    np.testing.assert_array_equal(ds.extra["seconds"], [1.5, 2.0, np.nan])
    assert ds.extra["timestamp"].fillna("-").tolist() == ["2024-01-01T00:00:00Z", "-", "-"]
    changes = {f.code: (f.rows, f.left_out) for f in found.report.changes}
    assert changes == {
        "no-choice": ((2,), 1),
        "skipped": ((3,), 1),
        "workers-without-labels": ((), 0),
        "ground-truth": ((1,), 1),
    }


def test_contradicting_ground_truths_are_no_gold(write):
    truths = [choice(label, completed_by=who, ground_truth=True) for who, label in ((1, "pos"), (2, "neg"))]
    entries = [{"id": 1, "data": {}, "annotations": [*truths, choice("pos", completed_by=3)]}]
    found = examine(write(entries))
    (finding,) = [f for f in found.report.changes if f.code == "gold-contradicts"]
    assert (finding.count, finding.rows) == (1, (1,))
    assert found.dataset(accept=True).gold.tolist() == [-1]
    assert (
        examine(
            write([{**entries[0], "annotations": [truths[0], truths[0], entries[0]["annotations"][2]]}])
        ).report.n_gold
        == 1
    )


def test_ids_keep_every_digit_and_unknown_controls_are_refused(write):
    entries = [
        {"id": n, "data": {}, "annotations": [choice("pos", completed_by=2**60 + 1)]} for n in (123456789.0, 2**60 + 1)
    ]
    data = read_dataset(write(entries))
    assert list(data.task_ids) == ["123456789", str(2**60 + 1)]
    assert list(data.worker_ids) == [str(2**60 + 1)]
    with pytest.raises(MappingError, match=r"'tone'.*'sentiment'"):
        examine(write(entries), label="tone")


def test_relations_and_junk_are_counted_as_regions(write):
    entry = {"id": 1, "data": {}, "annotations": [choice("pos", completed_by=1), choice("neg", completed_by=2)]}
    entry["annotations"][0]["result"] += [{"type": "relation", "from_id": "a", "to_id": "b"}, 5]
    (finding,) = examine(write([entry])).report.changes
    assert (finding.code, finding.count, finding.left_out) == ("region", 2, 0)


def test_regions_predictions_and_drafts_are_reported(write):
    box = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["Car"]}}
    word = {"from_name": "sentiment", "type": "choices", "value": {"start": 0, "end": 4, "choices": ["neg"]}}
    mixed = choice("pos", completed_by=1)
    mixed["result"] += [box, word]
    entry = {"id": 1, "data": {}, "annotations": [mixed, choice("neg", completed_by=2)]}
    report = examine(write([{**entry, "predictions": [{"id": 1}, {"id": 2}], "drafts": [{"id": 3}]}])).report
    assert {f.code: (f.count, f.left_out) for f in report.changes} == {
        "region": (2, 0), "prediction": (2, 0), "draft": (1, 1)
    }  # fmt: skip
    assert (report.n_rows, report.n_annotations) == (3, 2)


def test_ratings_and_comparisons(write):
    def answer(kind, key, value, who):
        return {"completed_by": who, "result": [{"from_name": kind, "type": kind, "value": {key: value}}]}

    rated = [{"id": 1, "data": {}, "annotations": [answer("rating", "rating", n, n) for n in (3, 4)]}]
    with pytest.raises(MappingError, match=r"'rating'.*label=") as caught:
        examine(write(rated))
    assert caught.value.roles == {"task": "id", "worker": "completed_by"}
    assert read_dataset(write(rated), label="rating").classes == ("3", "4")
    pairs = [{"id": 1, "data": {}, "annotations": [answer("pairwise", "selected", s, s) for s in ("left", "right")]}]
    assert read_dataset(write(pairs)).classes == ("left", "right")


def test_several_controls_are_asked_for(write):
    entry = {"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": []}]}
    for name, label in (("tone", "calm"), ("topic", "sport")):
        entry["annotations"][0]["result"] += choice(label, name=name)["result"]
    with pytest.raises(MappingError, match=r"'tone'.*'topic'.*label=") as caught:
        read_dataset(write([entry]))
    assert caught.value.columns == ("tone", "topic")
    report = examine(write([entry]), label="topic").report
    assert (report.classes, report.columns) == (("sport",), ("id", "completed_by", "tone", "topic"))
    assert "'tone'" in next(f for f in report.findings if f.code == "other-questions").sentence


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([{"id": 1, "data": {}, "annotations": []}], "No annotation holds choices"),
        (
            [{"id": 1, "data": {}, "annotations": [{"result": [{"type": "rectanglelabels", "value": {"x": 1}}]}]}],
            "No annotation holds choices; there are rectanglelabels",
        ),
        ([EXPORT[0], {"id": 2}], r"This entry has no `data` or no `annotations` \(export.json, row 2\)"),
        (
            [EXPORT[0], {"id": 2, "data": {}, "annotations": [5]}],
            r"An annotation is not a record \(export.json, row 2\)",
        ),
        ([EXPORT[0], EXPORT[0]], "names '7' twice, in rows 1 and 2"),
        ([{"id": 1, "data": {}, "annotations": [choice("a")]}], "The worker is missing in every row"),
    ],
)
def test_refusals(write, entries, sentence):
    with pytest.raises(DataError, match=sentence):
        examine(write(entries))


def test_the_old_word_for_annotations(write):
    entries = [{"id": 1, "data": {}, "completions": [choice("a", completed_by=1), choice("b", completed_by=2)]}]
    assert read_dataset(write(entries)).n_annotations == 2


def test_times_are_no_labels(tmp_path):
    data = examine(exports.write(tmp_path)["label-studio-table.csv"]).dataset(accept=True)
    assert data.extra["seconds"].tolist() == [5.25] * 4
    assert data.extra["timestamp"].tolist() == ["2024-01-01T10:00:00Z"] * 4


def test_a_control_is_named_where_there_may_be_several(write):
    records = [{**record, "source": "imdb"} for record in exports.STUDIO_MIN]
    with pytest.raises(MappingError, match=r"'sentiment'.*'source'"):
        examine(write(records))
    assert examine(write(records), label="sentiment").report.n_annotations == 4


def test_spans_and_missing_answers_are_reported(write):
    records = [dict(record) for record in exports.STUDIO_MIN]
    records[0]["sentiment"] = [{"start": 0, "end": 5, "labels": ["pos"]}]
    del records[1]["sentiment"]
    report = examine(write(records)).report
    assert {f.code: f.rows for f in report.changes if f.left_out} == {
        "no-class": (1,), "no-choice": (2,), "several-choices": (3,)
    }  # fmt: skip
