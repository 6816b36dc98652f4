"""A workspace of its own and empty caches for every test of the app."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's workspace; no cache survives a test."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setattr("dashboard.services._cache._FRESH", 0.0)
    st.cache_resource.clear()
    return tmp_path / "workspace"
