"""The first questions on the demo dataset lead to pages that exist, and show on the demo only."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdcore.data.tour import DEMO, TOUR
from crowdcore.data.writers import write_folder
from dashboard.pages import PATHS, TITLES
from testkit.crowds import simulate_crowd
from tests.dashboard.test_pages import open_page


@pytest.mark.parametrize("step", TOUR, ids=lambda step: step.path)
def test_every_step_is_a_page_of_the_app(step) -> None:
    assert step.view in TITLES
    assert PATHS.get(step.view, step.view) == step.path
    if step.tab:
        test = open_page(step.view, dataset=DEMO, view=step.tab)
        assert step.tab in [link.proto.label for link in test.get("page_link")]
        assert not test.exception


def test_the_data_page_of_the_demo_shows_the_steps() -> None:
    links = [link.proto.label for link in open_page("overview", dataset=DEMO, view="Numbers").get("page_link")]
    assert [label for label in links if label in str(TOUR)] == [step.question for step in TOUR]


def test_the_data_page_of_another_dataset_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(simulate_crowd(), tmp_path / "crowd")
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    shown = open_page("overview", dataset="crowd", view="Numbers")
    assert not [link for link in shown.get("page_link") if link.proto.label in str(TOUR)]
