from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd

import crowdcore as cc
from crowdcore.data.dataset import Media
from crowdcore.data.writers import write_folder
from crowdcore.learning import TextFeatures


def test_datasets_lists_what_the_library_finds(crowdcore) -> None:
    assert [d["name"] for d in crowdcore("datasets")] == cc.list_datasets()


def test_export_round_trips_through_a_folder_and_a_table(crowdcore, tmp_path) -> None:
    original = cc.load_dataset("demo")
    assert crowdcore("export", "demo", tmp_path / "copy")["annotations"] == original.n_annotations
    assert cc.read_dataset(tmp_path / "copy").fingerprint == original.fingerprint
    crowdcore("export", "demo", tmp_path / "long.parquet")
    assert crowdcore("info", tmp_path / "long.parquet")["summary"]["n_annotations"] == original.n_annotations


def test_a_file_that_would_lose_rows_needs_accept(crowdcore, refused, tmp_path) -> None:
    table = tmp_path / "votes.csv"
    table.write_text("task,worker,label\na,w1,x\na,w2,\nb,w1,y\nb,w2,y\n", encoding="utf-8")
    assert "--accept" in refused("info", table)
    assert crowdcore("info", table, "--accept")["summary"]["n_annotations"] == 3


def test_an_empty_file_is_one_clear_line(refused, tmp_path) -> None:
    (tmp_path / "nothing.csv").touch()
    assert "empty" in refused("info", tmp_path / "nothing.csv")


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "crowdcore", "info", "nope"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("crowdcore: `name` must be an available dataset")


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


def test_a_file_that_is_not_there_is_one_clear_line(refused, tmp_path) -> None:
    assert "nowhere.csv" in refused("info", tmp_path / "nowhere.csv")


def test_an_unknown_way_to_read_is_refused(refused, tmp_path) -> None:
    (tmp_path / "v.csv").write_text("task,worker,label\na,w1,x\n", encoding="utf-8")
    assert "lable" in refused("info", tmp_path / "v.csv", "--read", "lable=x")


def test_features_of_texts_are_written_with_what_makes_them(run, crowdcore, tmp_path):
    crowd = cc.load_dataset("demo")
    texts = pd.DataFrame({"text": [f"{crowd.classes[g]} and more" for g in crowd.gold]}, index=range(crowd.n_tasks))
    write_folder(replace(crowd, features=None, media=Media(columns=texts)), tmp_path / "texts")
    crowdcore("export", tmp_path / "texts", tmp_path / "out", "--features", "tfidf")
    written, makes = cc.read_dataset(tmp_path / "out"), TextFeatures.load(tmp_path / "out" / "text_features.npz")
    np.testing.assert_allclose(np.array(written.features), makes(texts["text"].tolist()), atol=1e-6)
    assert run("export", tmp_path / "texts", tmp_path / "votes.csv", "--features", "tfidf").code == 2
    assert run("export", tmp_path / "texts", tmp_path / "again", "--features", "words").code == 2
