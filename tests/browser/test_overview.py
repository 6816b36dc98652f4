"""The Overview on a phone, and from it to the evidence: one click on a name, or on a row of the table."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from testkit.steps import click_cell, main, settled, stand_still, visit


def test_a_verdict_is_read_on_a_phone_and_one_click_leads_to_its_evidence(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})  # a phone, where a reason has the whole width
    visit(page, "/overview?dataset=demo&reference=gold")
    row = main(page).locator("[class*=st-key-verdict-worker-]").first
    badge, reason = row.locator(".stMarkdownBadge").bounding_box(), row.locator("p").last.bounding_box()
    assert badge is not None
    assert reason is not None
    assert reason["y"] >= badge["y"] + badge["height"]
    assert reason["width"] > 280
    page.set_viewport_size({"width": 1440, "height": 900})
    settled(page)
    expect(page.get_by_role("navigation", name="Menu")).to_be_visible()  # live.js is there
    main(page).get_by_role("link", name="w35").click()
    expect(page).to_have_url(re.compile(r"/annotators\?.*worker=w35"))
    expect(main(page).get_by_text("Shows no knowledge")).to_be_visible()
    page.go_back()
    expect(main(page).get_by_role("heading", name="demo")).to_be_visible()
    settled(page)
    main(page).get_by_text("All workers", exact=True).click()
    canvas = main(page).locator("canvas").first
    canvas.scroll_into_view_if_needed()
    stand_still(canvas)
    canvas.click(position={"x": 12, "y": 52}, force=True)  # a scroll area lies above it
    expect(page).to_have_url(re.compile(r"/annotators\?.*worker=w35"))
    expect(main(page).get_by_role("heading", name="Message to the worker")).to_be_visible()
    page.go_back()  # and not forward again
    expect(main(page).get_by_role("heading", name="demo")).to_be_visible()


def test_a_dot_and_a_cell_above_the_fold_lead_to_their_evidence(page: Page) -> None:
    visit(page, "/overview?dataset=demo&reference=gold")
    for figure in (main(page).locator(".points path").first, main(page).locator(".heatmaplayer").first):
        place = figure.bounding_box()
        assert place is not None
        assert place["y"] < 700
    click_cell(page, 0, 3, 10)
    expect(page).to_have_url(re.compile(r"/shared-mistakes\?.*true=zero&given=three"))
    page.go_back()
    expect(main(page).get_by_role("heading", name="demo")).to_be_visible()
    settled(page)
    dot = main(page).locator(".st-key-figure-ranking .points path").last
    stand_still(dot)
    place = dot.bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(page).to_have_url(re.compile(r"/annotators\?.*worker=w35"))
