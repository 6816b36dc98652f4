"""What a screen reader is told without being asked: results, refusals, the ends of what was started."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from testkit.steps import choose, main, visit


def region(page: Page, words: str) -> Locator:
    """The status region that holds such words now; marked, as only changes within the same one are spoken."""
    found = main(page).get_by_role("status").filter(has_text=re.compile(words))
    found.evaluate("region => { region.setAttribute('data-same', '') }")
    return main(page).locator("[role=status][data-same]")


def test_results_and_refusals_are_spoken(page: Page) -> None:
    visit(page, "/shared-mistakes?dataset=demo&reference=gold&true=one&given=seven")
    said = region(page, "gave seven")
    choose(page, "Given label", "two")
    expect(said).to_contain_text("gave two")
    visit(page, "/aggregate?dataset=demo")
    main(page).locator("[role=status].st-key-live-fits").evaluate("region => region.setAttribute('data-same', '')")
    main(page).get_by_role("button", name="Run", exact=True).click()
    expect(main(page).locator("[role=status][data-same]")).to_have_text(re.compile(r"(\d) of \1 aggregators"))
    page.goto("/shared-mistakes?dataset=nowhere")
    expect(main(page).get_by_role("alert")).to_contain_text("There is no dataset")
