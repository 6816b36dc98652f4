"""Claim: while a training run uses every core, a click on the app is answered within 300 ms (95th percentile).

Clicks in a real browser on the page that shows the run live and on an analysis page, each timed from the click to
the frame that shows its effect; beside them, in turn, the floor: a click on a page that does next to nothing. First
while nothing trains, then during a run. Browser, servers and training share the machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.dashboard import HELLO, Redraw, alternate, cell_click, hello_rerun, p95, tab, timed, verdict
from crowdcore.data import list_datasets, load_dataset
from crowdcore.runs import Run, RunSpec, Workspace, cancel, get_run, stop_engine, submit
from testkit.app_server import launch, serving
from testkit.steps import open_page

CLICKS, BOUND = 40, 300.0  # clicks of each kind; milliseconds
SEEDS, EPOCHS = 5, 1_000_000
SMOOTH = (3, 5, 9)  # epochs
# The subtitle of the curves; the end of the form's open tab.
LAYOUT = "document.querySelector('.st-key-figure-curves .js-plotly-plot')?._fullLayout"
CURVE = LAYOUT + "?.meta?.at(-1).includes('mean of {} epochs')"
SAYS = "document.querySelector('[data-testid=stMain]').innerText.includes('{}')"


def curve_change(page: Page, address: str, run: Run) -> Redraw:
    """From choosing another smoothing until the curves are drawn."""
    open_page(page, f"{address}/train?dataset={run.spec.dataset}&runs={run.id}")
    page.locator(".st-key-figure-curves .js-plotly-plot .main-svg").first.wait_for(timeout=120_000)

    def redraw(k: int) -> float:
        page.get_by_role("combobox", name="Smoothing").click()
        option = page.get_by_role("option", name=f"Mean of {SMOOTH[k % 3]} epochs", exact=True)
        option.wait_for()
        return timed(page, CURVE.format(SMOOTH[k % 3]), option.click)

    return redraw


def tab_change(page: Page, address: str, run: Run) -> Redraw:
    """From choosing the other form until it appears; the whole page is drawn anew."""
    open_page(page, f"{address}/train?dataset={run.spec.dataset}&runs={run.id}&view=Train")
    forms = (("Search settings", "Judged on validation accuracy"), ("Train", "Start 3 runs"))

    def redraw(k: int) -> float:
        name, words = forms[k % 2]
        return timed(page, SAYS.format(words), page.get_by_role("radio", name=name).click)

    return redraw


def trained(workspace: Workspace, dataset: str, epochs: int, until: int) -> Run:
    """Start a run, and return it once it has reached that epoch."""
    spec = RunSpec(
        dataset=dataset,
        fingerprint=load_dataset(dataset).fingerprint,
        method="conal",
        settings={"epochs": epochs},
        seeds=tuple(range(SEEDS)),
        device="cpu",
    )
    run = submit(spec, workspace=workspace)
    while run.epoch < until and not run.has_ended:
        time.sleep(0.5)
        run = get_run(run.id, workspace=workspace)
    if run.state not in {"running", "finished"}:
        raise SystemExit(f"The run {run.state}: {run.message}")
    return run


def main() -> None:
    dataset = "labelme" if "labelme" in list_datasets() else "demo"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["CROWDCORE_WORKSPACE"] = folder
        workspace = Workspace.open()
        try:
            browser = launch(playwright)
            hello = Path(folder) / "hello.py"
            hello.write_text(HELLO)
            with ExitStack() as stack:
                floor = stack.enter_context(serving(hello))
                address = stack.enter_context(serving(environment=workspace.environment))
                finished = trained(workspace, dataset, 20, 20)
                while not finished.has_ended:
                    time.sleep(0.5)
                    finished = get_run(finished.id, workspace=workspace)
                for run in (finished, None):
                    live = run or trained(workspace, dataset, EPOCHS, 5)
                    measure(browser, floor, address, dataset, live)
                    if run is None:
                        cancel(live.id, workspace=workspace)
            browser.close()
        finally:
            stop_engine(workspace=workspace)


def measure(browser: Browser, floor: str, address: str, dataset: str, run: Run) -> None:
    """Print the milliseconds of each kind of click, in its own tab beside the floor's."""
    doing = "nothing trains" if run.has_ended else f"{run.spec.method} trains with {SEEDS} seeds"
    print(f"{doing}, {dataset}; 95th percentile (median) of {CLICKS} clicks")
    for name, click in (
        ("another curve", lambda page: curve_change(page, address, run)),
        ("another form", lambda page: tab_change(page, address, run)),
        ("a cell of the heatmap", lambda page: cell_click(page, address, dataset)),
    ):
        with tab(browser) as beside, tab(browser) as page:
            redraws = [hello_rerun(beside, floor), click(page)]
            psutil.cpu_percent()
            least, taken = alternate(redraws, CLICKS)
            busy = f"{os.cpu_count()} cores {psutil.cpu_percent():.0f} % busy"
        text = f"median {np.median(taken):.0f}; hello world {p95(least):.0f}, median {np.median(least):.0f}; {busy}"
        verdict(f"{name} ({text})", p95(taken), BOUND, "ms")


if __name__ == "__main__":
    sys.exit(main())
