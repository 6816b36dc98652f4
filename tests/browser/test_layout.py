"""Narrow and wide, light and dark, by keyboard, and with more workers than cells fit."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from testkit.steps import charts, heatmap, main, open_page, settled

ADDRESSES = ("/?dataset=demo", "/shared-mistakes?dataset=demo", "/annotators?dataset=demo", "/tasks?dataset=demo")


@pytest.mark.parametrize("address", ADDRESSES)
def test_nothing_is_wider_than_a_narrow_window(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    open_page(page, address)
    area = main(page)
    assert area.evaluate("e => e.scrollWidth <= e.clientWidth")
    chart = charts(page).first
    if "/tasks" not in address:
        expect(chart).to_be_visible()
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 380


def test_on_a_phone_a_verdict_s_reason_has_the_whole_width(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, "/overview?dataset=demo&reference=gold")
    row = main(page).locator("[class*=st-key-verdict-worker-]").first
    badge, reason = row.locator(".stMarkdownBadge").bounding_box(), row.locator("p").last.bounding_box()
    assert badge is not None
    assert reason is not None
    assert reason["y"] >= badge["y"] + badge["height"]
    assert reason["width"] > 330
    page.set_viewport_size({"width": 1440, "height": 900})
    settled(page)
    beside = row.locator("p").last.bounding_box()
    assert beside is not None
    assert beside["x"] > reason["x"] + 100


def test_dark_is_dark_and_what_moves_can_be_stopped(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    open_page(page, "/shared-mistakes?dataset=demo")
    expect(heatmap(page)).to_be_visible()
    ink = heatmap(page).locator(".xtick text").first.evaluate("e => getComputedStyle(e).fill")
    red, green, blue = map(int, re.findall(r"\d+", ink)[:3])
    assert min(red, green, blue) > 100
    ground = page.get_by_test_id("stApp").evaluate("e => getComputedStyle(e).backgroundColor")
    assert max(map(int, re.findall(r"\d+", ground)[:3])) < 60
    page.add_style_tag(content=".stApp { animation: turn 1s infinite }")  # as a spinner is
    turns = "e => getComputedStyle(e).animationIterationCount"
    assert page.get_by_test_id("stApp").evaluate(turns) == "1"  # whoever asks for no motion sees none
    page.emulate_media(color_scheme="dark", reduced_motion="no-preference")
    assert page.get_by_test_id("stApp").evaluate(turns) == "infinite"


def test_a_cell_is_chosen_by_keyboard_alone(page: Page) -> None:
    open_page(page, "/shared-mistakes?dataset=demo")
    for label, name in (("True class", "three"), ("Given label", "nine")):
        box = page.get_by_role("combobox", name=label)
        box.focus()
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        settled(page)
    expect(page).to_have_url(re.compile("true=three&given=nine"))
    expect(main(page).get_by_text("gave nine to a task that is three")).to_be_visible()


def test_a_large_matrix_refines_when_zoomed(page: Page) -> None:
    open_page(page, "/annotators?dataset=many")
    chart = charts(page).first
    expect(chart.locator(".hm, .im").first).to_be_visible()
    cells = "e => { const h = e._fullData.find(t => t.type === 'heatmap'); return h ? h.dx : 0 }"
    assert chart.evaluate(cells) == 2
    box = chart.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.4 * box["height"], steps=4)
    page.mouse.up()
    fine = f"() => ({cells})(document.querySelector('.st-key-figure-distance .js-plotly-plot')) === 1"
    page.wait_for_function(fine)


def test_the_tree_stands_beside_the_matrix(page: Page) -> None:
    open_page(page, "/annotators?dataset=demo")
    chart = charts(page).first
    expect(chart.locator(".hm")).to_be_visible()
    tree = chart.locator(".x2y .scatterlayer")
    expect(tree).to_be_visible()
    matrix, beside = chart.locator(".hm").bounding_box(), tree.bounding_box()
    assert matrix is not None
    assert beside is not None
    assert beside["height"] > 0.9 * matrix["height"]


def test_the_menu_has_sections_with_names_and_leaves_room_for_what_is_chosen(page: Page) -> None:
    open_page(page, "/glossary?dataset=demo")
    menu = page.get_by_test_id("stSidebarNav")
    expect(menu.get_by_role("list")).to_have_count(5)
    for section, pages in {"Crowd": ["Shared mistakes", "Annotators", "Two rounds"], "Truth": ["Aggregate"]}.items():
        listed = menu.get_by_role("list", name=section)
        for name in pages:
            expect(listed.get_by_role("listitem").get_by_role("link", name=name)).to_be_visible()
    for picker in ("Dataset", "Reference"):
        expect(page.get_by_role("combobox", name=picker)).to_be_in_viewport(ratio=1)
    menu.get_by_role("link", name="Shared mistakes").click()
    expect(page).to_have_url(re.compile(r"/shared-mistakes\?"))
    page.get_by_role("link", name="Print / PDF").click()
    expect(page).to_have_url(re.compile(r"/report\?.*parts=mistakes$"))
    expect(main(page).get_by_role("heading", name="Report")).to_be_visible()
