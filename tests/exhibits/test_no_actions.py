"""A crowd in which there is nothing to do."""

from __future__ import annotations

import pytest

from crowdcore.exhibits import verdicts, view
from testkit.crowds import simulate_crowd


@pytest.mark.parametrize("reference", ["gold", "auto"])
def test_a_crowd_without_faults_has_no_actions(reference: str) -> None:
    seen = view(simulate_crowd(60, n_workers=6, per_task=5, accuracy=1.0), reference)
    assert verdicts.task_verdicts(seen).table["verdict"].eq("fine").all()
    todo = verdicts.actions(seen).table
    assert list(todo) == ["what", "name", "action", "reason", "how sure", "effect"]
    assert todo["what"].isin(["worker"]).all()
