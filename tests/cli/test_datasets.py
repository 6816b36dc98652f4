from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import crowdcore as cc
from crowdcore.core.errors import Remedy
from crowdcore.core.files import write_json
from crowdcore.data.uploads import NOTE


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


def test_a_file_that_would_lose_rows_needs_accept(crowdcore, refused, tmp_path) -> None:
    table = tmp_path / "votes.csv"
    table.write_text("task,worker,label\na,w1,x\na,w2,\nb,w1,y\nb,w2,y\n", encoding="utf-8")
    assert Remedy.accept().of in [remedy.of for remedy in refused("info", table).remedies]
    assert crowdcore("info", table, "--accept")["summary"]["n_annotations"] == 3


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


def test_examine_says_what_would_be_lost_and_takes_nothing_in(crowdcore, run, tmp_path) -> None:
    table = tmp_path / "votes.csv"
    table.write_text("picture,who,said\na,w1,x\na,w2,\nb,w1,y\nb,w2,y\n", encoding="utf-8")
    columns = ("--read", "task=picture", "--read", "worker=who", "--read", "label=said")
    report = crowdcore("examine", table, *columns)
    assert any("without a label" in f["sentence"] for f in report["findings"] if f["level"] == "change")
    assert "without a label" in run("examine", table, *columns).out
    assert crowdcore("info", table, *columns, "--accept")["summary"]["n_annotations"] == 3


def test_the_folder_where_one_is_opens_by_a_dot(crowdcore, tmp_path, monkeypatch) -> None:
    (tmp_path / "votes").mkdir()
    (tmp_path / "votes" / "annotations.csv").write_text("task,worker,label\na,w1,x\na,w2,y\n")
    monkeypatch.chdir(tmp_path / "votes")
    assert crowdcore("info", ".")["dataset"] == "votes"


def test_a_file_that_is_not_there_is_one_clear_line(refused, tmp_path) -> None:
    assert "nowhere.csv" in str(refused("info", tmp_path / "nowhere.csv"))


def test_a_name_with_a_dot_is_that_of_a_dataset_unless_there_is_such_a_file(
    crowdcore, refused, tmp_path, monkeypatch
) -> None:
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
    crowdcore, refused, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    kept = tmp_path / "workspace" / "datasets"
    assert refused("overview", "votes-1").got == "votes-1"
    kept.mkdir(parents=True)
    titles = {"votes-1": "my votes", "votes-2": "votes.csv", "votes-3": "twice", "votes-4": "twice"}
    for address, title in titles.items():
        crowdcore("export", "demo", kept / address)
        write_json(kept / address / NOTE, {"name": title})
    of_demo = crowdcore("overview", "demo")["verdicts"]
    for name in ("votes-1", "my votes", "votes.csv"):
        assert crowdcore("overview", name)["verdicts"] == of_demo
    assert refused("overview", "twice").got == "twice"
    assert {"votes-1", "votes-2", "demo"} <= {row["name"] for row in crowdcore("datasets")}
