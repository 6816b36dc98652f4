"""Half a million annotations: results come as they are found, and the page answers all the while."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import crowdcore as cc
from crowdcore.data.simulate import large
from crowdcore.data.writers import write_folder
from testkit.steps import choose, heatmap, main, settled, stand_still, visit

QUICK, SLOW = ("majority-vote", "dawid-skene", "one-coin"), "patient"


@pytest.mark.slow
def test_half_a_million_annotations(page: Page, crowds: Path) -> None:
    crowd = large(n_tasks=100_000, n_workers=500, n_classes=10, per_task=5)
    assert crowd.n_annotations == 500_000
    write_folder(crowd, crowds / "large")
    visit(page, "/aggregate?dataset=large" + "".join(f"&methods={name}" for name in (*QUICK, SLOW)))
    for name in QUICK:
        expect(heatmap(page).locator(".xtick").get_by_text(name)).to_be_visible(timeout=120_000)
    settled(page)
    stand_still(page.get_by_role("combobox", name="Result"))
    page.get_by_role("combobox", name="Result").click()
    expect(page.get_by_role("option")).to_have_count(3)
    (crowds / "done").touch()
    expect(heatmap(page).get_by_text(SLOW).first).to_be_visible(timeout=200_000)
    settled(page)
    page.get_by_role("option", name="one-coin", exact=True).click()  # the list is still open
    expect(page).to_have_url(re.compile("result=one-coin"))
    choose(page, "Objective", "Its value")
    expect(main(page).get_by_text("log-likelihood or its bound").first).to_be_visible()
    disagreement = cc.analysis.label_disagreement(crowd, {name: name for name in ("gold", *QUICK)})
    frame = heatmap(page).evaluate("e => e._fullData.find(t => t.type === 'heatmap').z.map(row => Array.from(row))")
    names = heatmap(page).locator(".xtick text").all_text_contents()  # as they ended
    assert set(names) == {*disagreement.names, SLOW}
    order, off = [names.index(name) for name in disagreement.names], ~np.eye(4, dtype=bool)
    shown = np.array(frame, float)[np.ix_(order, order)]
    assert shown[off] == pytest.approx(100 * disagreement.share[off], abs=1e-4)
    expect(main(page).get_by_text("of 100,000").filter(visible=True).first).to_be_visible()
