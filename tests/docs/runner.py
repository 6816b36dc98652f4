"""Carries out a page of the documentation as a reader would.

Fenced blocks, from top to bottom:

- ``python``: runs in the page's one namespace. ``console``: every line that starts with ``$ `` must exit with 0.
- ``text`` right after one of these: what it must have printed, up to white space.
- any block with ``title="path"``: is written to that file. ``diff``: is applied to the files that it names.
- ``sh`` and all others are for the eye.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from crowdcore.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """One fenced block and the line of the page where it begins."""

    language: str
    title: str
    text: str
    line: int


def pages() -> list[Path]:
    """All pages of the site."""
    return sorted(DOCS.rglob("*.md"))


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        yield Block(match[1], match[2] or "", match[3], text[: match.start()].count("\n") + 1)


def runs(page: Path) -> bool:
    """Return whether a page holds anything to carry out."""
    return any(block.language in {"python", "console", "diff"} for block in blocks(page))


def carry_out(page: Path, folder: Path, code: Path = ROOT) -> None:
    """Carry out a page in ``folder``, with the package in ``code``."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    printed: str | None = None
    for block in blocks(page):
        where = f"{page.relative_to(DOCS)}, line {block.line}"
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * block.line + block.text, str(page), "exec"), namespace)
            printed = out.getvalue()
        elif block.language == "console":
            lines = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
            run = _crowdcore if code == ROOT and all(line.startswith("crowdcore ") for line in lines) else _shell
            printed = "".join(run(line, folder, code, where) for line in lines)
        elif block.language == "diff":
            _shell("git apply --recount -", folder, code, where, block.text)
        elif block.language == "text" and printed is not None:
            assert printed.split() == block.text.split(), f"{where} shows what was not printed:\n{printed}"
            printed = None


def _crowdcore(command: str, folder: Path, code: Path, where: str) -> str:
    """Return what one of our commands prints, run in this process to save the imports."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
        main(shlex.split(command)[1:])
    assert not end.value.code, f"{where}: {command}"
    return out.getvalue()


def _shell(command: str, folder: Path, code: Path, where: str, given: str = "") -> str:
    """Return what a command prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(code), "COLUMNS": "110"}
    done = subprocess.run(
        ["bash", "-c", command], check=False, cwd=folder, env=environment, input=given, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{where}: {command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout
