"""Every reader of the folder: its name, what it fits, and that it refuses what it does not."""

from __future__ import annotations

import contextlib
import json

import pandas as pd
import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.core.registry import Registry
from crowdcore.data import examine
from crowdcore.data.readers import readers
from testkit import exports, judge_files
from tests.data.pictures import write_pictures

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
    for who, row in (("w1", "t1,a\nt2,b"), ("w2", "t1,b")):
        (tmp_path / "files" / f"{who}.csv").write_text(f"task,label\n{row}\n", encoding="utf-8")
    files["files"] = tmp_path / "files"
    files["nested"] = tmp_path / "nested.json"
    files["nested"].write_text(json.dumps(NESTED), encoding="utf-8")
    files["zooniverse"] = tmp_path / "zooniverse.csv"
    rows = [(w, s, json.dumps([{"task": "T0", "task_label": "?", "value": c}])) for w, s, c in ANSWERS]
    pd.DataFrame(rows, columns=["user_name", "subject_ids", "annotations"]).rename_axis("classification_id").to_csv(
        files["zooniverse"]
    )
    files["webanno"] = tmp_path / "webanno"
    for who in ("w1", "w2"):
        (tmp_path / "webanno/annotation/doc").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"webanno/annotation/doc/{who}.tsv").write_text(WEBANNO, encoding="utf-8")
        (tmp_path / "brat" / who).mkdir(parents=True)
        (tmp_path / "brat" / who / "doc.txt").write_text("Rome is")
        (tmp_path / "brat" / who / "doc.ann").write_text("T1\tLOC 0 4\tRome\n#1\tAnnotatorNotes T1\tsure\n")
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

    def test_reads_the_same_twice(self, name, samples):
        first, second = (examine(samples[name]).dataset(accept=True) for _ in range(2))
        assert first.fingerprint == second.fingerprint
        pd.testing.assert_frame_equal(first.annotations, second.annotations)


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
