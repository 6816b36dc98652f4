"""The aggregate page as a user meets it: run, compare, look at tasks, take a result along or make it the reference."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import crowdcore as cc
from testkit.steps import click_cell, heatmap, main, open_page, settled, visit

METHODS = ("majority-vote", "dawid-skene", "one-coin")
ADDRESS = "/aggregate?dataset={}&reference=gold" + "".join(f"&methods={name}" for name in METHODS)


def opened(page: Page, address: str) -> Locator:
    """The page's heatmap when all fits have ended."""
    visit(page, address)
    expect(heatmap(page)).to_be_visible(timeout=60_000)
    expect(main(page).get_by_text(re.compile(r"^\d+ of \d+ aggregators done$"))).to_have_count(0, timeout=60_000)
    settled(page)
    return heatmap(page)


def written(chart: Locator) -> list[str]:
    """What stands in the cells, empty ones left out."""
    found = chart.locator(".heatmap-label").evaluate_all("es => es.map(e => e.textContent)")
    return sorted(text for text in found if text)


def expected(dataset: str) -> list[str]:
    found = cc.analysis.label_disagreement(cc.load_dataset(dataset), {name: name for name in ("gold", *METHODS)})
    return sorted(f"{100 * value:.1f}" for value in found.share[~np.eye(len(found.names), dtype=bool)])


def test_from_nothing_to_one_task_and_back(page: Page) -> None:
    open_page(page, "/aggregate?dataset=demo&reference=gold")  # computes at once
    expect(main(page).get_by_text("4 of 4 aggregators have ended")).to_be_attached(timeout=60_000)
    settled(page)
    names = heatmap(page).locator(".xtick text").all_text_contents()  # as they ended
    assert set(names) == {"gold", "auto", "majority-vote", "dawid-skene", "conal-em"}
    click_cell(page, names.index("majority-vote"), names.index("dawid-skene"), len(names))
    expect(page).to_have_url(re.compile("first=majority-vote&second=dawid-skene"))
    dataset = cc.load_dataset("demo")
    tasks = cc.analysis.label_difference(dataset, "majority-vote", "dawid-skene")
    words = f"differ on {len(tasks)} tasks of {dataset.annotated.sum():,}"
    expect(main(page).get_by_text(words)).to_be_visible()
    name = str(tasks["task"].iloc[0])
    main(page).get_by_role("link", name=name).click()
    expect(page).to_have_url(re.compile(rf"/tasks\?.*task={name}"))
    expect(main(page).get_by_role("heading", name=name)).to_be_visible()
    page.go_back()
    expect(main(page).get_by_text(words)).to_be_visible(timeout=60_000)


def downloaded(page: Page, button: Locator) -> tuple[str, bytes]:
    with page.expect_download() as found:
        button.click()
    return found.value.suggested_filename, Path(found.value.path()).read_bytes()


def test_the_numbers_are_the_library_s_and_are_taken_along(page: Page) -> None:
    dataset = "demo"
    chart = opened(page, ADDRESS.format(dataset) + "&result=dawid-skene")
    expect(chart.locator(".heatmap-label").first).to_be_attached()
    assert written(chart) == expected(dataset)
    loaded = cc.load_dataset(dataset)
    legend = main(page).locator(".st-key-figure-calibration .legendtext")
    gold = np.where(loaded.annotated, loaded.gold, -1)
    errors = {name: cc.analysis.calibration(cc.aggregation.get(name).fit(loaded), gold).error for name in METHODS}
    assert sorted(legend.all_text_contents()) == sorted(f"{name} ({100 * e:.1f} %)" for name, e in errors.items())
    name, content = downloaded(page, page.get_by_role("button", name="Labels and posterior"))
    assert name == "demo-dawid-skene-labels.csv"
    rows = list(csv.DictReader(content.decode().splitlines()))
    result = cc.aggregation.get("dawid-skene").fit(loaded)
    labelled = np.flatnonzero(result.labels >= 0)
    assert [row["task"] for row in rows] == list(loaded.task_ids[labelled])
    assert [row["label"] for row in rows] == [loaded.classes[c] for c in result.labels[labelled]]
    sums = [sum(float(value) for key, value in row.items() if key.startswith("p(")) for row in rows]
    assert sums == pytest.approx([1.0] * len(rows))
    for figure in ("disagreement", "calibration", "objective", "confusion"):
        frame = main(page).locator(f".st-key-figure-{figure}")
        assert downloaded(page, frame.locator("[data-format=svg]"))[1].startswith(b"<svg")
        assert downloaded(page, frame.get_by_role("button", name="CSV", exact=True))[1].count(b"\n") > 3


def test_back_goes_back_to_the_fits_before(page: Page) -> None:
    opened(page, "/aggregate?dataset=demo&reference=gold&methods=majority-vote")
    box = page.get_by_role("combobox", name="Aggregators")
    box.click()
    box.fill("Wawa")
    page.get_by_role("option", name="Wawa", exact=True).click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(heatmap(page).get_by_text("wawa").first).to_be_visible()
    page.go_back()
    expect(heatmap(page).get_by_text("wawa")).to_have_count(0)
    expect(page).to_have_url(re.compile("methods=majority-vote$"))
