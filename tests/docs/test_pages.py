"""The documentation is true: the code of every page works, and prints what the page shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.runner import DOCS, ROOT, blocks, carry_out, pages, runs

RUNNING = [str(page.relative_to(DOCS)) for page in pages() if runs(page)]
EXTEND = [page for page in RUNNING if page.startswith("extend/")]


@pytest.mark.parametrize("page", [page for page in RUNNING if page not in EXTEND])
def test_a_page_can_be_carried_out(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if "labelme" in "".join(block.text for block in blocks(DOCS / page) if block.language in {"python", "console"}):
        request.getfixturevalue("data_folder")  # skips where LabelMe is not here
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    carry_out(DOCS / page, tmp_path)


@pytest.mark.parametrize("page", EXTEND)
def test_an_extension_works_in_the_files_that_its_guide_names(page: str, tmp_path: Path) -> None:
    copy = tmp_path / "crowdcore"
    for part in ("crowdcore", "dashboard", "data", "docs", "tests", "testkit"):
        shutil.copytree(ROOT / part, copy / part)  # with what Python has compiled
    shutil.copy(ROOT / "pyproject.toml", copy)
    carry_out(DOCS / page, copy, code=copy)
