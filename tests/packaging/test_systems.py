"""On systems that are not supported one sentence says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crowdcore.cli import main

SENTENCE = "works on Linux and macOS only, but this system is 'win32'. On Windows, use the Windows Subsystem for Linux"


def test_the_command_line_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as end:
        main(["datasets"])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"crowdcore: crowdcore {SENTENCE}")
    assert said.count("\n") == 1


def test_training_in_the_background_is_refused_and_analysis_is_not() -> None:
    code = (
        "import sys, crowdcore as cc, crowdcore.analysis, crowdcore.data.catalogue\n"
        "cc.load_dataset('demo'), cc.analysis.summary\n"
        "sys.platform = 'win32'\n"
        "cc.analysis.summary(cc.load_dataset('demo'))\n"
        "try: cc.runs.submit\n"
        "except cc.CrowdError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Training in the background {SENTENCE}")
