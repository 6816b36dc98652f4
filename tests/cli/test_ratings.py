"""`crowdcore ratings` and `crowdcore spans`: the same numbers as in Python, and refusals in one line."""

from __future__ import annotations

import pandas as pd
import pytest

from crowdcore import analysis, read_ratings
from crowdcore.cli import _command
from crowdcore.core.errors import Remedy
from crowdcore.data import simulate, write_folder
from tests.rated_crowd import rated_crowd


@pytest.fixture
def stars(tmp_path):
    crowd, _ = rated_crowd(60, 5, 3)
    path = tmp_path / "stars.csv"
    crowd.annotations.assign(gold=crowd.gold[crowd.task]).to_csv(path, index=False)
    return path, ("--read", "low=-2", "--read", "high=3")


def test_every_command_prints_what_the_library_finds(crowdcore, stars, tmp_path):
    path, how = stars
    crowd = read_ratings(path, -2, 3)
    output = crowdcore("ratings", "workers", path, *how, "--out", tmp_path / "w.csv", "--figure", tmp_path / "w.html")
    workers = analysis.rating_workers(crowd, analysis.rating_truth(crowd))
    assert output["table"][0]["bias"] == pytest.approx(workers.bias[0])
    assert len(pd.read_csv(tmp_path / "w.csv")) == 5
    assert (tmp_path / "w.html").stat().st_size
    assert len(crowdcore("ratings", "info", path, *how)["ratings-agreement"]) == 6
    assert len(crowdcore("ratings", "shared-bias", path, *how, "--bins", 4)["table"]) == 4
    assert len(crowdcore("ratings", "pairs", path, *how)["table"]) == 10
    assert [row["method"] for row in crowdcore("ratings", "aggregate", path, *how)["table"]] == [
        *("mean", "median", "raykar-em")
    ]
    one = crowdcore("ratings", "aggregate", path, *how, "-m", "raykar-em", "--set", "bias_shrinkage=5")
    assert len(one["ratings"]) == 60
    assert one["settings"]["bias_shrinkage"] == 5


def test_refusals_are_one_line(refused, stars):
    path, how = stars
    assert refused("ratings", "info", path).remedies[0].settings == ("low", "high")
    assert "would be left out" in str(refused("ratings", "info", path, "--read", "low=0", "--read", "high=1"))
    assert refused("ratings", "aggregate", path, *how, "-m", "medium").got == "medium"


def test_a_file_with_columns_and_words_of_ones_own(crowdcore, tmp_path):
    path = tmp_path / "likert.csv"
    frame = pd.DataFrame({"film": ["a", "a", "b"], "critic": ["x", "y", "x"], "says": ["agree", "disagree", "neutral"]})
    frame.to_csv(path, index=False)
    words = 'levels=["disagree","neutral","agree"]'
    how = [part for how in ("task=film", "worker=critic", "label=says", words) for part in ("--read", how)]
    report = crowdcore("ratings", "examine", path, *how)
    assert (report["rating_range"], report["n_annotations"]) == ([1, 3], 3)
    for target, more in (("long.csv", ()), ("folder", ()), ("wide.csv", ("--wide",))):
        assert crowdcore("ratings", "export", path, tmp_path / target, *how, *more)["ratings"] == 3
    assert read_ratings(tmp_path / "long.csv", 1, 3).rating.tolist() == [3, 1, 2]
    assert read_ratings(tmp_path / "folder").levels == ("disagree", "neutral", "agree")
    assert pd.read_csv(tmp_path / "wide.csv")["x"].tolist() == [3, 2]
    assert crowdcore("export", tmp_path / "folder", tmp_path / "hidden.csv", "--hide-names")["ratings"] == 3
    hidden = pd.read_csv(tmp_path / "hidden.csv").groupby("task")["rating"].agg(sorted)
    assert hidden.tolist() == [[1, 3], [2]] and "x" not in set(pd.read_csv(tmp_path / "hidden.csv")["worker"])


def test_once_accepted_nothing_would_be_left_out_any_more(crowdcore, stars):
    path, _ = stars
    notes = crowdcore("ratings", "info", path, "--read", "low=0", "--read", "high=1", "--accept")["notes"]
    assert any("outside 0…1 were left out" in note for note in notes)
    assert not any("would be" in note or "pass the range" in note for note in notes)


def test_classes_are_told_from_ratings(refused):
    assert Remedy.read_as("classes") in refused("ratings", "info", "demo").remedies


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(simulate.tags(n_sentences=30, seed=1), tmp_path_factory.mktemp("tags") / "crowd")


def test_spans_of_workers(crowdcore, run, folder, tmp_path):
    output = crowdcore("spans", folder)
    assert {row["worker"] for row in output["workers"]} == {f"w{i}" for i in range(1, 9)}
    assert {(row["true"], row["given"]) for row in output["types"]} == {
        (a, b) for a in ("LOC", "PER") for b in ("LOC", "PER")
    }
    assert [row["type"] for row in output["boundaries"]] == ["LOC", "PER"]
    done = run("spans", folder, "--out", tmp_path / "s.csv", "--figure", tmp_path / "s.html", "--hide-names")
    assert done.code == 0, done.err
    assert "Boundary errors" in done.out and "w3" not in done.out
    assert {"f1", "missed", "boundary", "spurious"} <= set(pd.read_csv(tmp_path / "s.csv").columns)


def test_other_commands_speak_of_tokens_and_sentences(crowdcore, run, folder):
    assert "sentences" in run("info", folder).out
    output = crowdcore("aggregate", folder, "-m", "bsc-seq")
    assert output["sentences"] == 30 and output["tokens"] > 100 and 0.5 < output["span_f1"] <= 1
    assert crowdcore("mistakes", folder)["mistakes"]["classes"][0] == "O"


def test_sentences_that_nobody_tagged_are_tagged(crowdcore, run, refused, folder, tmp_path):
    crowd = simulate.tags(n_sentences=60, n_test=10, seed=1)
    path = write_folder(crowd, tmp_path / "crowd")
    output = crowdcore("aggregate", path, "-m", "crf-ma", "--new", tmp_path / "new.csv")
    assert output["sentences"] == 50 and 0 < output["new_span_f1"] < output["span_f1"]
    written = pd.read_csv(tmp_path / "new.csv")
    assert set(written["task"]) == set(crowd.task_ids[crowd.split == 2]) and set(written["label"]) <= set(crowd.classes)
    assert refused("aggregate", folder, "-m", "bsc-seq", "--new", tmp_path / "no.csv").argument == "--new"


def test_comparisons_tell_the_spans(crowdcore, run, folder):
    output = crowdcore("compare", folder, "-m", "majority-vote", "-m", "bsc-seq")
    alone = crowdcore("aggregate", folder, "-m", "bsc-seq")
    assert [row["method"] for row in output["aggregation_spans"]] == ["majority-vote", "bsc-seq"]
    assert output["aggregation_spans"][1]["f1"] == pytest.approx(100 * alone["span_f1"], abs=0.05)
    assert "f1" in run("compare", folder, "-m", "majority-vote").out


def test_comparisons_of_taggers_tell_the_spans_of_the_test_split(crowdcore, tmp_path):
    path = write_folder(simulate.tags(n_sentences=60, n_test=20, seed=1), tmp_path / "crowd")
    output = crowdcore("compare", path, "-m", "dl-mv", "--seeds", "1", "--epochs", "2", "--device", "cpu")
    assert [(row["method"], row["epoch"]) for row in output["spans"]] == [("dl-mv", "selected"), ("dl-mv", "last")]
    assert {"precision", "recall", "f1"} <= output["spans"][0].keys()


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


def test_a_file_of_numbers_is_summarised_once_its_range_is_known(refused, crowdcore, tmp_path) -> None:
    path = tmp_path / "scores.csv"
    rows = [f"t{i},w{j},{(37 * i + 5 * j) % 98 + 0.5}" for i in range(60) for j in range(3)]
    path.write_text("\n".join(["task,worker,score", *rows]))
    (as_ratings, _) = refused("info", path).remedies
    assert as_ratings.value == "ratings"
    (remedy,) = refused("ratings", path).remedies
    assert (remedy.setting, remedy.value) == (("low", "high"), [0, 100])
    assert crowdcore("ratings", path, "--read", "low=0", "--read", "high=100")["dataset"] == "scores"
