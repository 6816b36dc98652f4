"""From planting a crowd to who recovered it, in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

import crowdcore as cc
from crowdcore.data import simulate
from testkit.recorded_runs import invented, record
from testkit.steps import charts, main, open_page, settled

SMALL = {"n_tasks": 400, "n_valid": 50, "n_test": 50, "n_workers": 5, "n_classes": 3}


def test_a_crowd_is_planted_and_its_runs_are_compared_with_the_truth(page: Page, workspace: Path) -> None:
    line = " ".join(["synthetic", *(f"{name}={value}" for name, value in SMALL.items())])
    open_page(page, f"/sandbox?dataset=demo&crowd={line}")
    page.get_by_role("spinbutton", name="Common strength").fill("0.8")
    page.get_by_role("spinbutton", name="Common strength").press("Enter")
    expect(main(page).get_by_text("another label is more frequent than the true one")).to_be_visible()
    page.get_by_role("button", name="Plant 1 crowd").click()
    expect(page.get_by_role("button", name="Start 3 runs")).to_be_visible()
    expect(page).to_have_url(re.compile("planted="))
    [name] = parse_qs(urlsplit(page.url).query)["planted"]
    folder = workspace / "datasets" / name
    crowd = cc.read_dataset(folder)
    assert crowd.fingerprint == simulate.synthetic(**SMALL, common_strength=0.8).fingerprint

    run = record(workspace, replace(invented(crowd, "conal"), dataset=str(folder.resolve())), crowd)
    page.reload()
    settled(page)
    expect(main(page).get_by_role("heading", name="Planted beside learnt")).to_be_visible()
    expect(charts(page)).to_have_count(3)
    main(page).get_by_role("link", name="Confusions").click()
    expect(page).to_have_url(re.compile(rf"/confusions\?dataset={name}(&reference=gold)?&runs={run}$"))
    expect(main(page).get_by_text(re.compile(r"^w\d: learnt"))).to_be_visible()
