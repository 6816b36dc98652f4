"""axe-core over every page, light and dark, at three widths: nothing that Streamlit alone does not have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page, expect

import crowdcore as cc
from testkit.app_server import serving
from testkit.recorded_runs import invented, record
from testkit.steps import main, open_page, settled

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
WIDTHS = (1440, 900, 390)
PAGES = {
    "overview": "/overview?",
    "reproduction": "/reproduction?",
    "data": "/?",
    "shared mistakes": "/shared-mistakes?",
    "annotators": "/annotators?",
    "ranking": "/annotators?view=Ranking&",
    "rounds": "/rounds?",
    "check": "/check?",
    "aggregate": "/aggregate?methods=majority-vote&",
    "tasks": "/tasks?",
    "train": "/train?",
    "runs": "/runs?",
    "compare": "/compare?",
    "confusions": "/confusions?view=Workers&",
    "omega": "/omega?view=Workers&",
    "sandbox": "/sandbox?",
    "report": "/report?",
}
# Not inside drawings, the colours of whose text are tested in tests/figures, nor tables, which are Streamlit's own.
RUN = """rules => axe.run(
    {exclude: ['.plot-container', 'canvas']},
    {resultTypes: ['violations'], preload: false, iframes: false, ...rules})"""
ALL, COLOURS = {}, {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
SHAPES = {"rules": {"color-contrast": {"enabled": False}}}  # a width between two others brings no new colours
LOOKS = {"light": dict(zip(WIDTHS, (ALL, SHAPES, ALL), strict=True)), "dark": dict.fromkeys(WIDTHS[::2], COLOURS)}
"""Theme -> width -> rules: the other theme brings other colours, and nothing else."""
SCHEME = "scheme => getComputedStyle(document.querySelector('.stApp')).colorScheme === scheme"


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for all pages."""
    page = browser.new_page(reduced_motion="reduce")
    yield page
    page.close()


@pytest.fixture(scope="module")
def plain(tab: Page) -> set[str]:
    """What axe-core finds on a page of Streamlit's own; low contrast is nothing that we allow."""
    with serving(Path(__file__).with_name("plain_app.py")) as address:
        return {rule for rule, _ in found(tab, address)} - {"color-contrast"}


@pytest.fixture(scope="module")
def runs(app: str, workspace: Path) -> str:
    """Address parameters of two runs on the demo dataset."""
    demo = cc.load_dataset("demo")
    return "dataset=demo" + "".join(f"&runs={record(workspace, invented(demo, m))}" for m in ("conal", "crowd-layer"))


def found(page: Page, address: str) -> set[tuple[str, str]]:
    """Rule and place of every violation, of both themes and at all widths."""
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    open_page(page, address)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.evaluate(AXE)
    violations = set()
    for scheme, widths in LOOKS.items():
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_function(SCHEME, arg=scheme, polling=50)
        page.wait_for_timeout(150)  # colours fade from one theme to the other
        for width, rules in widths.items():
            page.set_viewport_size({"width": width, "height": 900})
            settled(page)
            for violation in page.evaluate(RUN, rules)["violations"]:
                for node in violation["nodes"]:
                    violations.add((violation["id"], f"{scheme}, {width} px: {node['html'][:200]}"))
    return violations


@pytest.mark.parametrize("view", PAGES)
def test_axe_finds_nothing_that_streamlit_alone_does_not_have(
    app: str, tab: Page, plain: set[str], runs: str, view: str
) -> None:
    faults = {(rule, place) for rule, place in found(tab, f"{app}{PAGES[view]}{runs}") if rule not in plain}
    assert faults == set()
    assert main(tab).evaluate("e => e.scrollWidth <= e.clientWidth")


def test_axe_sees_a_fault(tab: Page, plain: set[str]) -> None:
    tab.set_content("<html lang=en><title>t</title><main><h1>h</h1><img src=x><p style='color:#ccc'>pale")
    tab.evaluate(AXE)
    rules = {violation["id"] for violation in tab.evaluate(RUN, ALL)["violations"]}
    assert {"image-alt", "color-contrast"} <= rules - plain
