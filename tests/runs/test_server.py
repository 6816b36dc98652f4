"""A tracking server keeps the record where one is named, and MLflow's own pages show what the workspace holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crowdcore.runs import Workspace, curves, get_run, list_runs, predictions, result
from tests.browser.app_server import free_port
from tests.browser.recorded_runs import record
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up

Serve = Callable[..., str]
pytestmark = pytest.mark.slow


def answer(address: str, path: str, **question: object) -> dict[str, object]:
    """What the server says to a question in JSON."""
    request = urllib.request.Request(
        f"{address}/api/2.0/mlflow/{path}", json.dumps(question).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts `mlflow` with these words; the address once it answers."""
    started = []
    alone = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # no processes for jobs that nobody asks for

    def go(*words: str) -> str:
        port = free_port()
        command = [sys.executable, "-m", "mlflow", *words, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        with (tmp_path / "server.log").open("wb") as log:
            started.append(
                subprocess.Popen(command, start_new_session=True, cwd=tmp_path, stdout=log, stderr=log, env=alone)
            )
        end = time.monotonic() + 120
        while time.monotonic() < end and started[-1].poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                return f"http://127.0.0.1:{port}"
            except OSError:
                time.sleep(0.2)
        raise RuntimeError((tmp_path / "server.log").read_text())

    yield go
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_server_keeps_the_record(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"sqlite:///{tmp_path / 'server.db'}"
    address = serve("server", "--backend-store-uri", store, "--artifacts-destination", str(tmp_path / "artefacts"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    place = Workspace.open(tmp_path / "workspace")
    crowd = featured_crowd(60)
    made = made_up(crowd, "conal")
    run = record(place, made, crowd, regularisation=1e-4)
    assert not (place.folder / "mlflow.db").exists()
    [listed] = list_runs(workspace=place)
    assert listed == get_run(run, workspace=place)
    assert (listed.id, listed.state, listed.spec.settings) == (run, "finished", {"regularisation": 1e-4})
    elsewhere = Workspace.open(tmp_path / "elsewhere")  # another machine that knows the server only
    found = result(run, workspace=elsewhere)
    assert np.array_equal(found.probabilities["selected"], made.probabilities["selected"])
    epochs = curves(run, workspace=elsewhere)
    loss = epochs[epochs["metric"] == "loss"].sort_values("epoch")["mean"]
    assert loss.to_numpy() == pytest.approx(np.nanmean(made.curves["loss"], 1))
    table = predictions(run, workspace=elsewhere)
    assert table["task"].tolist() == pd.Index(crowd.task_ids)[made.task].tolist()


def test_mlflow_s_own_pages_show_the_workspace_s_runs(serve: Serve, workspace: Workspace) -> None:
    crowd = featured_crowd(60)
    run = record(workspace, made_up(crowd, "trace"), crowd, lr=0.25)
    address = serve("ui", "--backend-store-uri", workspace.tracking_uri)
    experiments = answer(address, "experiments/search", max_results=10)["experiments"]
    ids = [one["experiment_id"] for one in experiments]
    [shown] = answer(address, "runs/search", experiment_ids=ids)["runs"]
    assert (shown["info"]["run_id"], shown["info"]["status"]) == (run, "FINISHED")
    recorded = {entry["key"]: entry["value"] for entry in shown["data"]["metrics"]}
    assert recorded["test_accuracy_selected"] == pytest.approx(get_run(run).scores["test_accuracy_selected"])
