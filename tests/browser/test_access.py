"""axe-core over every page, light and dark, wide and narrow; no page is wider than its window, and Tab leads on."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from testkit.steps import charts, main, settled, visit
from tests.browser.conftest import soon

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
# Not inside drawings, the colours of whose text are tested in tests/figures, nor tables, which are Streamlit's own.
RUN = """rules => axe.run(
    {exclude: ['.plot-container', 'canvas']},
    {resultTypes: ['violations'], preload: false, iframes: false, ...rules})"""
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
SCROLLED = {"runOnly": {"type": "rule", "values": ["scrollable-region-focusable"]}}
STREAMLIT = {"presentation-role-conflict"}  # what a page of Streamlit's own widgets has
LOOKS = {"dark": ("dark", 1440), "light": ("light", 1440), "figure": ("light", 900), "narrow": ("light", 390)}
"""Looks of a page: theme and width of the window. Themes differ in colours, and narrow windows scroll."""
CONTROLS = {
    "/train?": (*("Train", "CSV", "Curves", "Smoothing", "Compare 2", "Tags", "Put on all"),),
    "/compare?": ("Runs", "Choose in a table", "Accuracy", "Filter runs", "CSV"),
    "/confusions?": ("Run", "Compare with", "Worker, least like the crowd first", "Every source"),
    "/omega?": ("Run", "Tasks"),
    "/report?": ("Runs", "Hide worker names", "HTML page", "Folder (ZIP)"),
}
"""Page -> what Tab leads to."""
WIDE, NARROW = ("light", "narrow"), ("narrow", "light")
PAGES = {
    **{"/overview?": ("dark", *WIDE), "/train?": (*NARROW, "dark")},  # dark: pages of every kind of part
    **{"/shared-mistakes?": ("dark", "light", "figure", "narrow"), "/compare?": (*NARROW, "dark")},
    **{"/aggregate?methods=majority-vote&": ("dark", "light", "figure", "narrow"), "/confusions?": (*NARROW, "dark")},
    **{"/check?": ("dark", *WIDE), "/omega?": NARROW, "/reproduction?": WIDE, "/report?": NARROW},
    **{"/?view=Numbers&": ("light", "figure", "narrow"), "/annotators?view=Ranking&": NARROW, "/rounds?": WIDE},
    **{"/annotators?view=Distances&": ("narrow", "figure", "light"), "/tasks?": WIDE, "/sandbox?": NARROW},
}
"""Page -> looks, the first one such as the page before has last: a page that changes its look is drawn anew."""
OTHERS = (
    *(f"/compare?view={view}&" for view in ("Significance", "Calibration", "Selection", "Sweeps")),
    *(
        "/annotators?view=One+worker&",
        "/tasks?task=digit-0001&",
        "/review?",
        "/next?",
        "/glossary?",
        "/?view=Open+a+file&",
    ),
)
"""Pages of the same parts: how soon their first figure comes is looked at, here or where a test uses them."""
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


def look(page: Page, name: str) -> None:
    """Give the window a theme and a width, and wait until the page has both."""
    scheme, width = LOOKS[name]
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    if page.locator(".stApp").count():
        page.wait_for_function(SCHEME, arg=scheme, polling=50)


def missed(page: Page, *controls: str) -> set[str]:
    """Return the controls that Tab does not reach."""
    page.evaluate("document.activeElement.blur()")
    missing = set(controls)
    for _ in range(MOST):
        if not missing:
            break
        page.keyboard.press("Tab")
        missing.discard(str(page.evaluate(FOCUSED)))
    return missing


def faults(page: Page, rules: dict[str, object]) -> list[tuple[str, str]]:
    """Rule and place of every violation, but for what Streamlit alone has."""
    if not page.evaluate("!!window.axe"):
        page.evaluate(AXE)
    found = [fault for fault in page.evaluate(RUN, rules)["violations"] if fault["id"] not in STREAMLIT]
    return [(fault["id"], node["html"][:200]) for fault in found for node in fault["nodes"]]


@pytest.mark.timeout(900)
def test_every_page_is_for_everybody(page: Page, two: str) -> None:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for address, looks in PAGES.items():
        look(page, looks[0])
        visit(page, f"{address}{two}")
        expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
        for name in looks:
            look(page, name)
            settled(page)
            page.wait_for_function(STILL, polling=50)
            assert main(page).evaluate("e => e.scrollWidth <= e.clientWidth"), (address, name)
            if name == "figure":  # keeps its width in a narrow window
                box = charts(page).first.bounding_box()
                assert box is not None
                assert box["width"] > 380
            else:
                rules: dict[str, object] = {"dark": COLOURS, "light": {}, "narrow": SCROLLED}[name]
                found[address, name] = faults(page, rules)
            if name == "light":
                soon(page)
        assert missed(page, *CONTROLS.get(address, ())) == set(), address  # at the end: the focus may show a tooltip
    assert {place: wrong for place, wrong in found.items() if wrong} == {}
    look(page, "light")
    for address in OTHERS:
        visit(page, f"{address}{two}")
        soon(page)


def test_axe_sees_a_fault(context: BrowserContext) -> None:
    page = context.new_page()
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><img src=x><p style='color:#ccc'>pale")
    assert {"image-alt", "color-contrast"} <= {rule for rule, _ in faults(page, {})}
    page.close()
