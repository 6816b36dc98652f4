"""Every page, control and download with workers' names hidden: nothing sent to the browser may reveal a name.

    CROWDCORE_DATA=… python -m benchmarks.names [dataset …]

The datasets (default: a made-up crowd with runs on it, and every installed one) get unmistakable names and e-mails for
workers. A browser opens every address of `testkit.named_crowd.addresses`, presses every tab, switch, expander and
choice, and takes every download, while all network traffic is searched: WebSocket frames, responses, files, addresses,
titles and the page itself. Printed per dataset: the places searched, and the leaks. Exit code 1 if there is one, or if
no pseudonym was seen either.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
from playwright.sync_api import Error, Locator, Page, Response, WebSocket, expect, sync_playwright

from crowdcore.data import list_datasets, load_dataset
from crowdcore.data.writers import write_folder
from testkit.app_server import launch, serving
from testkit.named_crowd import NAME, SIDE, addresses, names_in, record_named_crowd
from testkit.steps import main as area, open_page, settled

PATHS = {"mistakes": "shared-mistakes"}
PRESSED = (  # selectors of the controls to press, in this order
    "[data-testid=stTab]",
    "[data-testid=stExpander] summary",
    "[data-testid^=stBaseButton-pills], [data-testid^=stBaseButton-segmented_control]",
    "label[data-testid=stCheckbox], [data-testid=stCheckbox] label",
)
OPTIONS = 2  # choices tried of each select box
SWITCHES = ("Hide worker names", "Show further columns")


@dataclass
class Seen:
    """Counts of what was searched, and the places of names."""

    frames: int = 0
    responses: int = 0
    files: int = 0
    states: int = 0
    pseudonyms: int = 0
    missed: list[str] = field(default_factory=list)
    leaks: dict[str, list[str]] = field(default_factory=dict)

    def look(self, place: str, *contents: bytes) -> None:
        """Search some bytes for names, and for their pseudonyms."""
        self.pseudonyms += sum(b"worker 0" in content or b"worker 1" in content for content in contents)
        if names := names_in(*contents):
            self.leaks.setdefault(place, names)


@contextmanager
def watched(page: Page, seen: Seen) -> Iterator[None]:
    """Search all network traffic meanwhile."""

    def frame(payload: str | bytes) -> None:
        seen.frames += 1
        seen.look(f"frame on {page.url}", payload.encode() if isinstance(payload, str) else payload)

    def socket(opened: WebSocket) -> None:
        opened.on("framereceived", frame)

    def answered(response: Response) -> None:
        if "/static/" not in response.url:
            arrived.append(response)

    arrived: list[Response] = []
    page.on("websocket", socket)
    page.on("response", answered)
    yield
    for response in arrived:
        seen.responses += 1
        try:
            seen.look(f"response {response.url}", response.body())
        except Error:  # a redirect, or a page that was left, has no body
            continue


def look(page: Page, seen: Seen) -> None:
    """Search the page itself: its HTML with hover and alternative texts, its title and its address."""
    settled(page)
    seen.states += 1
    seen.look(f"page {page.url}", page.content().encode(), page.title().encode(), page.url.encode())


def press(page: Page, seen: Seen, target: Locator) -> None:
    """Press a control, if it can be pressed."""
    try:
        target.click(timeout=3000)
        look(page, seen)
    except Error:
        return  # it went away, or lies under something


def choose(page: Page, seen: Seen, box: Locator) -> None:
    """Try the first choices of a select box."""
    for number in range(OPTIONS):
        try:
            box.click(timeout=3000)
            option = page.get_by_role("option").nth(number)
            option.click(timeout=3000)
            look(page, seen)
        except Error:
            page.keyboard.press("Escape")


def take(page: Page, seen: Seen) -> None:
    """Search every download of the page, also those behind a figure's toolbar."""
    for button in area(page).locator("[data-testid=stDownloadButton] button").all():
        try:
            with page.expect_download(timeout=60_000) as download:
                button.evaluate("button => button.click()", timeout=3000)
            seen.files += 1
            file = download.value.suggested_filename
            seen.look(f"file {file} of {page.url}", file.encode(), Path(download.value.path()).read_bytes())
        except Error:
            seen.missed.append(page.url)


def crawl(page: Page, seen: Seen, address: str) -> None:
    """Search one address with every control on it."""
    open_page(page, address)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=180_000)  # parts still loading
    look(page, seen)
    take(page, seen)
    for selector in PRESSED:
        for number in range(area(page).locator(selector).count()):
            target = area(page).locator(selector).nth(number)
            if not any(word in (target.text_content() or "") for word in SWITCHES):
                press(page, seen, target)
    for number in range(area(page).get_by_role("combobox").count()):
        choose(page, seen, area(page).get_by_role("combobox").nth(number))
    take(page, seen)


def named(name: str, folder: Path) -> None:
    """Write a dataset with unmistakable names and e-mails."""
    dataset = load_dataset(name)
    names = pd.Index([f"{NAME}{n:02d}" for n in range(dataset.n_workers)])  # those that `addresses` uses
    extra = pd.DataFrame({"e_mail": [f"{SIDE}{r}@example.org" for r in dataset.worker]})
    write_folder(replace(dataset, worker_ids=names, extra=extra, media=None), folder / name)


def main() -> int:
    """Crawl."""
    names = sys.argv[1:] or ["named", *(name for name in list_datasets() if load_dataset(name).n_annotations)]
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        datasets, workspace = Path(home, "datasets"), Path(home, "workspace")
        datasets.mkdir()
        workspace.mkdir()
        for name in names:
            if name != "named":
                named(name, datasets)
        runs = record_named_crowd(datasets, workspace) if "named" in names else []
        environment = {"CROWDCORE_DATA": str(datasets), "CROWDCORE_WORKSPACE": str(workspace)}
        leaked = 0
        with serving(environment=environment) as app, launch(playwright) as browser:
            for name in names:
                seen = Seen()
                for path, view in addresses(name, runs if name == "named" else []):
                    page = browser.new_page(base_url=app, viewport={"width": 1440, "height": 900})
                    page.set_default_timeout(120_000)
                    with watched(page, seen):
                        crawl(page, seen, f"/{PATHS.get(path, path)}?{urlencode(view, doseq=True)}")
                    page.close()
                    so_far = f"{seen.states} states, {seen.files} downloads, {len(seen.leaks)} leaks"
                    print(f"  {name}: {path} {view.get('view', '')}, {so_far}", file=sys.stderr, flush=True)
                files = [f for f in workspace.rglob("*") if f.is_file()]
                for file in files:
                    seen.look(f"workspace file {file.relative_to(workspace)}", file.read_bytes())
                print(
                    f"{name}: {seen.states} states of pages, {seen.frames} frames, {seen.responses} responses, "
                    f"{seen.files} downloads ({len(seen.missed)} could not be taken), {len(files)} files of the "
                    f"workspace; pseudonyms in {seen.pseudonyms} of these; {len(seen.leaks)} places leak",
                    flush=True,
                )
                for place, shown in seen.leaks.items():
                    print(f"  {place}: {', '.join(shown[:5])}")
                leaked += len(seen.leaks) + (not seen.pseudonyms)
    return 1 if leaked else 0


if __name__ == "__main__":
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    sys.exit(main())
