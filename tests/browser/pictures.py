"""`make pictures`: the README's pictures of the app, into .github/pictures/.

``python -m tests.browser.pictures FOLDER`` takes pictures of every page, light and dark, at three widths. The pages of
runs show three methods that are trained first, with five seeds each.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect, sync_playwright

from crowdcore.data import load_dataset
from crowdcore.learning import train
from testkit.app_server import ROOT, launch, serving
from testkit.recorded_runs import record
from testkit.steps import main as main_area, open_page, small

FOLDER = ROOT / ".github" / "pictures"
README = ("shared-mistakes", "ranking", "confusions", "compare")
SCHEMES, WIDTHS = ("light", "dark"), (1440, 900, 390)
HEIGHT = 900
PAGES = {
    "overview": "/overview?dataset={}",
    "numbers": "/?dataset={}&view=Numbers",
    "shared-mistakes": "/shared-mistakes?dataset={}&reference=gold",
    "distances": "/annotators?dataset={}&view=Distances",
    "ranking": "/annotators?dataset={}&view=Ranking",
    "one-worker": "/annotators?dataset={}&view=One+worker",
    "together": "/annotators?dataset={}&view=Together",
    "check": "/check?dataset={}",
    "aggregate": "/aggregate?dataset={}&methods=majority-vote&methods=dawid-skene&methods=conal-em",
    "tasks": "/tasks?dataset={}&show=misled",
    "runs": "/train?dataset={}&{all}",
    "compare": "/compare?dataset={}&{all}",
    "confusions": "/confusions?dataset={}&{conal}",
    "omega": "/omega?dataset={}&{conal}",
    "report": "/report?dataset={}&{all}",
}
METHODS = ("crowd-layer", "trace", "conal")


def picture(page: Page, address: str) -> bytes:
    open_page(page, address)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    for chart in main_area(page).get_by_test_id("stPlotlyChart").all():
        expect(chart.locator(".main-svg").first).to_be_attached()
    page.wait_for_timeout(1500)  # fonts and tables settle a moment after the charts
    return small(page.screenshot())


def main(target: str = "", dataset: str = "demo") -> None:
    """Take the README's pictures, or those of all pages into the folder ``target``."""
    to, pages = (Path(target), tuple(PAGES)) if target else (FOLDER, README)
    looks = list(product(SCHEMES, WIDTHS)) if target else [(SCHEMES[0], WIDTHS[0])]
    to.mkdir(parents=True, exist_ok=True)
    crowd = load_dataset(dataset)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, ExitStack() as stack:
        runs = [record(folder, train(crowd, method, seeds=5)) for method in METHODS]
        shown = {"all": urlencode({"runs": runs}, doseq=True), "conal": urlencode({"runs": runs[-1]})}
        server = stack.enter_context(serving(environment={"CROWDCORE_WORKSPACE": folder}))
        browser = launch(playwright)
        for scheme, width in looks:
            viewport = {"width": width, "height": HEIGHT}
            context = browser.new_context(viewport=viewport, color_scheme=scheme, base_url=server)
            page = context.new_page()
            for name in pages:
                file = to / f"{name}-{scheme}-{width}.png"
                file.write_bytes(picture(page, PAGES[name].format(dataset, **shown)))
                print(f"{file.name}: {file.stat().st_size / 1000:.0f} KB")
            context.close()
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
