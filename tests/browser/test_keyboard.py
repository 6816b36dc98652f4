"""The pages about runs without a mouse: every control is reached by Tab, and works by the keys that it is known for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import crowdcore as cc
from tests.browser.recorded_runs import record
from tests.browser.steps import charts, main, open_page, settled
from tests.learning.made_up import made_up

MOST = 150  # presses of Tab
# What has the focus: its label or its words.
FOCUSED = """() => {
  const shown = document.activeElement;
  const label = shown.getAttribute('aria-label') || shown.labels?.[0]?.innerText || shown.innerText || '';
  return label.split('\\n').filter(Boolean).at(-1)?.trim() ?? '';
}"""


@pytest.fixture(scope="module")
def two(app: str, workspace: Path) -> str:
    """Address parameters of two runs on the demo dataset."""
    demo = cc.load_dataset("demo")
    return "dataset=demo" + "".join(f"&runs={record(workspace, made_up(demo, m))}" for m in ("conal", "crowd-layer"))


def missed(page: Page, *controls: str) -> set[str]:
    """Which of these controls Tab does not lead to."""
    page.evaluate("document.activeElement.blur()")
    missing = set(controls)
    for _ in range(MOST):
        if not missing:
            break
        page.keyboard.press("Tab")
        missing.discard(str(page.evaluate(FOCUSED)))
    return missing


@pytest.mark.parametrize(
    ("view", "controls"),
    [
        (
            "train",
            ("Methods", "Seeds", "Epochs", "Network", "Device", "Start 3 runs", "Runs shown", "Curves", "Smoothing"),
        ),
        ("train", ("Run", "Run again with …", "Use as reference", "Predictions", "Model (PyTorch)", "Model (ONNX)")),
        ("runs", ("Dataset", "Method", "State", "Containing", "CSV", "Open", "Compare 2", "Tags", "Put on all")),
        ("compare", ("Runs", "Choose in a table", "Accuracy", "Filter runs", "CSV")),
        ("confusions", ("Run", "Seeds", "Compare with", "Matrices", "Workers", "Diagonal", "Next page", "CSV")),
        ("omega", ("Run", "Tasks", "CSV")),
        ("report", ("Runs", "Show worker names", "HTML page", "Folder (ZIP)")),
    ],
)
def test_tab_leads_to_every_control(page: Page, two: str, view: str, controls: tuple[str, ...]) -> None:
    open_page(page, f"/{view}?{two}")
    assert missed(page, *controls) == set()


def test_tabs_of_compare_are_changed_by_arrows(page: Page, two: str) -> None:
    open_page(page, f"/compare?{two}")
    assert not missed(page, "Accuracy")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("view=Curves"))
    settled(page)
    expect(charts(page).first).to_be_visible()
    expect(main(page).get_by_role("tab", name="Curves")).to_have_attribute("aria-selected", "true")
