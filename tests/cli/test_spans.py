"""`crowdcore spans`, and what other commands say of a crowd that tags tokens."""

from __future__ import annotations

import pandas as pd
import pytest

from crowdcore.cli import _command
from crowdcore.data import simulate, write_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(simulate.tags(n_sentences=30, seed=1), tmp_path_factory.mktemp("tags") / "crowd")


def test_spans_of_workers(crowdcore, run, folder, tmp_path):
    found = crowdcore("spans", folder)
    assert {row["worker"] for row in found["workers"]} == {f"w{i}" for i in range(1, 9)}
    assert {(row["true"], row["given"]) for row in found["types"]} == {
        (a, b) for a in ("LOC", "PER") for b in ("LOC", "PER")
    }
    assert [row["type"] for row in found["boundaries"]] == ["LOC", "PER"]
    done = run("spans", folder, "--out", tmp_path / "s.csv", "--figure", tmp_path / "s.html", "--hide-names")
    assert done.code == 0, done.err
    assert "Boundary errors" in done.out and "w3" not in done.out
    assert {"f1", "missed", "boundary", "spurious"} <= set(pd.read_csv(tmp_path / "s.csv").columns)


def test_other_commands_speak_of_tokens_and_sentences(crowdcore, run, folder):
    assert "sentences" in run("info", folder).out
    found = crowdcore("aggregate", folder, "-m", "bsc-seq")
    assert found["sentences"] == 30 and found["tokens"] > 100 and 0.5 < found["span_f1"] <= 1
    assert crowdcore("mistakes", folder)["mistakes"]["classes"][0] == "O"


def test_sentences_that_nobody_tagged_are_tagged(crowdcore, run, refused, folder, tmp_path):
    crowd = simulate.tags(n_sentences=60, n_test=10, seed=1)
    path = write_folder(crowd, tmp_path / "crowd")
    found = crowdcore("aggregate", path, "-m", "crf-ma", "--new", tmp_path / "new.csv")
    assert found["sentences"] == 50 and 0 < found["new_span_f1"] < found["span_f1"]
    written = pd.read_csv(tmp_path / "new.csv")
    assert set(written["task"]) == set(crowd.task_ids[crowd.split == 2]) and set(written["label"]) <= set(crowd.classes)
    assert refused("aggregate", folder, "-m", "bsc-seq", "--new", tmp_path / "no.csv").argument == "--new"


def test_comparisons_tell_the_spans(crowdcore, run, folder):
    found = crowdcore("compare", folder, "-m", "majority-vote", "-m", "bsc-seq")
    alone = crowdcore("aggregate", folder, "-m", "bsc-seq")
    assert [row["method"] for row in found["aggregation_spans"]] == ["majority-vote", "bsc-seq"]
    assert found["aggregation_spans"][1]["f1"] == pytest.approx(100 * alone["span_f1"], abs=0.05)
    assert "f1" in run("compare", folder, "-m", "majority-vote").out


def test_comparisons_of_taggers_tell_the_spans_of_the_test_split(crowdcore, tmp_path):
    path = write_folder(simulate.tags(n_sentences=60, n_test=20, seed=1), tmp_path / "crowd")
    found = crowdcore("compare", path, "-m", "dl-mv", "--seeds", "1", "--epochs", "2", "--device", "cpu")
    assert [(row["method"], row["epoch"]) for row in found["spans"]] == [("dl-mv", "selected"), ("dl-mv", "last")]
    assert {"precision", "recall", "f1"} <= found["spans"][0].keys()


def test_crowds_without_spans_are_refused(refused):
    assert "no sentences" in str(refused("spans", "demo"))


def test_export_as_conll_columns(crowdcore, folder, tmp_path):
    crowdcore("export", folder, tmp_path / "c.conll")
    assert (tmp_path / "c.conll").read_text().startswith("token\tgold\tw1\t")
    assert crowdcore("info", tmp_path / "c.conll")["summary"]["n_sentences"] == 30


@pytest.mark.parametrize("command", [("spans",), ("show", "span-scores")])
def test_a_crowd_without_sentences_is_refused_alone_and_first(refused, monkeypatch, tmp_path, command):
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,ann,a\n2,ben,b\n")
    monkeypatch.setattr(_command, "choose_reference", lambda *_: pytest.fail("a reference is computed"))
    assert "no sentences" in str(refused(*command, tmp_path / "votes.csv"))
