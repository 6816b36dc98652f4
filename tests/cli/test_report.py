"""`crowdcore report` and `crowdcore reproduce`: what they write, print and refuse."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

from crowdcore.data import read_dataset
from crowdcore.data.writers import write_folder
from testkit.recorded_runs import record
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up
from tests.runs.conftest import workspace  # noqa: F401


@pytest.fixture
def folder(tmp_path):
    return write_folder(featured_crowd(90), tmp_path / "small")


def test_a_run_by_the_beginning_of_its_id(run, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    opened = read_dataset(folder)
    result = made_up(opened, "conal")
    run_id = record(tmp_path / "workspace", result, opened)
    out = tmp_path / "out"
    done = run("report", folder, "--run", run_id[:8], "--part", "accuracy", "--no-svg", "--out", out)
    assert done.code == 0, done.err
    assert str(out / "report.html") in done.out.replace("\n", "")
    facts = json.loads((out / "report.json").read_text())
    assert facts["runs"][0]["id"] == run_id
    assert facts["command"] == f"crowdcore report {folder} --run {run_id} --part accuracy --accept --out {out}"
    written = (out / "tables" / "01-accuracy.csv").read_text()
    assert str(100 * float(result.accuracy("test").mean())) in written


def test_a_run_on_another_dataset_takes_part_in_the_sweep(run, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    other = write_folder(featured_crowd(90, n_workers=4), tmp_path / "other")
    opened = [read_dataset(place) for place in (folder, other)]
    results = [replace(made_up(each), dataset=str(place)) for each, place in zip(opened, (folder, other), strict=True)]
    ids = [record(tmp_path / "workspace", r, each) for r, each in zip(results, opened, strict=True)]
    out = tmp_path / "out"
    asked = [word for name in ids for word in ("--run", name)]
    done = run("report", folder, *asked, "--part", "accuracy", "--part", "sweeps", "--no-svg", "--out", out)
    assert done.code == 0, done.err
    assert len((out / "tables" / "01-accuracy.csv").read_text().splitlines()) == 3  # with its ensemble
    along = pd.read_csv(next((out / "tables").glob("*-along-workers.csv"))).set_index("workers")["accuracy mean"]
    expected = {each.n_workers: r.accuracy("test").mean() for each, r in zip(opened, results, strict=True)}
    assert along.to_dict() == pytest.approx(expected)
    assert [one["id"] for one in json.loads((out / "report.json").read_text())["runs"]] == ids


def test_figures_of_the_page_count_without_files_of_their_own(run, folder, tmp_path):
    done = run("report", folder, "--no-svg", "--part", "mistakes", "--out", tmp_path / "out")
    assert f"1 table and 1 figure -> {tmp_path / 'out' / 'report.html'}" in done.out, done


def test_a_dataset_alone_with_another_reference(crowdcore, folder, tmp_path):
    said = crowdcore(
        "report", folder, "--reference", "dawid-skene smoothing=0.5", "--no-svg", "--out", tmp_path / "out"
    )
    assert "Shared mistakes" in said["exhibits"]
    assert "dawid-skene" in (tmp_path / "out" / "report.html").read_text()
    assert sum(file.endswith(".csv") for file in said["written"]) == len(said["exhibits"])


def test_refusals(refused, folder, tmp_path):
    assert refused("report", folder, "--part", "nonsense", "--out", tmp_path / "out").argument == "parts"
    assert refused("report", folder, "--part", "curves", "--out", tmp_path / "out").argument == "runs"
    assert not (tmp_path / "out").exists()


def test_list_and_an_entry(workspace, crowdcore, refused):  # noqa: F811
    assert {"conal-tab1", "ccc-fig4"} <= {entry["id"] for entry in crowdcore("reproduce", "LIST")}
    [told] = crowdcore("reproduce", "trace-fig7", "--no-train")
    assert told["table"][0]["paper"] == "75.57 ± 0.16"
    assert told["table"][0]["ours"].startswith("not run: ")
    assert refused("reproduce", "conal-tab", "--no-train").got == "conal-tab"
