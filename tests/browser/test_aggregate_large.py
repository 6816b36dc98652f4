"""Half a million annotations: results come as they are found, and the page answers all the while."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import crowdcore as cc
from crowdcore.data.simulate import large
from crowdcore.data.writers import write_folder
from tests.browser.app_server import serving
from tests.browser.steps import choose, heatmap, main, open_page, settled

QUICK = ("majority-vote", "dawid-skene", "one-coin")


@pytest.fixture(scope="module")
def crowd() -> cc.CrowdDataset:
    return large(n_tasks=100_000, n_workers=500, n_classes=10, per_task=5)


@pytest.fixture(scope="module")
def app(crowd: cc.CrowdDataset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("large")
    write_folder(crowd, folder / "large")
    with serving(environment={"CROWDCORE_DATA": str(folder)}) as address:
        yield address


def test_half_a_million_annotations(page: Page, crowd: cc.CrowdDataset) -> None:
    assert crowd.n_annotations == 500_000
    methods = "".join(f"&methods={name}" for name in (*QUICK, "conal-em"))
    open_page(page, f"/aggregate?dataset=large{methods}")
    running = main(page).get_by_text(re.compile("CoNAL-EM · (waiting|running)"))
    expect(heatmap(page).get_by_text("one-coin").first).to_be_visible(timeout=60_000)
    if running.count():  # the slow one still runs: the page answers
        began = time.monotonic()
        choose(page, "Second", "one-coin")
        expect(page).to_have_url(re.compile("second=one-coin"))
        assert time.monotonic() - began < 20
    expect(heatmap(page).get_by_text("conal-em").first).to_be_visible(timeout=120_000)
    settled(page)
    found = cc.analysis.label_disagreement(crowd, {name: name for name in ("gold", *QUICK)})
    frame = heatmap(page).evaluate("e => e._fullData.find(t => t.type === 'heatmap').z.map(row => Array.from(row))")
    shown = np.array(frame, float)
    assert shown.shape == (5, 5)
    off = ~np.eye(4, dtype=bool)
    assert shown[:4, :4][off] == pytest.approx(100 * found.share[off], abs=1e-4)
    expect(main(page).get_by_text("of 100,000").first).to_be_visible()
