"""A file without gold: what was planted in it is named on the first page after opening it, and nobody else is."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from testkit.planted import CONFUSED, COPIED, COPIER, DRIFTING, SPAMMER, planted_crowd
from testkit.steps import main, settled
from tests.browser.test_upload import offer

NAMED = {
    SPAMMER: ("remove", "Shows no knowledge"),
    COPIER: ("check", "{copied} on"),
    COPIED: ("check", "{copier} on"),
    DRIFTING: ("check", "Got worse"),
    CONFUSED: ("train", "Calls “class 0” “class 1”"),
}


def test_planted_workers_are_named_two_clicks_after_choosing_a_file(page: Page) -> None:
    crowd = planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True)
    votes = crowd.annotations[["task", "worker", "label", "timestamp"]]
    offer(page, "planted.csv", votes.to_csv(index=False).encode())
    main(page).get_by_role("button", name="Open it").click()
    expect(main(page).get_by_role("heading", name="planted")).to_be_visible()
    settled(page)
    ids = list(map(str, crowd.worker_ids))
    told = main(page).locator("[class*=st-key-verdict-worker-]")
    expect(told.filter(has=page.get_by_role("link", name=ids[SPAMMER], exact=True))).to_have_count(1)
    settled(page)
    expect(told).to_have_count(len(NAMED))
    for worker, (verdict, words) in NAMED.items():
        row = told.filter(has=page.get_by_role("link", name=ids[worker], exact=True))
        expect(row).to_contain_text(verdict)
        expect(row).to_contain_text(words.format(copied=ids[COPIED], copier=ids[COPIER]))
