"""The README is true: its Python and CLI examples run, and the pictures and commands it names exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from crowdcore.cli import main

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_there_are_examples_of_each_kind() -> None:
    assert blocks("python") and blocks("console") and blocks("sh")


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    "line", [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
)
def test_cli_examples_run(line, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for command in line.split(" && "):
        name, *arguments = shlex.split(command)
        assert name == "crowdcore"
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert not end.value.code, command
    assert capfd.readouterr().out.strip()


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)", README))
    assert {"app", "test"} <= named <= targets


def test_pictures_exist() -> None:
    pictures = re.findall(r"(.github/pictures/[\w./-]+)", README)
    assert pictures
    assert [p for p in pictures if not (ROOT / p).is_file()] == []
