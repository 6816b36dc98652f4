"""A cluster that is there already: `crowdcore worker` joins it, and the runs of a workspace go to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from crowdcore import runs
from crowdcore.cli.worker import worker
from crowdcore.core.errors import SettingError
from tests.runs.on_engine import LONG, spec, until, workspace_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy"),  # MLflow's own use of SQLAlchemy
]


def test_runs_of_a_workspace_on_another_cluster(tmp_path):
    told = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    cluster = subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", str(told)], stderr=subprocess.DEVNULL)
    try:
        until(told.exists, 60, "the scheduler is up")
        address = json.loads(told.read_text())["address"]
        with workspace_at(tmp_path, CROWDCORE_SCHEDULER=address) as workspace:
            joined = subprocess.Popen(
                [sys.executable, "-m", "crowdcore", "worker", "--slots", "2", "--device", "cpu"],
                env={**os.environ, **workspace.environment},
                stderr=subprocess.PIPE,
                text=True,
            )
            asked = [runs.submit(spec(LONG), workspace=workspace).id for _ in range(3)]

            def at_work() -> list[str]:
                return [r for r in asked if runs.get_run(r, workspace=workspace).state == "running"]

            until(lambda: len(at_work()) == 2, 180, "both slots are taken")
            until(lambda: [w.busy for w in runs.engine_state(workspace=workspace).workers] == [2], 30, "it is known")
            state = runs.engine_state(workspace=workspace)
            assert state.address == address
            assert [(w.device, w.slots, w.busy) for w in state.workers] == [("cpu", 2, 2)]
            assert not (workspace.folder / "engine" / "scheduler.json").exists()

            runs.stop_engine(workspace=workspace)  # the workers of others go on
            assert len(at_work()) == 2
            runs.ensure_engine(workspace=workspace)
            for run_id in asked:
                runs.cancel(run_id, workspace=workspace)
            until(
                lambda: all(runs.get_run(r, workspace=workspace).state == "cancelled" for r in asked), 20, "cancelled"
            )
            joined.send_signal(signal.SIGINT)
            said = joined.communicate(timeout=30)[1]
            assert joined.returncode == 0
            assert f"Connected to {address}: 2 runs at once on cpu." in said
    finally:
        cluster.kill()
        cluster.wait()


def test_a_device_that_is_not_here():
    with pytest.raises(SettingError, match="--device"):
        worker(device="cuda:99")
