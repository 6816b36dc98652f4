"""axe-core over every page, light and dark, wide and narrow; no page is wider than its window, and Tab leads on."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import axe_playwright_python
import pytest
from playwright.sync_api import BrowserContext, Page

from testkit.steps import charts, main, settled, visit
from tests.browser.conftest import soon

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
PAGES = {
    "overview": "/overview?",
    "reproduction": "/reproduction?",
    "numbers": "/?view=Numbers&",
    "shared mistakes": "/shared-mistakes?",
    "annotators": "/annotators?view=Distances&",
    "ranking": "/annotators?view=Ranking&",
    "rounds": "/rounds?",
    "check": "/check?",
    "aggregate": "/aggregate?methods=majority-vote&",
    "tasks": "/tasks?",
    "train": "/train?",
    "compare": "/compare?",
    "confusions": "/confusions?",
    "omega": "/omega?",
    "sandbox": "/sandbox?",
    "report": "/report?",
}
OTHERS = (
    "/annotators?view=One+worker&",
    *(f"/compare?view={view}&" for view in ("Significance", "Differences", "Calibration", "Selection", "Sweeps")),
    *("/tasks?task=digit-0001&", "/review?", "/next?", "/glossary?", "/?view=Open+a+file&"),
)
"""Pages that are made of the same parts: how soon their first figure comes is all that is looked at."""
# Not inside drawings, the colours of whose text are tested in tests/figures, nor tables, which are Streamlit's own.
RUN = """rules => axe.run(
    {exclude: ['.plot-container', 'canvas']},
    {resultTypes: ['violations'], preload: false, iframes: false, ...rules})"""
ALL, COLOURS = {}, {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
SCROLLED = {"runOnly": {"type": "rule", "values": ["scrollable-region-focusable"]}}
LOOKS: dict[int, dict[Literal["dark", "light"], dict[str, object]]] = {
    1440: {"dark": COLOURS, "light": ALL},
    900: {},
    390: {"light": SCROLLED},
}
"""Width -> theme -> rules: another theme brings other colours, a narrow window what scrolls, and nothing else."""
DARK = {"overview", "shared mistakes", "aggregate", "check", "train", "compare", "confusions"}  # of every kind of part
STREAMLIT = {"presentation-role-conflict"}  # what a page of Streamlit's own widgets has
FIGURES = {"numbers", "shared mistakes", "annotators", "aggregate"}  # whose figures keep their width in a narrow window
CONTROLS = {
    "train": (*("Train", "CSV", "Curves", "Smoothing", "Compare 2", "Tags", "Put on all"),),
    "compare": ("Runs", "Choose in a table", "Accuracy", "Filter runs", "CSV"),
    "confusions": ("Run", "Compare with", "Worker, least like the crowd first", "Every source"),
    "omega": ("Run", "Tasks"),
    "report": ("Runs", "Hide worker names", "HTML page", "Folder (ZIP)"),
}
"""Page -> what Tab leads to."""
MOST = 150  # presses of Tab
# What has the focus: its label or its words.
FOCUSED = """() => {
  const shown = document.activeElement;
  const label = shown.getAttribute('aria-label') || shown.labels?.[0]?.innerText || shown.innerText || '';
  return label.split('\\n').filter(Boolean).at(-1)?.trim() ?? '';
}"""
SCHEME = "scheme => getComputedStyle(document.querySelector('.stApp')).colorScheme === scheme"
STILL = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
  .then(() => !document.getAnimations().some(a => a instanceof CSSTransition && a.playState === 'running'))"""


def missed(page: Page, *controls: str) -> set[str]:
    """Which of these controls Tab does not lead to."""
    page.evaluate("document.activeElement.blur()")
    missing = set(controls)
    for _ in range(MOST):
        if not missing:
            break
        page.keyboard.press("Tab")
        missing.discard(str(page.evaluate(FOCUSED)))
    return missing


@pytest.mark.parametrize("address", OTHERS)
def test_the_first_figure_of_every_other_page_comes_soon(page: Page, two: str, address: str) -> None:
    visit(page, f"{address}{two}")
    soon(page)


@pytest.mark.parametrize("view", PAGES)
def test_a_page_is_for_everybody(page: Page, two: str, view: str) -> None:
    visit(page, f"{PAGES[view]}{two}")
    soon(page)
    page.evaluate(AXE)
    for width, schemes in LOOKS.items():
        if width == 900 and view not in FIGURES:
            continue
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        assert main(page).evaluate("e => e.scrollWidth <= e.clientWidth"), width
        if width == 900:
            box = charts(page).first.bounding_box()
            assert box is not None
            assert box["width"] > 380
        for scheme, rules in schemes.items():
            if scheme == "dark" and view not in DARK:
                continue
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.wait_for_function(SCHEME, arg=scheme, polling=50)
            page.wait_for_function(STILL, polling=50)
            assert faults(page, rules) == [], f"{scheme}, {width} px"
    if view in CONTROLS:  # at the end: what has the focus may show a tooltip
        page.set_viewport_size({"width": 1440, "height": 900})
        settled(page)
        assert missed(page, *CONTROLS[view]) == set()


def faults(page: Page, rules: dict[str, object]) -> list[tuple[str, str]]:
    """Rule and place of every violation, but for what Streamlit alone has."""
    faults = [fault for fault in page.evaluate(RUN, rules)["violations"] if fault["id"] not in STREAMLIT]
    return [(fault["id"], node["html"][:200]) for fault in faults for node in fault["nodes"]]


def test_axe_sees_a_fault(context: BrowserContext) -> None:
    page = context.new_page()
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><img src=x><p style='color:#ccc'>pale")
    page.evaluate(AXE)
    assert {"image-alt", "color-contrast"} <= {rule for rule, _ in faults(page, ALL)}
    page.close()
