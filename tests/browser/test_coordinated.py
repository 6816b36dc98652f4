"""Coordinated workers: two clicks from the Overview, and from a group to its labels."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from testkit.steps import click_cell, main, open_page, settled


def test_two_clicks_lead_to_the_group_and_a_cell_to_its_labels(page: Page) -> None:
    open_page(page, "/overview?dataset=demo")
    page.get_by_role("link", name="Workers", exact=True).click()
    settled(page)
    page.get_by_role("link", name="Together").click()
    settled(page)
    expect(main(page).get_by_text("w04 and w05 agree beyond what")).to_be_visible()
    click_cell(page, 1, 0, 10)
    expect(page).to_have_url(re.compile(r"given=zero.*|true=one.*"))
    link = main(page).get_by_role("link", name="The group's labels “zero” on tasks that are one")
    link.click()
    expect(page).to_have_url(re.compile(r"/review\?.*workers=w04"))
    settled(page)
    expect(main(page).get_by_role("heading", name="Items")).to_be_visible()
