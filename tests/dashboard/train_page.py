"""The page Train in-process, on a crowd that runs can be recorded for; nothing trains."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from crowdcore import runs
from crowdcore.data import load_dataset
from crowdcore.runs import RunSpec, store
from tests.conftest import ROOT

__all__ = ["asked", "button", "page", "words"]


def page(**address: str | list[str]) -> AppTest:
    test = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120).run()
    test.switch_page("views/train.py")
    test.query_params.clear()
    for key, value in {"dataset": "crowd", **address}.items():
        test.query_params[key] = value
    test.run()
    assert not test.exception
    return test


def words(test: AppTest) -> str:
    found = [*test.markdown, *test.caption, *test.error, *test.warning, *test.info, *test.subheader, *test.code]
    return "\n".join(str(part.value).replace("\\", "").replace("\u2060", "") for part in found)


def button(test: AppTest, label: str):
    return next(b for b in test.button if b.label == label)


def asked(**changes: object) -> runs.Run:
    """A recorded run on the crowd."""
    fingerprint = load_dataset("crowd").fingerprint
    spec = RunSpec(dataset="crowd", fingerprint=fingerprint, method="conal", seeds=(0, 1, 2))
    return store.create(spec.model_copy(update=changes))
