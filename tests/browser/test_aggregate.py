"""The aggregate page as a user meets it: run, compare, view tasks, export a result; it stays responsive throughout."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import crowdcore as cc
from crowdcore.data.simulate import large
from crowdcore.data.writers import write_folder
from testkit.steps import choose, click_cell, heatmap, main, settled, stand_still, visit
from tests.browser.conftest import taken

METHODS = ("majority-vote", "dawid-skene", "one-coin")
FITS = "".join(f"&methods={name}" for name in METHODS)
SLOW = "patient"


def test_the_numbers_are_the_library_s_and_lead_to_tasks_and_back(page: Page) -> None:
    visit(page, f"/aggregate?dataset=demo&reference=gold{FITS}&result=dawid-skene")
    expect(heatmap(page).locator(".xtick text")).to_have_count(4)  # as they ended
    settled(page)
    demo = cc.load_dataset("demo")
    labels = heatmap(page).locator(".heatmap-label").evaluate_all("es => es.map(e => e.textContent)")
    share = cc.analysis.label_disagreement(demo, {name: name for name in ("gold", *METHODS)}).share
    assert sorted(filter(None, labels)) == sorted(f"{100 * value:.1f}" for value in share[~np.eye(4, dtype=bool)])
    gold = np.where(demo.annotated, demo.gold, -1)
    results = {name: cc.aggregation.get(name).fit(demo) for name in METHODS}
    errors = {name: cc.analysis.calibration(result, gold).error for name, result in results.items()}
    legend = main(page).locator(".st-key-figure-calibration .legendtext")
    assert sorted(legend.all_text_contents()) == sorted(f"{name} ({100 * e:.1f} %)" for name, e in errors.items())
    name, content = taken(page, page.get_by_role("button", name="Labels and posterior"))
    assert name == "demo-dawid-skene-labels.csv"
    rows = list(csv.DictReader(content.decode().splitlines()))
    result = results["dawid-skene"]
    labelled = np.flatnonzero(result.labels >= 0)
    assert [row["task"] for row in rows] == list(demo.task_ids[labelled])
    assert [row["label"] for row in rows] == [demo.classes[c] for c in result.labels[labelled]]
    sums = [sum(float(value) for key, value in row.items() if key.startswith("p(")) for row in rows]
    assert sums == pytest.approx([1.0] * len(rows))
    for figure in ("disagreement", "calibration", "objective", "confusion"):
        frame = main(page).locator(f".st-key-figure-{figure}")
        assert taken(page, frame.locator("[data-format=svg]"))[1].startswith(b"<svg")
        assert taken(page, frame.get_by_role("button", name="CSV", exact=True))[1].count(b"\n") > 3
    # Another aggregator is run, which a screen reader hears, and the back button leads to the fits before.
    region = main(page).locator("[role=status].st-key-live-fits")
    region.evaluate("region => region.setAttribute('data-same', '')")
    box = page.get_by_role("combobox", name="Aggregators")
    box.click()
    box.fill("Wawa")
    page.get_by_role("option", name="Wawa", exact=True).click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(heatmap(page).get_by_text("wawa").first).to_be_visible()
    expect(main(page).locator("[role=status][data-same]")).to_have_text(re.compile(r"4 of 4 aggregators"))
    page.go_back()
    expect(heatmap(page).get_by_text("wawa")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("wawa"))
    settled(page)
    # From a cell to the tasks behind it, to one of them, and back.
    names = heatmap(page).locator(".xtick text").all_text_contents()
    assert set(names) == {"gold", *METHODS}
    click_cell(page, names.index("majority-vote"), names.index("dawid-skene"), len(names))
    expect(page).to_have_url(re.compile("first=majority-vote&second=dawid-skene"))
    tasks = cc.analysis.label_difference(demo, "majority-vote", "dawid-skene")
    words = f"differ on {len(tasks)} tasks of {demo.annotated.sum():,}"
    expect(main(page).get_by_text(words)).to_be_visible()
    name = str(tasks["task"].iloc[0])
    main(page).get_by_role("link", name=name).click()
    expect(page).to_have_url(re.compile(rf"/tasks\?.*task={name}"))
    expect(main(page).get_by_role("heading", name=name)).to_be_visible()
    page.go_back()
    expect(main(page).get_by_text(words)).to_be_visible()


@pytest.mark.slow
def test_results_come_as_they_are_found_and_the_page_answers_all_the_while(page: Page, crowds: Path) -> None:
    crowd = large(n_tasks=20_000, n_workers=500, n_classes=10, per_task=5)
    write_folder(crowd, crowds / "large")
    visit(page, f"/aggregate?dataset=large{FITS}&methods={SLOW}")
    for name in METHODS:
        expect(heatmap(page).locator(".xtick").get_by_text(name)).to_be_visible()
    settled(page)
    stand_still(page.get_by_role("combobox", name="Result"))
    page.get_by_role("combobox", name="Result").click()
    expect(page.get_by_role("option")).to_have_count(3)
    (crowds / "done").touch()
    expect(heatmap(page).get_by_text(SLOW).first).to_be_visible()
    settled(page)
    page.get_by_role("option", name="one-coin", exact=True).click()  # the list is still open
    expect(page).to_have_url(re.compile("result=one-coin"))
    choose(page, "Objective", "Its value")
    expect(main(page).get_by_text("log-likelihood or its bound").first).to_be_visible()
    found = cc.analysis.label_disagreement(crowd, {name: name for name in ("gold", *METHODS)})
    frame = heatmap(page).evaluate("e => e._fullData.find(t => t.type === 'heatmap').z.map(row => Array.from(row))")
    names = heatmap(page).locator(".xtick text").all_text_contents()  # as they ended
    assert set(names) == {*found.names, SLOW}
    order, off = [names.index(name) for name in found.names], ~np.eye(4, dtype=bool)
    shown = np.array(frame, float)[np.ix_(order, order)]
    assert shown[off] == pytest.approx(100 * found.share[off], abs=1e-4)
    expect(main(page).get_by_text("of 20,000").filter(visible=True).first).to_be_visible()
