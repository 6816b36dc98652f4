"""The pages about runs without a mouse: every control is reached by Tab, and works by the keys that it is known for."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from testkit.steps import charts, main, settled, visit


def test_the_pager_keeps_the_focus_and_follows_the_address(page: Page, two: str) -> None:
    visit(page, f"/confusions?{two}&view=All+workers")
    current = main(page).locator("[aria-current=page], [aria-current=true]")
    following = main(page).get_by_role("button", name="Next page")
    following.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("group=2"))
    settled(page)
    expect(following).to_be_focused()
    page.go_back()
    expect(current).to_have_text("1")


def test_a_tree_stands_beside_the_matrix_and_two_annotators_are_compared_without_a_mouse(page: Page) -> None:
    visit(page, "/annotators?dataset=demo&view=Distances")
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
    visit(page, "/annotators?dataset=demo&view=Ranking")
    expect(main(page).get_by_text("press Shift + Space on its row")).to_be_visible()
    main(page).locator("canvas").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    expect(page).to_have_url(re.compile("view=One.worker&worker="))
