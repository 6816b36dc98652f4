"""`crowdcore compare` of learning methods: the results' numbers, tables that fit a terminal, every note once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import crowdcore as cc
from crowdcore.data.writers import write_folder
from tests.learning.helpers import featured_crowd

METHODS = ("-m", "conal", "-m", "crowd-layer")
QUICK = ("--seeds", "3", "--epochs", "2", "--device", "cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(featured_crowd(120), tmp_path_factory.mktemp("crowds") / "small")


@pytest.fixture(scope="module")
def expected(folder):
    from crowdcore.learning import train

    ds = cc.read_dataset(folder)
    return {m: train(ds, m, seeds=3, epochs=2, device="cpu") for m in METHODS[1::2]}


def test_json_holds_the_results_numbers_and_the_tests_over_seeds(crowdcore, folder, expected):
    found = crowdcore("compare", folder, *METHODS, *QUICK)
    for row in found["learning"]:
        result = expected[row["method"]]
        for at in ("selected", "last", "best"):
            assert row[f"{at}_accuracy"] == pytest.approx(result.accuracy("test", at=at).tolist())
            assert row[f"{at}_std"] == pytest.approx(np.std(row[f"{at}_accuracy"], ddof=1))
        own, ds = row["recovered"], cc.read_dataset(folder)
        rows = slice(None) if own["seed"] is None else [result.seeds.index(own["seed"])]
        assert (own["seed"] is None) == (own["why"] == "")
        counted = np.stack([cc.analysis.confusion_of_counts(c) for c in result.worker_counts.astype(float)])
        skill = np.trace(counted[rows], axis1=2, axis2=3).mean(0) / 3
        assert list(own["worker_skill"].values()) == pytest.approx(skill.tolist())
        if row["method"] == "conal":
            assert np.array(own["common_confusion"]) == pytest.approx(result.common_confusion[rows].mean(0))
            ranking = cc.analysis.omega_ranking(ds, result.omega, "gold", seeds=result.seeds, seed=own["seed"])
            assert [c["top"] for c in own["omega"]] == ranking.top.tolist()
            assert [c["omega"] for c in own["omega"]] == pytest.approx(ranking.class_omega.tolist())
        else:
            assert own["common_confusion"] is own["omega"] is None
    reached = {m: r.accuracy("test") for m, r in expected.items()}
    assert found["learning"][0]["selected_by"] == "gold"
    for row in found["learning"]:
        mean = expected[row["method"]].probabilities["last"].mean(0)
        test = expected[row["method"]].split == 2
        together = (mean.argmax(1) == expected[row["method"]].gold)[test].mean()
        assert row["ensemble_last"] == pytest.approx(together)
    tests = cc.analysis.paired_tests(reached)
    assert [row["p_value"] for row in found["paired_tests"]] == pytest.approx(tests.p_value.tolist())
    assert {row["caveat"] for row in found["paired_tests"]} == {tests.caveat}
    [pair] = found["task_tests"]
    assert pair["difference"] == pytest.approx(reached["conal"].mean() - reached["crowd-layer"].mean())
    assert pair["low"] <= pair["difference"] <= pair["high"]
    assert [row["run"] for row in found["selection"]] == list(expected)
    last = expected["conal"].accuracy("test", at="last").mean()
    assert found["selection"][0]["to %"] == pytest.approx(100 * last)


def test_one_seed_of_one_method_without_a_test_split_says_what_it_cannot_say(crowdcore, run, folder, tmp_path):
    quick = ("--seeds", "1", "--epochs", "1", "--device", "cpu")
    alone = " ".join(run("compare", folder, "-m", "dl-mv", *quick).out.split())
    assert "one seed" in alone
    assert "±" not in alone and "standard deviation" not in alone and "nan" not in alone.lower()
    assert alone.count("at least two runs") == 1
    crowd = featured_crowd(120)
    without = write_folder(replace(crowd, split=np.where(crowd.split == 2, 0, crowd.split)), tmp_path / "without")
    said = " ".join(run("compare", without, *METHODS, *QUICK).out.split())
    assert said.count("has no test split") == 1
    assert "nan" not in said.lower()


def test_tables_fit_a_terminal_notes_come_once_and_all_goes_to_files(run, monkeypatch, folder, expected, tmp_path):
    monkeypatch.setattr(Console, "is_terminal", property(lambda self: True))
    monkeypatch.setenv("COLUMNS", "80")
    done = run("compare", folder, *METHODS, *QUICK, "--out", tmp_path)
    assert done.code == 0
    assert "…" not in done.out
    for method, result in expected.items():
        values = 100 * result.accuracy("test")
        assert f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" in done.out
        assert method in done.out
    said = " ".join((done.out + done.err).split())
    assert said.count("With 3 seeds") == 1
    assert said.count("seeds vary only") == 1
    assert "gold of the valid split" in said and "as trained" in said
    assert said.count("+ ensemble") == 2
    assert said.count("Epochs are selected on") == 1
    assert "caveat" not in said
    learning = pd.read_csv(tmp_path / "learning.csv")
    assert list(learning["method"]) == [f"{m}{kind}" for m in METHODS[1::2] for kind in ("", ", ensemble")]
    assert set(learning["selected by"]) == {"gold of the valid split"}
    assert {"dataset", "annotations/s", "seeds"} <= set(learning.columns)
    assert "With 3 seeds" in pd.read_csv(tmp_path / "paired-tests.csv")["caveat"][0]
    assert pd.read_csv(tmp_path / "task-tests.csv")["tasks"][0] == (featured_crowd(120).split == 2).sum()
