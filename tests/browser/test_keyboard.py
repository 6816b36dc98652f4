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


def test_the_pager_keeps_the_focus_and_follows_the_address(page: Page, two: str) -> None:
    open_page(page, f"/confusions?{two}&view=All+workers")
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


def test_a_tree_stands_beside_the_matrix_and_two_annotators_are_compared_without_a_mouse(page: Page) -> None:
    open_page(page, "/annotators?dataset=demo&view=Distances")
    chart = charts(page).first
    expect(chart.locator(".hm")).to_be_visible()
    tree = chart.locator(".x2y .scatterlayer")
    expect(tree).to_be_visible()
    matrix, beside = chart.locator(".hm").bounding_box(), tree.bounding_box()
    assert matrix is not None
    assert beside is not None
    assert beside["height"] > 0.9 * matrix["height"]
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
