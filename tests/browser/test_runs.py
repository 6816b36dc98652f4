"""The page Runs as a user meets it: a row chosen by keyboard, named, compared, and deleted once confirmed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import crowdcore as cc
from crowdcore.runs import Run, Workspace, change_tags, list_runs
from testkit.recorded_runs import record
from testkit.steps import main, settled, visit
from tests.learning.made_up import made_up


@pytest.fixture
def three(app: str, workspace: Path) -> list[str]:
    """Runs on the demo dataset with a tag of their own: the first one's id."""
    demo = cc.load_dataset("demo")
    ids = [record(workspace, made_up(demo, m, sure=k), demo) for k, m in enumerate(("trace", "conal", "dl-mv"), 1)]
    change_tags(ids, ids[:1], workspace=Workspace.open(workspace))
    return ids


def recorded(workspace: Path) -> dict[str, Run]:
    return {run.id: run for run in list_runs(workspace=Workspace.open(workspace))}


def test_rows_are_chosen_by_keyboard_named_compared_and_deleted(page: Page, three: list[str], workspace: Path) -> None:
    visit(page, f"/train?dataset=demo&tags={three[0]}")
    expect(main(page).get_by_text("3 runs on 1 dataset")).to_be_visible()
    main(page).get_by_test_id("data-grid-canvas").first.focus()
    for key in ("ArrowDown", "ArrowUp", "Shift+Space"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(f"runs={three[2]}"))
    name = page.get_by_role("textbox", name="Name")
    name.fill("Votes")
    name.press("Enter")
    expect(main(page).get_by_role("heading", name="Votes")).to_be_visible()
    assert recorded(workspace)[three[2]].name == "Votes"

    visit(page, f"/train?dataset=demo&tags={three[0]}&runs={three[0]}&runs={three[1]}")
    expect(main(page).get_by_role("link", name="Compare 2")).to_have_attribute(
        "href", re.compile(f"compare.*runs={three[0]}&runs={three[1]}|compare.*runs={three[1]}&runs={three[0]}")
    )
    main(page).get_by_role("button", name="Delete 2").click()
    expect(page.get_by_text("This cannot be undone")).to_be_visible()
    page.get_by_role("button", name="Delete 2 runs for good").click()
    expect(main(page).get_by_text("1 run on 1 dataset")).to_be_visible()
    settled(page)
    left = recorded(workspace)
    assert three[2] in left and not {three[0], three[1]} & left.keys()
