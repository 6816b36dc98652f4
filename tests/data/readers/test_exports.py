"""The export of every annotation tool, whole and damaged: answers in = annotations + answers reported."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.data import examine
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
