"""The tutorial notebook runs from top to bottom, and every result in it has something short to show."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.conftest import ROOT

pytest.importorskip("torch")
FILE = ROOT / "docs/tutorials/first-crowd.ipynb"


def test_the_notebook_runs_and_shows_its_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book = json.loads(FILE.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    shown = []
    for cell in (cell for cell in book["cells"] if cell["cell_type"] == "code"):
        assert cell["outputs"] == [], "outputs belong to whoever runs it"
        *before, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(before, []), FILE.name, "exec"), names)
        assert isinstance(last, ast.Expr), "a cell ends in what it shows"
        shown.append(eval(compile(ast.Expression(last.value), FILE.name, "eval"), names))
    assert all(len(repr(one)) < 2000 for one in shown)
    pages = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    assert len(pages) >= 8
    assert max(map(len, pages)) < 12_000
    compared = names["cc"].learning.compare([names["conal"], names["vote"]]).set_index("run")["accuracy"]
    assert compared["conal"] > compared["dl-mv"]
