"""Runs, Compare, Confusions, ω and Report as a user meets them: clicks, links and keys lead to numbers and to tasks."""

from __future__ import annotations

import csv
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import crowdcore as cc
from crowdcore import analysis
from crowdcore.learning.comparison import summary as comparison
from crowdcore.learning.results.predictions import worker_counts
from crowdcore.learning.results.result import TrainingResult
from crowdcore.runs import Run, Workspace, change_tags, list_runs
from testkit.recorded_runs import invented, record
from testkit.steps import charts, choose, click_cell, heatmap, main, open_page, settled, stand_still, visit
from tests.browser.conftest import HOSTILE, METHODS, harmless, hostile_crowd, soon, taken, until
from tests.learning.made_up import made_up

TABS = ("Accuracy", "Significance", "Selection", "Calibration", "Differences", "Sweeps")
FITS = "&methods=majority-vote&methods=conal-em&methods=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E&worker=Common"
PAGES = (
    *("/?", "/tasks?", "/annotators?", "/annotators?view=One+worker", "/annotators?view=Ranking"),
    *("/annotators?view=Together", f"/aggregate?reference=gold{FITS}"),
)
PARTS = ("common_confusion", "worker_confusion", "omega")

Made = dict[str, tuple[str, TrainingResult]]


@pytest.fixture(scope="module")
def three(made: Made) -> str:
    """Address parameters of three runs on the demo dataset."""
    return "dataset=demo" + "".join(f"&runs={made[m][0]}" for m in METHODS)


@pytest.fixture(scope="module")
def hostile(app: str, workspace: Path) -> str:
    """Address parameters of three runs on the hostile crowd, of which every fifth task is for testing."""
    crowd = hostile_crowd()
    ids = [record(workspace, made_up(crowd, m, split=np.arange(crowd.n_tasks) % 5 // 4 * 2), crowd) for m in METHODS]
    return "dataset=hostile" + "".join(f"&runs={run}" for run in ids)


def button(page: Page, name: str) -> Locator:
    return main(page).get_by_role("button", name=name, exact=True)


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


def recorded(workspace: Path) -> dict[str, Run]:
    return {run.id: run for run in list_runs(workspace=Workspace.open(workspace))}


def test_rows_are_chosen_by_keyboard_named_compared_and_deleted(page: Page, app: str, workspace: Path) -> None:
    demo = cc.load_dataset("demo")
    ids = [record(workspace, made_up(demo, m, sure=k), demo) for k, m in enumerate(("trace", "conal", "dl-mv"), 1)]
    change_tags(ids, ids[:1], workspace=Workspace.open(workspace))
    visit(page, f"/train?dataset=demo&tags={ids[0]}")
    expect(main(page).get_by_text("3 runs on 1 dataset")).to_be_visible()
    main(page).get_by_test_id("data-grid-canvas").first.focus()
    for key in ("ArrowDown", "ArrowUp", "Shift+Space"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(f"runs={ids[2]}"))
    name = page.get_by_role("textbox", name="Name")
    name.fill("Votes")
    name.press("Enter")
    expect(main(page).get_by_role("heading", name="Votes")).to_be_visible()
    assert recorded(workspace)[ids[2]].name == "Votes"

    visit(page, f"/train?dataset=demo&tags={ids[0]}&runs={ids[0]}&runs={ids[1]}")
    expect(main(page).get_by_role("link", name="Compare 2")).to_have_attribute(
        "href", re.compile(f"compare.*runs={ids[0]}&runs={ids[1]}|compare.*runs={ids[1]}&runs={ids[0]}")
    )
    main(page).get_by_role("button", name="Delete 2").click()
    expect(page.get_by_text("This cannot be undone")).to_be_visible()
    page.get_by_role("button", name="Delete 2 runs for good").click()
    expect(main(page).get_by_text("1 run on 1 dataset")).to_be_visible()
    settled(page)
    left = recorded(workspace)
    assert ids[2] in left and not {ids[0], ids[1]} & left.keys()


def test_the_table_is_what_the_command_line_says_and_a_difference_leads_to_its_tasks(
    page: Page, made: Made, three: str
) -> None:
    visit(page, f"/compare?{three}")
    content = taken(page, main(page).locator(".st-key-csv-accuracy").get_by_role("button"))[1]
    rows = {row["run"]: row for row in csv.DictReader(content.decode().splitlines())}
    assert list(rows) == [f"{m}{kind}" for m in METHODS for kind in ("", ", ensemble")]
    for name in METHODS:
        said = comparison.row(made[name][1])
        assert float(rows[name]["selected %"]) == pytest.approx(100 * said["selected_mean"])
        assert float(rows[name]["best, optimistic ±"]) == pytest.approx(100 * said["best_std"])
        assert float(rows[f"{name}, ensemble"]["last %"]) == pytest.approx(100 * said["ensemble_last"])
    # From a difference to the task and back.
    page.get_by_role("link", name="Differences", exact=True).click()
    expect(page).to_have_url(re.compile("view=Differences"))
    soon(page)
    click_cell(page, 1, 2, 4)
    expect(page).to_have_url(re.compile("first=conal&second=crowd-layer"))
    opened = cc.load_dataset("demo")
    one, other = (made[m][1].probabilities["selected"].mean(0).argmax(1) for m in METHODS[:2])
    unlike = (opened.split == 2) & (one != other)
    words = f"differ on {unlike.sum()} tasks of {(opened.split == 2).sum()}"
    expect(main(page).get_by_text(words)).to_be_visible()
    link = main(page).locator(".stPageLink a[href^='tasks']").first
    task = link.inner_text()
    assert task in set(opened.task_ids[unlike])
    link.click()
    expect(page).to_have_url(re.compile(rf"/tasks\?.*task={task}"))
    page.go_back()
    expect(main(page).get_by_text(words)).to_be_visible()


def test_every_tab_fits_a_narrow_window_shows_hostile_names_as_text_and_lets_its_figure_go(
    page: Page, hostile: str
) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    visit(page, f"/compare?{hostile}")
    views = main(page).get_by_role("navigation", name="Views")
    for tab in reversed(TABS):
        if tab in ("Selection", "Sweeps", "Calibration"):
            views.get_by_role("button").click()
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page).to_have_url(re.compile(f"view={tab}"))
        settled(page)
        harmless(page)
        assert main(page).evaluate("e => e.scrollWidth <= e.clientWidth"), tab
        chart = main(page).locator("[class*=st-key-figure-]").first
        if tab != "Sweeps":  # nothing varies here but the method
            assert taken(page, chart.locator("[data-format=svg]"))[1].startswith(b"<svg")
            assert taken(page, chart.get_by_role("button", name="CSV", exact=True))[1].count(b"\n") > 2
    expect(charts(page).last.get_by_text(HOSTILE[2][:20]).first).to_be_attached()


def test_hostile_names_are_shown_as_text_everywhere(page: Page, hostile: str) -> None:
    """Scripts, markup and links in the names of classes, workers and tasks."""
    run = hostile.split("&")[1]
    recovered = [f"{address}&{run}&beside=observed" for address in ("/confusions?view=Workers", "/omega?")]
    for address in (*PAGES, *recovered):
        visit(page, f"{address}&dataset=hostile")
        harmless(page)
        if address in recovered:
            expect(charts(page).first).to_be_visible()
    visit(page, "/shared-mistakes?dataset=hostile&beside=majority-vote")
    harmless(page)
    for name in HOSTILE[:2]:
        expect(heatmap(page).get_by_text(name[:20]).first).to_be_visible()
    main(page).get_by_role("radio", name="Tasks").click()
    main(page).get_by_role("link", name="<script>").first.click()
    expect(main(page).get_by_role("heading", name="<script>")).to_be_visible()
    settled(page)
    harmless(page)


def test_a_report_needs_no_network_and_runs_nothing_of_others(page: Page, hostile: str, browser: Browser) -> None:
    visit(page, f"/report?{hostile}&names=shown")
    harmless(page)
    content = taken(page, button(page, "HTML page"))[1].decode()
    context = browser.new_context(offline=True, viewport={"width": 900, "height": 900})
    context.set_default_timeout(60_000)
    alone = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    alone.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    alone.on("pageerror", lambda error: said.append(str(error)))
    alone.on("dialog", lambda dialog: said.append(dialog.message))
    alone.on("request", lambda request: asked.append(request.url))
    alone.set_content(content)
    expect(alone.locator("body[data-drawn=yes]")).to_be_attached(timeout=60_000)
    drawn = alone.locator(".js-plotly-plot")
    assert drawn.count() == alone.locator(".plot").count() > 8
    assert alone.title() == "hostile: report"
    assert alone.locator("img, [onerror], main a:not([href^='#']), strong").count() == 0
    expect(alone.locator("td", has_text=HOSTILE[1]).first).to_be_attached()
    expect(drawn.get_by_text(HOSTILE[0]).first).to_be_attached()
    assert alone.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert not asked
    assert not said
    alone.evaluate("() => document.body.append(Object.assign(document.createElement('script'), {text: 'ran = 1'}))")
    assert alone.evaluate("() => window.ran") is None
    context.close()


def test_the_folder_hides_names_and_draws_every_figure(page: Page, three: str) -> None:
    open_page(page, f"/report?{three}&parts=accuracy&parts=annotators")  # in a session that has shown no names
    expect(main(page).get_by_text(re.compile("--part accuracy --part annotators"))).to_be_visible()
    main(page).get_by_text("Contents", exact=True).click()
    expect(main(page).get_by_text("How good each worker is")).to_be_visible()
    heard = main(page).get_by_role("status").filter(has_text=re.compile("folder"))
    heard.evaluate("region => { region.theSame = true }")
    with page.expect_download() as found:
        button(page, "Folder (ZIP)").click()
        expect(main(page).get_by_role("progressbar")).to_be_visible()
        expect(main(page).get_by_text(re.compile("^Drawing .+ left$"))).to_be_visible()
    expect(heard).to_have_text("The folder was made.")
    assert heard.evaluate("region => region.theSame")  # there before its words came, or nobody would hear them
    expect(main(page).get_by_role("progressbar")).to_have_count(0)
    with zipfile.ZipFile(found.value.path()) as archive:
        names = archive.namelist()
        text = archive.read("report.html").decode()
    tables = [name for name in names if name.endswith(".csv")]
    figures = [name for name in names if name.endswith(".svg")]
    assert len(figures) == text.count('class="plot"') == 5
    assert len(tables) == text.count("<h3>")
    workers = cc.load_dataset("demo").worker_ids
    assert not any(f">{worker}<" in text for worker in workers)
    settled(page)


def test_all_workers_are_paged_by_keyboard_keep_their_labels_and_a_cell_leads_to_its_tasks(
    page: Page, made: Made
) -> None:
    run, result = made["conal"]
    demo = cc.load_dataset("demo")
    page.set_viewport_size({"width": 390, "height": 900})
    visit(page, f"/confusions?dataset=demo&runs={run}&sort=skilled&view=All+workers")
    for width in (390, 1440):
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
    following = main(page).get_by_role("button", name="Next page")
    following.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("group=2"))
    settled(page)
    expect(following).to_be_focused()
    page.go_back()
    expect(main(page).locator("[aria-current=page], [aria-current=true]")).to_have_text("1")
    settled(page)
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


def test_a_thumbnail_puts_its_worker_above(page: Page, made: Made) -> None:
    visit(page, f"/confusions?dataset=demo&runs={made['conal'][0]}")
    second = page.locator(".st-key-figure-strip .xtick text").nth(1)
    expect(second).to_be_visible()
    name = second.text_content()
    click(page, "strip", cc.load_dataset("demo").n_classes + 3, 2)
    expect(page).to_have_url(re.compile(f"worker={name}"))
    expect(page.locator(".st-key-figure-first-1 .stMarkdown").filter(has_text=name)).to_be_visible()


def test_two_runs_side_by_side_and_back_by_the_address(page: Page, two: str) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    visit(page, f"/confusions?{two}&seed=1&worker={cc.load_dataset('demo').worker_ids[0]}")
    titles = page.locator(".st-key-figure-first-1 .stMarkdown")
    expect(titles.filter(has_text="conal, seed 1")).to_be_visible()
    other = main(page).locator("[class*=st-key-figure-first-] .stMarkdown")
    expect(other.filter(has_text="crowd-layer, seed 1").first).to_be_visible()
    for picker in ("Run", "Compare with"):
        cut = page.get_by_role("combobox", name=picker).evaluate("e => e.scrollWidth - e.clientWidth")
        assert cut <= 0, picker
    main(page).get_by_role("button", name="Seeds, epoch").click()
    choose(page, "Seeds", "Mean of 3 seeds")
    expect(titles.filter(has_text="conal, mean of 3 seeds")).to_be_visible()
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
    names = page.get_by_role("combobox", name="Run", exact=True)

    def shows(run: str, epochs: str) -> bool:
        visit(page, f"/confusions?dataset=demo&runs={run}")
        return epochs in names.input_value()

    until(lambda: shows(ids[1], "Epochs 24") and shows(ids[0], "Epochs 22"))  # the app's list is a second old
    for epochs, seeds in (("24", "Seed 1"), ("22", "Mean of 3 seeds")):
        names.click()
        page.get_by_role("option", name=re.compile(f"Epochs {epochs}")).first.click()
        settled(page)
        main(page).get_by_role("button", name="Seeds, epoch").click()
        slider = page.get_by_role("slider")
        expect(slider).to_have_attribute("aria-valuetext", re.compile("selected"))
        choose(page, "Seeds", seeds)  # any other control
        expect(slider).to_have_attribute("aria-valuetext", re.compile("selected"))
        assert "epoch=" not in page.url
        page.keyboard.press("Escape")
        expect(names).to_have_value(re.compile(f"Epochs {epochs}"))


def test_from_a_bar_of_the_spread_to_a_task(page: Page, made: Made) -> None:
    run, result = made["conal"]
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


def test_hundreds_of_workers_in_a_narrow_window(page: Page, made: Made) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    for address in ("/confusions?", "/omega?view=Workers&"):
        visit(page, f"{address}dataset=many&runs={made['many'][0]}")
        expect(charts(page).first).to_be_visible()
        assert main(page).evaluate("e => e.scrollWidth <= e.clientWidth")
        assert len(charts(page).first.evaluate("e => JSON.stringify(e.data)")) < 400_000
