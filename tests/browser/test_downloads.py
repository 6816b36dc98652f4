"""Every figure and table can be taken along, and nothing in it runs."""

from __future__ import annotations

import base64
import csv
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from plotly.colors import hex_to_rgb

from crowdcore.figures import theme
from crowdcore.figures.paper import FONT
from testkit.steps import heatmap, main, visit


def downloaded(page: Page, button: Locator) -> tuple[str, bytes]:
    with page.expect_download() as found:
        button.click()
    return found.value.suggested_filename, Path(found.value.path()).read_bytes()


def test_a_figure_as_svg_png_and_csv(page: Page) -> None:
    visit(page, "/shared-mistakes?dataset=demo&reference=gold")
    expect(heatmap(page)).to_be_visible()
    frame = main(page).locator(".st-key-figure-first")
    expect(frame.locator(".js-plotly-plot")).to_have_attribute("data-listens", "yes")
    stops = (
        "e => [...e.querySelectorAll('button, a, input, [tabindex]')].filter(b => b.tabIndex >= 0 && b.offsetParent)"
    )
    assert frame.evaluate(f"e => ({stops})(e).length") == 1  # two presses of Tab, then arrows
    toolbar = frame.get_by_role("toolbar", name="Download the figure")
    assert toolbar.evaluate(f"e => ({stops})(e).length") == 1
    toolbar.get_by_role("button", name="170 mm").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    with page.expect_download() as found:
        page.keyboard.press("Enter")
    assert found.value.suggested_filename == "demo-shared-mistakes-gold.csv"
    name, content = downloaded(page, frame.locator("[data-format=svg]"))
    assert name == "demo-shared-mistakes-gold.svg"
    assert content.startswith(b"<svg")
    assert b"chosen-cell" not in content
    name, content = downloaded(page, frame.locator("[data-format=png]"))
    assert name == "demo-shared-mistakes-gold.png"
    assert content.startswith(b"\x89PNG")
    name, content = downloaded(page, frame.get_by_role("button", name="CSV", exact=True))
    assert name == "demo-shared-mistakes-gold.csv"
    rows = list(csv.DictReader(content.decode().splitlines()))
    assert len(rows) == 100
    assert {"true", "given", "percent"} <= set(rows[0])


def test_a_table_downloads_what_its_filter_leaves(page: Page) -> None:
    visit(page, "/annotators?dataset=demo&reference=gold&view=Ranking")
    filter_ = main(page).get_by_role("textbox", name="Filter workers")
    filter_.fill("w03")
    filter_.press("Enter")
    button = main(page).locator(".st-key-csv-quality").get_by_role("button", name="CSV")
    button.hover()
    expect(page.get_by_text("Download 1 worker", exact=True)).to_be_visible()
    name, content = downloaded(page, button)
    rows = list(csv.DictReader(content.decode().splitlines()))
    assert name == "demo-workers-gold.csv"
    assert rows
    assert all("w03" in row["worker"] for row in rows)


def test_a_journal_takes_a_figure_from_a_dark_page(page: Page) -> None:
    """Light, 170 or 85 mm wide, cells as rectangles, text in a standard font that comes with it."""
    page.emulate_media(color_scheme="dark")
    visit(page, "/shared-mistakes?dataset=demo&reference=gold")
    expect(heatmap(page)).to_be_visible()
    ink = heatmap(page).locator(".xtick text").first.evaluate("e => getComputedStyle(e).fill")
    assert min(map(int, re.findall(r"\d+", ink)[:3])) > 100
    ground = page.get_by_test_id("stApp").evaluate("e => getComputedStyle(e).backgroundColor")
    assert max(map(int, re.findall(r"\d+", ground)[:3])) < 60
    frame = main(page).locator(".st-key-figure-first")
    expect(frame.locator(".js-plotly-plot")).to_have_attribute("data-listens", "yes")
    for width in (170, 85):
        drawing = downloaded(page, frame.locator("[data-format=svg]"))[1].decode()
        assert f'width="{width}mm"' in drawing
        assert "<image" not in drawing
        assert drawing.count("<rect") > 90
        assert re.search(r'<rect width="\d+" height="\d+" fill="white"', drawing)
        assert theme_rgb(theme.INK) in drawing
        assert set(re.findall(r"font-family: (\w+)", drawing)) == {"Arial"}
        assert f"url(data:font/woff;base64,{base64.b64encode(FONT.read_bytes()).decode()})" in drawing
        frame.get_by_role("button", name="mm wide").click()
    page.add_style_tag(content=".stApp { animation: turn 1s infinite }")  # as a spinner is
    turns = "e => getComputedStyle(e).animationIterationCount"
    assert page.get_by_test_id("stApp").evaluate(turns) == "1"  # without motion for whoever asks for that
    page.emulate_media(color_scheme="dark", reduced_motion="no-preference")
    assert page.get_by_test_id("stApp").evaluate(turns) == "infinite"


def theme_rgb(color: str) -> str:
    return f"rgb({', '.join(map(str, hex_to_rgb(color)))})"
