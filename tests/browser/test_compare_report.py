"""Compare and Report as a user meets them: numbers, tasks behind differences, files to take along, hostile names."""

from __future__ import annotations

import csv
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import crowdcore as cc
from crowdcore.learning.comparison import summary as comparison
from crowdcore.learning.results.result import TrainingResult
from testkit.recorded_runs import record
from testkit.steps import charts, click_cell, main, open_page, settled, visit
from tests.browser.conftest import HOSTILE, harmless, hostile_crowd
from tests.learning.made_up import made_up

METHODS = ("conal", "crowd-layer", "dl-mv")
TABS = ("Accuracy", "Significance", "Selection", "Calibration", "Differences", "Sweeps")


@pytest.fixture(scope="module")
def results() -> dict[str, TrainingResult]:
    demo = cc.load_dataset("demo")
    return {m: made_up(demo, m, sure=2 + k / 2) for k, m in enumerate(METHODS)}


@pytest.fixture(scope="module")
def demo(app: str, workspace: Path, results: dict[str, TrainingResult]) -> str:
    """Address parameters of three runs on the demo dataset."""
    return "dataset=demo" + "".join(f"&runs={record(workspace, r)}" for r in results.values())


@pytest.fixture(scope="module")
def hostile(app: str, workspace: Path) -> str:
    """The same on the hostile crowd, of which every fifth task is for testing."""
    crowd = hostile_crowd()
    ids = [record(workspace, made_up(crowd, m, split=np.arange(crowd.n_tasks) % 5 // 4 * 2), crowd) for m in METHODS]
    return "dataset=hostile" + "".join(f"&runs={run}" for run in ids)


def download(page: Page, button: Locator) -> bytes:
    with page.expect_download() as download:
        button.click()
    return Path(download.value.path()).read_bytes()


def button(page: Page, name: str) -> Locator:
    return main(page).get_by_role("button", name=name, exact=True)


def show_tab(page: Page, name: str) -> None:
    views = main(page).get_by_role("navigation", name="Views")
    if name in ("Selection", "Sweeps", "Calibration", "Recovery"):
        views.get_by_role("button").click()
    page.get_by_role("link", name=name, exact=True).click()
    expect(page).to_have_url(re.compile(f"view={name}"))
    settled(page)


def test_the_table_is_what_the_command_line_says_and_a_difference_leads_to_its_tasks(
    page: Page, demo: str, results: dict[str, TrainingResult]
) -> None:
    visit(page, f"/compare?{demo}")
    content = download(page, main(page).locator(".st-key-csv-accuracy").get_by_role("button"))
    rows = {row["run"]: row for row in csv.DictReader(content.decode().splitlines())}
    assert list(rows) == [f"{m}{kind}" for m in METHODS for kind in ("", ", ensemble")]
    for name, result in results.items():
        expected_row = comparison.row(result)
        assert float(rows[name]["selected %"]) == pytest.approx(100 * expected_row["selected_mean"])
        assert float(rows[name]["best, optimistic ±"]) == pytest.approx(100 * expected_row["best_std"])
        assert float(rows[f"{name}, ensemble"]["last %"]) == pytest.approx(100 * expected_row["ensemble_last"])
    # From a difference to the task and back.
    page.get_by_role("link", name="Differences", exact=True).click()
    expect(page).to_have_url(re.compile("view=Differences"))
    click_cell(page, 1, 2, 4)
    expect(page).to_have_url(re.compile("first=conal&second=crowd-layer"))
    opened = cc.load_dataset("demo")
    one, other = (results[m].probabilities["selected"].mean(0).argmax(1) for m in METHODS[:2])
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
    for tab in reversed(TABS):
        show_tab(page, tab)
        harmless(page)
        assert main(page).evaluate("e => e.scrollWidth <= e.clientWidth"), tab
        chart = main(page).locator("[class*=st-key-figure-]").first
        if tab != "Sweeps":  # nothing varies here but the method
            assert download(page, chart.locator("[data-format=svg]")).startswith(b"<svg")
            assert download(page, chart.get_by_role("button", name="CSV", exact=True)).count(b"\n") > 2
    expect(charts(page).last.get_by_text(HOSTILE[2][:20]).first).to_be_attached()


def test_a_report_needs_no_network_and_runs_nothing_of_others(page: Page, hostile: str, browser: Browser) -> None:
    visit(page, f"/report?{hostile}&names=shown")
    harmless(page)
    content = download(page, button(page, "HTML page")).decode()
    context = browser.new_context(offline=True, viewport={"width": 900, "height": 900})
    context.set_default_timeout(60_000)
    alone = context.new_page()
    errors: list[str] = []
    urls: list[str] = []
    alone.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    alone.on("pageerror", lambda error: errors.append(str(error)))
    alone.on("dialog", lambda dialog: errors.append(dialog.message))
    alone.on("request", lambda request: urls.append(request.url))
    alone.set_content(content)
    expect(alone.locator("body[data-drawn=yes]")).to_be_attached(timeout=60_000)
    drawn = alone.locator(".js-plotly-plot")
    assert drawn.count() == alone.locator(".plot").count() > 8
    assert alone.title() == "hostile: report"
    assert alone.locator("img, [onerror], main a:not([href^='#']), strong").count() == 0
    expect(alone.locator("td", has_text=HOSTILE[1]).first).to_be_attached()
    expect(drawn.get_by_text(HOSTILE[0]).first).to_be_attached()
    assert alone.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert not urls
    assert not errors
    alone.evaluate("() => document.body.append(Object.assign(document.createElement('script'), {text: 'ran = 1'}))")
    assert alone.evaluate("() => window.ran") is None
    context.close()


def test_the_folder_hides_names_and_draws_every_figure(page: Page, demo: str) -> None:
    open_page(page, f"/report?{demo}&parts=accuracy&parts=annotators")  # in a session that has shown no names
    expect(main(page).get_by_text(re.compile("--part accuracy --part annotators"))).to_be_visible()
    main(page).get_by_text("Contents", exact=True).click()
    expect(main(page).get_by_text("How good each worker is")).to_be_visible()
    heard = main(page).get_by_role("status").filter(has_text=re.compile("folder"))
    heard.evaluate("region => { region.theSame = true }")
    with page.expect_download() as download:
        button(page, "Folder (ZIP)").click()
        expect(main(page).get_by_role("progressbar")).to_be_visible()
        expect(main(page).get_by_text(re.compile("^Drawing .+ left$"))).to_be_visible()
    expect(heard).to_have_text("The folder was made.")
    assert heard.evaluate("region => region.theSame")  # there before its words came, or nobody would hear them
    expect(main(page).get_by_role("progressbar")).to_have_count(0)
    with zipfile.ZipFile(download.value.path()) as archive:
        names = archive.namelist()
        text = archive.read("report.html").decode()
    tables = [name for name in names if name.endswith(".csv")]
    figures = [name for name in names if name.endswith(".svg")]
    assert len(figures) == text.count('class="plot"') == 5
    assert len(tables) == text.count("<h3>")
    workers = cc.load_dataset("demo").worker_ids
    assert not any(f">{worker}<" in text for worker in workers)
    settled(page)
