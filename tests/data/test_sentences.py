"""Tags of tokens: the tokens are the tasks, and sentences say which belong together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError
from crowdcore.data import Sentences, examine, read_dataset, split_tasks, take_tasks, write_folder

CLASSES = "O\nB-LOC\nI-LOC\n"
TASKS = "task,split,gold,text\ns1,train,O B-LOC O,to Rome today\ns2,train,B-LOC,Paris\ns3,testb,O,no\n"
ANNOTATIONS = "task,worker,label\ns1,ann,O O B-LOC\ns1,ben,O B-LOC O\ns2,ann,B-LOC\n"


@pytest.fixture
def folder(tmp_path):
    """Writes the files of a folder."""

    def write(**files):
        for name, content in files.items():
            (tmp_path / name.replace("__", ".")).write_text(content)
        return tmp_path

    return write


def tagged(folder, annotations=ANNOTATIONS, **parts):
    return folder(annotations__csv=annotations, tasks__csv=TASKS, classes__txt=CLASSES, **parts)


def test_a_folder_of_sequences_becomes_one_annotation_a_token(folder):
    found = examine(tagged(folder))
    ds = found.dataset()
    assert list(ds.task_ids) == ["s1:1", "s1:2", "s1:3", "s2:1"]
    assert list(ds.sentences.words) == ["to", "Rome", "today", "Paris"]
    assert (list(ds.sentences.ids), ds.sentences.start.tolist()) == (["s1", "s2"], [0, 3, 4])
    assert ds.gold.tolist() == [0, 1, 0, 1]
    rows = list(zip(ds.task.tolist(), ds.worker.tolist(), ds.label.tolist(), strict=True))
    assert rows == [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1), (2, 0, 1), (2, 1, 0), (3, 0, 1)]
    assert ds.file_row is None or ds.file_row.tolist() == [1, 2, 1, 2, 1, 2, 3]
    assert "7 annotations by 2 workers on 4 tokens of 2 sentences" in found.report.text()
    assert any("'testb', are not loaded" in note for note in ds.notes)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("s2,ben,O O", r"1 annotation with another number of tags than the sentence has tokens .*row 4"),
        ("s9,ben,O", r"1 annotation of sentences that are not listed .*row 4"),
    ],
)
def test_sequences_that_fit_no_sentence_are_reported_and_counted(folder, row, sentence):
    path = tagged(folder, f"{ANNOTATIONS}{row}\n")
    with pytest.raises(DataError, match=sentence):
        read_dataset(path)
    report = examine(path).report
    assert report.n_rows == 7 + len(row.split(",")[2].split()) == report.n_annotations + report.n_left_out


def test_columns_with_a_word_for_each_tag_are_split_too(folder):
    rows = ANNOTATIONS.replace("label\n", "label,sure\n").replace("B-LOC\n", "B-LOC,x y z\n", 1)
    rows = rows.replace("B-LOC O\n", "B-LOC O,a b c\n").replace("ann,B-LOC\n", "ann,B-LOC,u\n")
    assert read_dataset(tagged(folder, rows)).extra["sure"].tolist() == ["x", "a", "y", "b", "z", "c", "u"]
    with pytest.raises(DataError, match="Columns about sentences, not about tokens, would be left out: 'sure'"):
        read_dataset(tagged(folder, rows.replace("x y z", "12")))


@pytest.mark.parametrize("table", ["parquet", "csv"])
def test_round_trip(folder, tmp_path, table):
    ds = read_dataset(tagged(folder))
    back = read_dataset(write_folder(ds, tmp_path / "copy", table=table))
    assert back.fingerprint == ds.fingerprint
    assert back.sentences.words.equals(ds.sentences.words)
    (tmp_path / "copy" / f"tokens.{table}").unlink()
    assert read_dataset(tmp_path / "copy").fingerprint != ds.fingerprint


def test_subsets_keep_what_is_left_of_each_sentence(folder):
    ds = read_dataset(tagged(folder))
    some = take_tasks(ds, np.array([1, 2, 3]))
    assert (some.sentences.start.tolist(), list(some.sentences.ids)) == ([0, 2, 3], ["s1", "s2"])
    assert list(take_tasks(ds, np.array([3])).sentences.words) == ["Paris"]


def test_a_split_never_cuts_a_sentence():
    start = np.arange(0, 61, 3)
    sentences = Sentences(start, pd.Index([f"s{i}" for i in range(20)]), pd.Index(["word"] * 60))
    crowd = cc.data.simulate.synthetic(n_tasks=60, n_valid=0, n_test=0)
    from dataclasses import replace

    split = split_tasks(replace(crowd, sentences=sentences), valid=0.2, test=0.2).split.reshape(20, 3)
    assert (split == split[:, :1]).all()
    assert set(split[:, 0]) == {0, 1, 2}


@pytest.mark.parametrize("start", [[0, 2], [0, 3, 3], [1, 3], [0, 4]])
def test_offsets_that_cut_no_sentences_are_refused(start):
    with pytest.raises(DataError, match="`start` must ascend"):
        Sentences(np.array(start), pd.Index(["a"] * (len(start) - 1)), pd.Index(["x", "y", "z"]))


def test_the_real_one(data_folder):
    ds = cc.load_dataset("conll_ner")
    assert (len(ds.sentences), ds.n_tasks, ds.n_workers, ds.n_annotations) == (9235, 131_263, 47, 398_329)
    assert np.mean(ds.gold[ds.task] == ds.label) == pytest.approx(0.8992, abs=5e-5)  # of its README
