"""A matrix with more workers than cells fit, and the menu."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from testkit.steps import charts, main, open_page


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
