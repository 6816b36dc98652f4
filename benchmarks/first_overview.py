"""The Overview of LabelMe in a browser, against a hello-world Streamlit page that draws one heatmap, in the same run.

From starting the server until the last heading of the page is there; hello world until its heatmap is. Claim: at most
1.5 times as long.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks.dashboard import HELLO, first_heatmap, tab, verdict
from crowdcore.data import list_datasets
from testkit.app_server import APP, launch, start, wait_until_up

BOUND, STARTS = 1.5, 5


def first_overview(browser: Browser, dataset: str) -> float:
    """Seconds from starting the server until all of Overview is in the page."""
    with tempfile.TemporaryDirectory() as workspace, tab(browser) as page:
        began = time.perf_counter()
        process, address = start(APP, CROWDCORE_WORKSPACE=workspace)
        try:
            wait_until_up(address, process)
            page.goto(f"{address}/overview?dataset={dataset}", wait_until="commit")
            page.get_by_role("heading", name="Tasks", exact=True).wait_for(state="attached", timeout=120_000)
            return time.perf_counter() - began
        finally:
            process.terminate()
            process.wait(10)


def main() -> int:
    dataset = "labelme" if "labelme" in list_datasets() else "demo"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        hello, browser = Path(folder) / "hello.py", launch(playwright)
        hello.write_text(HELLO)
        floor, ours = [], []
        for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else STARTS):  # side by side: both see the same machine
            floor.append(first_heatmap(browser, hello, ""))
            ours.append(first_overview(browser, dataset))
            print(f"hello world {floor[-1]:.2f} s, Overview of {dataset} {ours[-1]:.2f} s", flush=True)
        browser.close()
    ratio = float(np.median(ours) / np.median(floor))
    verdict("Overview, median ratio", ratio, BOUND, "x")
    return int(ratio > BOUND)


if __name__ == "__main__":
    sys.exit(main())
