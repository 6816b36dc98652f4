"""Crowds that tag tokens and crowds of numbers walk through the same pages: data, training, runs, compare, report."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from crowdcore.data import simulate
from crowdcore.data.catalogue import open_labels
from crowdcore.data.writers import write_folder
from crowdcore.learning.learners import suggested_methods
from testkit.steps import main, open_page, settled, visit
from tests.browser.conftest import keep_estimates, row
from tests.browser.lab import LONG, Lab, until
from tests.rated_crowd import rated_folder

METHODS = {"tagged": ("dl-mv", "crowd-layer"), "rated": ("dl-mean", "crowd-layer")}
SETTINGS = "epochs=2 seeds=2 device=cpu"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", autouse=True)
def estimated(crowds: Path, workspace: Path) -> None:
    """The app finds both crowds, and knows what the runs on them will take."""
    tagged = simulate.tags(n_sentences=60, n_valid=10, n_test=20, n_workers=5, length=6, seed=1)
    write_folder(tagged, crowds / "tagged")
    rated_folder(crowds / "rated")
    for dataset, methods in METHODS.items():
        keep_estimates(workspace, dataset, methods, SETTINGS)
        keep_estimates(workspace, dataset, suggested_methods(open_labels(dataset)))  # on Runs


def trained(lab: Lab, page: Page, dataset: str, told: str) -> list[str]:
    """Start runs with two seeds and two epochs, wait until they have finished, and see what each came to."""
    methods = METHODS[dataset]
    text = "".join(f"&methods={method}" for method in methods) + f"&settings={quote(SETTINGS)}"
    visit(page, f"/train?dataset={dataset}{text}")
    page.get_by_role("button", name=f"Start {len(methods)} runs").click()
    until(lambda: len(lab.runs(dataset)) == len(methods))
    page.goto("about:blank")  # drawing what trains takes longer than training
    until(lambda: {run.state for run in lab.runs(dataset).values()} == {"finished"}, LONG)
    ids = {run.spec.method: name for name, run in lab.runs(dataset).items()}
    for run in ids.values():
        visit(page, f"/train?dataset={dataset}{text}&runs={run}")  # without, it would try its own suggestion
        expect(main(page).get_by_text(re.compile(f"{told}: .*selected")).first).to_be_visible()
    return [ids[method] for method in methods]


def seen(page: Page, address: str, text: str | re.Pattern[str], go: Callable[[Page, str], None] = visit) -> None:
    """A page of this address says this, and no error."""
    go(page, address)
    expect(main(page).get_by_text(text).first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(main(page).locator("[data-testid=stAlertContentError]")).to_have_count(0)


def test_sentences_from_data_to_report(lab: Lab, page: Page) -> None:
    seen(page, "/?dataset=tagged&view=Numbers", "Agreement between workers")
    expect(page.get_by_text("60 sentences")).to_be_visible()
    seen(page, "/overview?dataset=tagged", "Guideline to fix")
    seen(page, "/spans?dataset=tagged", "Boundary errors")
    ids = trained(lab, page, "tagged", "test span F1")
    chosen = "".join(f"&runs={run}" for run in ids)
    seen(page, "/train?datasets=tagged", "Runs")
    seen(page, f"/compare?dataset=tagged{chosen}", "Spans of the test split")
    seen(page, f"/confusions?dataset=tagged&runs={ids[1]}", "Compare")
    seen(page, f"/report?dataset=tagged{chosen}", "The same on the command line:")
    page.get_by_text("Contents").click()
    expect(main(page).get_by_text("Spans of the test split")).to_be_visible()


def walk_to_a_rating(page: Page) -> None:
    """From Ratings to its tasks, to one of them, to the next, and to all that one of its workers said."""
    page.get_by_role("link", name="Items", exact=True).click()
    expect(main(page).get_by_role("heading", name="Items", exact=True)).to_be_visible()
    settled(page)
    row(page)
    expect(main(page).get_by_role("heading", name=re.compile(r"^t\d+$"))).to_be_visible()
    first = page.url
    settled(page)
    expect(main(page).get_by_text("surprising rating first")).to_have_count(0)
    expect(main(page).locator("[data-testid=stAlertContentError]")).to_have_count(0)
    main(page).get_by_role("link", name="Next task").click()
    expect(main(page).get_by_role("link", name="Previous task")).to_be_visible()
    expect(page).not_to_have_url(first)
    settled(page)
    row(page)
    expect(page).to_have_url(re.compile(r"/tasks\?.*worker=w\d"))
    expect(main(page).get_by_role("heading", name="Items", exact=True)).to_be_visible()
    expect(main(page).get_by_role("combobox", name="Rated by")).to_have_value(re.compile(r"w\d"))
    settled(page)


def test_ratings_from_data_to_report(lab: Lab, page: Page) -> None:
    seen(page, "/?dataset=rated", "Open a file")
    expect(page.get_by_text("480 ratings from -2 to 3")).to_be_visible()
    seen(page, "/shared-mistakes?dataset=rated", re.compile("rated.* are numbers"))
    seen(page, "/data?dataset=rated", "Open a file", open_page)  # leads to the page's address
    seen(page, "/next-labels?dataset=rated", re.compile("another kind"), open_page)  # as a page's title does
    seen(page, "/ratings?dataset=rated", "Workers")
    settled(page)
    walk_to_a_rating(page)
    ids = trained(lab, page, "rated", "test RMSE")
    chosen = "".join(f"&runs={run}" for run in ids)
    seen(page, "/train?datasets=rated", "Runs")
    seen(page, f"/compare?dataset=rated{chosen}", "Difference in RMSE")
    seen(page, f"/compare?dataset=rated&view=Biases{chosen}", re.compile("learns no biases"))
    seen(page, f"/confusions?dataset=rated&runs={ids[1]}", re.compile("numbers from .* another kind"))
    seen(page, f"/report?dataset=rated{chosen}", "The same on the command line:")
    page.get_by_text("Contents").click()
    expect(main(page).get_by_text("Learnt biases")).to_be_visible()
