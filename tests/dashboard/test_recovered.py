"""The page on confusions in-process: its numbers are the library's, and missing parts are named."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crowdcore import analysis, figures
from crowdcore.core.types import FloatArray
from crowdcore.exhibits import confusions, recovered as of_runs, view
from crowdcore.learning.results.predictions import worker_counts
from crowdcore.learning.results.result import TrainingResult
from tests.dashboard.app_page import open_page, words


def effective(study: SimpleNamespace, method: str = "conal", at: str | int = "selected") -> FloatArray:
    parts = study.results[method].recovered_at(at)
    return analysis.effective_confusion(study.crowd, *parts)


def recovered(study: SimpleNamespace, method: str = "conal", seed: int | None = None) -> analysis.RecoveredConfusion:
    """Return what the pages show by default, from the run's counts."""
    result: TrainingResult = study.results[method]
    counts = worker_counts(result, study.crowd)
    return analysis.recovered_confusion(
        study.crowd, *result.recovered_at(), seeds=result.seeds, seed=seed, counts=counts
    )


def seen(study: SimpleNamespace, run: str = "conal", **chosen: Any) -> of_runs.RunView:
    """Return the page's view of a run."""
    return of_runs.of_run(view(study.crowd), study.results[run], **chosen)


def test_the_pages_draw_the_newest_run_that_has_what_they_show(study: SimpleNamespace) -> None:
    for page in ("confusions", "omega"):
        test = open_page(page, dataset="crowd")
        assert not test.error
        assert page == "omega" or "(20, 19 and 18 of 20)" in words(test)
        boxes = {box.label: box.value for box in test.selectbox}
        assert boxes["Run"] == study.ids["conal"]
        assert boxes["Seeds"] == ""


def test_a_ticked_run_is_shown_with_the_mistakes_that_it_takes_for_shared(study: SimpleNamespace) -> None:
    test = open_page("mistakes", dataset="crowd", runs=study.ids["conal"])
    assert not test.error
    assert {box.label: box.value for box in test.selectbox}["Run"] == study.ids["conal"]
    assert "**Difference**" in words(test)
    assert "**Difference**" not in words(open_page("mistakes", dataset="crowd"))


def true_confusion(study: SimpleNamespace) -> FloatArray:
    """True confusions behind all labels of each worker."""
    truth = study.crowd.truth
    return analysis.effective_confusion(study.crowd, truth.worker_confusion, truth.common_confusion, truth.omega)


@pytest.mark.parametrize("seed", ["", "1"])
def test_the_table_of_workers_is_the_library_s(study: SimpleNamespace, seed: str) -> None:
    test = open_page("confusions", dataset="crowd", runs=study.ids["conal"], view="Workers", sort="far", seed=seed)
    expected = recovered(study, seed=int(seed) if seed else None)
    shown = test.dataframe[0].value.set_index("worker")
    order = np.argsort(-expected.distance, kind="stable")
    assert list(shown.index) == list(study.crowd.worker_ids[order])
    np.testing.assert_allclose(shown["skill"], 100 * expected.skill[order])  # shares are shown in percent
    np.testing.assert_allclose(shown["distance from common"], expected.distance[order])
    np.testing.assert_allclose(shown["common noise"], 100 * expected.common_share[order])
    observed = analysis.worker_quality(study.crowd).skill
    np.testing.assert_allclose(shown["observed skill"], 100 * observed[order])
    true = true_confusion(study)
    np.testing.assert_allclose(shown["true skill"], 100 * np.trace(true, axis1=1, axis2=2)[order] / 4)
    error = ((expected.matrices - true) ** 2).sum(2).mean(1)
    np.testing.assert_allclose(shown["error"], error[order])
    assert ("skill ±" in shown) == (not seed)


@pytest.mark.parametrize("beside", ["truth", "trace"])
def test_one_matrix_is_compared_with_what_is_beside_it(study: SimpleNamespace, beside: str) -> None:
    where = {
        "runs": study.ids["conal"],
        "beside": study.ids.get(beside, ""),
        "worker": "w003",
        "true": "class 1",
        "given": "class 2",
    }
    test = open_page("confusions", dataset="crowd", **where)
    assert not test.error
    behind = (study.crowd.worker == 3) & (study.crowd.gold[study.crowd.task] == 1) & (study.crowd.label == 2)
    links = [link.proto.label.replace("\\", "") for link in test.get("page_link")]
    n = len(np.unique(study.crowd.task[behind]))
    assert any(f"{n} task" in link and "w003 labelled class 2" in link for link in links)
    expected = recovered(study)
    assert f"skill **{100 * expected.skill[3]:.1f} %**" in words(test)
    second = {
        "truth": true_confusion(study)[3],
        "trace": recovered(study, "trace").matrices[3],
    }[beside]
    drawn = confusions.confusion_difference(seen(study), 3, seen(study, "trace") if beside == "trace" else None)
    assert drawn is not None
    table = drawn.table
    np.testing.assert_allclose(table["difference"].to_numpy().reshape(4, 4), expected.matrices[3] - second, atol=1e-12)


def test_truth_learnt_and_observed_stand_side_by_side(study: SimpleNamespace) -> None:
    exhibit = confusions.confusion_grid(seen(study), 7)
    drawn = exhibit.figure
    z = np.asarray(drawn.data[0].z)
    shown = np.full((3, 4, 4), np.nan)
    for row, column in np.ndindex(z.shape):
        place = figures.grid_cell(row, column, 4)
        if place is not None and place[0] < 3:
            shown[place] = z[row, column]
            true, given = (study.crowd.classes[c] for c in place[1:])
            assert exhibit.click(row, column) == {"worker": "w007", "true": true, "given": given}
    truth, learnt, observed = shown
    counted = analysis.worker_confusion(study.crowd).matrices[7]
    np.testing.assert_allclose(truth, true_confusion(study)[7], rtol=1e-6)
    np.testing.assert_allclose(learnt, recovered(study).matrices[7], rtol=1e-6)
    np.testing.assert_allclose(observed, counted, rtol=1e-6)
    errors = [((m - true_confusion(study)[7]) ** 2).sum(1).mean() for m in (learnt, counted)]
    notes = [note.text for note in drawn.layout.annotations]
    assert notes == [
        "<b>truth</b>",
        "<b>learnt</b>",
        f"error {errors[0]:.4f}",
        "<b>observed</b>",
        f"error {errors[1]:.4f}",
    ]
    assert len(exhibit.table) == 3 * 16
    assert set(exhibit.table["who"]) == {"w007"}


def test_seeds_one_by_one(study: SimpleNamespace) -> None:
    drawn = confusions.confusion_grid(seen(study, seed="each"), -1, scale="log").figure
    names = [note.text for note in drawn.layout.annotations if note.text.startswith("<b>")]
    assert names == [f"<b>{name}</b>" for name in ("truth", "seed 0", "seed 1", "seed 2", "observed")]
    assert drawn.layout.title.subtitle.text.startswith(f"{study.crowd.n_annotations:,} labels")
    test = open_page("confusions", dataset="crowd", runs=study.ids["conal"], seed="each", view="Workers")
    assert not test.error
    assert "Numbers: seed 0." in words(test)


def test_seeds_that_are_not_comparable_have_no_mean(study: SimpleNamespace) -> None:
    run = study.ids["another order"]
    test = open_page("confusions", dataset="crowd", runs=run)
    seeds = next(box for box in test.selectbox if box.label == "Seeds")
    assert seeds.options == ["All 3 seeds, one by one", "Seed 0", "Seed 1", "Seed 2"]
    assert ("seed 2 has its classes") in words(test)
    assert of_runs.recovered(seen(study, "another order")).seeds == (0,)


def test_matrices_of_any_kept_epoch(study: SimpleNamespace) -> None:
    test = open_page("confusions", dataset="crowd", runs=study.ids["conal"], epoch="10", worker="w003")
    slider = next(iter(test.select_slider))
    assert slider.options == ["start", "epoch 10", "selected (18 to 20)", "last (20)"]
    assert slider.value == "10"
    assert "Values after epoch 10 of 20." in words(test)
    expected = np.trace(effective(study, at=10).mean(0)[3]) / 4
    assert f"skill **{100 * expected:.1f} %**" in words(test)
    start = open_page("confusions", dataset="crowd", runs=study.ids["conal"], epoch="0")
    assert "before any training" in words(start)
    old = open_page("confusions", dataset="crowd", runs=study.ids["trace"], epoch="10")
    assert not old.select_slider
    assert "epochs chosen on validation" in words(old)


def test_what_has_not_left_its_start_is_said_by_distance(study: SimpleNamespace) -> None:
    test = open_page("confusions", dataset="crowd", runs=study.ids["conal"])
    (banner, of_common) = (warning.value.replace("\\", "") for warning in test.warning)
    moved = study.results["conal"].moved("common_confusion").mean()
    assert f"has moved {100 * moved:.1f} %" in banner
    assert "hardly moved" in of_common
    assert "largest confusions" not in words(test), "a start says nothing of the workers"


def test_the_largest_confusions_are_told_with_their_tasks(study: SimpleNamespace) -> None:
    test = open_page("confusions", dataset="crowd", runs=study.ids["flat"])
    run = study.results["flat"]
    parts = run.worker_confusion, run.common_confusion, run.omega
    expected = analysis.recovered_shares(
        study.crowd, "gold", *parts, seeds=run.seeds, counts=worker_counts(run, study.crowd)
    )
    assert f"recovered {expected.within.sum()} in the mean over seeds" in words(test)
    true, given = expected.cells[0]
    n = len(analysis.mistake_cell(study.crowd, "gold", int(true), int(given)).tasks)
    links = [link.proto.label.replace("\\", "") for link in test.get("page_link")]
    assert any(f"class {true} → class {given} ({n} task" in link for link in links)
    row = expected.frame().iloc[0]
    assert f"**{100 * row['recovered']:.1f} %** · labels {100 * row['observed']:.1f} %" in words(test)
    assert f"common confusion {100 * row['common']:.1f} %" in words(test)
    assert f"truth {100 * study.crowd.truth.common_confusion[true, given]:.1f} %" in words(test)


def test_two_runs_have_names_as_short_as_can_be_over_their_matrices(study: SimpleNamespace) -> None:
    test = open_page(
        "confusions", dataset="crowd", runs=study.ids["misled"], beside=study.ids["conal"], view="All workers"
    )
    drawn_as = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
    drawn = {note["text"] for figure in drawn_as for note in figure["layout"].get("annotations", [])}
    assert {"<b>trace</b>", "<b>conal</b>"} <= drawn


def test_names_that_votes_would_swap_are_warned_of(study: SimpleNamespace) -> None:
    test = open_page("confusions", dataset="crowd", runs=study.ids["misled"])
    assert "cannot name these" in words(test)
    assert "class 1 on tasks that are class 0" in words(test)
    assert "Labels alone" not in words(open_page("confusions", dataset="crowd", runs=study.ids["conal"]))


def test_workers_come_in_pages(study: SimpleNamespace) -> None:
    pages = confusions.pages(seen(study), "skilled")
    assert [len(page) for page in pages] == [5, 5, 2]
    assert np.concatenate(pages).tolist() == np.argsort(-recovered(study).skill, kind="stable").tolist()
    test = open_page("confusions", dataset="crowd", runs=study.ids["conal"], group="99", sort="nonsense")
    assert not test.error


@pytest.mark.parametrize(
    ("page", "method", "sentence"),
    [
        ("confusions", "dl-mv", "This run of dl-mv recovers no confusions. Methods that do: conal, trace."),
        ("omega", "trace", "This run of trace does not tell common from individual noise. Methods that do: conal."),
    ],
)
def test_what_a_method_lacks_is_said(study: SimpleNamespace, page: str, method: str, sentence: str) -> None:
    test = open_page(page, dataset="crowd", runs=study.ids[method])
    assert sentence in words(test)
    assert not test.error
    assert any(link.proto.label == "Train" for link in test.get("page_link"))


@pytest.mark.parametrize(("page", "method"), [("confusions", "dl-mv"), ("omega", "trace")])
def test_of_several_runs_one_that_has_what_is_shown_comes_first(study: SimpleNamespace, page: str, method: str) -> None:
    test = open_page(page, dataset="crowd", runs=[study.ids[method], study.ids["conal"]])
    assert "This run of" not in words(test)
    assert next(box for box in test.selectbox if box.label == "Run").value == study.ids["conal"]


def test_without_runs_the_way_leads_to_training(study: SimpleNamespace) -> None:
    for page in ("confusions", "omega"):
        test = open_page(page, dataset="fresh")
        assert "trained on fresh yet" in words(test)
        assert any(link.proto.label == "Train" for link in test.get("page_link"))
