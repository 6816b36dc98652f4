"""The first questions on the demo dataset lead to pages that exist."""

from __future__ import annotations

import pytest

from crowdcore.data.tour import DEMO, TOUR
from dashboard.pages import PATHS, TITLES
from tests.dashboard.test_pages import open_page


@pytest.mark.parametrize("step", TOUR, ids=lambda step: step.path)
def test_every_step_is_a_page_of_the_app(step) -> None:
    assert step.view in TITLES
    assert PATHS.get(step.view, step.view) == step.path
    if step.tab:
        test = open_page(step.view, dataset=DEMO, view=step.tab)
        assert step.tab in [link.proto.label for link in test.get("page_link")]
        assert not test.exception
