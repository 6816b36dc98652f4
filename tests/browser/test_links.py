"""The browser's back button goes back, and what is chosen stands in the address."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from testkit.steps import choose, click_cell, heatmap, main, settled, visit


def test_back_goes_back(page: Page) -> None:
    visit(page, "/shared-mistakes?dataset=demo&reference=gold")
    expect(heatmap(page)).to_be_visible()
    for true, given in (("three", "nine"), ("eight", "one")):
        choose(page, "True class", true)
        choose(page, "Given label", given)
        expect(page).to_have_url(re.compile(f"true={true}&given={given}"))
    page.go_back()
    expect(page).to_have_url(re.compile("true=eight&given=nine"))
    expect(main(page).get_by_text("gave nine to a task that is eight")).to_be_visible()
    page.go_back()
    expect(main(page).get_by_text("gave nine to a task that is three")).to_be_visible()


def test_an_act_is_one_step_back(page: Page) -> None:
    visit(page, "/overview?dataset=demo&reference=gold")
    expect(page.get_by_role("navigation", name="Menu")).to_be_visible()  # live.js is there
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
    page.go_back()
    expect(main(page).get_by_role("heading", name="demo")).to_be_visible()
    expect(page).to_have_url(re.compile("/overview"))


def test_a_cell_is_chosen_by_mouse_and_by_keyboard_and_outlined(page: Page) -> None:
    place = "(e => e && `${e.getAttribute('x')} ${e.getAttribute('y')}`)(document.querySelector('.chosen-cell'))"
    visit(page, "/shared-mistakes?dataset=demo&reference=gold&true=one&given=seven")
    expect(heatmap(page).locator(".chosen-cell")).to_be_visible()
    before = page.wait_for_function(place).json_value()
    click_cell(page, 3, 9, 10)
    expect(page).to_have_url(re.compile("true=three&given=nine"))
    page.wait_for_function(f"before => (found => found && found !== before)({place})", arg=before)
    settled(page)
    for label, name in (("True class", "eight"), ("Given label", "one")):  # by keyboard alone
        box = page.get_by_role("combobox", name=label)
        box.focus()
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        settled(page)
    expect(page).to_have_url(re.compile("true=eight&given=one"))
    expect(main(page).get_by_text("gave one to a task that is eight")).to_be_visible()


def test_another_dataset_or_reference_redraws_every_page(page: Page) -> None:
    visit(page, "/tasks?dataset=demo&task=digit-0551")
    choose(page, "Reference", "majority-vote")
    expect(page).to_have_url(re.compile("reference=majority-vote"))
    expect(main(page).get_by_test_id("stMetric").filter(has_text="Labels against majority-vote")).to_be_visible()
    for name in ("Mistakes", "Workers", "Home"):
        page.get_by_role("navigation", name="Menu").get_by_role("link", name=name).click()
        settled(page)
        expect(page).to_have_url(re.compile("dataset=demo&reference=majority-vote"))
