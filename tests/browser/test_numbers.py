"""What the browser shows is what the library computes, to the digit."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from crowdcore import analysis, load_dataset
from testkit.steps import heatmap, main, open_page
from tests.browser.conftest import percentages


@pytest.mark.parametrize(("dataset", "published"), [("labelme", ("61.0", "44.1")), ("music", ("63.6", "38.6"))])
def test_the_heatmap_shows_the_library_s_matrix(
    page: Page, data_folder: Path, dataset: str, published: tuple[str, ...]
) -> None:
    open_page(page, f"/shared-mistakes?dataset={dataset}&reference=gold")
    expect(heatmap(page).get_by_text(published[0], exact=True).first).to_be_visible()
    shown = set(heatmap(page).locator(".heatmap-label").evaluate_all("es => es.map(e => e.textContent)"))
    assert set(published) <= shown
    assert shown - {""} == percentages(analysis.shared_mistakes(load_dataset(dataset)).percent)


def test_the_data_page_shows_the_published_noise_rates_and_entropies(page: Page, data_folder: Path) -> None:
    open_page(page, "/?dataset=labelme&view=Numbers")
    for label, value in (("Tasks nobody got right", "11.10 %"), ("Wrong labels", "25.95 %")):
        card = main(page).get_by_test_id("stMetric").filter(has_text=label)
        expect(card.get_by_test_id("stMetricValue")).to_have_text(value)
    bars = main(page).locator(".st-key-figure-annotation-entropy")
    found = analysis.annotation_entropy(load_dataset("labelme"))
    for name, value in zip(found.classes, found.entropy, strict=True):
        expect(bars.get_by_text(f"{value:.3f}", exact=True)).to_be_visible()
        expect(bars.get_by_text(name, exact=True)).to_be_visible()
    for published in ("0.660", "0.193", "1.287", "1.116"):
        expect(bars.get_by_text(published, exact=True)).to_be_visible()
