"""An existing cluster: `crowdcore compute-worker` joins it, and the runs of a workspace go to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crowdcore import runs
from crowdcore.cli.serve import worker
from crowdcore.core.errors import DataError, SettingError
from crowdcore.runs.engine import cluster_security
from crowdcore.runs.worker_process import run_scheduler
from crowdcore.runs.workspace import Workspace
from testkit.on_engine import LONG, make_dataset, spec, until, workspace_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy"),  # MLflow's own use of SQLAlchemy
]


def start(what: str, workspace_folder: Path, *options: str) -> subprocess.Popen[str]:
    """A command in a workspace, whose standard error can be read."""
    environment = {**os.environ, "CROWDCORE_WORKSPACE": str(workspace_folder)}
    command = [sys.executable, "-m", "crowdcore", what, *options]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stderr
    return process.stderr.readline()


def test_runs_of_a_workspace_on_another_cluster(tmp_path):
    key = tmp_path / "cluster" / "engine" / "cluster.pem"
    cluster = start("scheduler", tmp_path / "cluster", "--host", "127.0.0.1", "--port", "0")
    try:
        line = first_line(cluster)
        address = re.search(r"tls://127\.0\.0\.1:[0-9]+", line)[0]
        assert key.stat().st_mode & 0o077 == 0
        assert not speaks_without_key(address)
        with workspace_at(tmp_path, CROWDCORE_SCHEDULER=address, CROWDCORE_CLUSTER_KEY=str(key)) as workspace:
            joined = start("worker", tmp_path, "--slots", "2", "--device", "cpu")
            ids = [runs.submit(spec(LONG), workspace=workspace).id for _ in range(3)]

            def at_work() -> list[str]:
                return [r for r in ids if runs.get_run(r, workspace=workspace).state == "running"]

            until(lambda: len(at_work()) == 2, 180, "both slots are taken")
            until(lambda: [w.busy for w in runs.engine_state(workspace=workspace).workers] == [2], 30, "it is known")
            state = runs.engine_state(workspace=workspace)
            assert state.address == address
            assert [(w.device, w.slots, w.busy) for w in state.workers] == [("cpu", 2, 2)]

            runs.stop_engine(workspace=workspace)  # the workers of others go on
            assert len(at_work()) == 2
            runs.ensure_engine(workspace=workspace)
            for run_id in ids:
                runs.cancel(run_id, workspace=workspace)
            until(lambda: all(runs.get_run(r, workspace=workspace).state == "cancelled" for r in ids), 60, "cancelled")
            joined.send_signal(signal.SIGINT)
            line = joined.communicate(timeout=30)[1]
            assert joined.returncode == 0
            assert f"{address}: 2 runs at once on cpu" in line
    finally:
        cluster.send_signal(signal.SIGTERM)
        cluster.communicate(timeout=20)
        assert cluster.returncode == 0


def speaks_without_key(address: str) -> bool:
    """Return whether a client without a key gets through to a scheduler."""
    from distributed import Client, Security

    stranger = Security.temporary()  # a key of its own
    try:
        Client(address, security=stranger, timeout=3, set_as_default=False).close()
    except OSError:
        return False
    return True


def test_a_scheduler_without_tls_is_refused_before_anything_is_recorded(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    workspace = Workspace.open(tmp_path)
    make_dataset(tmp_path)
    for address in ("tcp://127.0.0.1:8786", "127.0.0.1:8786", "ws://host:1"):
        monkeypatch.setenv("CROWDCORE_SCHEDULER", address)
        monkeypatch.delenv("CROWDCORE_ANYONE_MAY_RUN_CODE", raising=False)
        with pytest.raises(SettingError, match="scheduler"):
            runs.submit(spec(1), workspace=workspace)
        assert runs.list_runs(workspace=workspace) == []
        with pytest.raises(SettingError, match="tls://"):
            worker(device="cpu", scheduler=address)
        monkeypatch.setenv("CROWDCORE_ANYONE_MAY_RUN_CODE", "1")
        assert cluster_security(workspace, address) is None


def test_a_cluster_without_its_key_is_refused(tmp_path):
    workspace = Workspace.open(tmp_path)
    with pytest.raises(DataError, match="crowdcore scheduler"):
        cluster_security(workspace, "tls://127.0.0.1:8786")
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "cluster.pem").write_text("not a key")
    with pytest.raises(DataError, match=r"cluster\.pem"):
        run_scheduler(workspace, "127.0.0.1", 0)


def test_a_device_that_is_not_here():
    with pytest.raises(SettingError, match="--device"):
        worker(device="cuda:99")
