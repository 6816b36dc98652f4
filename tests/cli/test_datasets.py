"""Datasets and simulated ones from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import crowdcore as cc
from crowdcore.cli import app, main
from crowdcore.core.errors import Remedy
from crowdcore.core.files import write_json
from crowdcore.data import simulate
from crowdcore.data.catalogue import NOTE
from crowdcore.learning import study_recovery
from crowdcore.learning.recovery.plan import PRESETS, RecoveryPlan, preset
from tests.data.sources import archives
from tests.data.sources.conftest import cache, server  # noqa: F401
from tests.data.sources.server import Server


def test_datasets_lists_what_the_library_finds(crowdcore) -> None:
    assert [d["name"] for d in crowdcore("datasets")] == cc.list_datasets()


def test_export_round_trips_through_a_folder_and_a_table(crowdcore, tmp_path) -> None:
    original = cc.load_dataset("demo")
    assert crowdcore("export", "demo", tmp_path / "copy")["annotations"] == original.n_annotations
    assert cc.read_dataset(tmp_path / "copy").fingerprint == original.fingerprint
    crowdcore("export", "demo", tmp_path / "long.parquet")
    assert crowdcore("info", tmp_path / "long.parquet")["summary"]["n_annotations"] == original.n_annotations


def test_export_makes_no_folder_that_is_called_like_a_table(refused, tmp_path) -> None:
    assert refused("export", "demo", tmp_path / "votes.json").got == "votes.json"
    stars = tmp_path / "stars.csv"
    stars.write_text("task,worker,rating\na,w1,1\na,w2,2\n")
    given = "--read", "low=1", "--read", "high=5"
    assert refused("ratings", "export", stars, tmp_path / "stars.xlsx", *given).got == "stars.xlsx"
    assert [path.name for path in tmp_path.iterdir()] == ["stars.csv"]


def test_an_empty_file_is_one_clear_line(refused, tmp_path) -> None:
    (tmp_path / "nothing.csv").touch()
    assert Path(refused("info", tmp_path / "nothing.csv").file).name == "nothing.csv"


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "crowdcore", "info", "nope"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("crowdcore: `name`")


def test_no_arguments_show_help(run) -> None:
    assert "mistakes" in run().out


def test_what_would_be_lost_is_said_and_needs_accept(crowdcore, run, refused, tmp_path) -> None:
    table = tmp_path / "votes.csv"
    table.write_text("picture,who,said\na,w1,x\na,w2,\nb,w1,y\nb,w2,y\n", encoding="utf-8")
    columns = ("--read", "task=picture", "--read", "worker=who", "--read", "label=said")
    report = crowdcore("examine", table, *columns)
    assert any("without a label" in f["sentence"] for f in report["findings"] if f["level"] == "change")
    assert "without a label" in run("examine", table, *columns).out
    assert Remedy.accept().of in [remedy.of for remedy in refused("info", table, *columns).remedies]
    assert crowdcore("info", table, *columns, "--accept")["summary"]["n_annotations"] == 3


def test_the_folder_where_one_is_opens_by_a_dot(crowdcore, tmp_path, monkeypatch) -> None:
    (tmp_path / "votes").mkdir()
    (tmp_path / "votes" / "annotations.csv").write_text("task,worker,label\na,w1,x\na,w2,y\n")
    monkeypatch.chdir(tmp_path / "votes")
    assert crowdcore("info", ".")["dataset"] == "votes"


def test_a_file_that_is_not_there_is_one_clear_line(refused, tmp_path) -> None:
    assert "nowhere.csv" in str(refused("info", tmp_path / "nowhere.csv"))


def test_a_name_with_a_dot_is_that_of_a_dataset_unless_there_is_such_a_file(crowdcore, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shelf").mkdir()
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path / "shelf"))
    crowdcore("export", "demo", tmp_path / "shelf" / "demo.v2")
    assert crowdcore("info", "demo.v2") == crowdcore("info", "./shelf/demo.v2")
    assert refused("info", "nowhere.csv").got == "nowhere.csv"
    crowdcore("export", "demo", tmp_path / "votes.csv")
    assert crowdcore("info", "votes.csv") == crowdcore("info", tmp_path / "votes.csv")


def test_an_unknown_way_to_read_is_refused(refused, tmp_path) -> None:
    (tmp_path / "v.csv").write_text("task,worker,label\na,w1,x\n", encoding="utf-8")
    assert "lable" in str(refused("info", tmp_path / "v.csv", "--read", "lable=x"))


def test_an_upload_is_opened_by_its_name_in_addresses_and_by_what_the_app_calls_it(
    crowdcore, refused, tmp_path, workspace_folder
) -> None:
    kept = workspace_folder / "datasets"
    assert refused("overview", "votes-1").got == "votes-1"
    kept.mkdir(parents=True)
    votes = tmp_path / "some.csv"
    votes.write_text("task,worker,label\n" + "".join(f"{t},{w},{'xyz'[t % 3]}\n" for t in range(9) for w in "abcd"))
    titles = {"votes-1": "my votes", "votes-2": "votes.csv", "votes-3": "twice", "votes-4": "twice"}
    for address, title in titles.items():
        crowdcore("export", votes, kept / address)
        write_json(kept / address / NOTE, {"name": title})
    of_votes = crowdcore("overview", votes)["verdicts"]
    for name in ("votes-1", "my votes", "votes.csv"):
        assert crowdcore("overview", name)["verdicts"] == of_votes
    assert refused("overview", "twice").got == "twice"
    assert {"votes-1", "votes-2", "demo"} <= {row["name"] for row in crowdcore("datasets")}


def test_fetches_converts_and_says_so(server: Server, cache: Path) -> None:  # noqa: F811
    server.serve("/mturk-datasets.tar.gz", archives.tar_gz(archives.music()[0]))
    done = CliRunner().invoke(app, ["fetch", "music", "--url-base", server.url])
    assert done.exit_code == 0, done.output
    assert "28 tasks, 60 annotations by 3 workers" in done.output.replace("\n", "")
    again = CliRunner().invoke(app, ["fetch", "music", "--url-base", server.url, "--json"])
    document = json.loads(again.stdout)
    assert document == {"name": "music", "folder": str(cache / "music"), "tasks": 28, "annotations": 60}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("music", "mturk-datasets.tar.gz answered 404 (Not Found)"), ("musik", "Did you mean 'music'?")],
)
def test_one_clear_line_and_exit_code_2(
    server: Server,  # noqa: F811
    cache: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    sentence: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["crowdcore", "fetch", name, "--url-base", server.url])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    err = capsys.readouterr().err.strip()
    assert sentence in err and "\n" not in err


def test_marks_are_added_listed_exported_taken_back_and_believed(crowdcore, refused, tmp_path, workspace_folder):
    assert "Nobody has marked" in str(refused("quality", "demo", "--reference", "reviewed"))
    out = tmp_path / "relabel.csv", tmp_path / "training.csv"
    adding = ("--add", "digit-0001", "seven", "--unclear", "digit-0002", "--comment", "a bar", "--by", "me")
    output = crowdcore("marks", "demo", *adding, "--export", out[0], "--training", out[1])
    assert [(row["task"], row["right class"], row["by"]) for row in output["marks"]] == [
        ("digit-0002", "", "me"),
        ("digit-0001", "seven", "me"),
    ]
    assert pd.read_csv(out[0])["task"].tolist() == ["digit-0001", "digit-0002"]
    assert set(pd.read_csv(out[1])["right class"]) == {"seven"}
    assert crowdcore("quality", "demo", "-r", "reviewed")["reference"] == "reviewed"
    assert crowdcore("quality", "demo", "-r", "reviewed+gold")["reference"] == "reviewed+gold"
    assert len(crowdcore("marks", "demo", "--undo")["marks"]) == 1
    assert refused("marks", "demo", "--add", "digit-0001", "ten").got == "ten"
    assert "'digit'" in str(refused("marks", "demo", "--unclear", "digit"))


def test_marks_are_taken_from_a_file_and_from_data_that_changed(crowdcore, refused, run, tmp_path, workspace_folder):
    votes = tmp_path / "votes.csv"
    votes.write_text("task,worker,label\n1,ann,cat\n1,ben,dog\n2,ann,dog\n")
    marks = tmp_path / "marks.csv"
    marks.write_text("task,right class\n1,cat\n3,cat\n")
    assert "row 2, column 'task'" in str(refused("marks", votes, "--import", marks))
    assert crowdcore("marks", votes)["marks"] == []
    assert len(crowdcore("marks", votes, "--import", marks, "--accept")["marks"]) == 1
    votes.write_text("task,worker,label\n1,ann,cat\n1,ben,dog\n2,ann,dog\n2,ben,dog\n")
    assert crowdcore("marks", votes)["marks"] == []
    assert "Marks taken: 1. Not taken: 0." in run("marks", votes, "--carry").err
    assert [row["right class"] for row in crowdcore("marks", votes)["marks"]] == ["cat"]


def test_the_glossary_is_a_command(crowdcore) -> None:
    assert [row["column"] for row in crowdcore("glossary", "κ low")] == ["κ low"]


def test_a_table_is_limited_by_a_number(crowdcore, refused) -> None:
    rows = crowdcore("show", "worker-quality", "demo", "--between", "annotations", "200", "inf")["table"]
    assert rows
    assert all(row["annotations"] >= 200 for row in rows)
    assert refused("show", "worker-quality", "demo", "--between", "signal", "0", "1").got == "signal"


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
    output = crowdcore(
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
    for table in (pd.read_csv(out), pd.DataFrame(output["table"])):
        assert table["method"].tolist() == expected["method"].tolist()
        errors = table["effective error"].astype(float).to_numpy()
        assert errors == pytest.approx(expected["effective error"].to_numpy(), nan_ok=True)
    assert len(output["crowds"]) == 2
    assert "plotly" in picture.read_text(encoding="utf-8")


def test_a_preset_is_changed_by_the_options(crowdcore) -> None:
    output = crowdcore(
        "simulate", "--preset", "strength", *SET, "--set", "pattern=symmetric", "--over", "common_strength=[0.8]",
        "--crowds", 2, "-m", "dl-mv", *QUICK,
    )  # fmt: skip
    plan = output["plan"]
    assert plan["over"] == {"common_strength": [0.8]}
    assert plan["settings"] == {**SMALL, "pattern": "symmetric"}
    assert plan["training"] == {**preset("strength").training, "epochs": 2}
    assert [row["crowd"] for row in output["crowds"]] == [0, 1]


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
