"""No page waits in silence while the methods are looked up."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st

from crowdcore.learning import learners
from tests.dashboard.app_page import open_page
from tests.dashboard.compared_runs import Recorded


@pytest.mark.parametrize("page", ["train", "sandbox", "runs", "compare", "report", "confusions", "omega"])
def test_the_first_look_at_the_methods_has_a_sign(
    page: str, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    signs: list[str] = []
    seen: list[str] = []
    spinner, described = st.spinner, learners.described

    @contextlib.contextmanager
    def shown(text: str, **settings: Any) -> Iterator[None]:
        signs.append(text)
        with spinner(text, **settings):
            yield
        signs.pop()

    def asked() -> dict[str, Any]:
        seen.append(signs[-1] if signs else "")
        return described()

    monkeypatch.setattr(st, "spinner", shown)
    monkeypatch.setattr(learners, "described", asked)
    assert not open_page(page, dataset="crowd").exception
    assert seen[:1] in ([], ["Looking up the methods …"])
    assert seen or page == "sandbox"  # where nothing is planted there is nothing to train on
