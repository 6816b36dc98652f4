"""The page Check, as a user meets it: rules are edited, taken from a file and taken along."""

from __future__ import annotations

import re

import yaml
from playwright.sync_api import Page, expect

from testkit.steps import main, settled, visit


def test_rules_are_edited_uploaded_and_downloaded(page: Page) -> None:
    visit(page, "/check?dataset=demo")
    fails = main(page).get_by_test_id("stMetric").filter(has_text="Fail")
    expect(fails).to_contain_text("1")
    main(page).get_by_text("Rules", exact=True).click()
    limit = main(page).get_by_role("spinbutton", name="Max dependent workers percent")
    limit.fill("50")
    limit.press("Enter")
    expect(page).to_have_url(re.compile("max_dependent_workers_percent%3D50"))
    expect(fails).to_contain_text("0")
    rules = b"min_krippendorff_alpha: 0.99\nreference: majority-vote\n"
    page.locator("input[type=file]").set_input_files(
        {"name": "rules.yaml", "mimeType": "application/yaml", "buffer": rules}
    )
    expect(page).to_have_url(re.compile("reference=majority-vote.*rules=min_krippendorff_alpha%3D0.99"))
    settled(page)
    expect(fails).to_contain_text("1")
    with page.expect_download() as taken:
        main(page).get_by_role("button", name="Rules (YAML)").click()
    held = yaml.safe_load(taken.value.path().read_text())
    assert held["min_krippendorff_alpha"] == 0.99
    assert held["reference"] == "majority-vote"
    assert not {name for name in held if name.startswith("max_")}
    with page.expect_download() as taken:
        main(page).get_by_role("button", name="JUnit XML").click()
    assert 'failures="1"' in taken.value.path().read_text()
    with page.expect_download() as taken:
        main(page).get_by_role("button", name="HTML page").click()
    assert "at least 0.99 is wanted" in taken.value.path().read_text()
    bad = {"name": "rules.yaml", "mimeType": "application/yaml", "buffer": b"min_krippendorf_alpha: 1\n"}
    page.locator("input[type=file]").set_input_files(bad)
    expect(main(page).get_by_test_id("stAlert")).to_contain_text("`min_krippendorff_alpha`")
