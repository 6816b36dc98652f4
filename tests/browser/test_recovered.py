"""What runs recovered, in a real browser: matrices and tasks are reached by a click, a link and a keyboard."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import crowdcore as cc
from crowdcore import analysis
from crowdcore.learning.learners import learners
from crowdcore.learning.results.predictions import worker_counts
from crowdcore.learning.results.result import TrainingResult
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import invented, record
from testkit.steps import charts, choose, main, settled, stand_still, visit

PARTS = ("common_confusion", "worker_confusion", "omega")


@pytest.fixture(scope="module")
def runs(app: str, workspace: Path) -> dict[str, tuple[str, TrainingResult]]:
    """Runs on the demo, on 400 workers and on hostile names; what methods recover is looked up once for all."""
    learners()
    many = replace(simulate_crowd(2000, n_workers=400, per_task=6), name="many")
    run_ids = {}
    for name, crowd, method in (
        ("crowd-layer", cc.load_dataset("demo"), "crowd-layer"),
        ("conal", cc.load_dataset("demo"), "conal"),
        ("many", many, "conal"),
    ):
        result = invented(crowd, method)
        run_ids[name] = record(workspace, result, crowd), result
    return run_ids


def click(page: Page, chart: str, x: float, y: float) -> None:
    """Click a place of a figure, given in the figure's own coordinates."""
    place = page.locator(f".st-key-figure-{chart} .js-plotly-plot")
    expect(place).to_have_attribute("data-listens", "yes")
    stand_still(place)
    at = place.evaluate(
        "(e, [x, y]) => { const r = e.getBoundingClientRect(), {xaxis, yaxis} = e._fullLayout;"
        " return [r.x + xaxis._offset + xaxis.l2p(x), r.y + yaxis._offset + yaxis.l2p(y)] }",
        [x, y],
    )
    page.mouse.move(at[0], at[1])
    expect(place.locator(".hoverlayer .hovertext").first).to_be_visible()
    page.mouse.click(at[0], at[1])


def test_from_a_cell_of_a_worker_to_the_tasks_behind_it(page: Page, runs: dict) -> None:
    run, result = runs["conal"]
    demo = cc.load_dataset("demo")
    visit(page, f"/confusions?dataset=demo&runs={run}&sort=skilled&view=All+workers")
    own = np.mean([analysis.confusion_of_counts(one) for one in worker_counts(result, demo)], 0)
    skill = np.trace(own, axis1=1, axis2=2) / demo.n_classes
    best = int(np.argsort(-skill, kind="stable")[0])
    n = demo.n_classes
    click(page, f"small-{best}", n + max(1, round(n / 10)) + 3, 5)  # the matrix after the truth
    worker, true, given = demo.worker_ids[best], demo.classes[5], demo.classes[3]
    expect(page).to_have_url(re.compile(f"worker={worker}&true={true}&given={given}"))
    expect(main(page).get_by_text(f"skill {100 * skill[best]:.1f} %")).to_be_visible()
    shown = own[best][own[best] >= 0.005]
    labels = page.locator(".st-key-figure-first-1 .heatmap-label")
    expect(labels).to_have_count(len(shown))  # while it is drawn anew, the old ones are there too
    settled(page)
    numbers = labels.all_text_contents()
    assert sorted(numbers) == sorted(f"{100 * value:.0f}" for value in shown)
    page.reload()
    settled(page)
    main(page).get_by_role("link", name=f"{worker} labelled {given}").click()
    expect(page).to_have_url(re.compile(f"/tasks.*true={true}&given={given}&worker={worker}"))


def test_a_thumbnail_puts_its_worker_above(page: Page, runs: dict) -> None:
    visit(page, f"/confusions?dataset=demo&runs={runs['conal'][0]}")
    second = page.locator(".st-key-figure-strip .xtick text").nth(1)
    expect(second).to_be_visible()
    name = second.text_content()
    click(page, "strip", cc.load_dataset("demo").n_classes + 3, 2)
    expect(page).to_have_url(re.compile(f"worker={name}"))
    expect(page.locator(".st-key-figure-first-1 .stMarkdown").filter(has_text=name)).to_be_visible()


def test_two_runs_side_by_side_and_back_by_the_address(page: Page, runs: dict) -> None:
    worker = cc.load_dataset("demo").worker_ids[0]
    visit(
        page, f"/confusions?dataset=demo&runs={runs['conal'][0]}&runs={runs['crowd-layer'][0]}&seed=1&worker={worker}"
    )
    titles = page.locator(".st-key-figure-first-1 .stMarkdown")
    expect(titles.filter(has_text="conal, seed 1")).to_be_visible()
    other = main(page).locator("[class*=st-key-figure-first-] .stMarkdown")
    expect(other.filter(has_text="crowd-layer, seed 1").first).to_be_visible()
    page.set_viewport_size({"width": 900, "height": 900})
    for picker in ("Run", "Compare with"):
        cut = page.get_by_role("combobox", name=picker).evaluate("e => e.scrollWidth - e.clientWidth")
        assert cut <= 0, picker
    main(page).get_by_role("button", name="Seeds, epoch").click()
    choose(page, "Seeds", "Mean of 3 seeds")
    mean = page.locator(".st-key-figure-first-1 .stMarkdown")
    expect(mean.filter(has_text="conal, mean of 3 seeds")).to_be_visible()
    settled(page)  # what is shown is in the address once the page is complete
    page.go_back()
    expect(titles.filter(has_text="conal, seed 1")).to_be_visible()


def test_another_run_keeps_what_the_other_controls_say(page: Page, workspace: Path) -> None:
    """The epochs of each run are others: a slider that a browser knows by its place must not jump to the start."""
    demo = cc.load_dataset("demo")
    ids = []
    for sure, epochs in ((1.0, (0, 10)), (2.0, (0, 5, 7, 12))):
        result = invented(demo, "conal", salt=int(sure))
        kept = {part: np.stack([getattr(result, part)] * len(epochs)) for part in PARTS}
        last = {part: getattr(result, part) for part in PARTS}
        kept = replace(result, kept_epochs=np.array(epochs), kept=kept, last=last)
        ids.append(record(workspace, kept, demo, epochs=20 + len(epochs)))
    visit(page, f"/confusions?dataset=demo&runs={ids[0]}")
    names = page.get_by_role("combobox", name="Run", exact=True)
    for epochs in ("24", "22"):
        names.click()
        page.get_by_role("option", name=re.compile(f"Epochs {epochs}")).first.click()
        settled(page)
        main(page).get_by_role("button", name="Seeds, epoch").click()
        slider = page.get_by_role("slider")
        for seeds in ("", "Seed 1", "Mean of 3 seeds"):  # any other control
            if seeds:
                choose(page, "Seeds", seeds)
            expect(slider).to_have_attribute("aria-valuetext", re.compile("selected"))
        assert "epoch=" not in page.url
        page.keyboard.press("Escape")
        expect(names).to_have_value(re.compile(f"Epochs {epochs}"))


def test_truth_learnt_and_observed_keep_their_labels_in_a_narrow_window(page: Page, runs: dict) -> None:
    visit(page, f"/confusions?dataset=demo&runs={runs['conal'][0]}&view=All+workers")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        common = page.locator(".st-key-figure-common-1")
        expect(common.locator(".annotation-text").filter(has_text="truth")).to_be_visible()
        expect(common.locator(".annotation-text").filter(has_text="error")).to_have_count(1)
        expect(common.locator(".ytick text")).to_have_count(10)
        expect(common.locator(".xtick text")).to_have_count(30)
        expect(common.locator(".xtick text").first).to_be_visible()  # a narrow window scrolls
        cell = common.locator(".js-plotly-plot").evaluate(
            "e => e._fullLayout.xaxis.l2p(1) - e._fullLayout.xaxis.l2p(0)"
        )
        assert cell >= 6, f"{cell} pixels a cell at a width of {width}"
        assert main(page).evaluate("e => e.scrollWidth <= e.clientWidth")


def test_from_a_bar_of_the_spread_to_a_task(page: Page, runs: dict) -> None:
    run, result = runs["conal"]
    demo = cc.load_dataset("demo")
    ranking = analysis.omega_ranking(demo, result.omega, seeds=result.seeds)
    edges, counts = ranking.histogram()
    first = int(np.argsort(-ranking.class_omega, kind="stable")[0])
    fullest = int(counts[first].argmax())
    visit(page, f"/omega?dataset=demo&runs={run}")
    click(page, "ranking", float(edges[fullest] + edges[fullest + 1]) / 2, -0.6)  # the strip below that of all tasks
    expect(page).to_have_url(re.compile(f"half=bin-{fullest}&true={demo.classes[first]}"))
    n = int(counts[first, fullest])
    expect(main(page).get_by_text(f"{n} task{'s' if n > 1 else ''}, largest ω̄ first.")).to_be_visible()
    k = int(np.flatnonzero((ranking.label == first) & (ranking.omega >= edges[fullest]))[-1])
    visit(page, f"/omega?dataset=demo&runs={run}&task={ranking.task_ids[k]}")
    expect(
        main(page).get_by_text(f"rank {k + 1:,} of {len(ranking.task):,} · ω̄ {ranking.omega[k]:.3f}")
    ).to_be_visible()
    main(page).get_by_role("link", name=f"Task {ranking.task_ids[k]}").click()
    expect(main(page).get_by_role("heading", name=ranking.task_ids[k])).to_be_visible()


@pytest.mark.parametrize("address", ["/confusions", "/omega?view=Workers"])
def test_hundreds_of_workers_in_a_narrow_window(page: Page, runs: dict, address: str) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    visit(page, f"{address}{'&' if '?' in address else '?'}dataset=many&runs={runs['many'][0]}")
    expect(charts(page).first).to_be_visible()
    assert main(page).evaluate("e => e.scrollWidth <= e.clientWidth")
    assert len(charts(page).first.evaluate("e => JSON.stringify(e.data)")) < 400_000


def test_the_pager_keeps_the_focus_and_follows_the_address(page: Page, two: str) -> None:
    visit(page, f"/confusions?{two}&view=All+workers")
    current = main(page).locator("[aria-current=page], [aria-current=true]")
    following = main(page).get_by_role("button", name="Next page")
    following.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("group=2"))
    settled(page)
    expect(following).to_be_focused()
    page.go_back()
    expect(current).to_have_text("1")
