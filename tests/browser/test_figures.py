"""Cells, dots and rows lead to their evidence and back by the address, without a mouse too; all can be exported."""

from __future__ import annotations

import base64
import csv
import re

import numpy as np
from playwright.sync_api import Page, expect
from plotly.colors import hex_to_rgb

from crowdcore import analysis, load_dataset
from crowdcore.figures import theme
from crowdcore.figures.paper import FONT
from dashboard.pages import MENU
from testkit.steps import charts, choose, click_cell, heatmap, main, open_page, settled, stand_still, visit
from tests.browser.conftest import row, soon, taken

STREET, INSIDECITY = 3, 1


def typed(page: Page, *choices: tuple[str, str]) -> None:
    """Choose options of select boxes by keyboard alone."""
    for label, name in choices:
        page.get_by_role("combobox", name=label, exact=True).focus()
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        settled(page)


def back_home(page: Page) -> None:
    page.go_back()
    expect(main(page).get_by_role("heading", name="demo")).to_be_visible()
    expect(page).to_have_url(re.compile("/overview"))
    settled(page)


def test_the_overview_leads_to_its_evidence_and_an_act_is_one_step_back(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})  # a phone, where a reason has the whole width
    open_page(page, "/overview?dataset=demo&reference=gold")  # a former address of Home
    verdict = main(page).locator("[class*=st-key-verdict-worker-]").first
    badge, reason = verdict.locator(".stMarkdownBadge").bounding_box(), verdict.locator("p").last.bounding_box()
    assert badge is not None
    assert reason is not None
    assert reason["y"] >= badge["y"] + badge["height"]
    assert reason["width"] > 280
    page.set_viewport_size({"width": 1440, "height": 900})
    settled(page)
    for figure in (main(page).locator(".points path").first, main(page).locator(".heatmaplayer").first):
        place = figure.bounding_box()
        assert place is not None
        assert place["y"] < 700
    expect(page.get_by_role("navigation", name="Menu")).to_be_visible()  # live.js is there
    main(page).get_by_role("link", name="w35").click()
    expect(page).to_have_url(re.compile(r"/annotators\?.*worker=w35"))
    expect(main(page).get_by_text("Shows no knowledge")).to_be_visible()
    back_home(page)
    main(page).get_by_text("All workers", exact=True).click()
    main(page).locator("canvas").first.scroll_into_view_if_needed()
    row(page)
    expect(page).to_have_url(re.compile(r"/annotators\?.*worker=w35"))
    expect(main(page).get_by_role("heading", name="Message to the worker")).to_be_visible()
    back_home(page)  # and not forward again
    page.get_by_role("link", name="Workers", exact=True).click()
    expect(page).to_have_url(re.compile("annotators.*reference=gold"))  # which the page adds to what the menu opened
    settled(page)
    main(page).get_by_role("link", name="Distances", exact=True).click()
    expect(page).to_have_url(re.compile("view=Distances"))
    settled(page)
    page.go_back()
    expect(page).not_to_have_url(re.compile("view=Distances"))
    expect(page).to_have_url(re.compile("annotators"))
    settled(page)
    back_home(page)
    click_cell(page, 0, 3, 10)
    expect(page).to_have_url(re.compile(r"/shared-mistakes\?.*true=zero&given=three"))
    back_home(page)
    dot = main(page).locator(".st-key-figure-ranking .points path").last
    stand_still(dot)
    place = dot.bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(page).to_have_url(re.compile(r"/annotators\?.*worker=w35"))


def test_a_cell_is_chosen_by_mouse_and_keyboard_outlined_spoken_and_left_by_the_back_button(page: Page) -> None:
    place = "(e => e && `${e.getAttribute('x')} ${e.getAttribute('y')}`)(document.querySelector('.chosen-cell'))"
    visit(page, "/shared-mistakes?dataset=demo&reference=gold&true=one&given=seven")
    expect(heatmap(page).locator(".chosen-cell")).to_be_visible()
    before = page.wait_for_function(place).json_value()
    told = main(page).get_by_role("status").filter(has_text=re.compile("gave seven"))
    told.evaluate("region => { region.setAttribute('data-same', '') }")  # only changes within it are spoken
    click_cell(page, 3, 9, 10)
    expect(page).to_have_url(re.compile("true=three&given=nine"))
    page.wait_for_function(f"before => (found => found && found !== before)({place})", arg=before)
    expect(main(page).locator("[role=status][data-same]")).to_contain_text("gave nine")
    settled(page)
    typed(page, ("True class", "eight"), ("Given label", "one"))
    expect(page).to_have_url(re.compile("true=eight&given=one"))
    expect(main(page).get_by_text("gave one to a task that is eight")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile("true=eight&given=nine"))
    expect(main(page).get_by_text("gave nine to a task that is eight")).to_be_visible()
    page.go_back()
    expect(main(page).get_by_text("gave nine to a task that is three")).to_be_visible()
    page.goto("/shared-mistakes?dataset=nowhere")
    expect(main(page).get_by_role("alert")).to_contain_text("There is no dataset")


def test_a_figure_is_taken_from_a_dark_page_for_a_journal_and_as_png_and_csv(page: Page) -> None:
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
        name, content = taken(page, frame.locator("[data-format=svg]"))
        drawing = content.decode()
        assert name == "demo-shared-mistakes-gold.svg"
        assert drawing.startswith("<svg")
        assert f'width="{width}mm"' in drawing
        assert "<image" not in drawing
        assert "chosen-cell" not in drawing
        assert drawing.count("<rect") > 90
        assert re.search(r'<rect width="\d+" height="\d+" fill="white"', drawing)
        assert f"rgb({', '.join(map(str, hex_to_rgb(theme.INK)))})" in drawing
        assert set(re.findall(r"font-family: (\w+)", drawing)) == {"Arial"}
        assert f"url(data:font/woff;base64,{base64.b64encode(FONT.read_bytes()).decode()})" in drawing
        frame.get_by_role("button", name="mm wide").click()
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
    name, content = taken(page, frame.locator("[data-format=png]"))
    assert name == "demo-shared-mistakes-gold.png"
    assert content.startswith(b"\x89PNG")
    name, content = taken(page, frame.get_by_role("button", name="CSV", exact=True))
    assert name == "demo-shared-mistakes-gold.csv"
    rows = list(csv.DictReader(content.decode().splitlines()))
    assert len(rows) == 100
    assert {"true", "given", "percent"} <= set(rows[0])
    page.add_style_tag(content=".stApp { animation: turn 1s infinite }")  # as a spinner is
    turns = "e => getComputedStyle(e).animationIterationCount"
    assert page.get_by_test_id("stApp").evaluate(turns) == "1"  # without motion for whoever asks for that
    page.emulate_media(color_scheme="dark", reduced_motion="no-preference")
    assert page.get_by_test_id("stApp").evaluate(turns) == "infinite"


def test_a_table_downloads_what_its_filter_leaves(page: Page) -> None:
    visit(page, "/annotators?dataset=demo&reference=gold&view=Ranking")
    filter_ = main(page).get_by_role("textbox", name="Filter workers")
    filter_.fill("w03")
    filter_.press("Enter")
    button = main(page).locator(".st-key-csv-quality").get_by_role("button", name="CSV")
    button.hover()
    expect(page.get_by_text("Download 1 worker", exact=True)).to_be_visible()
    name, content = taken(page, button)
    rows = list(csv.DictReader(content.decode().splitlines()))
    assert name == "demo-workers-gold.csv"
    assert rows
    assert all("w03" in row["worker"] for row in rows)


def test_a_row_of_a_table_is_chosen_as_the_line_beneath_it_says(page: Page) -> None:
    open_page(page, "/annotators?dataset=demo&view=Ranking")  # without the filter that another test has typed
    expect(main(page).get_by_text("press Shift + Space on its row")).to_be_visible()
    main(page).locator("canvas").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    expect(page).to_have_url(re.compile("view=One.worker&worker="))


def test_distances_stand_beside_their_tree_and_two_workers_are_compared_without_a_mouse(page: Page) -> None:
    visit(page, "/annotators?dataset=demo&view=Distances")
    chart = charts(page).first
    expect(chart.locator(".hm")).to_be_visible()
    tree = chart.locator(".x2y .scatterlayer")
    expect(tree).to_be_visible()
    matrix, beside = chart.locator(".hm").bounding_box(), tree.bounding_box()
    assert matrix is not None
    assert beside is not None
    assert beside["height"] > 0.9 * matrix["height"]
    typed(page, ("Worker", "w03"), ("Beside", "w07"))
    expect(main(page).get_by_text("w03 and w07. Distance")).to_be_visible()


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


def test_a_cell_of_a_coordinated_group_leads_to_its_labels(page: Page) -> None:
    visit(page, "/annotators?dataset=demo&view=Together")
    expect(main(page).get_by_text("w04 and w05 agree beyond what")).to_be_visible()
    soon(page)
    click_cell(page, 1, 0, 10)
    expect(page).to_have_url(re.compile(r"given=zero.*|true=one.*"))
    main(page).get_by_role("link", name="The group's labels “zero” on tasks that are one").click()
    expect(page).to_have_url(re.compile(r"/review\?.*workers=w04"))
    settled(page)
    expect(main(page).get_by_role("heading", name="Items")).to_be_visible()


def test_a_key_marks_a_task_and_the_marks_become_the_reference(page: Page) -> None:
    visit(page, "/review?dataset=demo&by=task")
    expect(main(page).get_by_role("button", name="Unclear")).to_be_visible()
    first = main(page).get_by_role("heading", level=3).first
    task = first.inner_text()
    page.keyboard.press("a")
    expect(first).not_to_have_text(task)
    expect(main(page).get_by_text("Marked tasks: 1 (1 right).")).to_be_visible()
    settled(page)
    main(page).get_by_role("button", name="Use as reference").first.click()
    expect(page).to_have_url(re.compile("reference=reviewed"))
    expect(main(page).get_by_role("button", name="Reference of every page")).to_be_visible()


def test_the_menu_has_eight_places_and_every_page_takes_the_reference_along(page: Page) -> None:
    visit(page, "/tasks?dataset=demo")
    row(page)
    expect(page).to_have_url(re.compile("task=digit-"))
    name = page.url.split("task=")[1]
    expect(main(page).get_by_role("heading", name=name)).to_be_visible()
    page.go_back()
    expect(main(page).get_by_role("heading", name="Items", exact=True)).to_be_visible()
    visit(page, "/tasks?dataset=demo&task=digit-0551")
    choose(page, "Reference", "majority-vote")
    expect(page).to_have_url(re.compile("reference=majority-vote"))
    expect(main(page).get_by_test_id("stMetric").filter(has_text="Labels against majority-vote")).to_be_visible()
    menu = page.get_by_role("navigation", name="Menu")
    places = [place.title for place in MENU]
    expect(menu.get_by_role("link")).to_have_count(8)
    assert [text.split("\n")[-1] for text in menu.get_by_role("link").all_inner_texts()] == places
    for picker in ("Dataset", "Reference"):
        expect(page.get_by_role("combobox", name=picker)).to_be_in_viewport(ratio=1)
    for name in places:
        expect(menu.get_by_role("link", name=name)).to_be_in_viewport(ratio=1)
    for name in ("Workers", "Home", "Mistakes"):
        menu.get_by_role("link", name=name).click()
        settled(page)
        expect(page).to_have_url(re.compile("dataset=demo&reference=majority-vote"))
    expect(page).to_have_url(re.compile(r"/shared-mistakes\?"))
    page.get_by_role("link", name="Print / PDF").click()
    expect(page).to_have_url(re.compile(r"/report\?.*parts=mistakes$"))
    expect(main(page).get_by_text("The same on the command line")).to_be_visible()


def test_a_square_matrix_on_a_phone_has_a_bar_of_its_height_and_no_blank_below(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, "/annotators?dataset=demo&view=Distances")
    matrix, bar = (charts(page).first.locator(part).first for part in (".hm", ".cbfills"))
    high = "e => e.getBoundingClientRect().height"
    expect(matrix).to_be_visible()
    expect(charts(page).first).to_have_attribute("data-listens", "yes")
    assert abs(matrix.evaluate(high) - bar.evaluate(high)) < 2
    below = main(page).get_by_role("button", name="SVG").first
    ends = [
        part.evaluate(f"e => e.getBoundingClientRect().{end}") for part, end in ((matrix, "bottom"), (below, "top"))
    ]
    assert 0 < ends[1] - ends[0] < 80, "nothing but the names stands between the matrix and its downloads"


def test_from_labelme_to_one_task_and_back(page: Page, data_folder: object) -> None:
    """The main job, as a user does it: its shared mistakes, the workers and the tasks behind one of them."""
    visit(page, "/?dataset=demo&reference=gold")
    choose(page, "Dataset", "labelme")
    page.get_by_role("link", name="Mistakes", exact=True).click()
    expect(main(page).get_by_role("heading", name="Mistakes", exact=True)).to_be_visible()
    settled(page)  # Home has the same figure
    expect(heatmap(page).get_by_text("61.0", exact=True)).to_be_visible()
    written = set(heatmap(page).locator(".heatmap-label").evaluate_all("es => es.map(e => e.textContent)"))
    percent = analysis.shared_mistakes(load_dataset("labelme")).percent
    off = percent[~np.eye(len(percent), dtype=bool)]
    assert {"61.0", "44.1"} <= written - {""} == {f"{value:.1f}" for value in off[off > 0]}
    click_cell(page, STREET, INSIDECITY, 8)
    expect(main(page).get_by_text("36 workers of 59 (61.0 %) gave insidecity")).to_be_visible()
    expect(page).to_have_url(re.compile(r"true=street&given=insidecity"))
    expect(main(page).get_by_role("radio", name="Workers (36)")).to_be_checked()
    main(page).get_by_role("radio", name=re.compile("Tasks")).click()
    link = main(page).get_by_role("link", name=re.compile("train-")).first
    name = link.inner_text()
    link.click()
    expect(main(page).get_by_role("heading", name=name)).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/tasks\?.*task={name}"))
    settled(page)
    main(page).get_by_role("link", name="street labelled insidecity").click()
    expect(main(page).get_by_text("36 workers of 59")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/shared-mistakes\?dataset=labelme&reference=gold&true=street&given=inside"))
