"""Nothing that comes from data or names is obeyed by a terminal."""

from __future__ import annotations

import json
import logging
import re

import pytest

from crowdcore.core.errors import SettingError
from crowdcore.core.spelling import log_visibly, visible

WORKER, TASK, LABEL = "an\x1b[31mn", "t\x9b2Ja", "c\u202ea\x07t"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(tmp_path):
    file = tmp_path / "votes.csv"
    rows = [
        (f"{TASK}{n}", f"{WORKER}{w}", f"{LABEL}{(n + w * n) % 2}", f"{LABEL}{n % 2}")
        for n in range(12)
        for w in (1, 2)
    ]
    text = "task,worker,label,gold\n" + "".join(",".join(row) + "\n" for row in rows)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("command", ["examine", "info", "mistakes", "quality", "check", "marks", "aggregate"])
def test_no_command_prints_what_a_terminal_obeys(run, hostile, command: str) -> None:
    done = run(command, hostile)
    assert not OBEYED.search(done.out + done.err)
    assert "\\x1b[31m" in done.out + done.err or command in ("mistakes", "marks", "aggregate", "check")


def test_json_stays_json(run, hostile) -> None:
    done = run("info", hostile, "--json")
    assert not OBEYED.search(done.out)
    assert json.loads(done.out)["examples"][0][0].startswith(WORKER)


def test_a_log_line(capsys) -> None:
    log_visibly("test-of-logs")
    try:
        raise ValueError(WORKER)
    except ValueError:
        logging.getLogger("test-of-logs").exception("could not read %s", LABEL)
    logged = capsys.readouterr().err
    assert visible(WORKER) in logged and visible(LABEL) in logged and not OBEYED.search(logged)


def test_a_comment_that_is_no_text(refused) -> None:
    error = refused("marks", "demo", "--unclear", "0", "--comment", "caf\udce9")
    assert isinstance(error, SettingError) and error.argument == "comment"
