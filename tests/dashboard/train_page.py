"""The page Train in-process, on a crowd that runs can be recorded for; nothing trains."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from crowdcore import runs
from crowdcore.data import load_dataset
from crowdcore.runs import RunSpec, store
from tests.dashboard.app_page import open_page


def page(**address: str | list[str]) -> AppTest:
    return open_page("train", **{"dataset": "crowd", **address})


def asked(**changes: object) -> runs.Run:
    """A recorded run on the crowd."""
    fingerprint = load_dataset("crowd").fingerprint
    spec = RunSpec(dataset="crowd", fingerprint=fingerprint, method="conal", seeds=(0, 1, 2))
    return store.create(spec.model_copy(update=changes))
