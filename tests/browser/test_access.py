"""axe-core over every page, light and dark, wide and narrow; no page is wider than its window, and Tab leads on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page, expect

import crowdcore as cc
from testkit.app_server import serving
from testkit.recorded_runs import record
from testkit.steps import charts, main, open_page, settled, visit
from tests.browser.test_keyboard import missed
from tests.learning.made_up import made_up

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
WIDTHS = (1440, 390)
WORDS, CONTROLS_ABOVE = 60, 8  # before the first figure of a page
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
    "runs": "/runs?",
    "compare": "/compare?",
    "confusions": "/confusions?",
    "omega": "/omega?",
    "sandbox": "/sandbox?",
    "report": "/report?",
}
# Not inside drawings, the colours of whose text are tested in tests/figures, nor tables, which are Streamlit's own.
RUN = """rules => axe.run(
    {exclude: ['.plot-container', 'canvas']},
    {resultTypes: ['violations'], preload: false, iframes: false, ...rules})"""
ALL, COLOURS = {}, {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
LOOKS: dict[int, dict[Literal["dark", "light"], dict[str, object]]] = {
    WIDTHS[0]: {"dark": COLOURS, "light": ALL},
    900: {},
    WIDTHS[1]: {"light": ALL},
}
"""Width -> theme -> rules: the other theme brings other colours, and nothing else."""
CONTROLS = {
    "train": (*("Train", "CSV", "Curves", "Smoothing", "Compare 2", "Tags", "Put on all"),),
    "compare": ("Runs", "Choose in a table", "Accuracy", "Filter runs", "CSV"),
    "confusions": ("Run", "Compare with", "Worker, least like the crowd first", "Every source"),
    "omega": ("Run", "Tasks"),
    "report": ("Runs", "Hide worker names", "HTML page", "Folder (ZIP)"),
}
"""Page -> what Tab leads to."""
# How many words stand above the first figure, table or picture of a page, and how many controls.
ABOVE = """() => {
  const place = document.querySelector('[data-testid=stMain]');
  const seen = e => e.checkVisibility() && e.getBoundingClientRect().height;
  const pictures = '[class*=st-key-figure-] .js-plotly-plot, [data-testid=stDataFrame], img';
  const first = [...place.querySelectorAll(pictures)].find(seen);
  if (!first) return null;
  const above = e => seen(e) && e.getBoundingClientRect().bottom <= first.getBoundingClientRect().top + 1;
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {
    const {parentElement, data} = walker.currentNode;
    const apart = parentElement.closest('[class*=st-key-figure-], [data-testid=stIconMaterial], style, script');
    if (!apart && above(parentElement))
      words += data.split(/\\s+/).filter(Boolean).length;
  }
  const controls = 'button:not([data-testid=stTooltipHoverTarget] *), input:not([type=file]), textarea';
  const fields = new Set([...place.querySelectorAll(controls)].filter(above).map(e =>
    e.closest('[data-testid=stElementContainer], .stElementContainer') ?? e));
  return [words, fields.size];
}"""
SCHEME = "scheme => getComputedStyle(document.querySelector('.stApp')).colorScheme === scheme"
STILL = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
  .then(() => !document.getAnimations().some(a => a instanceof CSSTransition && a.playState === 'running'))"""


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
    return "dataset=demo" + "".join(f"&runs={record(workspace, made_up(demo, m))}" for m in ("conal", "crowd-layer"))


def found(page: Page, address: str, look: Callable[[int], object] = lambda width: None) -> set[tuple[str, str]]:
    """Rule and place of every violation, of both themes and at all widths; ``look`` is called at each width."""
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    (visit if address.startswith(urljoin(page.url, "/")) else open_page)(page, address)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.evaluate(AXE)
    violations = set()
    for width, schemes in LOOKS.items():
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        look(width)
        for scheme, rules in schemes.items():
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.wait_for_function(SCHEME, arg=scheme, polling=50)
            page.wait_for_function(STILL, polling=50)
            for violation in page.evaluate(RUN, rules)["violations"]:
                for node in violation["nodes"]:
                    violations.add((violation["id"], f"{scheme}, {width} px: {node['html'][:200]}"))
    return violations


@pytest.mark.parametrize("view", PAGES)
def test_a_page_is_for_everybody(app: str, tab: Page, plain: set[str], runs: str, view: str) -> None:
    def look(width: int) -> None:
        assert main(tab).evaluate("e => e.scrollWidth <= e.clientWidth"), width
        if width == 1440 and (above := tab.evaluate(ABOVE)):
            words, controls = above
            assert words <= WORDS, f"{words} words before the first figure"
            assert controls <= CONTROLS_ABOVE, f"{controls} controls before the first figure"
        if width == 900 and view in {"numbers", "shared mistakes", "annotators", "aggregate"}:
            box = charts(tab).first.bounding_box()
            assert box is not None
            assert box["width"] > 380

    faults = {(rule, place) for rule, place in found(tab, f"{app}{PAGES[view]}{runs}", look) if rule not in plain}
    assert faults == set()  # of axe-core, but for what Streamlit alone has
    if view in CONTROLS:
        tab.set_viewport_size({"width": 1440, "height": 900})
        settled(tab)
        assert missed(tab, *CONTROLS[view]) == set()


def test_axe_sees_a_fault(tab: Page, plain: set[str]) -> None:
    tab.set_content("<html lang=en><title>t</title><main><h1>h</h1><img src=x><p style='color:#ccc'>pale")
    tab.evaluate(AXE)
    rules = {violation["id"] for violation in tab.evaluate(RUN, ALL)["violations"]}
    assert {"image-alt", "color-contrast"} <= rules - plain
