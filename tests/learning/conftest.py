"""Fixtures shared by tests of learning."""

from __future__ import annotations

import pytest

from crowdcore.learning import trials


@pytest.fixture
def short_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use as few trials as possible."""
    monkeypatch.setattr(trials, "FOLDS", 2)
    monkeypatch.setattr(trials, "REPLICAS", 1)
