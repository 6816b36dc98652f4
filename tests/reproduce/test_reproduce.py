"""Reproductions: the requested runs, runs found again, and the tables of their results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crowdcore import reproduce, runs
from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.data.catalogue import open_labels
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.data.simulate import TaskChoice
from crowdcore.learning import methods, split_settings
from crowdcore.learning.embedding import Embedded
from crowdcore.learning.recovery.plan import RecoveryPlan, plant
from crowdcore.reproduce.entry import LAST, SELECTED, Entry, Found, Part, leads
from crowdcore.runs import Workspace
from tests.runs.conftest import crowd_folder, no_engine, train, workspace  # noqa: F401

ASKED = {
    "conal": "fig1 tab1 tab2 tab3 fig4 fig5 fig6 fig7 fig8 fig9 fig10",
    "crowdlayer": "tab1 fig2 fig3",
    "trace": "fig3 fig4 fig5 fig6 fig7 tab1",
    "ccc": "fig1 fig3 tab1 tab2 fig4",
}


def test_every_table_and_figure_is_there():
    assert sorted(reproduce.ENTRIES) == sorted(
        f"{paper}-{name}" for paper, names in ASKED.items() for name in names.split()
    )
    with pytest.raises(SettingError, match="'conal-tab1'"):
        reproduce.get("conal-tab11")


@pytest.mark.parametrize("scale", reproduce.SCALES)
def test_what_is_trained_can_be_trained(scale):
    for entry in reproduce.ENTRIES.values():
        parts = entry.parts(scale)
        places = [(part.row, part.column, part.at) for part in parts]
        assert len(set(places)) == len(places), entry.id
        for part in parts:
            assert part.paper, entry.id
            assert part.differs or not part.method or part.absent, (entry.id, part.row)
            if part.method:
                split_settings(methods.get(part.method), dict(part.settings))
            if isinstance(part.data, RecoveryPlan):
                part.data.simulator(part.data.points()[0])


def test_ccc_is_trained_as_its_paper_says():
    music = {"correction_rate": 0.3, "n_groups": 20, "meta_size": 160}
    planted = {"correction_rate": 0.5, "n_groups": 30, "meta_size": 1000, "meta_layers": "last", "warm_up": 1 / 6}

    def differ(id: str, scale: reproduce.Scale, published: dict[str, object], column: str) -> list[str]:
        parts = [p for p in reproduce.get(id).parts(scale) if p.row == "CCC" and p.column.startswith(column)]
        assert parts
        given = [split_settings(methods.get("ccc"), dict(p.settings))[1] for p in parts]
        return [name for of in given for name, value in published.items() if getattr(of, name) != value]

    for scale in reproduce.SCALES:
        assert not differ("ccc-tab2", scale, music, "Music")
    assert not differ("ccc-tab1", "paper", planted, "")
    assert not differ("ccc-fig4", "paper", planted, "CIFAR-10, labels")
    assert set(differ("ccc-fig4", "paper", planted, "CIFAR-10, groups")) == {"n_groups"}


def test_tables_share_the_runs_that_are_alike():
    def trained(id: str) -> list[str]:
        parts = [part for part in reproduce.get(id).parts("small") if part.method]
        return [f"{part.data} {part.method} {sorted(map(str, part.settings.items()))} {part.seeds}" for part in parts]

    assert {*trained("conal-fig8"), *trained("conal-fig9")} == set(trained("conal-fig10")) < set(trained("conal-tab1"))
    assert set(trained("crowdlayer-fig2")) | set(trained("crowdlayer-fig3")) < set(trained("crowdlayer-tab1"))
    assert set(trained("trace-fig4")) < set(trained("trace-fig3"))


@pytest.mark.usefixtures("data_folder")
def test_statistics_are_the_papers_numbers(workspace):  # noqa: F811
    for id in ("conal-fig1", "ccc-fig1"):
        for one in reproduce.look(reproduce.get(id), "small"):
            for measure, printed in one.part.paper.items():
                if re.fullmatch(r"[\d.]+", printed):
                    near = 0.06 if one.part.column == "CIFAR-10N" else 0.51 * 10.0 ** -len(printed.partition(".")[2])
                    assert one.mean(measure) == pytest.approx(float(printed), abs=near), (id, measure.title)


def entry_of(*parts: Part) -> Entry:
    return Entry("of-tests", "A table", "A paper, Table 1", lambda scale: parts, "two seeds", "the same",
                 claims={"“best”": leads("Ours", LAST)})  # fmt: skip


@pytest.mark.usefixtures("no_engine")
def test_what_was_trained_is_found_again(
    workspace: Workspace,  # noqa: F811
    crowd_folder: Path,  # noqa: F811
    train: Callable[..., int],  # noqa: F811
    tmp_path: Path,
):
    settings = {"epochs": 2, "backbone_settings": {"hidden": 8}}
    ours = Part("Ours", "Small", {LAST: "80.5±1.0", SELECTED: ""}, str(crowd_folder), "crowd-layer", settings, 2)
    new = replace(ours, row="New", method="not-here")
    gone = replace(ours, row="Gone", data=str(tmp_path / "no-such-folder"))
    left = replace(ours, row="Left out", absent="its data are private")
    entry = entry_of(ours, new, gone, left)

    before = {one.part.row: one.why for one in reproduce.look(entry, "small")}
    assert before["Ours"] == "not run yet"
    assert before["New"].startswith("not run: ") and "not-here" in before["New"]
    assert before["Gone"].startswith("not run: ") and "no-such-folder" in before["Gone"]
    assert before["Left out"].startswith("not run")

    [run] = reproduce.start(entry, "small", device="cpu")
    assert reproduce.start(entry, "small", device="cpu") == [run]
    assert train(runs.get_run(run)) == 0
    assert reproduce.start(entry, "small", device="auto") == [run]
    assert len(runs.list_runs()) == 1

    progress = reproduce.look(entry, "small")
    reached = 100 * runs.result(run).accuracy("test", at="last")
    np.testing.assert_allclose(progress[0].ours[LAST], reached)
    table = reproduce.told(entry, "small", progress).table
    assert table["paper"].tolist()[:2] == ["80.5±1.0", "drawn"]
    assert table["ours"][0] == f"{reached.mean():.2f} ± {reached.std(ddof=1):.2f}"
    assert table["run"][0] == run
    assert reproduce.told(entry, "small", progress[::-1]).table["run"][0] == run  # what has a number comes first

    files = reproduce.write(entry, "small", progress, tmp_path / "out")
    document = json.loads(next(f for f in files if f.suffix == ".json").read_text())
    assert document["table"][0]["ours"] == table["ours"][0]
    markdown = next(f for f in files if f.suffix == ".md").read_text()
    accuracy = f"{100 * runs.result(run).accuracy('test').mean():.2f}"
    assert "| Ours | test accuracy, last epoch | 80.5±1.0 / " + table["ours"][0] + " |" in markdown
    assert f"| Ours | test accuracy, selected epoch | {accuracy}" in markdown
    assert "Left out (Small)" in markdown
    assert "beside another row" in markdown
    assert "over 2 seeds" in markdown


@pytest.mark.usefixtures("no_engine")
def test_a_crowd_is_planted_once_under_a_name_of_its_own(workspace: Workspace):  # noqa: F811
    crowd = RecoveryPlan(settings={"n_tasks": 40, "n_valid": 5, "n_test": 5})
    part = Part("Ours", "Made", {LAST: ""}, crowd, "crowd-layer", {"epochs": 1})
    entry = entry_of(part, replace(part, column="Other", data=crowd.model_copy(update={"tasks": TaskChoice(n_test=4)})))
    assert {one.why for one in reproduce.look(entry, "small")} == {"not run yet"}
    assert len(reproduce.start(entry, "small")) == 2
    made = {run.spec.dataset for run in runs.list_runs()}
    assert {folder.name for folder in (workspace.folder / "datasets").iterdir()} == made
    assert all(name.startswith("made-synthetic-") for name in made)


@pytest.mark.usefixtures("no_engine")
def test_pretrained_features_take_the_place_of_images(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    part = reproduce.get("conal-fig4").parts("small")[0]
    assert part.seeds > 1 and part.features and isinstance(part.data, RecoveryPlan)
    few = part.data.model_copy(update={"tasks": TaskChoice(n_train=150, n_test=50)})
    entry = entry_of(part := replace(part, data=few))
    x = np.random.default_rng(0).normal(size=(200, 140)) * np.linspace(1, 9, 140)
    made: list[str] = []

    def embed(crowd: CrowdDataset, kind: str) -> Embedded:
        made.append(f"{crowd.name} {kind}")
        return Embedded(replace(crowd, features=Rows.from_array(x.astype(np.float32))), kind)

    monkeypatch.setattr("crowdcore.reproduce.carry_out.embed", embed)
    [run] = reproduce.start(entry, "small")
    assert made == ["cifar10_images efficientnet"]
    crowd = open_labels(next(r.spec.dataset for r in runs.list_runs() if r.id == run), home=workspace.folder)
    seen = np.asarray(crowd.features[np.arange(200)])
    assert seen.shape == (200, 128) and (crowd.media is None or crowd.media.images is None)
    spread = np.linalg.eigvalsh(np.cov(x.T, ddof=0))[::-1][:128]
    np.testing.assert_allclose(seen.var(0), spread, rtol=1e-3)
    monkeypatch.setattr("crowdcore.reproduce.carry_out.has_efficientnet", lambda: False)
    assert "pip install 'crowdcore[images]'" in reproduce.look(entry, "small")[0].why


def test_dogs_and_cats_are_the_users_where_there_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def pets() -> Part:
        return reproduce.get("crowdlayer-tab1").parts("small")[0]

    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    assert "not here" in pets().differs
    table = reproduce.told(reproduce.get("crowdlayer-tab1"), "small", [Found(pets())])
    assert any("crowdcore embed ./PETS DATA/dogs_vs_cats" in note for note in table.notes)

    folder = tmp_path / "dogs_vs_cats"
    folder.mkdir()
    tasks = [f"{k},{'train' if k < 8 else 'test'},{'dog' if k % 2 else 'cat'}" for k in range(12)]
    (folder / "tasks.csv").write_text("\n".join(["task,split,gold", *tasks]))
    (folder / "classes.txt").write_text("cat\ndog\n")
    for split, n in (("train", 8), ("test", 4)):
        np.save(folder / f"images_{split}.npy", np.zeros((n, 16, 16, 3), np.uint8))
    assert "the dataset dogs_vs_cats" in pets().differs
    plan = pets().data
    assert isinstance(plan, RecoveryPlan)
    crowd = plant(plan, plan.points()[0])
    assert (crowd.n_tasks, crowd.n_workers, crowd.n_classes) == (12, 5, 2)


def test_a_full_disk_is_said(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    monkeypatch.setattr("crowdcore.reproduce.carry_out.disk_problem", lambda folder: "The disk is full.")
    with pytest.raises(CrowdError, match="disk"):
        reproduce.start(reproduce.get("conal-fig7"), "small")


def test_a_claim_counts_the_points_where_a_row_leads():
    def at(row: str, column: str, *values: float) -> Found:
        return Found(Part(row, column, {LAST: ""}), ours={LAST: np.array(values)})

    points = [at("A", "x", 3), at("B", "x", 2), at("A", "y", 1), at("B", "y", 2), at("A", "z", 1)]
    for lowest in (False, True):
        text = "A has the best test accuracy, last epoch at 1 of 2 points, B at 1."
        alone = " One seed does not show whether that is more than chance."
        assert leads("A", LAST, lowest=lowest)(points) == text + alone
    clear = " Its lead exceeds two standard errors over seeds at 1 of them; at 1 there is one seed only."
    seeds = [at("A", "u", 80, 81), at("B", "u", 70, 71), at("A", "v", 80, 90), at("B", "v", 79, 88), at("A", "x", 3)]
    text = leads("A", LAST)([*seeds, at("B", "x", 2)])
    assert text == "A has the best test accuracy, last epoch at 3 of 3 points." + clear
    assert leads("C", LAST)([*seeds, at("C", "u", 1)]).endswith("at 0 of 1 points, A at 1.")
    assert leads("A", LAST, without=("B",))(points).startswith("A was not")
