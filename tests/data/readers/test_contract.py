"""Contract of every reader, and long tables."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.core.registry import Registry
from crowdcore.data import MappingError, examine, read_dataset
from crowdcore.data.columns import ALIASES, plain
from crowdcore.data.readers import readers
from crowdcore.data.times import iso_time
from testkit import exports, judge_files
from tests.data.pictures import write_pictures
from tests.data.reading.read_case import check, placed

LONG = "task,worker,label\nt1,w1,a\nt1,w2,b\nt2,w1,b\n"
WIDE = "task,w1,w2\nt1,a,b\nt2,b,\n"
COUNTS = "task,n_a,n_b\nt1,2,1\nt2,1,1\n"
CONLL = "token ann ben\nto O O\nRome B-LOC ?\n\nParis B-LOC ?\n"
STUDIO = [
    {
        "id": 1,
        "data": {"text": "x"},
        "annotations": [
            {"completed_by": who, "result": [{"from_name": "c", "type": "choices", "value": {"choices": [choice]}}]}
            for who, choice in ((1, "a"), (2, "b"))
        ],
    }
]
PRODIGY = [
    {"text": "x", "_input_hash": 1, "_annotator_id": who, "answer": "accept", "accept": [choice],
     "options": [{"id": "a"}, {"id": "b"}]}
    for who, choice in (("ann", "a"), ("bob", "b"))
]  # fmt: skip

ANSWERS = [("w1", "t1", "a"), ("w2", "t1", "b"), ("w1", "t2", "b")]
NESTED = [
    {"id": task, "annotations": [{"annotator": w, "label": c} for w, t, c in ANSWERS if t == task]}
    for task in ("t1", "t2")
]
WEBANNO = "#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Ent|value\n\n1-1\t0-4\tRome\tLOC\n1-2\t5-6\tis\t_\n"


FILES = """long.csv wide.csv counts.csv triples.csv pairs.csv preferences.csv turned.csv questions.csv label-studio.json
prodigy.jsonl conll.txt folder"""


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Reader name -> a file in its format."""
    tmp_path = tmp_path_factory.mktemp("samples")
    files = {name: tmp_path / name for name in FILES.split()}
    files["long.csv"].write_text(LONG, encoding="utf-8")
    files["wide.csv"].write_text(WIDE, encoding="utf-8")
    files["pairs.csv"].write_text("task,rater_1,label_1,rater_2,label_2\nt1,ann,a,ben,b\nt2,ben,b,ann,b\n")
    files["questions.csv"].write_text("task,q_ann,q_ben,z_ann,z_ben\nt1,a,b,1,2\nt2,b,b,2,2\n")
    files["turned.csv"].write_text("rater,q1,q2\nann,a,b\nben,b,b\n")
    files["triples.csv"].write_text("t1,ann,a\nt1,ben,b\nt2,ann,b\nt2,ben,b\nt3,ann,a\n")
    sides = "task,model_a,model_b,judge,winner\nt1,x,y,ann,A\nt1,y,x,ben,A\nt2,y,z,ann,B\nt2,y,z,ben,B\n"
    files["preferences.csv"].write_text(sides, encoding="utf-8")
    files["counts.csv"].write_text(COUNTS, encoding="utf-8")
    files["label-studio.json"].write_text(json.dumps(STUDIO), encoding="utf-8")
    files["prodigy.jsonl"].write_text("".join(json.dumps(r) + "\n" for r in PRODIGY), encoding="utf-8")
    files["conll.txt"].write_text(CONLL, encoding="utf-8")
    files["folder"].mkdir()
    (files["folder"] / "annotations.csv").write_text(LONG, encoding="utf-8")
    (tmp_path / "files").mkdir()
    for worker, row in (("w1", "t1,a\nt2,b"), ("w2", "t1,b")):
        (tmp_path / "files" / f"{worker}.csv").write_text(f"task,label\n{row}\n", encoding="utf-8")
    files["files"] = tmp_path / "files"
    files["nested"] = tmp_path / "nested.json"
    files["nested"].write_text(json.dumps(NESTED), encoding="utf-8")
    files["zooniverse"] = tmp_path / "zooniverse.csv"
    rows = [(w, s, json.dumps([{"task": "T0", "task_label": "?", "value": c}])) for w, s, c in ANSWERS]
    pd.DataFrame(rows, columns=["user_name", "subject_ids", "annotations"]).rename_axis("classification_id").to_csv(
        files["zooniverse"]
    )
    files["webanno"] = tmp_path / "webanno"
    for worker in ("w1", "w2"):
        (tmp_path / "webanno/annotation/doc").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"webanno/annotation/doc/{worker}.tsv").write_text(WEBANNO, encoding="utf-8")
        (tmp_path / "brat" / worker).mkdir(parents=True)
        (tmp_path / "brat" / worker / "doc.txt").write_text("Rome is")
        (tmp_path / "brat" / worker / "doc.ann").write_text("T1\tLOC 0 4\tRome\n#1\tAnnotatorNotes T1\tsure\n")
    files["brat"] = tmp_path / "brat"
    for code, name in enumerate(("a", "b")):
        write_pictures(tmp_path / "image-folder" / name, [code])
    files["image-folder"] = tmp_path / "image-folder"
    (tmp_path / "exports").mkdir()
    files = exports.write(tmp_path / "exports") | judge_files.write(tmp_path / "judges") | files
    return {name.partition(".")[0]: path for name, path in files.items()}


@pytest.mark.parametrize("name", list(readers))
class TestEveryReader:
    def test_is_named_after_its_file(self, name):
        assert readers[name].name == name
        assert readers[name].title

    def test_is_found_by_content_and_by_name(self, name, samples):
        assert examine(samples[name]).report.format == name
        assert examine(samples[name], format=name).report.format == name

    def test_reads_its_sample(self, name, samples):
        ds = examine(samples[name]).dataset(accept=True)
        assert ds.n_classes == (3 if name in ("brat", "conll", "webanno") else 2)
        if name == "image-folder":  # has true classes and no annotations
            assert ds.gold.tolist() == [0, 1] and ds.media.columns["image"].tolist() == ["a/p000.png", "b/p000.png"]
            return
        assert ds.n_workers in {2, 3}
        assert ds.n_annotations in {2, 3, 4, 5}

    def test_refuses_the_samples_of_others_or_reads_them_sensibly(self, name, samples):
        for other, path in samples.items():
            if other != name:
                with contextlib.suppress(CrowdError):
                    assert examine(path, format=name).report.n_annotations >= 0


@pytest.mark.parametrize(
    ("sample", "asked"),
    [
        ("long", {"long"}),
        ("wide", {"counts", "long", "pairs", "preferences", "questions", "triples", "turned", "wide"}),
        ("mturk", {"mturk"}),
        ("prodigy", {"lewidi", "prodigy", "sagemaker"}),
        ("folder", {"folder"}),
    ],
)
def test_only_readers_whose_signature_is_there_are_loaded(sample, asked, samples, monkeypatch):
    loaded = set()
    member = Registry._member
    monkeypatch.setattr(
        Registry, "_member", lambda self, name: loaded.add(name.rpartition(".")[2]) or member(self, name)
    )
    examine(samples[sample])
    assert loaded <= asked


ROWS = [("t1", "w1", "a"), ("t1", "w2", "b"), ("t2", "w1", "b")]
ROLES = ("task", "worker", "label")


def file(header: Any, rows: Any = ROWS, suffix: str = "csv") -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        path, frame = folder / f"labels.{suffix}", pd.DataFrame(rows, columns=header)
        if suffix == "parquet":
            frame.to_parquet(path)
        elif suffix == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
        return path

    return made


MEDIA = [("t1", "w1", "a", "hello", "a.png"), ("t1", "w2", "b", "hello", "a.png"), ("t2", "w1", "b", "", "b.png")]
GAPS = {"task": [1, 1, 2], "worker": ["x", None, "y"], "label": [0.0, 1.0, np.nan]}
NUMBERED = pd.DataFrame({"task": [3, 3, 10], "worker": [1, 2, 1], "label": [0, 1, 1]})
ORDERED = [("z", "w10", "a"), ("b", "w9", "b"), ("z", "w2", "a"), ("a", "w10", "b")]
NAMED = {"task": "hitty", "worker": "who", "label": "verdict"}
LONG_TABLES: dict[str, tuple[Any, ...]] = {
    **{f"{suffix} of {header}": (
        file(header, suffix=suffix), {"roles": dict(zip(ROLES, header, strict=True)), "triples": ROWS, "changes": {},
        "aliases": sum(name not in ROLES for name in header)}) for suffix, header in (
            ("csv", ["task", "worker", "label"]), ("tsv", ["item", "annotator", "answer"]),
            ("jsonl", ["Question ID", "User", "Response"]), ("parquet", ["example-id", "labeler", "annotation"]),
            ("csv", ["_unit_id", "_worker_id", "category"]), ("tsv", ["image", "annotator_id", "class"]),
            ("jsonl", ["INPUT:image", "ASSIGNMENT:worker_id", "OUTPUT:result"]),
            ("parquet", ["HITId", "WorkerId", "Answer"]))},
    "unknown columns": (
        file([*NAMED.values()]), {"refused": MappingError, "match": "recognised",
        "columns": ("hitty", "who", "verdict")},
        (NAMED, {"n_annotations": 3})),
    "a partly recognised table": (
        file(["task", "who", "label"]), ({"format": "long"}, {"refused": MappingError, "match": "recognised",
                                          "roles": {"task": "task", "worker": None, "label": "label"}})),
    "a named column must be there": (
        file(ROLES), ({"worker": "annotator"}, {"refused": None, "match": r"'annotator'.*'task'.*'worker'"})),
    "an explicit column wins over an alias": (
        file([*ROLES, "response"], [("t1", "w1", "a", "b"), ("t2", "w2", "b", "a")]),
        {"roles": {"label": "label"}, "has": {"alias-rival"}, "text": ("'response'",)},
        ({"label": "response", "gold": "label"}, {"label": [1, 0], "gold": [0, 1]})),
    "a name as it is wins over one with blanks": (
        file([" task", *ROLES], [("x", *row) for row in ROWS], "jsonl"), {"task_ids": ["t1", "t2"]}),
    "names with marks at their ends": (
        file(["Task #", "Worker:", "Label*", "Gold?"], [("t1", "w1", "a", "b"), ("t1", "w2", "b", "b")]),
        {"gold": [1], "worker_ids": ["w1", "w2"]}),
    "media columns": (
        file([*ROLES, "sentence", "image_path"], MEDIA), {"texts": ["hello", "-"], "images": ["a.png", "b.png"]}),
    "order of appearance and natural order of workers": (
        file(ROLES, ORDERED), {"task_ids": ["z", "b", "a"], "worker_ids": ["w2", "w9", "w10"], "task": [0, 0, 1, 2],
                               "worker": [2, 0, 1, 2]}),
    **{f"{dtype} ids are the same names": (
        file(None, NUMBERED.astype({"task": dtype, "worker": dtype}), "parquet"),
        {"task_ids": ["3", "10"], "worker_ids": ["1", "2"]}) for dtype in ("int64", "float64", "str", "category")},
    "missing values in parquet": (
        file(None, GAPS, "parquet"), {"classes": ("0", "1"), "changes": {
            "missing-worker": (2,), "missing-label": (3,), "workers-without-labels": ()}}),
    "further columns called like roles are renamed": (
        file(["item", "worker", "label", "task"], [("t1", "w1", "a", "x"), ("t2", "w1", "b", "y")]),
        ({"task": "item"}, {"extra": {"task_column": ["x", "y"]}})),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG_TABLES)
def test_long_tables(name: str, tmp_path: Path) -> None:
    content, *steps = LONG_TABLES[name]
    check(placed(tmp_path, content), *steps)


def test_every_alias_is_in_its_compared_form():
    for role, names in ALIASES.items():
        assert all(plain(name) == name for name in names), role
        assert len(set(names)) == len(names), role


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Thu Jun 16 12:59:33 PDT 2011", "2011-06-16T19:59:33Z"),
        ("Wed Aug 14 16:00:59 UTC 2019", "2019-08-14T16:00:59Z"),
        ("Thu Jun 16 12:59:33 CEST 2011", "Thu Jun 16 12:59:33 CEST 2011"),
        ("Thu Jux 16 12:59:33 PDT 2011", "Thu Jux 16 12:59:33 PDT 2011"),
        ("6/30/2014 14:28:16", "2014-06-30T14:28:16"),
        ("30/6/2014 14:28:16", "30/6/2014 14:28:16"),
        ("2024-01-01T12:00:00+02:00", "2024-01-01T10:00:00Z"),
        ("2024-01-01 12:00:00", "2024-01-01T12:00:00"),
        (1_700_000_000, "2023-11-14T22:13:20Z"),
        (1_700_000_000_000, "2023-11-14T22:13:20Z"),
        (1e300, "1e+300"),
        ("soon", "soon"),
        (float("nan"), None),
        (True, None),
        ("", None),
        ([], None),
    ],
)
def test_one_form_for_all(written, read):
    assert iso_time(written) == read


REFUSED = r"^The task in row 2 has no id, and its number 2 is another task's id \(.*\)\. Give every task an id\."


def studio(number, *answers):
    result = [{"from_name": "sentiment", "type": "choices", "value": {"choices": ["pos"]}}]
    return {
        "data": {"text": f"text {number}"},
        "annotations": [{"completed_by": worker, "result": result} for worker in answers],
    }


def argilla(number, *answers):
    given = [{"value": "pos", "user_id": worker, "status": "submitted"} for worker in answers]
    return {"fields": {"text": f"text {number}"}, "responses": {"sentiment": given}}


def doccano(number, *answers):
    return {"text": f"text {number}", "annotations": [{"user": worker, "label": 1} for worker in answers], "id": None}


@pytest.mark.parametrize(("record", "form"), [(argilla, "argilla"), (studio, "label-studio"), (doccano, "doccano")])
def test_a_number_is_no_other_tasks_id(write, record, form):
    plain = [record(1, "ann", "ben"), record(2, "ann", "ben")]
    imported = examine(write(plain, "export.json"))
    assert (imported.report.format, list(imported.dataset(accept=True).task_ids)) == (form, ["1", "2"])
    with pytest.raises(DataError, match=REFUSED):
        read_dataset(write([plain[0] | {"id": 2}, plain[1]], "mixed.json"))
    with pytest.raises(DataError, match=REFUSED):
        read_dataset(write([plain[0] | {"id": 7}, plain[1], plain[0] | {"id": 2}], "later.json"))
