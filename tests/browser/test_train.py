"""The page Train on real LabelMe, from the first click to finished runs, through cancels and a killed server.

Runs have fewer seeds and epochs than the papers' so that the tests end in time, and no tab is open that need not be:
drawing what trains takes more of the processor than training.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from crowdcore import runs
from crowdcore.learning.learners import FIRST
from testkit.steps import main, open_page, settled, visit
from tests.browser.conftest import LONG, Lab, keep_estimates, taken, until
from tests.dashboard.test_embedding import photo_archive

EPOCHS = 3
METHODS = ("crowd-layer", "conal")
_RUNS = re.compile(r"runs=([0-9a-f]{32})")
COUNT = "window.clicks = 0; addEventListener('click', event => { if (event.isTrusted) window.clicks++ }, true)"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", autouse=True)
def estimated(workspace: Path, data_folder: Path) -> None:
    """Keep estimates of the runs that start on labelme."""
    for methods, settings in ((FIRST, ""), (FIRST, "seeds=2"), (["dl-em"], "")):
        keep_estimates(workspace, "labelme", methods, settings)


def row(page: Page, run_id: str) -> Locator:
    return main(page).locator(f".st-key-run-{run_id}")


def shown(page: Page) -> list[str]:
    """Ids of the runs in the address."""
    return _RUNS.findall(page.url)


def begin(page: Page, epochs: int) -> list[str]:
    """Fill in the epochs and press Start; return the runs, in the order of the methods."""
    field = page.get_by_role("spinbutton", name="Epochs")
    field.fill(str(epochs))
    field.press("Enter")
    settled(page)
    before = set(shown(page))
    page.get_by_role("button", name=re.compile(r"^Start \d runs?$")).click()
    page.wait_for_url(lambda address: bool(set(_RUNS.findall(address)) - before))
    return [name for name in shown(page) if name not in before]


def test_runs_are_started_watched_cancelled_and_resumed(lab: Lab, page: Page) -> None:
    """Two started together, one of them cancelled and started again; what the page then says is what they came to."""
    visit(page, "/train?dataset=labelme&settings=seeds%3D2" + "".join(f"&methods={method}" for method in METHODS))
    expect(main(page).get_by_text("Nothing has been trained on labelme yet")).to_be_visible()
    started = begin(page, EPOCHS)
    assert [lab.runs()[name].spec.method for name in started] == list(METHODS)
    for name in started:
        expect(row(page, name)).to_be_visible()
    row(page, started[1]).get_by_role("button", name="Cancel").click()
    expect(row(page, started[1]).get_by_text("cancelled")).to_be_visible()
    assert lab.runs()[started[1]].state == "cancelled"
    row(page, started[1]).get_by_role("button", name="Resume").click()
    expect(row(page, started[1]).get_by_role("button", name="Resume")).to_have_count(0)
    address = page.url
    page.goto("about:blank")
    until(lambda: all(lab.runs()[name].state == "finished" for name in started), LONG)
    open_page(page, address)
    expect(main(page).get_by_role("link", name="Compare")).to_have_attribute(
        "href", re.compile("&".join(f"runs={name}" for name in started))
    )
    expect(main(page).locator(".st-key-figure-curves .legendtext")).to_have_count(len(started))
    for name in started:
        run = lab.runs()[name]
        assert run.spec.seeds == (0, 1)
        result = runs.result(run.id, workspace=lab.workspace)
        assert result.method == run.spec.method
        assert run.scores["test_accuracy_selected"] == pytest.approx(result.accuracy("test").mean(), abs=1e-6)
        assert len(runs.curves(run.id, ["test_accuracy"], workspace=lab.workspace)) == EPOCHS
    # What the page says of a finished run is what it came to.
    visit(page, f"/train?dataset=labelme&runs={run.id}")
    mean, std = run.scores["test_accuracy_selected"], run.scores["test_accuracy_selected_std"]
    expect(main(page)).to_contain_text(f"{100 * mean:.1f} ± {100 * std:.1f} % (selected epoch)")
    settled(page)  # an estimate that ends draws the page anew, and the button with it
    content = taken(page, main(page).get_by_role("button", name="Predictions"))[1]
    assert len(content.splitlines()) == 1 + len(runs.predictions(run.id, workspace=lab.workspace))


def test_the_form_starts_what_it_shows_and_its_run_outlives_tab_and_server_until_deleted(lab: Lab, page: Page) -> None:
    visit(page, "/train?dataset=labelme&methods=dl-em")
    expect(main(page).get_by_text("Also: dl-em")).to_be_visible()
    before, start = set(lab.runs()), page.get_by_role("button", name="Start 1 run")
    epochs, seeds = page.get_by_role("spinbutton", name="Epochs"), page.get_by_role("textbox", name="Seeds")
    epochs.fill("0")
    start.click()  # what was typed has not been confirmed
    refusal = main(page).get_by_text("must be at least 1, but got 0")
    expect(refusal).to_be_visible()
    expect(start).to_be_disabled()
    assert set(lab.runs()) == before
    seeds.fill("3, 7")
    seeds.press("Enter")
    settled(page)
    epochs.fill("40000")
    epochs.press("Enter")
    expect(refusal).to_have_count(0)
    settled(page)
    epochs.fill("30000")  # more than it trains before it is cancelled
    start.click()  # nor has this
    until(lambda: bool(set(lab.runs()) - before))
    [new] = set(lab.runs()) - before
    assert lab.runs()[new].spec.settings == {"epochs": 30_000}
    assert lab.runs()[new].spec.seeds == (3, 7)
    expect(row(page, new)).to_be_visible()
    page.wait_for_url(lambda address: "30000" in address)  # what a reload shows
    address = page.url
    page.goto("about:blank")
    until(lambda: (lab.runs()[new].epoch or 0) > 0, LONG)
    lab.kill()
    reached = lab.runs()[new].epoch
    until(lambda: lab.runs()[new].epoch > reached)
    lab.restart()
    open_page(page, address)
    expect(epochs).to_have_value("30000")
    expect(seeds).to_have_value("3,7")
    told = row(page, new).get_by_text(re.compile(r"epoch [\d,]+ of 30,?000"))
    expect(told).not_to_have_text(told.inner_text())  # it goes on, and so does the page
    row(page, new).get_by_role("button", name="Cancel").click()
    expect(row(page, new).get_by_text("The result up to then is saved")).to_be_visible()
    assert lab.runs()[new].state == "cancelled"
    settled(page)
    main(page).get_by_test_id("stPopover").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete 1 run for good").click()
    until(lambda: new not in lab.runs())
    expect(row(page, new)).to_have_count(0)


def test_pictures_are_trained_on_after_five_clicks(lab: Lab, page: Page, tmp_path: Path) -> None:
    """They and their votes, from a file to trained models, whose time and memory a trial tells."""
    archive = {"name": "photos.zip", "mimeType": "application/zip", "buffer": photo_archive(tmp_path / "made", 60)}
    before = set(lab.runs(None))
    visit(page, "/?dataset=demo&view=Open+a+file")
    page.evaluate(COUNT)
    with page.expect_file_chooser() as chooser:
        main(page).get_by_test_id("stFileUploader").locator("button").click()  # 1
    chooser.value.set_files(files=[archive])
    main(page).get_by_role("button", name="Open it").click()  # 2
    expect(main(page).get_by_role("heading", name="photos", exact=True)).to_be_visible()
    settled(page)
    page.get_by_role("link", name="Runs", exact=True).click()  # 3
    main(page).get_by_role("button", name="Prepare 60 images").click()  # 4
    start = main(page).get_by_role("button", name="Start 1 run")
    expect(start).to_be_visible()
    for field, value in (("Seeds", "0,"), ("Epochs", "1")):  # by keyboard: fewer than usual, for a quick test
        page.get_by_label(field, exact=True).first.fill(value)
        page.keyboard.press("Enter")
        settled(page)
    expect(main(page).get_by_text("of memory")).to_be_visible(timeout=1000 * LONG)  # no trial may outlive the app
    start.click()  # 5
    until(lambda: len(lab.runs(None).keys() - before) == 1)
    assert page.evaluate("window.clicks") == 5
    page.goto("about:blank")
    [new] = lab.runs(None).keys() - before
    until(lambda: lab.runs(None)[new].has_ended, LONG)
    assert (lab.runs(None)[new].spec.method, lab.runs(None)[new].state) == ("auto", "finished")
