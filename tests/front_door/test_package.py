"""A package of one's own, as docs/extend/package.md writes it: installed by pip, used in the shell and in the app."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest

import crowdcore as cc
from crowdcore.data.readers import Raw, Reader, Source
from crowdcore.testing import check_reader
from tests.docs.runner import DOCS, ROOT, blocks

APP = """
import sys
from streamlit.testing.v1 import AppTest
test = AppTest.from_file(f"{sys.argv[1]}/dashboard/app.py", default_timeout=60).run()
test.switch_page("views/own.py")
test.query_params["dataset"] = "demo"
test.run()
assert not test.exception and not test.error, test.error
assert test.title[0].value == "Busy workers"
assert len(test.dataframe[0].value) == 3
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the page's files, with a folder ``site`` into which pip has installed the package."""
    folder = tmp_path_factory.mktemp("extras")
    for block in blocks(DOCS / "extend/package.md"):
        if block.title:
            (folder / block.title).parent.mkdir(exist_ok=True)
            (folder / block.title).write_text(block.text)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", folder / "site", folder / "crowd_extras"], check=True)
    return folder


def shell(line: str, home: Path, *path: Path) -> str:
    found = os.pathsep.join(map(str, (*path, ROOT)))
    environment = {**os.environ, "PYTHONPATH": found, "CROWDCORE_WORKSPACE": str(home / "workspace"), "COLUMNS": "110"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    options: dict[str, Any] = {"cwd": home / "crowd_extras", "env": environment, "capture_output": True, "text": True}
    done = subprocess.run(["bash", "-c", line], check=False, **options)
    assert not done.returncode, f"{line}\n{done.stdout}\n{done.stderr}"
    return str(done.stdout)


def test_its_reader_keeps_the_contract_before_it_is_installed_and_commands_use_it_after(home: Path) -> None:
    assert not shell("python check.py", home)
    site = home / "site"
    assert shell("crowdcore examine votes.txt", home, site).startswith("votes: duels")
    assert "ann" in shell("crowdcore show busy-workers votes.txt -s most=1", home, site)


def test_the_app_has_its_page(home: Path) -> None:
    shell(f"python -c '{APP}' {ROOT}", home, home / "site")


class Marks(Reader):
    """An XML document of marks, which no reader of ours opens."""

    name: ClassVar[str] = "marks"
    title: ClassVar[str] = "Marks"
    lost: ClassVar[int] = 0

    def fits(self, source: Source, settings: Any) -> float:
        return float(source.content is not None and source.content.sample.startswith("<marks>"))

    def read(self, source: Source, settings: Any) -> Raw:
        try:
            marks = ElementTree.parse(source.path).getroot()
        except ElementTree.ParseError as error:
            raise cc.DataError(f"This is no XML document: {error}", file=source.path) from error
        rows = [tuple(mark.get(name) for name in ("task", "worker", "label")) for mark in marks]
        return Raw.of_rows(self.name, rows[self.lost :])


class Losing(Marks):
    """Reader that loses a row."""

    lost = 1


class Greedy(Marks):
    """Reader that claims all files."""

    def fits(self, source: Source, settings: Any) -> float:
        return 1.0


class Fragile(Marks):
    """Reader that fails on damaged files."""

    def read(self, source: Source, settings: Any) -> Raw:
        return super().read(source, settings) if source.path.read_text().endswith("</marks>") else {}["no mark"]


def test_a_reader_of_a_foreign_document_keeps_the_contract_and_a_broken_promise_is_named(tmp_path: Path) -> None:
    rows = [("t1", "ann", "cat"), ("t1", "ben", "dog"), ("t2", "ann", "dog")]
    file = tmp_path / "marks.xml"
    marks = "".join(f"<m task='{task}' worker='{worker}' label='{label}'/>" for task, worker, label in rows)
    file.write_text(f"<marks>{marks}</marks>")
    check_reader(Marks, file, rows)
    broken = {Losing: "what the file holds", Greedy: "other files alone", Fragile: "damaged file"}
    for reader, promise in broken.items():
        with pytest.raises(AssertionError) as error:
            check_reader(reader, file, rows)
        assert promise in error.value.__notes__[0]
    with pytest.raises(cc.DataError):
        cc.read_dataset(file)  # the checks leave nothing behind
