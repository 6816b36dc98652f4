"""`crowdcore show`: the figures and tables of the pages, each by its name, of classes and of numbers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from crowdcore.data import read_ratings
from crowdcore.data.kinds import KindError
from crowdcore.exhibits import view
from crowdcore.exhibits.workers import worker_quality
from crowdcore.learning import train_ratings
from testkit.recorded_runs import record
from tests.exhibits.examples import OF_VIEWS, crowd
from tests.rated_crowd import rated_folder


def test_without_a_name_it_lists_what_there_is(crowdcore) -> None:
    listed = {one["exhibit"]: one for one in crowdcore("show")}
    assert set(OF_VIEWS) < set(listed)
    assert listed["worker-distances"]["choices"] == "kind=shrunken-mse groups=None window=None"
    assert listed["mistake"]["choices"] == "true=… given=…"
    assert listed["accuracies"]["choices"] == "--run ID"
    assert all(one["what"] for one in listed.values())


def test_numbers_are_those_of_python(crowdcore, data_folder) -> None:
    found = crowdcore("show", "mistake", "labelme", "-s", "true=street", "-s", "given=insidecity")
    assert found["table"][0]["percent"] == pytest.approx(61.017, abs=5e-4)
    assert found["notes"]


def test_choices_names_and_files(run, tmp_path) -> None:
    from crowdcore.data.writers import write_folder

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


def test_exhibits_of_runs_take_a_seed_and_an_epoch(crowdcore, tmp_path, monkeypatch) -> None:
    from crowdcore import read_dataset
    from crowdcore.data.writers import write_folder
    from crowdcore.exhibits import omega, worker_skills
    from crowdcore.exhibits.recovered import of_run
    from testkit.recorded_runs import invented, record

    folder = write_folder(crowd(), tmp_path / "crowd")
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    opened = read_dataset(folder)
    result = invented(opened, "conal")
    asked = folder, "--run", record(tmp_path / "workspace", result, opened)
    for seed in (None, 1):
        one = of_run(view(opened), result, seed=seed)
        chosen = [] if seed is None else ["-s", f"seed={seed}"]
        shown = crowdcore("show", "omega-spread", *asked, "-s", "by=worker", *chosen)["table"]
        expected = omega.omega_spread(one, "worker").table
        assert [row["mean ω"] for row in shown] == pytest.approx(expected["mean ω"].tolist())
        shown = crowdcore("show", "skills", *asked, *chosen)["table"]
        assert [row["learned_skill"] for row in shown] == pytest.approx(
            worker_skills.skills([one]).table["learned_skill"].tolist()
        )
    cells = crowdcore("show", "recovered-confusion", *asked, "-s", "who=2", "-s", "part=own")["table"]
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


def test_exhibits_of_runs_on_ratings_and_refusals_of_others(crowdcore, refused, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    folder = rated_folder(tmp_path / "rated")
    crowd = read_ratings(folder)
    fast = {"epochs": 2, "backbone_settings": {"hidden": 8}, "device": "cpu"}
    result = train_ratings(crowd, "crowd-layer", seeds=2, **fast)
    run = record(tmp_path / "workspace", result, crowd)
    found = crowdcore("show", "rating-errors", folder, "--run", run)
    assert found["table"][0]["RMSE"] == pytest.approx(result.score("rmse").mean())
    hidden = crowdcore("show", "rating-biases", folder, "--run", run, "--hide-names")
    assert {row["worker"] for row in hidden["table"]}.isdisjoint(crowd.worker_ids)
    assert isinstance(refused("show", "shared-mistakes", folder), KindError)
    assert isinstance(refused("show", "rating-errors", "demo", "--run", run), KindError)
