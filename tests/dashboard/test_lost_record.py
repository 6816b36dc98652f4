"""Pages whose record of runs is broken: one sentence with the remedy, and the others as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.app_page import open_page, words


@pytest.mark.usefixtures("trainable_crowd")
def test_a_broken_record_is_said_where_runs_are_shown(workspace: Path) -> None:
    with (workspace / "mlflow.db").open("r+b") as file:
        file.truncate(8192)
    for page in ("runs", "train"):
        test = open_page(page, dataset="crowd")
        assert not test.exception
        [said] = [one for one in words(test).splitlines() if "mlflow.db" in one]
        assert "`crowdcore workspace check --repair`" in said
        assert "SQL" not in said and "Traceback" not in said
    assert not open_page("annotators", dataset="crowd").error
