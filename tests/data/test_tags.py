"""Tags of tokens: the tokens are the tasks; spans of them against a second implementation of seqeval's default."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError
from crowdcore.data import (
    CrowdDataset,
    Sentences,
    examine,
    read_dataset,
    simulate,
    split_tasks,
    take_tasks,
    write_folder,
)
from crowdcore.data.tags import TagScheme, find_spans, need_tags, worker_sequences

CLASSES = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
SCHEME = TagScheme.of(CLASSES)


def literal_spans(tags: list[str]) -> set[tuple[str, int, int]]:
    """The rules of seqeval's default mode for IOB2, one token after another."""
    spans, kind, begin = set(), None, 0
    for i, tag in enumerate([*tags, "O"]):
        part, _, this = tag.partition("-")
        goes_on = part == "I" and this == kind
        if kind is not None and not goes_on:
            spans.add((kind, begin, i))
            kind = None
        if part != "O" and not goes_on:
            kind, begin = this, i
    return spans


def found(tags: list[str], first=None) -> set[tuple[str, int, int]]:
    codes = np.array([CLASSES.index(tag) for tag in tags], int)
    first = np.arange(len(tags)) == 0 if first is None else first
    spans = find_spans(codes, first, SCHEME)
    return {(SCHEME.types[k], int(a), int(b)) for k, a, b in zip(spans.type, spans.start, spans.end, strict=True)}


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("", set()),
        ("O O", set()),
        ("B-LOC I-LOC O B-PER", {("LOC", 0, 2), ("PER", 3, 4)}),
        ("B-LOC B-LOC", {("LOC", 0, 1), ("LOC", 1, 2)}),
        ("O I-LOC I-LOC", {("LOC", 1, 3)}),  # inside after outside begins a span
        ("B-LOC I-PER", {("LOC", 0, 1), ("PER", 1, 2)}),  # and so after another type
        ("I-LOC", {("LOC", 0, 1)}),
    ],
)
def test_spans_by_hand(tags, spans):
    assert found(tags.split()) == spans == literal_spans(tags.split())


def test_spans_of_random_tags_are_those_of_the_literal_rules():
    rng = np.random.default_rng(0)
    for n in range(1, 60):
        tags = [CLASSES[c] for c in rng.integers(5, size=n)]
        assert found(tags) == literal_spans(tags)


def test_a_span_ends_with_its_sentence():
    assert found(["B-LOC", "I-LOC"], np.array([True, True])) == {("LOC", 0, 1), ("LOC", 1, 2)}


@pytest.mark.parametrize("classes", [("O",), ("cat", "dog"), ("O", "LOC"), ("B-LOC", "I-LOC"), ("O", "B-")])
def test_other_classes_are_no_tags(classes):
    assert TagScheme.of(classes) is None


def test_a_tag_that_may_not_follow():
    assert SCHEME.invalid[0].tolist() == [False, False, True, False, True]  # after O
    assert SCHEME.invalid[1].tolist() == [False, False, False, False, True]  # after B-LOC
    assert SCHEME.invalid[5].tolist() == [False, False, True, False, True]  # at the start


def test_sequences_of_workers_with_repeats_and_gaps():
    sentences = Sentences(np.array([0, 3, 5]), pd.Index(["a", "b"]), pd.Index(list("vwxyz")))
    task = np.array([0, 0, 1, 1, 2, 3, 3, 4])
    worker = np.array([0, 0, 0, 0, 1, 1, 0, 0])
    crowd = CrowdDataset("c", CLASSES, pd.Index(list("pqrst")), pd.Index(["u", "v"]), task, worker, np.zeros(8, int))
    from dataclasses import replace

    sequences = worker_sequences(replace(crowd, sentences=sentences))
    assert sequences.rows.tolist() == [0, 2, 6, 7, 1, 3, 4, 5]
    assert sequences.first.tolist() == [True, False, True, False, True, False, True, True]


def test_crowds_without_spans_are_refused(crowd):
    with pytest.raises(DataError, match="spans"):
        need_tags(crowd)
    tagged = simulate.tags(n_sentences=3)
    from dataclasses import replace

    with pytest.raises(DataError, match=r"classes.*2 tags"):
        need_tags(replace(tagged, classes=tuple("abcde")))


CLASSES_FILE = "O\nB-LOC\nI-LOC\n"
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
    return folder(annotations__csv=annotations, tasks__csv=TASKS, classes__txt=CLASSES_FILE, **parts)


def test_a_folder_of_sequences_becomes_one_annotation_a_token(folder):
    imported = examine(tagged(folder))
    ds = imported.dataset()
    assert list(ds.task_ids) == ["s1:1", "s1:2", "s1:3", "s2:1"]
    assert list(ds.sentences.words) == ["to", "Rome", "today", "Paris"]
    assert (list(ds.sentences.ids), ds.sentences.start.tolist()) == (["s1", "s2"], [0, 3, 4])
    assert ds.gold.tolist() == [0, 1, 0, 1]
    rows = list(zip(ds.task.tolist(), ds.worker.tolist(), ds.label.tolist(), strict=True))
    assert rows == [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1), (2, 0, 1), (2, 1, 0), (3, 0, 1)]
    assert ds.file_row is None or ds.file_row.tolist() == [1, 2, 1, 2, 1, 2, 3]
    assert "on 4 tokens of 2 sentences" in imported.report.text()
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
    with pytest.raises(DataError, match="'sure'"):
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
    with pytest.raises(DataError, match="`start`"):
        Sentences(np.array(start), pd.Index(["a"] * (len(start) - 1)), pd.Index(["x", "y", "z"]))


def test_the_real_one(data_folder):
    ds = cc.load_dataset("conll_ner")
    assert (len(ds.sentences), ds.n_tasks, ds.n_workers, ds.n_annotations) == (9235, 131_263, 47, 398_329)
    assert np.mean(ds.gold[ds.task] == ds.label) == pytest.approx(0.8992, abs=5e-5)  # of its README
