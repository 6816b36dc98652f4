"""The pages on confusions and on ω in-process: their numbers are the library's, and what is missing is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis, read_dataset
from crowdcore.data.dataset import SimulatedTruth
from crowdcore.data.writers import write_folder
from crowdcore.learning.result import TrainingResult
from dashboard import services
from tests.browser.recorded_runs import invented, record
from tests.conftest import simulate_crowd
from tests.dashboard.test_pages import open_page, words

ABLE = {"conal": ["common_confusion", "worker_confusion", "omega"], "trace": ["worker_confusion"], "dl-mv": []}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A crowd with known truth, written to a folder, and three finished runs on it in a workspace."""
    home = tmp_path_factory.mktemp("recorded")
    rng = np.random.default_rng(0)
    crowd = replace(simulate_crowd(), name="crowd")
    truth = SimulatedTruth(
        worker_confusion=rng.dirichlet(np.ones(4), (12, 4)),
        common_confusion=rng.dirichlet(np.ones(4), 4),
        omega=rng.random(crowd.n_annotations),
        used_common=rng.random(crowd.n_annotations) < 0.5,
    )
    (home / "found").mkdir()
    write_folder(replace(crowd, truth=truth), home / "found" / "crowd")
    write_folder(simulate_crowd(60), home / "found" / "fresh")
    crowd = read_dataset(home / "found" / "crowd")
    results = {method: invented(crowd, method) for method in ABLE}
    ids = {method: record(home / "workspace", results[method], crowd) for method in reversed(ABLE)}
    return SimpleNamespace(home=home, crowd=crowd, results=results, ids=ids)


@pytest.fixture
def found(recorded: SimpleNamespace, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The app sees what was recorded, and is told what methods recover without asking torch."""
    monkeypatch.setenv("CROWDCORE_DATA", str(recorded.home / "found"))
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(recorded.home / "workspace"))
    monkeypatch.setattr("dashboard.services.recovered.learners", lambda: dict.fromkeys(ABLE, ""))
    monkeypatch.setattr("dashboard.services.recovered.about_method", lambda name: {"recovers": ABLE[name]})
    return recorded


def recovered(found: SimpleNamespace, method: str = "conal", seed: int | None = None) -> analysis.RecoveredConfusion:
    result: TrainingResult = found.results[method]
    assert result.worker_confusion is not None
    return analysis.recovered_confusion(
        found.crowd, result.worker_confusion, result.common_confusion, result.omega, seeds=result.seeds, seed=seed
    )


def test_the_pages_draw_the_newest_run_that_has_what_they_show(found: SimpleNamespace) -> None:
    for page in ("confusions", "omega"):
        test = open_page(page, dataset="crowd")
        assert not test.exception
        assert not test.error
        assert "From the selected epochs 20, 19, 18 of 20." in words(test)
        boxes = {box.label: box.value for box in test.selectbox}
        assert boxes["Run"] == found.ids["conal"]
        assert boxes["Seeds"] == ""


@pytest.mark.parametrize("seed", ["", "1"])
def test_the_table_of_workers_is_the_library_s(found: SimpleNamespace, seed: str) -> None:
    test = open_page("confusions", dataset="crowd", runs=found.ids["conal"], view="Workers", sort="far", seed=seed)
    expected = recovered(found, seed=int(seed) if seed else None)
    shown = test.dataframe[0].value.set_index("worker")
    order = np.argsort(-expected.distance, kind="stable")
    assert list(shown.index) == list(found.crowd.worker_ids[order])
    np.testing.assert_allclose(shown["skill"], expected.skill[order])
    np.testing.assert_allclose(shown["distance from common"], expected.distance[order])
    np.testing.assert_allclose(shown["common noise"], 100 * expected.common_share[order])  # shown in percent
    observed = analysis.worker_quality(found.crowd).skill
    np.testing.assert_allclose(shown["observed skill"], observed[order])
    true = np.trace(found.crowd.truth.worker_confusion, axis1=1, axis2=2) / 4
    np.testing.assert_allclose(shown["true skill"], true[order])
    assert ("skill ±" in shown) == (not seed)


@pytest.mark.parametrize("beside", ["observed", "truth", "trace"])
def test_one_matrix_is_compared_with_what_is_beside_it(found: SimpleNamespace, beside: str) -> None:
    other = found.ids.get(beside, beside)
    where = {"runs": found.ids["conal"], "beside": other, "worker": "w003", "true": "class 1", "given": "class 2"}
    test = open_page("confusions", dataset="crowd", **where)
    assert not test.error
    behind = (found.crowd.worker == 3) & (found.crowd.gold[found.crowd.task] == 1) & (found.crowd.label == 2)
    links = [link.proto.label.replace("\\", "") for link in test.get("page_link")]
    n = len(np.unique(found.crowd.task[behind]))
    assert any(f"{n} task" in link and "w003 labelled class 2" in link for link in links)
    expected = recovered(found)
    assert f"skill **{expected.skill[3]:.3f}**" in words(test)
    second = {
        "observed": analysis.worker_confusion(found.crowd).matrices[3],
        "truth": found.crowd.truth.worker_confusion[3],
        "trace": found.results["trace"].worker_confusion.mean(0)[3],
    }[beside]
    table = services.confusions.one_difference_table("crowd", "gold", found.ids["conal"], other, "", 3)
    np.testing.assert_allclose(table["difference"].to_numpy().reshape(4, 4), expected.matrices[3] - second, atol=1e-12)


def test_a_link_with_two_runs_puts_them_side_by_side(found: SimpleNamespace) -> None:
    test = open_page("confusions", dataset="crowd", runs=[found.ids["conal"], found.ids["trace"]])  # type: ignore[arg-type]
    boxes = {box.label: box.value for box in test.selectbox}
    assert (boxes["Run"], boxes["Beside"]) == (found.ids["conal"], found.ids["trace"])
    assert test.query_params["runs"] in (found.ids["conal"], [found.ids["conal"]])


def test_a_click_in_the_grid_means_matrix_and_cell(found: SimpleNamespace) -> None:
    which = "crowd", "gold", found.ids["conal"], "observed", "", (4, 7)
    drawn = services.confusions.confusion_grid(*which, hidden=False, diagonal=True)
    z = np.asarray(drawn.data[0].z)
    hits = {}
    for row, column in np.ndindex(z.shape):
        hit = services.confusions.confusion_cell(*which, row, column)
        if hit is not None and row < 4:
            hits[hit] = z[row, column]
    expected = recovered(found)
    assert len(hits) == 3 * 16
    assert hits[-1, 1, 0] == pytest.approx(expected.common[1, 0], rel=1e-6)
    assert hits[7, 2, 3] == pytest.approx(expected.matrices[7, 2, 3], rel=1e-6)
    table = services.confusions.confusion_grid_table(*which, hidden=False)
    assert len(table) == 2 * 3 * 16
    assert set(table["who"]) == {"common", "all workers", "w004", "w007"}


def test_workers_come_in_pages(found: SimpleNamespace) -> None:
    pages = services.panels.worker_pages("crowd", found.ids["conal"], "", "skilled")
    assert [len(page) for page in pages] == [5, 5, 2]
    assert np.concatenate(pages).tolist() == np.argsort(-recovered(found).skill, kind="stable").tolist()
    test = open_page("confusions", dataset="crowd", runs=found.ids["conal"], group="99", sort="nonsense")
    assert not test.error


def test_tasks_are_ranked_by_omega(found: SimpleNamespace) -> None:
    result = found.results["conal"]
    expected = analysis.omega_ranking(found.crowd, result.omega, seeds=result.seeds)
    test = open_page("omega", dataset="crowd", half="bottom", true="class 2")
    keep = (np.arange(300) >= expected.n_top) & (expected.label == 2)
    shown = test.dataframe[0].value
    assert shown["task"].tolist() == expected.task_ids[keep][::-1].tolist()
    np.testing.assert_allclose(shown["mean ω"], expected.omega[keep][::-1])
    metrics = {metric.label: metric.value for metric in test.metric}
    assert metrics["Mean ω"] == f"{result.omega.mean():.3f}"
    assert metrics["Seeds agree"] == f"{expected.seed_correlation:.2f}"
    assert f"{keep.sum()} tasks, smallest ω̄ first" in words(test)


def test_a_chosen_task_is_told(found: SimpleNamespace) -> None:
    test = open_page("omega", dataset="crowd", task="t00042")
    result = found.results["conal"]
    expected = analysis.omega_ranking(found.crowd, result.omega, seeds=result.seeds)
    k = int(np.flatnonzero(expected.task == 42)[0])
    assert f"rank **{k + 1}** of 300 · ω̄ **{expected.omega[k]:.3f}** · 3 workers" in words(test)


@pytest.mark.parametrize("view", ["Classes", "Workers"])
def test_groups_have_the_library_s_numbers(found: SimpleNamespace, view: str) -> None:
    result = found.results["conal"]
    by = "class" if view == "Classes" else "worker"
    expected = analysis.omega_spread(found.crowd, result.omega, by, seeds=result.seeds)
    test = open_page("omega", dataset="crowd", view=view)
    shown = test.dataframe[0].value
    order = np.argsort(-expected.mean, kind="stable")
    assert shown[by].tolist() == expected.names[order].tolist()
    np.testing.assert_allclose(shown["mean ω"], expected.mean[order])
    np.testing.assert_allclose(shown["50 %"], expected.quantiles[order, 2])


def test_the_truth_has_a_tab_where_it_is_known(found: SimpleNamespace) -> None:
    result = found.results["conal"]
    expected = analysis.omega_truth(found.crowd, result.omega, seeds=result.seeds)
    metrics = {m.label: m.value for m in open_page("omega", dataset="crowd", view="Truth").metric}
    assert metrics["Correlation"] == f"{expected.correlation:.2f}"
    assert metrics["AUC"] == f"{expected.auc:.3f} of {expected.auc_limit:.3f}"


@pytest.mark.parametrize(
    ("page", "method", "sentence"),
    [
        ("confusions", "dl-mv", "dl-mv recovers no confusions. Methods that do: conal, trace."),
        ("omega", "trace", "trace does not tell common from individual noise. Methods that do: conal."),
    ],
)
def test_what_a_method_lacks_is_said(found: SimpleNamespace, page: str, method: str, sentence: str) -> None:
    test = open_page(page, dataset="crowd", runs=found.ids[method])
    assert sentence in words(test)
    assert not test.error
    assert any(link.proto.label == "Train" for link in test.get("page_link"))


def test_without_runs_the_way_leads_to_training(found: SimpleNamespace) -> None:
    for page in ("confusions", "omega"):
        test = open_page(page, dataset="fresh")
        assert "Nothing has been trained on fresh yet" in words(test)
        assert any(link.proto.label == "Train" for link in test.get("page_link"))


def test_hidden_workers_appear_nowhere(found: SimpleNamespace) -> None:
    for page, view in (("confusions", "Matrices"), ("confusions", "Workers"), ("omega", "Workers")):
        test = open_page(page, dataset="crowd", names="hidden", view=view)
        frames = "\n".join(frame.value.to_string() for frame in test.dataframe)
        boxes = "\n".join(str(box.options) for box in test.selectbox)
        figures = "\n".join(str(chart.proto) for chart in test.get("plotly_chart"))
        assert "w00" not in frames + boxes + figures
    table = services.confusions.confusion_grid_table("crowd", "gold", found.ids["conal"], "", "", (0, 1), hidden=True)
    assert not pd.Series(table["who"]).str.startswith("w0").any()
