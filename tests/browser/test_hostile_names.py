"""Scripts, markup and links in the names of classes, workers and tasks are shown as text on every page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from testkit.recorded_runs import invented, record
from testkit.steps import charts, heatmap, main, settled, visit
from tests.browser.conftest import HOSTILE, harmless, hostile_crowd

METHODS = "&methods=majority-vote&methods=conal-em&methods=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E&worker=Common"
PAGES = (
    *("/?", "/tasks?", "/annotators?", "/annotators?view=One+worker", "/annotators?view=Ranking"),
    *("/annotators?view=Together", f"/aggregate?reference=gold{METHODS}"),
)


def test_hostile_names_are_shown_as_text_everywhere(page: Page, workspace: Path) -> None:
    run = record(workspace, invented(hostile_crowd(), "conal"), hostile_crowd())
    recovered = [f"{address}&runs={run}&beside=observed" for address in ("/confusions?view=Workers", "/omega?")]
    for address in (*PAGES, *recovered):
        visit(page, f"{address}&dataset=hostile")
        harmless(page)
        if address in recovered:
            expect(charts(page).first).to_be_visible()
    visit(page, "/shared-mistakes?dataset=hostile&beside=majority-vote")
    harmless(page)
    for name in HOSTILE[:2]:
        expect(heatmap(page).get_by_text(name[:20]).first).to_be_visible()
    main(page).get_by_role("radio", name="Tasks").click()
    main(page).get_by_role("link", name="<script>").first.click()
    expect(main(page).get_by_role("heading", name="<script>")).to_be_visible()
    settled(page)
    harmless(page)
