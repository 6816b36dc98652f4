"""The pages about runs without a mouse: every control is reached by Tab, and works by the keys that it is known for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import crowdcore as cc
from testkit.recorded_runs import record
from testkit.steps import charts, main, open_page, settled
from tests.learning.made_up import made_up

MOST = 150  # presses of Tab
# What has the focus: its label or its words.
FOCUSED = """() => {
  const shown = document.activeElement;
  const label = shown.getAttribute('aria-label') || shown.labels?.[0]?.innerText || shown.innerText || '';
  return label.split('\\n').filter(Boolean).at(-1)?.trim() ?? '';
}"""


@pytest.fixture(scope="module")
def two(app: str, workspace: Path) -> str:
    """Address parameters of two runs on the demo dataset."""
    demo = cc.load_dataset("demo")
    return "dataset=demo" + "".join(f"&runs={record(workspace, made_up(demo, m))}" for m in ("conal", "crowd-layer"))


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


@pytest.mark.parametrize(
    ("view", "controls"),
    [
        (
            "train",
            (
                *("Methods", "Seeds", "Epochs", "Network", "Device", "Start 1 run", "Runs shown", "Curves"),
                *("Smoothing", "Run", "Run again with …", "Use as reference", "Predictions", "Model (PyTorch)"),
                "Model (ONNX)",
            ),
        ),
        ("runs", ("Dataset", "Method", "State", "Containing", "CSV", "Open", "Compare 2", "Tags", "Put on all")),
        ("compare", ("Runs", "Choose in a table", "Accuracy", "Filter runs", "CSV")),
        ("confusions", ("Run", "Seeds", "Compare with", "Matrices", "Workers", "Diagonal", "Next page")),
        ("omega", ("Run", "Tasks", "CSV")),
        ("report", ("Runs", "Hide worker names", "HTML page", "Folder (ZIP)")),
    ],
)
def test_tab_leads_to_every_control(page: Page, two: str, view: str, controls: tuple[str, ...]) -> None:
    open_page(page, f"/{view}?{two}")
    assert missed(page, *controls) == set()


def test_tabs_of_compare_are_changed_by_arrows(page: Page, two: str) -> None:
    open_page(page, f"/compare?{two}")
    assert not missed(page, "Accuracy")
    for name in ("Significance", "Selection", "Curves"):
        page.keyboard.press("ArrowRight")
        expect(main(page).get_by_role("tab", name=name)).to_be_focused()
        expect(page).to_have_url(re.compile(f"view={name}"))  # a press before the page is drawn may be lost
        settled(page)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("view=Curves"))
    settled(page)
    expect(charts(page).first).to_be_visible()
    expect(main(page).get_by_role("tab", name="Curves")).to_have_attribute("aria-selected", "true")


def test_a_tab_has_the_focus_again_once_the_page_is_drawn_anew(page: Page, two: str) -> None:
    """Streamlit disables tabs as long as a part of them is missing, under load for longer than between two presses."""
    open_page(page, f"/compare?{two}")
    expect(page.get_by_role("list", name="Crowd")).to_be_visible()  # live.js is there
    tab = main(page).get_by_role("tab", name="Accuracy")
    tab.focus()
    tab.evaluate("e => { e.setAttribute('aria-disabled', 'true'); e.blur() }")
    expect(tab).not_to_be_focused()
    tab.evaluate("e => e.removeAttribute('aria-disabled')")
    expect(tab).to_be_focused()
    tab.evaluate("e => { e.setAttribute('aria-disabled', 'true'); e.blur() }")
    expect(tab).not_to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    tab.evaluate("e => e.removeAttribute('aria-disabled')")
    tab = main(page).get_by_role("tab", name="Selection")
    expect(tab).to_be_focused()
    expect(page).to_have_url(re.compile("view=Selection"))
    settled(page)
    tab.blur()
    expect(tab).not_to_be_focused()


def test_the_pager_keeps_the_focus_and_follows_the_address(page: Page, two: str) -> None:
    open_page(page, f"/confusions?{two}")
    current = main(page).locator("[aria-current=page], [aria-current=true]")
    following = main(page).get_by_role("button", name="Next page")
    following.focus()
    for number in (2, 3):
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"group={number}"))
        settled(page)
        expect(following).to_be_focused()
    page.go_back()
    expect(current).to_have_text("2")


def test_two_annotators_are_compared_without_a_mouse(page: Page) -> None:
    open_page(page, "/annotators?dataset=demo")
    for label, name in (("Worker", "w03"), ("Beside", "w07")):
        page.get_by_role("combobox", name=label, exact=True).focus()
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        settled(page)
    expect(main(page).get_by_text("w03 and w07. Distance")).to_be_visible()


def test_a_row_of_a_table_is_chosen_as_the_line_beneath_it_says(page: Page) -> None:
    open_page(page, "/annotators?dataset=demo&view=Ranking")
    expect(main(page).get_by_text("press Shift + Space on its row")).to_be_visible()
    main(page).locator("canvas").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    expect(page).to_have_url(re.compile("view=One.worker&worker="))


def test_a_figure_takes_two_presses_of_tab_and_arrows_lead_to_its_downloads(page: Page) -> None:
    open_page(page, "/shared-mistakes?dataset=demo")
    frame = main(page).locator(".st-key-figure-first")
    expect(frame.locator(".js-plotly-plot")).to_have_attribute("data-listens", "yes")
    stops = (
        "e => [...e.querySelectorAll('button, a, input, [tabindex]')].filter(b => b.tabIndex >= 0 && b.offsetParent)"
    )
    assert frame.evaluate(f"e => ({stops})(e).length") == 1
    toolbar = frame.get_by_role("toolbar", name="Download the figure")
    assert toolbar.evaluate(f"e => ({stops})(e).length") == 1
    toolbar.get_by_role("button", name="170 mm").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    with page.expect_download() as found:
        page.keyboard.press("Enter")
    assert found.value.suggested_filename == "demo-shared-mistakes-gold.csv"
