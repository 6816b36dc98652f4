"""The page Train on real LabelMe, from the first click to finished runs, through reloads, cancels and a killed server.

Runs have fewer epochs than the papers' so that the tests end in time.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from crowdcore import runs
from crowdcore.learning.learners import FIRST
from crowdcore.runs import Run, Workspace
from testkit.steps import main, open_page, settled
from tests.browser.conftest import keep_estimates
from tests.browser.lab import LONG, SOON, Lab, opened, until
from tests.dashboard.test_embedding import photo_archive

EPOCHS, MANY = 6, 400
METHODS = ("crowd-layer", "trace", "conal")
COUNT = "window.clicks = 0; addEventListener('click', event => { if (event.isTrusted) window.clicks++ }, true)"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, data_folder: Path) -> Iterator[Lab]:
    """The estimates of what starts on labelme are there."""
    workspace = Workspace.open(tmp_path_factory.mktemp("lab"))
    for methods, settings in ((FIRST, ""), (["dl-em"], ""), (["dl-em"], "seeds=2")):
        keep_estimates(workspace, "labelme", methods, settings)
    with Lab.running(workspace) as made:
        yield made


def row(page: Page, run_id: str) -> Locator:
    return main(page).locator(f".st-key-run-{run_id}")


def shown(page: Page) -> list[str]:
    """Ids of the runs in the address."""
    return re.findall(r"runs=([0-9a-f]{32})", page.url)


def begin(page: Page, epochs: int) -> list[str]:
    """Fill in the epochs and press Start; returns the runs, in the order of the methods."""
    field = page.get_by_role("spinbutton", name="Epochs")
    field.fill(str(epochs))
    field.press("Enter")
    settled(page)
    before = set(shown(page))
    page.get_by_role("button", name=re.compile(r"^Start \d runs?$")).click()
    until(lambda: bool(set(shown(page)) - before), page)
    return [name for name in shown(page) if name not in before]


@pytest.fixture(scope="module", autouse=True)  # the first of all, whatever the order of the tests
def finished(lab: Lab, browser: Browser) -> dict[str, Run]:
    """Method -> finished run: all three started together, the tab reloaded, one cancelled and started again."""
    with opened(browser, lab) as page:
        open_page(page, "/train?dataset=labelme" + "".join(f"&methods={method}" for method in METHODS))
        expect(main(page).get_by_text("Nothing has been trained on labelme yet")).to_be_visible()
        started = begin(page, EPOCHS)
        assert [lab.runs()[name].spec.method for name in started] == list(METHODS)
        for name in started:
            expect(row(page, name)).to_be_visible()
        expect(main(page).get_by_text(re.compile(r"epoch \d+ of \d+")).first).to_be_visible(timeout=LONG)
        page.reload()
        for name in started:
            expect(row(page, name)).to_be_visible()
        assert shown(page) == started
        row(page, started[2]).get_by_role("button", name="Cancel").click()
        expect(row(page, started[2]).get_by_text("cancelled")).to_be_visible()
        assert lab.runs()[started[2]].state == "cancelled"
        row(page, started[2]).get_by_role("button", name="Resume").click()
        expect(row(page, started[2]).get_by_role("button", name="Resume")).to_have_count(0)
        until(lambda: all(lab.runs()[name].state == "finished" for name in started), page, LONG)
        expect(main(page).get_by_role("link", name="Compare")).to_have_attribute(
            "href", re.compile("&".join(f"runs={name}" for name in started))
        )
        expect(main(page).locator(".st-key-figure-curves .legendtext")).to_have_count(3)
        return {run.spec.method: run for name, run in lab.runs().items() if name in started}


def test_three_methods_with_six_seeds_from_the_page(lab: Lab, finished: dict[str, Run]) -> None:
    assert finished.keys() == set(METHODS)
    for method, run in finished.items():
        assert run.state == "finished"
        assert run.spec.seeds == (0, 1, 2, 3, 4, 5)
        result = runs.result(run.id, workspace=lab.workspace)
        assert result.method == method
        assert run.scores["test_accuracy_selected"] == pytest.approx(result.accuracy("test").mean(), abs=1e-6)
        assert len(runs.curves(run.id, ["test_accuracy"], workspace=lab.workspace)) == EPOCHS


def test_what_the_page_says_of_a_finished_run_is_what_it_came_to(
    lab: Lab, finished: dict[str, Run], browser: Browser
) -> None:
    with opened(browser, lab) as page:
        run = finished["conal"]
        open_page(page, f"/train?dataset=labelme&runs={run.id}")
        mean, std = run.scores["test_accuracy_selected"], run.scores["test_accuracy_selected_std"]
        expect(main(page)).to_contain_text(f"{100 * mean:.1f} ± {100 * std:.1f} % (selected epoch)")
        settled(page)  # an estimate that ends draws the page anew, and the button with it
        with page.expect_download() as download:
            main(page).get_by_role("button", name="Predictions").click()
        lines = Path(download.value.path()).read_text().splitlines()
        assert len(lines) == 1 + len(runs.predictions(run.id, workspace=lab.workspace))


def test_compare_confusions_and_omega_say_what_the_command_line_says(
    lab: Lab, finished: dict[str, Run], browser: Browser
) -> None:
    methods = [word for method in METHODS for word in ("--method", method)]
    command = [sys.executable, "-m", "crowdcore", "compare", "labelme", *methods, "--seeds", "6", "--epochs", EPOCHS]
    command = [*map(str, command), "--device", "cpu", "--json"]
    done = subprocess.run(command, check=True, capture_output=True)
    said = {row["method"]: row for row in json.loads(done.stdout)["learning"]}
    with opened(browser, lab) as page:
        open_page(page, "/compare?dataset=labelme" + "".join(f"&runs={finished[m].id}" for m in METHODS))
        rows = {row["run"]: row for row in table(page, "csv-accuracy")}
        for method, row in said.items():
            for head, at in (("selected", "selected"), ("last", "last"), ("best, optimistic", "best")):
                assert float(rows[method][f"{head} %"]) == pytest.approx(100 * row[f"{at}_mean"], abs=1e-4)
                assert float(rows[method][f"{head} ±"]) == pytest.approx(100 * row[f"{at}_std"], abs=1e-4)
        for method in METHODS:
            open_page(page, f"/confusions?dataset=labelme&view=Workers&runs={finished[method].id}")
            skill = {row["worker"]: float(row["skill"]) for row in table(page, "csv-workers")}
            assert skill == pytest.approx(said[method]["recovered"]["worker_skill"], abs=1e-5)
        open_page(page, f"/confusions?dataset=labelme&runs={finished['conal'].id}")
        cells = [float(row["share"]) for row in table(page, "data-first-0")]
        common = said["conal"]["recovered"]["common_confusion"]
        assert cells == pytest.approx([cell for line in common for cell in line], abs=1e-5)
        open_page(page, f"/omega?dataset=labelme&view=Tasks&runs={finished['conal'].id}")
        for shown_row, row in zip(table(page, "data-halves"), said["conal"]["recovered"]["omega"], strict=True):
            assert shown_row["class"] == row["class"]
            assert [float(shown_row[half]) for half in ("top", "bottom")] == [row["top"], row["bottom"]]
            assert float(shown_row["omega"]) == pytest.approx(row["omega"], abs=1e-5)


def table(page: Page, key: str) -> list[dict[str, str]]:
    """The rows of a CSV that a button of the page gives."""
    with page.expect_download() as download:
        button = main(page).locator(f".st-key-{key} button").first
        button.evaluate("button => button.click()")  # that of a figure is hidden: the figure's toolbar presses it
    return list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))


def test_runs_outlive_the_tab_and_the_server(lab: Lab, browser: Browser) -> None:
    with opened(browser, lab) as page:
        open_page(page, "/train?dataset=labelme&methods=trace&methods=conal")
        first, second = begin(page, MANY)
        expect(row(page, first).get_by_text(re.compile(r"epoch \d+ of 400"))).to_be_visible(timeout=LONG)
        address = page.url
    with opened(browser, lab) as elsewhere:
        elsewhere.goto(address)
        expect(row(elsewhere, first).get_by_text(re.compile(r"epoch \d+ of 400"))).to_be_visible(timeout=LONG)
        lab.kill()
        before = lab.runs()[first].epoch
        until(lambda: lab.runs()[first].epoch > before, elsewhere)
        lab.restart()
        elsewhere.goto(address)
        expect(row(elsewhere, first).get_by_text(re.compile(r"epoch \d+ of 400"))).to_be_visible(timeout=LONG)
        expect(row(elsewhere, second)).to_be_visible()
        row(elsewhere, second).get_by_role("button", name="Cancel").click()
        expect(row(elsewhere, second).get_by_text("cancelled")).to_be_visible()
        row(elsewhere, first).get_by_role("button", name="Cancel").click()
        expect(row(elsewhere, first).get_by_text("The result up to then is saved")).to_be_visible()
    for name in (first, second):
        assert lab.runs()[name].state == "cancelled"


def test_the_form_starts_what_it_shows_and_keeps_it(lab: Lab, browser: Browser) -> None:
    with opened(browser, lab) as page:
        open_page(page, "/train?dataset=labelme&methods=dl-em")
        expect(main(page).get_by_text("Also: dl-em · Expectation-maximisation (AggNet)")).to_be_visible()
        before, start = set(lab.runs()), page.get_by_role("button", name="Start 1 run")
        epochs, seeds = page.get_by_role("spinbutton", name="Epochs"), page.get_by_role("textbox", name="Seeds")
        epochs.fill("0")
        start.click()  # what was typed has not been confirmed
        expect(main(page).get_by_text("must be at least 1, but got 0")).to_be_visible()
        expect(start).to_be_disabled()
        assert set(lab.runs()) == before
        seeds.fill("3, 7")
        seeds.press("Enter")
        settled(page)
        epochs.fill("40000")
        epochs.press("Enter")
        expect(main(page).get_by_text("must be at least 1, but got 0")).to_have_count(0)
        settled(page)
        epochs.fill("30000")  # more than it trains before it is cancelled
        start.click()  # nor has this
        until(lambda: bool(set(lab.runs()) - before), page)
        [new] = set(lab.runs()) - before
        assert lab.runs()[new].spec.settings == {"epochs": 30_000}
        assert lab.runs()[new].spec.seeds == (3, 7)
        expect(row(page, new)).to_be_visible()
        page.wait_for_url(lambda address: "30000" in address)  # what a reload shows
        page.reload()
        expect(epochs).to_have_value("30000")
        expect(seeds).to_have_value("3,7")
        row(page, new).get_by_role("button", name="Cancel").click()
        expect(row(page, new).get_by_text("cancelled")).to_be_visible()


def test_a_run_is_deleted_once_confirmed(lab: Lab, browser: Browser) -> None:
    done = [run for run in lab.runs().values() if run.state == "cancelled"]
    with opened(browser, lab) as page:
        open_page(page, f"/train?dataset=labelme&runs={done[0].id}")
        main(page).get_by_test_id("stPopover").get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Delete 1 run for good").click()
        until(lambda: done[0].id not in lab.runs(), page)
        expect(row(page, done[0].id)).to_have_count(0)


def test_pictures_are_trained_on_after_five_clicks(lab: Lab, browser: Browser, tmp_path: Path) -> None:
    """They and their votes, from a file to trained models, whose time and memory a trial tells."""
    archive = {"name": "photos.zip", "mimeType": "application/zip", "buffer": photo_archive(tmp_path / "made", 60)}
    before = set(lab.runs(None))
    with opened(browser, lab, COUNT) as page:
        open_page(page, "/?dataset=demo&view=Open+a+file")
        with page.expect_file_chooser() as chooser:
            main(page).get_by_test_id("stFileUploader").locator("button").click()  # 1
        chooser.value.set_files(files=[archive])
        main(page).get_by_role("button", name="Open it").click()  # 2
        expect(main(page).get_by_role("heading", name="photos", exact=True)).to_be_visible(timeout=SOON)
        settled(page)
        page.get_by_role("link", name="Runs", exact=True).click()  # 3
        main(page).get_by_role("button", name="Prepare 60 images").click()  # 4
        start = main(page).get_by_role("button", name="Start 1 run")
        expect(start).to_be_visible(timeout=SOON)
        for field, value in (("Seeds", "0,"), ("Epochs", "1")):  # by keyboard: fewer than usual, for a quick test
            page.get_by_label(field, exact=True).first.fill(value)
            page.keyboard.press("Enter")
            settled(page)
        expect(main(page).get_by_text("of memory")).to_be_visible(timeout=LONG)  # no trial may outlive the app
        start.click()  # 5
        until(
            lambda: [run.has_ended for name, run in lab.runs(None).items() if name not in before] == [True], page, LONG
        )
        assert page.evaluate("window.clicks") == 5
    [run] = [run for name, run in lab.runs(None).items() if name not in before]
    assert run.spec.method == "auto" and run.state == "finished"
