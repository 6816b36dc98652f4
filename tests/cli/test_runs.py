"""Runs and their training from the command line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import runs
from crowdcore.data.rows import Rows
from crowdcore.data.writers import write_folder
from crowdcore.learning import presets
from crowdcore.runs import Range, Run, Workspace, get_run, list_runs, store
from crowdcore.runs.searching import usually_searched
from tests.learning.helpers import featured_crowd
from tests.rated_crowd import rated_folder
from tests.runs.conftest import crowd_folder, make, train, workspace  # noqa: F401


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs wait: only their settings matter here."""
    monkeypatch.setattr("crowdcore.runs.engine.ensure_engine", lambda **_: None)


@pytest.fixture
def finished(make: Callable[..., Run], train: Callable[[Run], int]) -> Run:  # noqa: F811
    run = make("conal", epochs=2, embedding=4)
    assert train(run) == 0
    return get_run(run.id)


def test_list_and_show(finished: Run, make: Callable[..., Run], crowdcore: Callable[..., Any], run) -> None:  # noqa: F811
    waiting = make()
    assert [r["id"] for r in crowdcore("runs", "list")] == [waiting.id, finished.id]
    assert [r["id"] for r in crowdcore("runs", "list", "--state", "finished")] == [finished.id]
    shown = crowdcore("runs", "show", finished.id[:12])
    assert shown["scores"]["test_accuracy_selected"] == finished.scores["test_accuracy_selected"]
    assert shown["spec"]["settings"]["embedding"] == 4
    assert shown["command"].startswith("crowdcore train ")
    printed = run("runs", "list").out
    assert finished.id[:8] in printed
    assert f"{100 * finished.scores['test_accuracy_selected']:.2f} ± " in printed
    assert finished.device == "cpu"
    out = run("runs", "show", finished.id).out
    assert "crowdcore train" in out
    assert [line.split()[1:-1] for line in out.splitlines() if " device" in line] == [
        ["device", "│", finished.device],
        ["device", "asked", "for", "│", finished.spec.device],
    ]


def test_a_full_disk_is_said_and_nothing_is_started(workspace, run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    full = "The disk is full: make room."
    monkeypatch.setattr("crowdcore.runs.engine.disk_problem", lambda folder: full)
    monkeypatch.setattr("crowdcore.runs.faults.disk_problem", lambda folder: full)
    listed, started = run("runs", "list"), run("runs", "start", "demo", "-m", "dl-mv", "--epochs", 1)
    assert (listed.code, listed.err.strip()) == (0, f"crowdcore: {full}")
    assert (started.code, started.out, started.err.strip()) == (2, "", f"crowdcore: {full}")


def test_the_command_of_a_run_comes_to_its_numbers(finished: Run, crowdcore: Callable[..., Any]) -> None:
    import shlex

    words = shlex.split(crowdcore("runs", "show", finished.id)["command"])
    again = crowdcore(*words[1:], "--device", "cpu")
    assert again["selected_mean"] == pytest.approx(finished.scores["test_accuracy_selected"], abs=1e-12)


def test_exactly_these_seeds(crowd_folder: Path, crowdcore: Callable[..., Any]) -> None:  # noqa: F811
    args = ("train", crowd_folder, "-m", "dl-mv", "--epochs", 1, "--device", "cpu", "--seed", 7, "--seed", 3)
    assert crowdcore(*args)["seeds"] == [7, 3]


def test_log_predictions_and_export(finished: Run, crowdcore: Callable[..., Any], tmp_path: Path, run) -> None:
    table = pd.DataFrame(crowdcore("runs", "predictions", finished.id))
    assert len(table) == 60
    assert run("runs", "predictions", finished.id, "--out", tmp_path / "p.csv").code == 0
    assert pd.read_csv(tmp_path / "p.csv")["task"].tolist() == table["task"].tolist()
    written = crowdcore("runs", "export", finished.id, tmp_path / "model")["written"]
    assert (tmp_path / "model" / "predict.py").is_file()
    assert len(written) == 4
    assert crowdcore("runs", "log", finished.id) == []


def test_a_run_is_a_reference(finished: Run, crowdcore: Callable[..., Any]) -> None:
    data = cc.read_dataset(finished.spec.dataset)
    for command in ("distances", "quality", "info", "mistakes"):
        output = crowdcore(command, finished.spec.dataset, "--reference", f"run:{finished.id[:10]}")
        assert f"run:{finished.id}" in json.dumps(output)
    truth = cc.runs.reference(finished.id, data)
    np.testing.assert_allclose(output["mistakes"]["percent"], cc.analysis.shared_mistakes(data, truth).percent)


def test_refusals(make: Callable[..., Run], refused: Callable[..., str]) -> None:  # noqa: F811
    assert "id begins with" in str(refused("runs", "show", "abc"))
    assert "There is no run" in str(refused("runs", "log", "f" * 32))
    refused("runs", "diff", make().id)
    refused("runs", "tag", make().id)
    refused("runs", "rename", make().id, "x" * 200)
    assert "There is no run" in str(refused("mistakes", "demo", "--reference", f"run:{'0' * 32}"))


def test_delete_asks_first(finished: Run, run, refused, crowdcore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.confirm", lambda question: False)
    refused("runs", "delete", finished.id)
    assert len(list_runs()) == 1
    assert crowdcore("runs", "delete", finished.id[:9], "--yes") == {"deleted": [finished.id]}
    assert list_runs() == []


def test_runs_are_found_marked_and_told_apart(make, finished: Run, no_engine: None, crowdcore, run, tmp_path) -> None:  # noqa: F811
    other = make("conal", epochs=3)
    named = crowdcore("runs", "rename", other.id[:10], "Longer")
    assert named == [{"id": other.id, "name": "Longer", "note": "", "tags": []}]
    crowdcore("runs", "note", other.id, "Three epochs, for Table 2")
    tagged = crowdcore("runs", "tag", other.id, finished.id[:9], "--add", "paper", "--add", "old")
    assert [r["tags"] for r in tagged] == [["paper", "old"]] * 2
    crowdcore("runs", "tag", other.id, "--remove", "old")

    def listed(*options: str) -> list[str]:
        return [r["id"] for r in crowdcore("runs", "list", *options)]

    assert listed("--find", "TABLE longer") == listed("--tag", "paper", "--state", "queued") == [other.id]
    assert listed("--tag", "old") == listed("--method", "conal", "--state", "finished") == [finished.id]
    assert listed("--dataset", "nothing") == []
    assert crowdcore("runs", "list")[0]["differs_in"] == {"epochs": "3"}
    printed = run("runs", "list", "--out", tmp_path / "runs.csv").out
    assert "Longer" in printed and "epochs 3" in printed and "Three epochs, for" in printed
    table = pd.read_csv(tmp_path / "runs.csv").set_index("id")
    reached = finished.scores["valid_accuracy_selected"]
    assert table.loc[finished.id, "validation"] == pytest.approx(reached)
    assert reached == pytest.approx(finished.scores["valid_accuracy"], abs=0.5)
    difference = {r["setting"]: r for r in crowdcore("runs", "diff", other.id, finished.id)}
    assert difference["epochs"]["Longer"] == "3"
    assert crowdcore("runs", "cancel", other.id, finished.id)[1] == {"id": finished.id, "state": "finished"}
    assert crowdcore("runs", "delete", other.id, finished.id, "--yes") == {"deleted": [other.id, finished.id]}


def test_what_waits_is_not_deleted(make: Callable[..., Run], refused: Callable[..., str]) -> None:  # noqa: F811
    waiting = make()
    assert "is queued" in str(refused("runs", "delete", waiting.id, "--yes"))
    store.set_state(waiting.id, "cancelled")


def test_start_and_again(workspace, crowd_folder: Path, no_engine: None, crowdcore: Callable[..., Any]) -> None:  # noqa: F811
    args = ("runs", "start", crowd_folder, "-m", "dl-mv", "-m", "conal", "--seeds", 2, "--epochs", 3, "--priority", 2)
    first, second = crowdcore(*args)
    assert (first["method"], second["method"], first["state"]) == ("dl-mv", "conal", "queued")
    spec = get_run(second["id"]).spec
    assert (spec.seeds, spec.settings, spec.priority) == ((0, 1), {"epochs": 3}, 2)
    assert spec.fingerprint == cc.read_dataset(crowd_folder).fingerprint
    (other,) = crowdcore("runs", "again", second["id"][:10], "--set", "embedding=7")
    assert get_run(other["id"]).spec.settings == {"epochs": 3, "embedding": 7}


def test_search_from_the_command_line(workspace, crowd_folder: Path, no_engine: None, crowdcore) -> None:  # noqa: F811
    over = ("--over", "lr=0.001:0.1:log", "--over", "embedding=4:8", "--over", 'variant=["paper","authors"]')
    (output,) = crowdcore("runs", "search", crowd_folder, *over, "--trials", 4, "--seed", 3, "--sampler", "random")
    plan = get_run(output["id"]).spec.search
    assert plan is not None and plan.trials == 4 and plan.sampler == "random"
    lr, embedding, variant = (plan.space[k] for k in ("lr", "embedding", "variant"))
    assert (lr.low, lr.high, lr.log, lr.integer) == (0.001, 0.1, True, False)
    assert (embedding.low, embedding.high, embedding.integer) == (4, 8, True)
    assert variant.values == ("paper", "authors")


def test_what_a_search_varies_unless_told(workspace, crowd_folder: Path, no_engine: None, crowdcore) -> None:  # noqa: F811
    (output,) = crowdcore("runs", "search", crowd_folder, "-m", "conal")
    plan = get_run(output["id"]).spec.search
    assert plan is not None and plan.space == usually_searched("conal")
    assert plan.space["lr"] == Range(low=1e-4, high=1e-2, log=True)


def test_the_method_begun_with_is_one_that_learns_from_such_labels(
    workspace,  # noqa: F811
    crowd_folder: Path,  # noqa: F811
    no_engine: None,
    crowdcore,
    tmp_path: Path,
) -> None:
    tagged = cc.data.write_folder(cc.data.simulate.tags(n_sentences=20, n_valid=2, n_test=2), tmp_path / "tagged")
    rated = cc.data.write_folder(cc.data.simulate.ratings(n_tasks=60, n_valid=5, n_test=5), tmp_path / "rated")
    for folder, method in ((crowd_folder, "conal"), (tagged, "crowd-layer"), (rated, "crowd-layer")):
        begun = crowdcore("runs", "start", folder)
        begun += crowdcore("runs", "search", folder, "--over", "lr=0.001:0.1")
        assert [run["method"] for run in begun] == [method] * 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("start", "--set", "lambda=3"), "lambda"),
        (("start", "-m", "nothing"), "nothing"),
        (("search", "--over", "lr"), "--over"),
        (("search", "--over", "lr=1:2:3"), "--over"),
        (("search", "--over", "lr=0.1:0.01"), "high"),
        (("search", "--over", "lr=-1:1"), "lr"),
    ],
)
def test_refused_before_it_starts(workspace, crowd_folder: Path, no_engine: None, run, words, says: str) -> None:  # noqa: F811
    done = run("runs", words[0], crowd_folder, *words[1:])
    assert done.code == 2 and says in done.err and done.err.count("\n") == 1
    assert list_runs() == []


def test_a_locked_record_is_said_and_waited_for(make, run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    waiting = make()
    monkeypatch.setattr("crowdcore.runs.record.WAIT", 0.2)
    other = sqlite3.connect(Workspace.open().database, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    Timer(1.0, other.close).start()
    done = run("runs", "note", waiting.id, "seen")
    assert done.code == 0 and done.err.count("\n") == 1
    assert "locked by another" in done.err and "for 60 s" in done.err
    assert get_run(waiting.id).note == "seen"


def test_what_is_accepted_in_one_door_is_accepted_in_all(
    no_engine,
    crowd_folder: Path,  # noqa: F811
    train: Callable[[Run], int],  # noqa: F811
    crowdcore: Callable[..., Any],
    refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A named folder with a row without a label: trained at once, in the background, and opened by the app."""
    from dashboard.services import opening

    monkeypatch.setenv("CROWDCORE_DATA", str(crowd_folder.parent))
    table = pd.read_parquet(crowd_folder / "annotations.parquet").astype(str)
    table.loc[0, "label"] = ""
    (crowd_folder / "annotations.parquet").unlink()
    table.to_csv(crowd_folder / "annotations.csv", index=False)
    args = ("small", "-m", "dl-mv", "--epochs", 1)
    for command in (("train",), ("runs", "start")):
        assert refused(*command, *args).code == "missing-label"
    trained = crowdcore("train", *args, "--seeds", 1, "--accept")
    assert trained["method"] == "dl-mv"
    (started,) = crowdcore("runs", "start", *args, "--seeds", 1, "--accept")
    assert train(get_run(started["id"])) == 0
    assert get_run(started["id"]).state == "finished"
    assert opening.dataset("small").n_annotations == len(table) - 1


SHORT = ("--epochs", 1, "--device", "cpu", "--set", 'backbone_settings={"hidden": 8}')


def test_presets_are_listed(run: Callable[..., Any]) -> None:
    done = run("train", "--presets")
    assert done.code == 0
    for name in presets.PRESETS:
        assert name in done.out


def test_a_preset_trains_each_of_its_rows_and_keeps_them_apart(
    crowdcore: Callable[..., Any],
    crowd_folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    out = tmp_path / "kept"
    output = crowdcore("train", crowd_folder, "--preset", "labelme-table-3", *SHORT, "--seeds", 2, "--out", out)
    assert [row["method"] for row in output] == ["crowd-layer", "crowd-layer-over", "conal"]
    assert [len(row["seeds"]) for row in output] == [2, 2, 2]
    assert {folder.name for folder in out.iterdir()} == {"crowd-layer", "crowd-layer-over", "conal"}
    kept = json.loads(next((out / "conal").glob("*.json")).read_text())
    assert kept["training"]["schedule"] == "cosine"
    assert kept["training"]["epochs"] == 1


def test_a_preset_in_the_background_is_a_run_for_each_row(
    crowdcore: Callable[..., Any],
    crowd_folder: Path,  # noqa: F811
    monkeypatch,
    workspace,  # noqa: F811
) -> None:
    monkeypatch.setattr(runs, "submit", runs.store.create, raising=False)
    crowdcore("runs", "start", crowd_folder, "--preset", "labelme-table-2")
    listed = runs.list_runs()
    assert sorted(run.spec.settings["regularisation"] for run in listed) == [0.0, 1e-6, 1e-5, 1e-4]
    assert {run.spec.seeds for run in listed} == {(0, 1, 2, 3, 4)}
    assert len({run.spec.group for run in listed}) == 1


def test_labels_that_are_numbers_are_trained_on_by_the_same_command(crowdcore, refused, tmp_path):
    folder = rated_folder(tmp_path / "rated")
    args = ("train", folder, "--seeds", 2, "--epochs", 2, "--set", "connection=b")
    output = crowdcore(*args)
    assert output["method"] == "crowd-layer (b)" and [row["epoch"] for row in output["errors"]] == [
        *("selected", "last", "best")
    ]
    for _ in range(2):  # the second goes on from the first one's last checkpoint
        again = crowdcore("ratings", *args, "--checkpoint", tmp_path / "kept")
        assert again["errors"] == output["errors"] and any((tmp_path / "kept").rglob("*.safetensors"))
    assert "for ratings" in str(refused("train", folder, "--method", "conal"))


def test_features_without_a_column_are_one_line(refused, tmp_path):
    crowd = featured_crowd()
    none = Rows.from_array(np.zeros((crowd.n_tasks, 0), np.float32))
    folder = write_folder(replace(crowd, features=none), tmp_path / "odd")
    assert "cannot be read" in str(refused("train", folder, "--method", "auto", "--seeds", 1, *SHORT))
