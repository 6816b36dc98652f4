"""`crowdcore ratings`: the same numbers as in Python, and refusals in one line."""

from __future__ import annotations

import pandas as pd
import pytest

from crowdcore import analysis, read_ratings
from crowdcore.core.errors import Remedy
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
    found = crowdcore("ratings", "workers", path, *how, "--out", tmp_path / "w.csv", "--figure", tmp_path / "w.html")
    workers = analysis.rating_workers(crowd, analysis.rating_truth(crowd))
    assert found["table"][0]["bias"] == pytest.approx(workers.bias[0])
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


def test_once_accepted_nothing_would_be_left_out_any_more(crowdcore, stars):
    path, _ = stars
    notes = crowdcore("ratings", "info", path, "--read", "low=0", "--read", "high=1", "--accept")["notes"]
    assert any("outside 0…1 were left out" in note for note in notes)
    assert not any("would be" in note or "pass the range" in note for note in notes)


def test_classes_are_told_from_ratings(refused):
    assert Remedy.read_as("classes") in refused("ratings", "info", "demo").remedies
