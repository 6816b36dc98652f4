"""Crowds that tag tokens and crowds of numbers walk through the same pages: data, training, runs, compare, report."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from crowdcore import runs
from crowdcore.data import simulate
from crowdcore.data.catalogue import open_labels
from crowdcore.data.writers import write_folder
from crowdcore.learning.learners import suggested_methods
from crowdcore.runs import Workspace
from testkit.steps import main, open_page, settled, stand_still, visit
from tests.browser.conftest import keep_estimates
from tests.browser.lab import LONG, Lab, opened, until
from tests.rated_crowd import rated_folder

METHODS = {"tagged": ("dl-mv", "crowd-layer"), "rated": ("dl-mean", "crowd-layer")}
SETTINGS = "epochs=2 seeds=2 device=cpu"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """An app that knows both crowds, and what the runs on them will take."""
    folder = tmp_path_factory.mktemp("crowds")
    tagged = simulate.tags(n_sentences=60, n_valid=10, n_test=20, n_workers=5, length=6, seed=1)
    write_folder(tagged, folder / "tagged")
    rated_folder(folder / "rated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROWDCORE_DATA", str(folder))
        workspace = Workspace.open(tmp_path_factory.mktemp("lab"))
        for dataset, methods in METHODS.items():
            keep_estimates(workspace, dataset, methods, SETTINGS)
            keep_estimates(workspace, dataset, suggested_methods(open_labels(dataset)))  # on Runs
        with Lab.running(workspace) as made:
            yield made


@pytest.fixture(scope="module")
def tab(lab: Lab, browser: Browser) -> Iterator[Page]:
    with opened(browser, lab) as page:
        yield page


def picture(page: Page, name: str) -> None:
    """Keep what the page looks like, where somebody wants to see it."""
    if folder := os.environ.get("CROWDCORE_PICTURES"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def trained(lab: Lab, page: Page, dataset: str, told: str) -> None:
    """Start runs with two seeds and two epochs, wait until they have finished, and see what each came to."""
    methods = METHODS[dataset]
    asked = "".join(f"&methods={method}" for method in methods) + f"&settings={quote(SETTINGS)}"
    visit(page, f"/train?dataset={dataset}{asked}")
    picture(page, f"{dataset}-train")
    page.get_by_role("button", name=f"Start {len(methods)} runs").click()
    until(lambda: [run.state for run in lab.runs(dataset).values()] == ["finished"] * len(methods), page, LONG)
    for run in lab.runs(dataset):
        visit(page, f"/train?dataset={dataset}{asked}&runs={run}")  # without, it would try its own suggestion
        expect(main(page).get_by_text(re.compile(f"{told}: .*selected")).first).to_be_visible()
    settled(page)
    picture(page, f"{dataset}-trained")


def seen(page: Page, address: str, text: str | re.Pattern[str], go: Callable[[Page, str], None] = visit) -> None:
    """A page of this address says this, and no error."""
    (go if page.url.startswith("http") else open_page)(page, address)
    expect(main(page).get_by_text(text).first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(main(page).locator("[data-testid=stAlertContentError]")).to_have_count(0)
    picture(page, re.sub(r"\W+", "-", address.partition("&")[0]).strip("-"))


def test_sentences_from_data_to_report(lab: Lab, tab: Page) -> None:
    seen(tab, "/?dataset=tagged&view=Numbers", "Agreement between workers")
    expect(tab.get_by_text("60 sentences")).to_be_visible()
    seen(tab, "/overview?dataset=tagged", "Guideline to fix")
    seen(tab, "/spans?dataset=tagged", "Boundary errors")
    trained(lab, tab, "tagged", "test span F1")
    ids = {run.spec.method: run.id for run in runs.list_runs("tagged", workspace=lab.workspace)}
    chosen = "".join(f"&runs={run}" for run in ids.values())
    seen(tab, "/runs?datasets=tagged", "Runs")
    seen(tab, f"/compare?dataset=tagged{chosen}", "Spans of the test split")
    seen(tab, f"/confusions?dataset=tagged&runs={ids['crowd-layer']}", "Compare")
    seen(tab, f"/report?dataset=tagged{chosen}", "The same on the command line:")
    tab.get_by_text("Contents").click()
    expect(main(tab).get_by_text("Spans of the test split")).to_be_visible()


def walk_to_a_rating(page: Page) -> None:
    """From Ratings to its tasks, to one of them, to the next, and to all that one of its workers said."""
    page.get_by_role("link", name="Items", exact=True).click()
    expect(main(page).get_by_role("heading", name="Items", exact=True)).to_be_visible()
    settled(page)
    row(page, 0)
    expect(main(page).get_by_role("heading", name=re.compile(r"^t\d+$"))).to_be_visible()
    first = page.url
    settled(page)
    expect(main(page).get_by_text("surprising rating first")).to_have_count(0)
    expect(main(page).locator("[data-testid=stAlertContentError]")).to_have_count(0)
    picture(page, "rated-task")
    main(page).get_by_role("link", name="Next task").click()
    expect(main(page).get_by_role("link", name="Previous task")).to_be_visible()
    expect(page).not_to_have_url(first)
    settled(page)
    row(page, 0)
    expect(page).to_have_url(re.compile(r"/tasks\?.*worker=w\d"))
    expect(main(page).get_by_role("heading", name="Items", exact=True)).to_be_visible()
    expect(main(page).get_by_role("combobox", name="Rated by")).to_have_value(re.compile(r"w\d"))
    settled(page)


def row(page: Page, number: int) -> None:
    """Click a row of the page's first table."""
    canvas = main(page).locator("canvas").first
    stand_still(canvas)
    canvas.click(position={"x": 12, "y": 52 + 33 * number}, force=True)  # a scroll area lies above it


def test_ratings_from_data_to_report(lab: Lab, tab: Page) -> None:
    seen(tab, "/?dataset=rated", "Open a file")
    expect(tab.get_by_text("480 ratings from -2 to 3")).to_be_visible()
    seen(tab, "/shared-mistakes?dataset=rated", re.compile("rated.* are numbers"))
    seen(tab, "/data?dataset=rated", "Open a file", open_page)  # leads to the page's address
    seen(tab, "/next-labels?dataset=rated", re.compile("about classes"), open_page)  # as a page's title does
    seen(tab, "/ratings?dataset=rated", "Workers")
    settled(tab)
    picture(tab, "rated-ratings")
    walk_to_a_rating(tab)
    trained(lab, tab, "rated", "test RMSE")
    ids = {run.spec.method: run.id for run in runs.list_runs("rated", workspace=lab.workspace)}
    chosen = "".join(f"&runs={run}" for run in ids.values())
    seen(tab, "/runs?datasets=rated", "Runs")
    seen(tab, f"/compare?dataset=rated{chosen}", "Difference in RMSE")
    seen(tab, f"/compare?dataset=rated&view=Biases{chosen}", re.compile("learns no biases"))
    picture(tab, "rated-biases")
    seen(tab, f"/confusions?dataset=rated&runs={ids['crowd-layer']}", re.compile("this page is about classes"))
    seen(tab, f"/report?dataset=rated{chosen}", "The same on the command line:")
    tab.get_by_text("Contents").click()
    expect(main(tab).get_by_text("Learnt biases")).to_be_visible()
