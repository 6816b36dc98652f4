"""Number of clicks from opening the app to its main results; `test_upload` counts those after a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from crowdcore import load_dataset
from testkit.recorded_runs import record
from testkit.steps import main, settled, visit
from tests.learning.made_up import made_up

METHODS = ("conal", "crowd-layer", "trace", "dl-mv")


@pytest.fixture(scope="module")
def four(app: str, workspace: Path) -> None:
    """Runs of four methods on the demo dataset, none of which any address names."""
    demo = load_dataset("demo")
    for method in METHODS:
        record(workspace, made_up(demo, method))


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("four")
def test_what_people_come_for_is_two_clicks_away_at_most(page: Page, data_folder: Path) -> None:
    first = ".st-key-figure-first-{} .hm"
    for dataset, clicks, seen in (
        ("labelme", (), [".st-key-figure-mistakes .hm", "button:has-text('Actions (CSV)')"]),
        ("labelme", ("Distances",), [".st-key-figure-distance .hm"]),
        ("music", ("Compare",), ["button:has-text('Start 5 runs')"]),
        ("demo", ("Compare", "Confusions"), [first.format(k) for k in range(3)]),
        ("demo", ("Compare", "Noise source ω"), [".st-key-figure-ranking .js-plotly-plot"]),
        ("demo", ("Compare",), [f".st-key-figure-seeds :text-is('{method}')" for method in METHODS]),
    ):
        visit(page, f"/?dataset={dataset}")
        for name in clicks:
            page.get_by_role("link", name=name, exact=True).click()
            settled(page)
        for what in seen:
            expect(main(page).locator(what).first, f"{dataset} {clicks}").to_be_in_viewport()
