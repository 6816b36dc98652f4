"""Forty browser sessions at once on the analysis pages while a training run uses the cores.

    CROWDCORE_DATA=… python -m benchmarks.sessions [sessions] [seconds]

Every session is a browser profile of its own whose user clicks cells of Shared mistakes and changes its
reference, thinking 4 to 12 seconds in between. They arrive one after another, since one machine draws all their
windows; the clock starts when all have their page. Printed: redraw times from click to drawn chart, errors on pages,
the server's memory per session, and, by the app when it ends, the share of its memory limit that its results hold.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
from playwright.async_api import Browser, Page, TimeoutError, async_playwright, expect

from benchmarks.dashboard import DRAWN, verdict
from crowdcore import runs
from crowdcore.data import list_datasets, load_dataset
from testkit.app_server import APP, FLAGS, chromium_path, start, wait_until_up

SESSIONS, SECONDS, REDRAW = 40, 90.0, 2000.0
THINKING = (4.0, 12.0)  # seconds
REFERENCES = ("gold", "majority-vote", "dawid-skene")
SHOWS = "document.querySelector('[data-testid=stMain]').textContent.replaceAll('\\u2060', '').includes({!r})"
# As in `benchmarks.dashboard`, but checked ten times a second, without a layout: forty windows share two cores.
STOPWATCH = """condition => {
  const holds = new Function(`return (${condition})`);
  window.stopped = null;
  addEventListener('click', () => {
    const began = performance.now();
    const look = () => holds() ? window.stopped = performance.now() - began : setTimeout(look, 100);
    setTimeout(look, 100);
  }, {capture: true, once: true});
}"""


@dataclass
class Seen:
    """Measurements of all users: milliseconds per kind of action, and errors."""

    times: dict[str, list[float]] = field(
        default_factory=lambda: {"opening the page": [], "cell click": [], "change of reference": []}
    )
    errors: list[str] = field(default_factory=list)
    missed: int = 0


async def timed(page: Page, condition: str, act: object, seen: Seen) -> float:
    """Milliseconds from a click until the condition holds; a click without effect is repeated, counted, not timed."""
    for _ in range(3):
        await page.evaluate(STOPWATCH, condition)
        await act()  # type: ignore[operator]
        try:
            await page.wait_for_function("window.stopped !== null", timeout=60_000, polling=250)
            return float(await page.evaluate("window.stopped"))
        except TimeoutError:
            seen.missed += 1
    raise TimeoutError("three clicks without an answer")


async def user(
    browser: Browser,
    address: str,
    dataset: str,
    number: int,
    door: asyncio.Lock,
    ready: asyncio.Barrier,
    seconds: float,
    seen: Seen,
) -> None:
    """Play one session: open the page, wait for the others, then think and act for some seconds."""
    chance = random.Random(number)
    classes = load_dataset(dataset).classes
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    context.set_default_timeout(60_000)
    page = await context.new_page()
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    heat = page.get_by_test_id("stMain").locator(".js-plotly-plot:has(.hm)").first
    chosen = f"dataset={dataset}&reference=gold&true={classes[0]}&given={classes[1]}"
    async with door:
        began = time.monotonic()
        await page.goto(f"{address}/shared-mistakes?{chosen}")
        await expect(heat).to_have_attribute("data-listens", "yes", timeout=60_000)
        seen.times["opening the page"].append(1000 * (time.monotonic() - began))
    await ready.wait()
    end = time.monotonic() + seconds
    reference, cell = 0, (0, 1)
    while time.monotonic() < end:
        await asyncio.sleep(chance.uniform(*THINKING))
        if chance.random() < 0.5:
            reference = (reference + 1) % 3
            await page.get_by_role("combobox", name="Reference").click()
            option = page.get_by_role("option", name=REFERENCES[reference], exact=True)
            await option.wait_for()
            kind, ms = "change of reference", await timed(page, DRAWN.format(REFERENCES[reference]), option.click, seen)
        else:
            cell = ((cell[0] + 1) % len(classes), (cell[1] + 3) % len(classes))
            if cell[0] == cell[1]:
                continue
            sentence = SHOWS.format(f"gave {classes[cell[1]]} to a task that is {classes[cell[0]]}")
            area = heat.locator(".nsewdrag").first
            await expect(heat).to_have_attribute("data-listens", "yes", timeout=60_000)
            await area.scroll_into_view_if_needed()
            box = await area.bounding_box()
            assert box is not None
            at = {
                "x": box["width"] * (cell[1] + 0.5) / len(classes),
                "y": box["height"] * (cell[0] + 0.5) / len(classes),
            }
            kind = "cell click"
            ms = await timed(page, sentence, lambda at=at, area=area: area.click(position=at, force=True), seen)
        seen.times[kind].append(ms)
        if await page.get_by_text("could not be drawn").count():
            seen.errors.append(f"session {number}: a part could not be drawn")
    await context.close()


def cpu_seconds(process: psutil.Process) -> float:
    """CPU seconds of a process so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


async def crowd_of_users(address: str, pid: int, dataset: str, sessions: int, seconds: float) -> Seen:
    seen = Seen()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        door = asyncio.Lock()
        await user(browser, address, dataset, 0, door, asyncio.Barrier(1), 15, Seen())  # warms the shared caches
        server = psutil.Process(pid)
        before = server.memory_info().rss / 1e6
        ready = asyncio.Barrier(sessions + 1)
        users = (user(browser, address, dataset, n, door, ready, seconds, seen) for n in range(sessions))
        at_once = asyncio.gather(*users, return_exceptions=True)
        await ready.wait()
        busy, began = cpu_seconds(server), time.monotonic()
        ended = await at_once
        share = (cpu_seconds(server) - busy) / (time.monotonic() - began)
        seen.errors += [f"session {n}: {fault}" for n, fault in enumerate(ended) if fault is not None]
        more = (server.memory_info().rss / 1e6 - before) / sessions
        print(f"Server: {before:.0f} MB before, {more:.1f} MB more per session, {share:.2f} of a core during clicks")
        await browser.close()
    return seen


def main(sessions: int = SESSIONS, seconds: float = SECONDS) -> None:
    dataset = "labelme" if "labelme" in list_datasets() else "demo"
    os.environ["CROWDCORE_APP_LOG"] = "yes"
    with tempfile.TemporaryDirectory() as folder:
        workspace = runs.Workspace.open(Path(folder))
        process, address = start(APP, CROWDCORE_WORKSPACE=folder)
        try:
            wait_until_up(address, process)
            spec = runs.RunSpec(
                dataset=dataset,
                method="conal",
                seeds=tuple(range(5)),
                settings={"epochs": 1_000_000, "start": "identity"},
            )
            run = runs.submit(spec, workspace=workspace)
            while (now := runs.get_run(run.id, workspace=workspace)).epoch < 2:
                if now.state in {"failed", "cancelled"}:
                    raise RuntimeError(now.message)
                time.sleep(0.5)
            seen = asyncio.run(crowd_of_users(address, process.pid, dataset, sessions, seconds))
            assert runs.get_run(run.id, workspace=workspace).state == "running"
        finally:
            process.terminate()
            process.wait(10)
            runs.stop_engine(workspace=workspace)
    print(f"{sessions} sessions on {dataset} for {seconds:.0f} s beside a training run of CoNAL with 5 seeds")
    opening = seen.times.pop("opening the page")
    print(f"opening the page: median {np.median(opening):.0f} ms, longest {max(opening):.0f} ms")
    for kind, times in seen.times.items():
        name = f"{kind}, 95th percentile of {len(times)} (median {np.median(times):.0f})"
        verdict(name, float(np.percentile(times, 95)), REDRAW, "ms")
    print(f"clicks without an answer within 60 s, made again: {seen.missed}")
    verdict("errors", len(seen.errors), 0, "")
    print("\n".join(seen.errors[:5]))


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:])))
