"""A file of one's own: understood, questioned, refused or taken in."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from testkit import bombs
from testkit.planted import CONFUSED, COPIED, COPIER, DRIFTING, SPAMMER, planted_crowd
from testkit.steps import main, open_page, settled


def offer(page: Page, name: str, content: bytes) -> None:
    open_page(page, "/?dataset=demo&view=Open+a+file")
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    settled(page)


NAMED = {
    SPAMMER: ("remove", "Shows no knowledge"),
    COPIER: ("check", "{copied} on"),
    COPIED: ("check", "{copier} on"),
    DRIFTING: ("check", "Got worse"),
    CONFUSED: ("train", "Calls “class 0” “class 1”"),
}


def test_planted_workers_are_named_two_clicks_after_choosing_a_file_and_to_nobody_else(page: Page) -> None:
    """A file without gold: what was planted in it is named, and nobody else is."""
    crowd = planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True)
    votes = crowd.annotations[["task", "worker", "label", "timestamp"]]
    offer(page, "crowd.csv", votes.to_csv(index=False).encode())
    expect(main(page).get_by_text("Nothing would be dropped or merged.")).to_be_visible()
    main(page).get_by_role("button", name="Open it").click()
    expect(main(page).get_by_role("heading", name="crowd")).to_be_visible()
    expect(page).to_have_url(re.compile("/\\?dataset=crowd-[0-9a-f]{10}"))
    settled(page)
    ids = list(map(str, crowd.worker_ids))
    named = main(page).locator("[class*=st-key-verdict-worker-]")
    expect(named.filter(has=page.get_by_role("link", name=ids[SPAMMER], exact=True))).to_have_count(1)
    settled(page)
    expect(named).to_have_count(len(NAMED))
    for worker, (verdict, words) in NAMED.items():
        row = named.filter(has=page.get_by_role("link", name=ids[worker], exact=True))
        expect(row).to_contain_text(verdict)
        expect(row).to_contain_text(words.format(copied=ids[COPIED], copier=ids[COPIER]))
    page.get_by_role("link", name="Items").click()
    page.get_by_role("combobox", name="Worker").click()
    expect(page.get_by_role("option", name=ids[1], exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("tasks\\?dataset=crowd-"))
    # The link opens it again, in another session too.
    open_page(page, page.url)
    expect(main(page).get_by_role("heading", name="Items")).to_be_visible()
    page.get_by_role("combobox", name="Worker").click()
    expect(page.get_by_role("option", name="worker 01")).to_be_visible()
    expect(page.get_by_role("option", name=ids[1], exact=True)).to_have_count(0)


def test_spellings_are_merged_and_the_upload_is_renamed_and_deleted(page: Page) -> None:
    offer(page, "pets.csv", b"task,worker,label\n1,ann,cat\n1,ben,Cat\n2,ann,dog\n2,ben,cat\n3,ann,cat|dog\n")
    expect(main(page).get_by_text("Nothing would be dropped or merged.")).to_have_count(0)
    main(page).get_by_role("button", name="Merge them").click()
    expect(main(page).get_by_role("button", name="Accept 1 change and open")).to_be_visible()
    main(page).get_by_role("button", name="Keep classes apart again").click()
    main(page).get_by_role("button", name="Leave them out").click()
    expect(main(page).get_by_role("button", name="Merge them")).to_be_visible()
    main(page).get_by_role("button", name="Accept 1 change and open").click()
    expect(main(page).get_by_role("heading", name="pets")).to_be_visible()
    settled(page)
    there = main(page).get_by_role("link", name="Open a file")
    expect(there).to_have_attribute("href", re.compile("pets"))  # no longer that of the dataset before
    there.click()
    upload = main(page).locator("[class*=st-key-upload-pets]")
    upload.get_by_role("button", name="Manage").click()
    page.get_by_role("textbox", name="Name").fill("Cats & dogs")
    page.get_by_role("textbox", name="Name").press("Enter")
    page.get_by_role("button", name="Rename").click()
    expect(main(page).get_by_role("heading", name="Cats & dogs")).to_be_visible()
    open_page(page, page.url)
    expect(main(page).get_by_role("heading", name="Cats & dogs")).to_be_visible()
    upload.get_by_role("button", name="Manage").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete for good").click()
    expect(upload).to_have_count(0)
    expect(main(page).get_by_role("heading", name="demo")).to_be_visible()


def test_a_bomb_is_one_sentence_and_others_go_on(
    page: Page, context: BrowserContext, tmp_path: Path, workspace: Path
) -> None:
    bomb = bombs.parquet_of_many_rows(tmp_path / "bomb.parquet", 999_000_000)
    other = context.new_page()
    open_page(other, "/?dataset=demo")
    offer(page, bomb.name, bomb.read_bytes())
    alert = main(page).get_by_test_id("stAlert")
    expect(alert).to_have_count(1)
    expect(alert).to_contain_text("999,000,000")
    assert "Traceback" not in main(page).inner_text()
    other.get_by_role("link", name="Items").click()
    expect(main(other).get_by_role("heading", name="Items")).to_be_visible()
    other.close()
    page.get_by_role("link", name="Items").click()
    expect(main(page).get_by_role("heading", name="Items")).to_be_visible()
    written = [path for path in (workspace / "uploads").rglob("*") if path.name == bomb.name]
    assert [stat.S_IMODE(path.stat().st_mode) for path in written] == [0o600]


def test_no_other_site_may_frame_the_app_and_names_of_pages_lead_to_their_addresses(page: Page) -> None:
    answer = page.request.get("/data?dataset=demo")
    assert answer.url.endswith("/?dataset=demo")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
