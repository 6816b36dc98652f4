"""A task is marked with a key, and the marks are taken for the truth."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from testkit.steps import main, settled, visit


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
