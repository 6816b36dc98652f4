"""`crowdcore fetch`, against a local server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crowdcore.cli import app, main
from tests.data.sources import archives
from tests.data.sources.conftest import cache, server  # noqa: F401
from tests.data.sources.server import Server


def test_fetches_converts_and_says_so(server: Server, cache: Path) -> None:  # noqa: F811
    server.serve("/mturk-datasets.tar.gz", archives.tar_gz(archives.music()[0]))
    done = CliRunner().invoke(app, ["fetch", "music", "--url-base", server.url])
    assert done.exit_code == 0, done.output
    assert "28 tasks, 60 annotations by 3 workers" in done.output.replace("\n", "")
    again = CliRunner().invoke(app, ["fetch", "music", "--url-base", server.url, "--json"])
    said = json.loads(again.stdout)
    assert said == {"name": "music", "folder": str(cache / "music"), "tasks": 28, "annotations": 60}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("music", "mturk-datasets.tar.gz answered 404 (Not Found)"), ("musik", "Did you mean 'music'?")],
)
def test_one_clear_line_and_exit_code_2(
    server: Server,  # noqa: F811
    cache: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    sentence: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["crowdcore", "fetch", name, "--url-base", server.url])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    said = capsys.readouterr().err.strip()
    assert sentence in said and "\n" not in said
