"""Half a million annotations: results come as they are found, and the page answers all the while."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import crowdcore as cc
from crowdcore.data.simulate import large
from crowdcore.data.writers import write_folder
from testkit.app_server import serving
from testkit.steps import choose, heatmap, main, settled, stand_still

QUICK = ("majority-vote", "dawid-skene", "one-coin")
SLOW = "patient"
PATIENT = """
from pathlib import Path
from crowdcore.aggregation.dawid_skene import OneCoin

class Patient(OneCoin):
    name, title, paper = "patient", "Patient one-coin", "works until a file is there"

    def m_step(self, *sums):
        while not Path({done!r}).exists():
            super().m_step(*sums)
        return super().m_step(*sums)
"""


@pytest.fixture(scope="module")
def crowd() -> cc.CrowdDataset:
    return large(n_tasks=100_000, n_workers=500, n_classes=10, per_task=5)


@pytest.fixture(scope="module")
def folder(crowd: cc.CrowdDataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The large crowd, and a plug-in whose aggregator works on it until ``folder / "done"`` is there."""
    folder = tmp_path_factory.mktemp("large")
    write_folder(crowd, folder / "large")
    info = folder / "patient-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: patient\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[crowdcore.aggregators]\npatient = patient:Patient\n")
    (folder / "patient.py").write_text(PATIENT.format(done=str(folder / "done")))
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """An app of its own that finds both."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    with serving(environment={"CROWDCORE_DATA": str(folder), "PYTHONPATH": path}) as found:
        yield found


@pytest.mark.slow
def test_half_a_million_annotations(browser: Browser, address: str, folder: Path, crowd: cc.CrowdDataset) -> None:
    assert crowd.n_annotations == 500_000
    page = browser.new_page(base_url=address, viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(60_000)
    for names in (QUICK, (SLOW, *QUICK)):
        page.goto("/aggregate?dataset=large" + "".join(f"&methods={name}" for name in names))
        expect(heatmap(page).get_by_text("one-coin").first).to_be_visible(timeout=120_000)
    settled(page)
    stand_still(page.get_by_role("combobox", name="Result"))
    page.get_by_role("combobox", name="Result").click()
    expect(page.get_by_role("option")).to_have_count(3)
    (folder / "done").touch()
    expect(heatmap(page).get_by_text(SLOW).first).to_be_visible(timeout=200_000)
    settled(page)
    page.get_by_role("option", name="one-coin", exact=True).click()  # the list is still open
    expect(page).to_have_url(re.compile("result=one-coin"))
    choose(page, "Objective", "Its value")
    expect(main(page).get_by_text("log-likelihood or its bound").first).to_be_visible()
    found = cc.analysis.label_disagreement(crowd, {name: name for name in ("gold", *QUICK)})
    frame = heatmap(page).evaluate("e => e._fullData.find(t => t.type === 'heatmap').z.map(row => Array.from(row))")
    shown = np.array(frame, float)
    assert shown.shape == (5, 5)
    off = ~np.eye(4, dtype=bool)
    assert shown[:4, :4][off] == pytest.approx(100 * found.share[off], abs=1e-4)
    expect(main(page).get_by_text("of 100,000").filter(visible=True).first).to_be_visible()
    page.close()
