"""Steps of a user, in words that read well in tests."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image
from playwright.sync_api import Locator, Page, expect

# A script for every page: notes when the app was asked for something, and when it last said something.
LISTEN = """(() => {
  const send = WebSocket.prototype.send
  WebSocket.prototype.send = function (...content) {
    if (!this.heard) this.addEventListener('message', this.heard = () => { window.answered = performance.now() })
    window.asked = performance.now()
    return send.apply(this, content)
  }
})()"""
_IDLE = """() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
  && !(window.asked >= window.answered)"""

_LONG = 60_000  # milliseconds: a busy machine, on which the app compiles its loops for the first time
_OFTEN = 50  # milliseconds: asked at every frame, a page that waits would paint all of them


def main(page: Page) -> Locator:
    return page.get_by_test_id("stMain")


@contextmanager
def listening(page: Page, listeners: dict[Any, Callable[[Any], None]]) -> Iterator[Page]:
    """Lend a test the tab, and remove the test's listeners afterwards."""
    for event, listener in listeners.items():
        page.on(event, listener)
    yield page
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


def settled(page: Page) -> None:
    """Wait until the app is idle, and has begun to answer the last request."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # to be asked at all
    page.wait_for_function(_IDLE, polling=_OFTEN, timeout=_LONG)


def open_page(page: Page, address: str) -> None:
    """Load the app at an address, in a session of its own, and wait for its page."""
    page.goto(address)
    expect(main(page).get_by_role("heading").first).to_be_visible()
    settled(page)


def visit(page: Page, address: str) -> None:
    """Go to an address of the app as the browser's back button does, or load it where the tab does not show it.

    Loading the app anew, as `open_page` does, takes two seconds of the processor more.
    """
    if page.locator("[data-testid=stApp]").count() == 0:
        open_page(page, address)
        return
    settled(page)  # or what was done last may arrive with the address, and win
    page.evaluate("a => { history.pushState({}, '', a); dispatchEvent(new PopStateEvent('popstate')) }", address)
    settled(page)
    expect(main(page).get_by_role("heading").first).to_be_visible()


def charts(page: Page) -> Locator:
    """The charts of the page (another, invisible one warms the browser up)."""
    return main(page).locator("[class*=st-key-figure-] .js-plotly-plot")


def heatmap(page: Page, number: int = 0) -> Locator:
    return main(page).locator(".js-plotly-plot:has(.hm)").nth(number)


def stand_still(place: Locator) -> None:
    """Wait until an element has kept its place for ten frames: during layout, elements take no clicks."""
    place.scroll_into_view_if_needed()
    place.evaluate(
        """e => new Promise(done => {
          let last, still = 0
          const look = () => {
            const {x, y, width, height} = e.getBoundingClientRect(), now = [x, y, width, height].join()
            still = now === last ? still + 1 : 0
            last = now
            still < 10 ? requestAnimationFrame(look) : done()
          }
          look()
        })"""
    )


def click_cell(page: Page, row: int, column: int, size: int, number: int = 0) -> None:
    """Click a cell of a square heatmap."""
    expect(heatmap(page, number)).to_have_attribute("data-listens", "yes")
    area = heatmap(page, number).locator(".nsewdrag").first
    stand_still(area)
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


def small(png: bytes) -> bytes:
    """The picture in 256 colours, rare ones included: the median cut alone would recolour small dots."""
    out, picture = io.BytesIO(), Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()
