"""A tracking server keeps the record where one is named, and MLflow's own pages show what the workspace holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore.runs import Workspace, curves, get_run, list_runs, predictions, result
from testkit.app_server import free_port
from testkit.recorded_runs import record
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up

pytestmark = pytest.mark.slow


def answer(address: str, path: str, **question: object) -> dict[str, object]:
    """Return the server's answer to a question in JSON."""
    request = urllib.request.Request(
        f"{address}/api/2.0/mlflow/{path}", json.dumps(question).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, str]:
    """A workspace with a record of its own, and a run in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        workspace = Workspace.open(tmp_path_factory.mktemp("workspace"))
        crowd = replace(featured_crowd(60), name="own")
        return workspace, record(workspace, made_up(crowd, "trace"), crowd, lr=0.25)


@pytest.fixture(scope="module")
def address(own: tuple[Workspace, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an MLflow server on the record of that workspace, as with `mlflow ui`."""
    port, folder = free_port(), tmp_path_factory.mktemp("server")
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", own[0].tracking_uri, "--artifacts-destination", str(folder / "artefacts")]
    alone = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # no processes for jobs that nobody asks for
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, start_new_session=True, cwd=folder, stdout=log, stderr=log, env=alone)
    try:
        end = time.monotonic() + 120
        while not answers(port):
            assert time.monotonic() < end and process.poll() is None, (folder / "server.log").read_text()
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(port: int) -> bool:
    """Return whether a server is up."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
    except OSError:
        return False
    return True


def test_a_server_keeps_the_record(address, own, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    place = Workspace.open(tmp_path / "workspace")
    crowd = featured_crowd(60)
    made = made_up(crowd, "conal")
    run = record(place, made, crowd, regularisation=1e-4)
    assert not (place.folder / "mlflow.db").exists()
    [listed] = [one for one in list_runs(workspace=place) if one.id != own[1]]
    assert listed == get_run(run, workspace=place)
    assert (listed.id, listed.state, listed.spec.settings) == (run, "finished", {"regularisation": 1e-4})
    elsewhere = Workspace.open(tmp_path / "elsewhere")  # another machine that knows the server only
    kept = result(run, workspace=elsewhere)
    assert np.array_equal(kept.probabilities["selected"], made.probabilities["selected"])
    epochs = curves(run, workspace=elsewhere)
    loss = epochs[epochs["metric"] == "loss"].sort_values("epoch")["mean"]
    assert loss.to_numpy() == pytest.approx(np.nanmean(made.curves["loss"], 1))
    table = predictions(run, workspace=elsewhere)
    assert table["task"].tolist() == pd.Index(crowd.task_ids)[made.task].tolist()


def test_mlflow_s_own_pages_show_the_workspace_s_runs(address: str, own: tuple[Workspace, str]) -> None:
    workspace, run = own
    experiments = answer(address, "experiments/search", max_results=10)["experiments"]
    ids = [one["experiment_id"] for one in experiments]
    everything = answer(address, "runs/search", experiment_ids=ids)["runs"]
    [shown] = [one for one in everything if one["info"]["run_id"] == run]
    assert shown["info"]["status"] == "FINISHED"
    recorded = {entry["key"]: entry["value"] for entry in shown["data"]["metrics"]}
    scores = get_run(run, workspace=workspace).scores
    assert recorded["test_accuracy_selected"] == pytest.approx(scores["test_accuracy_selected"])
