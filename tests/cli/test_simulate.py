"""`crowdcore simulate`: what it plants is what the library plants, and its table is the study's."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.data import simulate
from crowdcore.learning import study_recovery
from crowdcore.learning.recovery.plan import PRESETS, RecoveryPlan, preset

SMALL = {"n_tasks": 300, "n_valid": 50, "n_test": 50, "n_workers": 6, "n_classes": 3}
SET = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
QUICK = ("--epochs", 2, "--device", "cpu")


def test_it_lists_simulators_with_their_settings_and_presets(crowdcore, run) -> None:
    listed = crowdcore("simulate")
    assert list(listed["simulators"]) == simulate.names()
    assert listed["simulators"]["conal"]["schema"]["properties"]["omega_spread"]["description"]
    assert list(listed["presets"]) == list(PRESETS)
    shown = run("simulate").out
    assert "strength_spread" in shown and "--preset NAME" in shown


def test_a_planted_folder_reads_back_with_its_truth(run, tmp_path) -> None:
    folder = tmp_path / "crowd"
    done = run("simulate", "synthetic", *SET, "--set", "common_strength=0.7", "--out", folder)
    assert done.code == 0, done.err
    written, expected = cc.read_dataset(folder), simulate.synthetic(**SMALL, common_strength=0.7)
    assert written.fingerprint == expected.fingerprint
    assert (written.truth.omega == expected.truth.omega).all()
    assert "200 tasks" in done.out
    assert "is mostly labelled" in done.out


@pytest.mark.parametrize(
    ("settings", "column"),
    [
        (("ratings", "--set", "n_tasks=200", "--set", "low=1", "--set", "high=5"), "shared bias error"),
        (("spans", "--set", "n_sentences=60", "--set", "n_workers=4"), "boundary error"),
    ],
)
def test_ratings_and_spans_tell_which_aggregators_recover_what(crowdcore, run, tmp_path, settings, column) -> None:
    figure, folder = tmp_path / "planted.html", tmp_path / "crowd"
    facts = crowdcore("simulate", *settings, "--figure", figure, "--out", folder)
    assert len(facts["recovery"]) == 5 and all(row[column] >= 0 for row in facts["recovery"])
    assert figure.exists() and (folder / "truth.npz").exists()
    done = run("simulate", *settings)
    assert column in done.out and "What was planted" not in done.err


def test_methods_are_not_trained_on_planted_ratings_from_here(refused) -> None:
    assert "are numbers" in str(refused("simulate", "ratings", "-m", "crowd-layer"))


def test_noise_on_the_gold_of_a_dataset(crowdcore) -> None:
    facts = crowdcore("simulate", "conal", "--on", "demo", "--classes", "one,seven", "--set", "seed=3")
    assert facts["name"] == "demo-conal"
    assert [row["class"] for row in facts["classes"]] == ["one", "seven"]
    assert facts["settings"]["seed"] == 3


def test_the_table_is_that_of_the_study(crowdcore, tmp_path) -> None:
    out, picture = tmp_path / "table.csv", tmp_path / "figure.html"
    said = crowdcore(
        "simulate", "synthetic", *SET, "--over", "common_strength=[0.2,0.8]", "-m", "trace", "-m", "dl-mv",
        "--train", "batch_size=64", "--train", "trace.strength=0.1", *QUICK, "--out", out, "--figure", picture,
    )  # fmt: skip
    plan = RecoveryPlan(
        settings=SMALL,
        over={"common_strength": [0.2, 0.8]},
        methods=[{"method": "trace", "settings": {"strength": 0.1}}, {"method": "dl-mv"}],
        training={"batch_size": 64, "epochs": 2},
    )
    expected = study_recovery(plan, device="cpu").table
    for table in (pd.read_csv(out), pd.DataFrame(said["table"])):
        assert table["method"].tolist() == expected["method"].tolist()
        errors = table["effective error"].astype(float).to_numpy()
        assert errors == pytest.approx(expected["effective error"].to_numpy(), nan_ok=True)
    assert len(said["crowds"]) == 2
    assert "plotly" in picture.read_text(encoding="utf-8")


def test_a_preset_is_changed_by_the_options(crowdcore) -> None:
    said = crowdcore(
        "simulate", "--preset", "strength", *SET, "--set", "pattern=symmetric", "--over", "common_strength=[0.8]",
        "--crowds", 2, "-m", "dl-mv", *QUICK,
    )  # fmt: skip
    plan = said["plan"]
    assert plan["over"] == {"common_strength": [0.8]}
    assert plan["settings"] == {**SMALL, "pattern": "symmetric"}
    assert plan["training"] == {**preset("strength").training, "epochs": 2}
    assert [row["crowd"] for row in said["crowds"]] == [0, 1]


def test_people_get_a_table_with_what_its_columns_mean(run) -> None:
    done = run("simulate", "synthetic", *SET, "-m", "crowd-layer", *QUICK)
    assert done.code == 0, done.err
    assert "synthetic · 1 crowd × 1 seed" in done.out
    assert "counted with gold" in done.out and "Effective confusion:" in done.out
    assert np.all(["common error" in done.out, "seconds" in done.out])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["conel"], "Did you mean 'conal'"),
        (["conal"], "`--on` must name a dataset with gold"),
        (["conal", "--on", "nowhere"], "be an available dataset"),
        (["synthetic", "--on", "demo"], "makes its own tasks"),
        (["synthetic", "--set", "common_strength=2"], "common_strength"),
        (["synthetic", "--set", "strength=0.2"], "but got 'strength'. Did you mean 'strength_spread'?"),
        (["synthetic", "--over", "common_strength=0.2"], "NAME=[A,B,…]"),
        (["synthetic", "--over", "common_strength=[0.2,0.4]"], "plants 2 crowds"),
        (["ccc", "--on", "demo", "--classes", "one,two"], "demo has 2 classes, but this simulation is made for ten"),
        (["conal", "--on", "demo", "--classes", "eleven"], "It has zero"),
        (["synthetic", "-m", "conel"], "Did you mean 'conal'"),
        (["synthetic", "-m", "conal", "--train", "trace.lr=1"], "name one of the methods conal"),
        (["synthetic", "-m", "conal", "--train", "rate=1"], "be a setting of the trainer"),
        (["synthetic", "-m", "conal", "--out", "folder"], "end in .csv, "),
        (["--preset", "fig4"], "strength, proportion"),
        (["conal", "--preset", "strength"], "go without a simulator"),
    ],
)
def test_bad_input_is_one_line(refused, words: list[str], said: str) -> None:
    assert said in str(refused("simulate", *words))


def test_json_of_what_was_planted_holds_the_simulators_settings(run) -> None:
    facts = json.loads(run("simulate", "synthetic", *SET, "--json").out)
    assert facts["settings"]["simulation"] == "synthetic"
    assert facts["annotations"] == simulate.synthetic(**SMALL).n_annotations
