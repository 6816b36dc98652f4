"""300 pictures and their votes, from a file to a trained CoNAL in five clicks."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from crowdcore import runs
from crowdcore.runs import Workspace
from tests.browser.app_server import serving
from tests.browser.steps import LISTEN, main, open_page, settled
from tests.dashboard.test_embedding import photo_archive

SOON, LONG = 60_000, 240_000  # milliseconds

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

COUNT = "window.clicks = 0; addEventListener('click', event => { if (event.isTrusted) window.clicks++ }, true)"


def test_300_pictures_are_trained_on_after_five_clicks(browser: Browser, tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "lab")
    environment = {**workspace.environment, "OMP_NUM_THREADS": "1", "TORCH_HOME": str(tmp_path / "torch")}
    archive = {"name": "photos.zip", "mimeType": "application/zip", "buffer": photo_archive(tmp_path / "made", 300)}
    try:
        with serving(environment=environment) as address:
            context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=address)
            context.set_default_timeout(SOON)
            context.add_init_script(LISTEN)
            context.add_init_script(COUNT)
            page = context.new_page()
            open_page(page, "/?dataset=demo&view=Open+a+file")
            with page.expect_file_chooser() as chooser:
                main(page).get_by_test_id("stFileUploader").locator("button").click()  # 1
            chooser.value.set_files(files=[archive])
            main(page).get_by_role("button", name="Open it").click()  # 2
            expect(main(page).get_by_role("heading", name="votes")).to_be_visible(timeout=SOON)
            settled(page)
            page.get_by_role("link", name="Train", exact=True).click()  # 3
            main(page).get_by_role("button", name="Prepare 300 images").click()  # 4
            start = main(page).get_by_role("button", name="Start 1 run")
            expect(start).to_be_visible(timeout=SOON)
            for field, value in (("Seeds", "0,"), ("Epochs", "1")):  # by keyboard: fewer than usual, for a quick test
                page.get_by_label(field, exact=True).first.fill(value)
                page.keyboard.press("Enter")
                settled(page)
            expect(main(page).get_by_text("of memory")).to_be_visible(timeout=LONG)  # no trial may outlive the app
            start.click()  # 5
            expect(main(page).get_by_text("Finished.", exact=True).first).to_be_attached(timeout=LONG)
            assert page.evaluate("window.clicks") == 5
            context.close()
        (run,) = runs.list_runs(workspace=workspace)
        assert run.spec.method == "conal" and run.state == "finished"
    finally:
        runs.stop_engine(workspace=workspace)
