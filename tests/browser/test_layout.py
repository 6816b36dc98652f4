"""A matrix with more workers than cells fit, and the menu."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from crowdcore.data.tour import DEMO
from dashboard.pages import MENU
from testkit.app_server import APP, serving
from testkit.steps import charts, main, open_page, visit


def test_a_large_matrix_refines_when_zoomed(page: Page) -> None:
    visit(page, "/annotators?dataset=many&view=Distances")
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


def test_the_menu_has_eight_places_and_leaves_room_for_what_is_chosen(page: Page) -> None:
    visit(page, "/glossary?dataset=demo")
    menu = page.get_by_role("navigation", name="Menu")
    places = [place.title for place in MENU]
    expect(menu.get_by_role("link")).to_have_count(8)
    assert [text.split("\n")[-1] for text in menu.get_by_role("link").all_inner_texts()] == places
    for picker in ("Dataset", "Reference"):
        expect(page.get_by_role("combobox", name=picker)).to_be_in_viewport(ratio=1)
    for name in places:
        expect(menu.get_by_role("link", name=name)).to_be_in_viewport(ratio=1)
    menu.get_by_role("link", name="Mistakes").click()
    expect(page).to_have_url(re.compile(r"/shared-mistakes\?"))
    page.get_by_role("link", name="Print / PDF").click()
    expect(page).to_have_url(re.compile(r"/report\?.*parts=mistakes$"))
    expect(main(page).get_by_text("The same on the command line")).to_be_visible()


def test_a_former_address_leads_to_where_its_page_is_now(page: Page) -> None:
    for address, seen in (("/overview?dataset=demo&trust=95", "Guideline to fix"), ("/data?dataset=demo", "demo")):
        open_page(page, address)
        expect(main(page).get_by_text(seen).first).to_be_visible()
    with serving(APP.with_name("app.py"), DEMO) as address:  # as `streamlit run` starts it
        open_page(page, f"{address}/mistakes?dataset=demo&true=one")
        expect(page).to_have_url(re.compile(r"/shared-mistakes\?.*true=one"))
        page.goto("about:blank")  # before that server ends


def test_the_colour_bar_is_as_high_as_a_square_matrix_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, "/annotators?dataset=demo&view=Distances")
    matrix, bar = (charts(page).first.locator(part).first for part in (".hm", ".cbfills"))
    high = "e => e.getBoundingClientRect().height"
    expect(matrix).to_be_visible()
    expect(charts(page).first).to_have_attribute("data-listens", "yes")
    assert abs(matrix.evaluate(high) - bar.evaluate(high)) < 2
