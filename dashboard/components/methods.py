"""The methods that can be trained, looked up by a process of its own: the first time a page waits for it."""

from __future__ import annotations

import contextlib

import streamlit as st

from crowdcore.core.errors import CrowdError
from crowdcore.learning import learners
from dashboard.services.runs import training_fault


def look_up_methods() -> None:
    """Wait for `learners.described` with a sign that says so; who then asks in vain is told why."""
    if training_fault():
        return
    with st.spinner("Looking up the methods …"), contextlib.suppress(CrowdError):
        learners.described()
