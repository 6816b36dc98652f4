"""From the Overview to the evidence: one click on a name, or on a row of the table."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from testkit.steps import main, open_page, settled


def test_one_click_leads_from_a_verdict_to_its_evidence(page: Page) -> None:
    open_page(page, "/overview?dataset=demo")
    expect(page.get_by_role("list", name="Crowd")).to_be_visible()  # live.js is there
    main(page).get_by_role("link", name="w35").click()
    expect(page).to_have_url(re.compile(r"/annotators\?.*worker=w35"))
    expect(main(page).get_by_text("The labels look like guesses")).to_be_visible()
    page.go_back()
    expect(main(page).get_by_role("heading", name="Overview")).to_be_visible()
    settled(page)
    canvas = main(page).locator("canvas").first
    canvas.scroll_into_view_if_needed()
    canvas.click(position={"x": 12, "y": 52}, force=True)  # a scroll area lies above it
    expect(page).to_have_url(re.compile(r"/annotators\?.*worker=w35"))
    expect(main(page).get_by_role("heading", name="Message to the worker")).to_be_visible()
