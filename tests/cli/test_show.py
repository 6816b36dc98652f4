"""Exhibits, panels, reports and topics from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crowdcore.data import read_dataset, read_ratings
from crowdcore.data.dataset import Media
from crowdcore.data.settings import KindError
from crowdcore.data.writers import write_folder
from crowdcore.exhibits import omega, view, worker_skills
from crowdcore.exhibits.recovered import of_run
from crowdcore.exhibits.workers import worker_quality
from crowdcore.learning import train_ratings
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import invented, record
from tests.exhibits.examples import OF_VIEWS, crowd
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up
from tests.rated_crowd import rated_crowd, rated_folder
from tests.runs.conftest import workspace  # noqa: F401


def test_without_a_name_it_lists_what_there_is(crowdcore) -> None:
    listed = {one["exhibit"]: one for one in crowdcore("show")}
    assert set(OF_VIEWS) < set(listed)
    assert listed["worker-distances"]["choices"] == "kind=shrunken-mse groups=None window=None"
    assert listed["mistake"]["choices"] == "true=… given=…"
    assert listed["accuracies"]["choices"] == "--run ID"
    assert all(one["what"] for one in listed.values())


def test_numbers_are_those_of_python(crowdcore, data_folder) -> None:
    output = crowdcore("show", "mistake", "labelme", "-s", "true=street", "-s", "given=insidecity")
    assert output["table"][0]["percent"] == pytest.approx(61.017, abs=5e-4)
    assert output["notes"]


def test_choices_names_and_files(run, tmp_path) -> None:
    folder = write_folder(crowd(), tmp_path / "crowd")
    out, figure = tmp_path / "t.csv", tmp_path / "f.html"
    done = run("show", "worker-quality", folder, "--hide-names", "--out", out, "-r", "dawid-skene smoothing=2.0")
    assert done.code == 0, done.err
    expected = worker_quality(view(crowd(), "dawid-skene smoothing=2.0", hidden=True)).table
    assert pd.read_csv(out)["worker"].tolist() == expected["worker"].tolist()
    assert "anna" not in done.out
    done = run("show", "worker-distances", folder, "-s", "groups=2", "-s", "kind=shared-mse", "--figure", figure)
    assert done.code == 0, done.err
    assert "plotly" in figure.read_text().lower()


def test_exhibits_of_runs_take_a_seed_and_an_epoch(crowdcore, tmp_path, workspace_folder) -> None:
    folder = write_folder(crowd(), tmp_path / "crowd")
    opened = read_dataset(folder)
    result = invented(opened, "conal")
    folders = folder, "--run", record(workspace_folder, result, opened)
    for seed in (None, 1):
        one = of_run(view(opened), result, seed=seed)
        chosen = [] if seed is None else ["-s", f"seed={seed}"]
        shown = crowdcore("show", "omega-spread", *folders, "-s", "by=worker", *chosen)["table"]
        expected = omega.omega_spread(one, "worker").table
        assert [row["mean ω"] for row in shown] == pytest.approx(expected["mean ω"].tolist())
        shown = crowdcore("show", "skills", *folders, *chosen)["table"]
        assert [row["learned_skill"] for row in shown] == pytest.approx(
            worker_skills.skills([one]).table["learned_skill"].tolist()
        )
    cells = crowdcore("show", "recovered-confusion", *folders, "-s", "who=2", "-s", "part=own")["table"]
    own = result.worker_confusion.mean(0)[2].ravel()
    assert [row["share"] for row in cells] == pytest.approx(own.tolist())


def test_lists_are_given_by_repeating(crowdcore) -> None:
    rows = crowdcore("show", "aggregators", "demo", "-s", "fits=majority-vote", "-s", "fits=one-coin")["table"]
    assert [row["method"] for row in rows] == ["majority-vote", "one-coin"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shared-mistake"], "Did you mean 'shared-mistakes'?"),
        (["mistake", "demo", "-s", "true=one"], "`given` must be chosen"),
        (["mistake", "demo", "-s", "true=one", "-s", "given=dog"], "be one of zero, one"),
        (["tasks", "demo", "-s", "show=odd"], "`show`"),
        (["tasks", "demo", "-s", "colour=red"], "show, true, given, worker"),
        (["worker-groups", "demo", "--figure", "f.html"], "this exhibit is a table"),
        (["accuracies", "demo"], "`--run`"),
    ],
)
def test_refusals(refused, words: list[str], said: str) -> None:
    assert said in str(refused("show", *words))


def test_exhibits_of_runs_on_ratings_and_refusals_of_others(crowdcore, refused, tmp_path: Path, workspace_folder):
    folder = rated_folder(tmp_path / "rated")
    crowd = read_ratings(folder)
    fast = {"epochs": 2, "backbone_settings": {"hidden": 8}, "device": "cpu"}
    result = train_ratings(crowd, "crowd-layer", seeds=2, **fast)
    run = record(workspace_folder, result, crowd)
    output = crowdcore("show", "rating-errors", folder, "--run", run)
    assert output["table"][0]["RMSE"] == pytest.approx(result.score("rmse").mean())
    hidden = crowdcore("show", "rating-biases", folder, "--run", run, "--hide-names")
    assert {row["worker"] for row in hidden["table"]}.isdisjoint(crowd.worker_ids)
    assert isinstance(refused("show", "shared-mistakes", folder), KindError)
    assert isinstance(refused("show", "rating-errors", "demo", "--run", run), KindError)


@pytest.fixture
def folder(tmp_path):
    return write_folder(featured_crowd(90), tmp_path / "small")


def test_a_run_by_the_beginning_of_its_id(run, folder, tmp_path, workspace_folder):
    opened = read_dataset(folder)
    result = made_up(opened, "conal")
    run_id = record(workspace_folder, result, opened)
    out = tmp_path / "out"
    done = run("report", folder, "--run", run_id[:8], "--part", "accuracy", "--no-svg", "--out", out)
    assert done.code == 0, done.err
    assert str(out / "report.html") in done.out.replace("\n", "")
    facts = json.loads((out / "report.json").read_text())
    assert facts["runs"][0]["id"] == run_id
    assert facts["command"] == f"crowdcore report {folder} --run {run_id} --part accuracy --accept --out {out}"
    written = (out / "tables" / "01-accuracy.csv").read_text()
    assert str(100 * float(result.accuracy("test").mean())) in written


def test_a_run_on_another_dataset_takes_part_in_the_sweep(run, folder, tmp_path, workspace_folder):
    other = write_folder(featured_crowd(90, n_workers=4), tmp_path / "other")
    opened = [read_dataset(place) for place in (folder, other)]
    results = [replace(made_up(each), dataset=str(place)) for each, place in zip(opened, (folder, other), strict=True)]
    ids = [record(workspace_folder, r, each) for r, each in zip(results, opened, strict=True)]
    out = tmp_path / "out"
    words = [word for name in ids for word in ("--run", name)]
    done = run("report", folder, *words, "--part", "accuracy", "--part", "sweeps", "--no-svg", "--out", out)
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
    output = crowdcore(
        "report", folder, "--reference", "dawid-skene smoothing=0.5", "--no-svg", "--out", tmp_path / "out"
    )
    assert "Shared mistakes" in output["exhibits"]
    assert "dawid-skene" in (tmp_path / "out" / "report.html").read_text()
    assert sum(file.endswith(".csv") for file in output["written"]) == len(output["exhibits"])


def test_refusals_of_report(refused, folder, tmp_path):
    assert refused("report", folder, "--part", "nonsense", "--out", tmp_path / "out").argument == "parts"
    assert refused("report", folder, "--part", "curves", "--out", tmp_path / "out").argument == "runs"
    assert not (tmp_path / "out").exists()


def test_list_and_an_entry(workspace, crowdcore, refused):  # noqa: F811
    assert {"conal-tab1", "ccc-fig4"} <= {entry["id"] for entry in crowdcore("reproduce", "LIST")}
    [told] = crowdcore("reproduce", "trace-fig7", "--no-train")
    assert told["table"][0]["paper"] == "75.57 ± 0.16"
    assert told["table"][0]["ours"].startswith("not run: ")
    assert refused("reproduce", "conal-tab", "--no-train").got == "conal-tab"


def test_topics_are_told_and_classes_written(run, crowdcore, refused, tmp_path):
    crowd = simulate_crowd(120, n_workers=6, n_classes=3)
    words = (("lion", "tiger", "puma"), ("oak", "birch", "pine"), ("iron", "zinc", "lead"))
    rng = np.random.default_rng(0)
    texts = pd.DataFrame({"text": [" ".join(rng.choice(words[g], 12)) for g in crowd.gold]})
    split = np.where(np.arange(120) < 80, 0, 2).astype(np.int8)
    write_folder(replace(crowd, split=split, media=Media(columns=texts)), tmp_path / "texts")
    args = ("topics", tmp_path / "texts", "--set", "n_topics=3", "--words", "3", "--out", tmp_path / "labels.csv")
    output = crowdcore(*args)
    assert {frozenset(topic["words"].split()) for topic in output["topics"]} == set(map(frozenset, words))
    assert output["test_accuracy"] > 0.95 and output["texts"] == 80
    written = pd.read_csv(tmp_path / "labels.csv")
    right = (written["label"].to_numpy() == np.array(crowd.classes)[crowd.gold[:80]]).mean()
    assert len(written) == 80 and right == pytest.approx(output["accuracy"])
    assert "tiger" in run(*args).out
    assert "has no texts" in str(refused("topics", "demo"))


def test_topics_are_told_and_ratings_written(run, crowdcore, refused, tmp_path):
    crowd, _ = rated_crowd(120, 5, 3)
    rng = np.random.default_rng(0)
    words = (("poor", "dull", "flat"), ("fair", "okay", "usual"), ("good", "fine", "great"))
    third = np.digitize(crowd.gold, np.quantile(crowd.gold, [1 / 3, 2 / 3]))
    args = [" ".join(rng.choice(words[of], 12)) for of in third]
    path = tmp_path / "texts"
    path.mkdir()
    (path / "classes.txt").write_text("# regression: rating on -2..3\n")
    crowd.annotations.rename(columns={"rating": "label"}).to_csv(path / "annotations.csv", index=False)
    split = np.where(np.arange(120) < 80, "train", "test")
    tasks = pd.DataFrame({"task": crowd.task_ids, "split": split, "gold": crowd.gold})
    tasks.assign(text=args).to_csv(path / "tasks.csv", index=False)
    out = tmp_path / "ratings.csv"
    command = ("ratings", "topics", path, "--set", "n_topics=3", "--words", "3", "--out", out)
    output = crowdcore(*command)
    assert [set(topic["words"].split()) for topic in output["topics"]] == list(map(set, words)), "lowest rated first"
    assert output["texts"] == 80 and 0 < output["errors"]["test"]["rmse"] < crowd.gold[80:].std()
    assert len(output["workers"]) == 5
    written = pd.read_csv(out).set_index("task")["rating"]
    assert len(written) == 120
    left = written[crowd.task_ids[80:].astype(str)].to_numpy() - crowd.gold[80:]
    assert np.abs(left).mean() == pytest.approx(output["errors"]["test"]["mae"])
    assert "against gold: MAE" in run(*command).out
    tasks.to_csv(path / "tasks.csv", index=False)
    assert "has no texts" in str(refused("ratings", "topics", path))
