"""The app against a hello-world Streamlit page that draws one 8 x 8 Plotly heatmap, in the same run.

Time to the first drawn heatmap from `streamlit run` on; redraws after a cell click and after a change of reference,
on LabelMe (or, where it is not at hand, the demo) and on a simulated crowd of CIFAR-10H's size; bytes per page.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, Response, WebSocket, sync_playwright

from crowdcore.data import list_datasets, load_dataset
from crowdcore.data.simulate.large import large
from crowdcore.data.writers import write_folder
from tests.browser.app_server import APP, launch, serving, start, wait_until_up
from tests.browser.steps import click_cell, heatmap, open_page, settled

HELLO = """
import plotly.graph_objects as go
import streamlit as st

run = st.session_state.get("run", 0)
st.session_state["run"] = run + 1
st.button("again")
st.plotly_chart(go.Figure(go.Heatmap(z=[[(i * j + run) % 7 for i in range(8)] for j in range(8)])).update_layout(
    title=f"run {run}"))
"""
# The heatmap of a reference: its subtitle ends with the name.
DRAWN = "document.querySelector('.st-key-figure-first .gtitle-subtitle')?.textContent.endsWith('{}')"
STARTS, REDRAWS, LARGE_REDRAWS = 5, 50, 20
FIRST, REDRAW, LEAST, LARGE, PAYLOAD = 1.5, 2.0, 300.0, 1000.0, 3.0

# Resolves with the milliseconds from the next click until the condition holds at the end of a frame.
STOPWATCH = """condition => {
  const holds = new Function(`return (${condition})`);
  window.stopped = null;
  addEventListener('click', () => {
    const began = performance.now();
    const look = () => holds() ? window.stopped = performance.now() - began : requestAnimationFrame(look);
    requestAnimationFrame(look);
  }, {capture: true, once: true});
}"""


def timed(page: Page, condition: str, act: Callable[[], None]) -> float:
    """Milliseconds from the click in ``act`` until a JavaScript condition holds."""
    page.evaluate(STOPWATCH, condition)
    act()
    page.wait_for_function("window.stopped !== null", timeout=60_000)
    milliseconds = float(page.evaluate("window.stopped"))
    settled(page)
    return milliseconds


@contextmanager
def tab(browser: Browser) -> Iterator[Page]:
    """A fresh profile with one tab."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def first_heatmap(browser: Browser, script: Path, path: str, **environment: str) -> float:
    """Seconds from starting the server until the heatmap is in the page."""
    with tab(browser) as page:
        began = time.perf_counter()
        process, address = start(script, **environment)
        try:
            wait_until_up(address, process)
            page.goto(address + path, wait_until="commit")
            page.wait_for_selector(".js-plotly-plot .hm", state="attached", timeout=120_000)
            return time.perf_counter() - began
        finally:
            process.terminate()
            process.wait(10)


def hello_reruns(page: Page, address: str, n: int) -> list[float]:
    """Milliseconds of the floor's reruns: a click on its button until its new chart is drawn."""
    page.goto(address)
    page.wait_for_selector(".js-plotly-plot .hm", state="attached")
    drawn = "document.querySelector('.gtitle')?.textContent === 'run {}'"
    button = page.get_by_role("button", name="again")
    return [timed(page, drawn.format(k + 1), button.click) for k in range(n)]


def cell_clicks(page: Page, address: str, dataset: str, n: int) -> list[float]:
    """Milliseconds from clicks on cells until the sentence about the cell is there."""
    classes = load_dataset(dataset).classes
    open_page(page, f"{address}/shared-mistakes?dataset={dataset}&reference=gold&true={classes[0]}&given={classes[1]}")
    heatmap(page).wait_for()
    times = []
    for k in range(n):
        row, column = (k + 1) % len(classes), (3 * k + 2) % len(classes)
        said = "document.querySelector('[data-testid=stMain]').innerText.replaceAll('\\u2060', '').includes({!r})"
        words = said.format(f"gave {classes[column]} to a task that is {classes[row]}")
        times.append(timed(page, words, lambda r=row, c=column: click_cell(page, r, c, len(classes))))
    return times


def reference_changes(page: Page, address: str, dataset: str, n: int) -> list[float]:
    """Milliseconds from choosing another reference until its heatmap is drawn."""
    open_page(page, f"{address}/shared-mistakes?dataset={dataset}&reference=gold")
    heatmap(page).wait_for()
    names, times = ("majority-vote", "dawid-skene", "gold"), []
    for k in range(n):
        name = names[k % 3]
        page.get_by_role("combobox", name="Reference").click()
        option = page.get_by_role("option", name=name, exact=True)
        option.wait_for()
        times.append(timed(page, DRAWN.format(name), option.click))
    return times


def payload(page: Page, address: str) -> int:
    """Bytes that a page receives over its websocket and as media."""
    total = [0]

    def opened(socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: total.__setitem__(0, total[0] + len(data)))

    page.on("websocket", opened)
    media: list[Response] = []
    page.on("response", lambda response: media.append(response) if "/media/" in response.url else None)
    open_page(page, address)
    page.wait_for_timeout(1500)
    return total[0] + sum(len(r.body()) for r in media if "/static/" not in r.url)


def verdict(claim: str, measured: float, bound: float, unit: str) -> None:
    """One line: the bound, what was measured, and whether it holds."""
    print(f"  {'met    ' if measured <= bound else 'NOT MET'}  {claim}: {measured:.2f} {unit}, bound {bound:.2f}")


def p95(times: list[float]) -> float:
    return float(np.percentile(times, 95))


def main() -> None:
    dataset = "labelme" if "labelme" in list_datasets() else "demo"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        hello = Path(folder) / "hello.py"
        hello.write_text(HELLO)
        crowd = replace(large(10_284, 2_571, 10, 50, seed=1), name="large")
        write_folder(crowd, Path(folder) / "large")
        found = os.pathsep.join(filter(None, [os.environ.get("CROWDCORE_DATA", ""), folder]))
        os.environ["CROWDCORE_DATA"] = found
        browser = launch(playwright)
        measure(browser, hello, dataset)
        browser.close()


def measure(browser: Browser, hello: Path, dataset: str) -> None:
    path = f"/shared-mistakes?dataset={dataset}"
    floor, ours = [], []
    for _ in range(STARTS):  # side by side, so that both see the same machine
        floor.append(first_heatmap(browser, hello, ""))
        ours.append(first_heatmap(browser, APP, path))
    print(f"First heatmap from `streamlit run` on, {dataset}, median of {STARTS}: ", end="")
    print(f"hello world {np.median(floor):.2f} s, the app {np.median(ours):.2f} s")
    verdict("ratio", float(np.median(ours) / np.median(floor)), FIRST, "x")
    with serving(hello) as address, tab(browser) as page:
        reruns = p95(hello_reruns(page, address, REDRAWS))
    with serving() as address, tab(browser) as page:
        bound = max(REDRAW * reruns, LEAST)
        print(f"Redraws on {dataset}, 95th percentile of {REDRAWS}; hello world reruns in {reruns:.0f} ms")
        verdict("cell click", p95(cell_clicks(page, address, dataset, REDRAWS)), bound, "ms")
        verdict("change of reference", p95(reference_changes(page, address, dataset, REDRAWS)), bound, "ms")
        print(f"Redraws with 2,571 workers and 514,200 annotations, 95th percentile of {LARGE_REDRAWS}")
        verdict("cell click", p95(cell_clicks(page, address, "large", LARGE_REDRAWS)), LARGE, "ms")
        verdict("change of reference", p95(reference_changes(page, address, "large", LARGE_REDRAWS)), LARGE, "ms")
        print("Bytes that each page receives")
        for name in (dataset, "demo", "large"):
            for page_path in ("", "shared-mistakes", "annotators", "annotators?view=Ranking", "tasks"):
                with tab(browser) as fresh:
                    glue = "&" if "?" in page_path else "?"
                    size = payload(fresh, f"{address}/{page_path}{glue}dataset={name}") / 1e6
                verdict(f"{name} /{page_path}", size, PAYLOAD, "MB")


if __name__ == "__main__":
    sys.exit(main())
