"""What a user does, in words that tests read well in."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

__all__ = ["charts", "choose", "click_cell", "heatmap", "main", "open_page", "settled"]


def main(page: Page) -> Locator:
    return page.get_by_test_id("stMain")


def settled(page: Page) -> None:
    """Wait until the app has nothing left to do."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def open_page(page: Page, address: str) -> None:
    """Open an address of the app and wait for its page."""
    page.goto(address)
    expect(main(page).get_by_role("heading").first).to_be_visible()
    settled(page)


def charts(page: Page) -> Locator:
    """The charts of the page (one more, never seen, warms the browser up)."""
    return main(page).locator("[class*=st-key-figure-] .js-plotly-plot")


def heatmap(page: Page, number: int = 0) -> Locator:
    return main(page).locator(".js-plotly-plot:has(.hm)").nth(number)


def click_cell(page: Page, row: int, column: int, size: int, number: int = 0) -> None:
    """Click a cell of a square heatmap."""
    expect(heatmap(page, number)).to_have_attribute("data-listens", "yes")
    area = heatmap(page, number).locator(".nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * (column + 0.5) / size, box["y"] + box["height"] * (row + 0.5) / size)


def choose(page: Page, label: str, option: str) -> None:
    """Pick an option of a select box by keyboard."""
    box = page.get_by_role("combobox", name=label)
    box.click()
    box.fill(option)
    page.get_by_role("option", name=option, exact=True).first.click()
    settled(page)
