"""The page on ω in-process: its numbers are the library's, and an unreliable ranking is called none."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.exhibits import omega, view
from crowdcore.exhibits.recovered import of_run
from tests.dashboard.app_page import open_page, words


def test_omega_that_does_not_vary_ranks_nothing(study: SimpleNamespace) -> None:
    test = open_page("omega", dataset="crowd", runs=study.ids["flat"])
    assert "ω hardly varies" in words(test)
    assert "tasks cannot be ranked" in words(test)


def test_a_bar_of_the_spread_lists_its_tasks(study: SimpleNamespace) -> None:
    run = of_run(view(study.crowd), study.results["conal"])
    exhibit = omega.omega_ranking(run)
    for strip in exhibit.figure.data[:2]:
        low, high, n, _, code = strip.customdata[len(strip.customdata) // 2]
        chosen = exhibit.click(code)
        true = study.crowd.classes.index(chosen["true"]) if chosen["true"] else None
        listed = omega.omega_tasks(run, chosen["half"], true).table
        assert len(listed) == n
        assert listed["mean ω"].between(low - 1e-9, high).all()
        assert chosen["half"] in omega.ranges(run)


def test_tasks_are_ranked_by_omega(study: SimpleNamespace) -> None:
    result = study.results["conal"]
    expected = analysis.omega_ranking(study.crowd, result.omega, seeds=result.seeds)
    test = open_page("omega", dataset="crowd", half="bottom", true="class 2")
    keep = (np.arange(300) >= expected.n_top) & (expected.label == 2)
    shown = test.dataframe[0].value
    assert shown["task"].tolist() == expected.task_ids[keep][::-1].tolist()
    np.testing.assert_allclose(shown["mean ω"], expected.omega[keep][::-1])
    metrics = {metric.label: metric.value for metric in test.metric}
    assert metrics["Mean ω"] == f"{result.omega.mean():.3f}"
    assert metrics["Seeds agree"] == f"{expected.seed_correlation:.2f} · poor"
    assert "not reliable" in words(test)
    assert f"{keep.sum()} tasks, smallest ω̄ first" in words(test)


def test_a_chosen_task_is_told(study: SimpleNamespace) -> None:
    test = open_page("omega", dataset="crowd", task="t00042")
    result = study.results["conal"]
    expected = analysis.omega_ranking(study.crowd, result.omega, seeds=result.seeds)
    k = int(np.flatnonzero(expected.task == 42)[0])
    assert f"rank **{k + 1}** of 300 · ω̄ **{expected.omega[k]:.3f}** · 3 workers" in words(test)


@pytest.mark.parametrize("view", ["Classes", "Workers"])
def test_groups_have_the_library_s_numbers(study: SimpleNamespace, view: str) -> None:
    result = study.results["conal"]
    by = "class" if view == "Classes" else "worker"
    expected = analysis.omega_spread(study.crowd, result.omega, by, seeds=result.seeds)
    test = open_page("omega", dataset="crowd", view=view)
    shown = test.dataframe[0].value
    order = np.argsort(-expected.mean, kind="stable")
    assert shown[by].tolist() == expected.names[order].tolist()
    np.testing.assert_allclose(shown["mean ω"], expected.mean[order])
    np.testing.assert_allclose(shown["50 %"], expected.quantiles[order, 2])


def test_the_truth_has_a_tab_where_it_is_known(study: SimpleNamespace) -> None:
    result = study.results["conal"]
    expected = analysis.omega_truth(study.crowd, result.omega, seeds=result.seeds)
    metrics = {m.label: m.value for m in open_page("omega", dataset="crowd", view="Truth").metric}
    assert metrics["Correlation"] == f"{expected.correlation:.2f}"
    assert metrics["AUC"] == f"{expected.auc:.3f} of {expected.auc_limit:.3f}"


@pytest.mark.parametrize(("tab", "panels"), [("Tasks", 6), ("Classes", 6), ("Workers", 6), ("Truth", 6)])
def test_seeds_one_by_one_have_a_panel_each(study: SimpleNamespace, tab: str, panels: int) -> None:
    test = open_page("omega", dataset="crowd", view=tab, seed="each")
    assert not test.error
    layouts = [json.loads(chart.proto.spec)["layout"] for chart in test.get("plotly_chart")]
    drawn = [layout["meta"][1] for layout in layouts if "meta" in layout]
    assert len(drawn) == panels
    for seed in (0, 1, 2):
        assert sum(f"seed {seed}" in words for words in drawn) == panels / 3
