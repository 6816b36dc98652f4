from __future__ import annotations

import importlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError
from crowdcore.data.writers import write_folder
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.training.events import EpochEvent, Event
from crowdcore.runs import Run, Workspace, curves, get_run, log_lines, predictions, recorder, result, store
from crowdcore.runs.locks import Ending, is_leased, leased
from crowdcore.runs.record import client_of
from crowdcore.runs.recorder import Recorder
from crowdcore.runs.train_process import main

Make, Train = Callable[..., Run], Callable[[Run], int]
FINISHED, FAILED, CANCELLED = Ending.FINISHED.code, Ending.FAILED.code, Ending.CANCELLED.code
ORPHANED = TAKEN = Ending.LOST.code


def uninterrupted(run: Run) -> TrainingResult:
    data = cc.read_dataset(run.spec.dataset)
    return cc.learning.train(data, run.spec.method, seeds=run.spec.seeds, device="cpu", **run.spec.settings)


def assert_same(actual: TrainingResult, expected: TrainingResult) -> None:
    for name, rows in expected.curves.items():
        np.testing.assert_array_equal(actual.curves[name], rows, err_msg=name)
    for at, p in expected.probabilities.items():
        np.testing.assert_array_equal(actual.probabilities[at], p)
    np.testing.assert_array_equal(actual.worker_confusion, expected.worker_confusion)
    assert actual.selected_epoch.tolist() == expected.selected_epoch.tolist()


def goes_on(run: Run, train: Train, workspace: Workspace, expected: TrainingResult) -> None:
    """Queue and train a run again, which comes to what it would have come to at once."""
    workspace.forget_cancel(run.id)
    store.set_state(run.id, "queued")
    assert train(run) == FINISHED
    assert_same(result(run.id), expected)


@pytest.fixture
def at_epoch(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """``at_epoch(2, action)`` acts once, when the run has reported its second epoch."""

    def plan(number: int, action: Callable[[], object]) -> None:
        listen = Recorder.listen

        def listen_and_act(self: Recorder, event: Event) -> None:
            listen(self, event)
            if isinstance(event, EpochEvent) and event.epoch == number:
                monkeypatch.setattr(Recorder, "listen", listen)
                action()

        monkeypatch.setattr(Recorder, "listen", listen_and_act)

    return plan


OWN = """
from torch import nn
from crowdcore.learning.methods.crowd_layer import CrowdLayer
class Mine(CrowdLayer):
    name = title = "mine"
class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 3))
"""


def test_what_is_ones_own_runs_where_the_process_can_import_it_and_is_refused_where_not(
    make: Make, train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ownlib.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = importlib.import_module("ownlib")
    plain = {"backbone_settings": {}, "epochs": 2}
    for given in ({"method": own.Mine}, {"backbone": own.Net}):
        with pytest.raises(cc.SettingError, match="run's own process can import"):
            make(**plain, **given)  # here alone is it importable
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = make(own.Mine, backbone=own.Net, **plain)
    assert (run.spec.method, run.spec.settings["backbone"]) == ("ownlib:Mine", "ownlib:Net")
    assert train(run) == FINISHED
    kept = result(run.id)
    assert kept.predict_proba(np.zeros((4, 6), np.float32)).shape[1:] == (4, 3)
    with pytest.raises(cc.SettingError, match="own process"):
        make(type("Local", (own.Mine,), {"name": "local"}), **plain)


def test_a_run_comes_to_what_training_comes_to(make: Make, train: Train, workspace: Workspace) -> None:
    run = make("conal", seeds=(0, 3), epochs=4, embedding=4)
    assert train(run) == FINISHED
    expected, record = uninterrupted(run), get_run(run.id)
    assert_same(result(run.id), expected)
    assert (record.state, record.epoch, record.epochs, record.done, record.message) == ("finished", 4, 4, 1.0, "")
    assert record.started is not None
    assert record.ended is not None
    assert record.started <= record.ended
    assert record.device == "cpu"
    for at in ("selected", "last", "best"):
        reached = expected.accuracy("test", at=at)
        assert record.scores[f"test_accuracy_{at}"] == pytest.approx(reached.mean())
        assert record.scores[f"test_accuracy_{at}_std"] == pytest.approx(reached.std(ddof=1))
    table = curves(run.id)
    assert set(table["metric"]) == set(expected.curves)
    for name, rows in expected.curves.items():
        mine = table[table["metric"] == name]
        assert mine["epoch"].tolist() == [1, 2, 3, 4]
        np.testing.assert_allclose(mine["mean"], rows.mean(1))
        np.testing.assert_allclose(mine["std"], rows.std(1, ddof=1))
    client = client_of(workspace)
    history = client.get_metric_history(run.id, "test_accuracy")
    np.testing.assert_allclose([m.value for m in history], expected.curves["test_accuracy"].mean(1))
    entry = client.get_run(run.id)
    assert entry.info.status == "FINISHED"
    assert entry.data.params["method"] == "conal"
    assert entry.data.params["seeds"] == "0, 3"
    assert entry.data.params["fingerprint"] == expected.fingerprint
    assert {a.path for a in client.list_artifacts(run.id)} == {"environment.json", "predictions.parquet", "result"}

    data = cc.read_dataset(run.spec.dataset)
    table = predictions(run.id)
    columns = [f"p_{c}" for c in data.classes]
    assert table.columns.tolist() == ["task", "split", "gold", "label", *columns]
    by_task = table.set_index("task").loc[data.task_ids]
    np.testing.assert_allclose(by_task[columns], expected.mean_posterior(data.n_tasks))
    assert by_task["gold"].tolist() == [data.classes[g] for g in data.gold]
    assert by_task["label"].tolist() == [data.classes[k] for k in by_task[columns].to_numpy().argmax(1)]
    counts = {"train": 0, "valid": 1, "test": 2}
    assert by_task["split"].map(counts).tolist() == data.split.tolist()


def test_a_dataset_that_has_changed(make, train, crowd_folder, workspace, at_epoch):
    data = cc.read_dataset(crowd_folder)
    other = store.create(make().spec.model_copy(update={"fingerprint": "0" * 32}))
    assert train(other) == FAILED
    assert "has changed since" in get_run(other.id).message
    run = make(epochs=7)
    at_epoch(2, lambda: workspace.request_cancel(run.id))
    assert train(run) == CANCELLED
    assert get_run(run.id).spec.fingerprint == data.fingerprint
    write_folder(data.where(data.label > 0), crowd_folder, overwrite=True)
    workspace.forget_cancel(run.id)
    store.set_state(run.id, "queued")
    assert train(run) == FAILED
    assert re.fullmatch(r"\S+small has changed since this run was submitted\. Run it again .*", get_run(run.id).message)


def test_a_dataset_deleted_while_a_run_uses_it(make: Make, train: Train, crowd_folder: Path, at_epoch) -> None:
    run = make(epochs=4)
    expected = uninterrupted(run)
    at_epoch(1, lambda: shutil.rmtree(crowd_folder))
    assert train(run) == FINISHED
    assert not crowd_folder.exists()
    assert_same(result(run.id), expected)
    assert len(predictions(run.id)) == 60


def test_a_cancelled_run_keeps_what_it_has_and_can_go_on(make, train, workspace, at_epoch):
    run = make("trace", epochs=7)
    expected = uninterrupted(run)
    at_epoch(2, lambda: workspace.request_cancel(run.id))
    assert train(run) == CANCELLED
    record = get_run(run.id)
    assert (record.state, record.has_result, record.epoch) == ("cancelled", True, 2)
    assert "after epoch 2" in record.message
    assert client_of(workspace).get_run(run.id).info.status == "KILLED"
    kept = result(run.id)
    np.testing.assert_array_equal(kept.curves["loss"], expected.curves["loss"][:2])
    goes_on(run, train, workspace, expected)
    assert curves(run.id)["epoch"].value_counts().unique().tolist() == [len(expected.curves)]


def test_a_cancelled_run_makes_its_checkpoint_the_result(make: Make, train: Train, workspace: Workspace) -> None:
    run = make("trace", epochs=7)
    expected, answers = uninterrupted(run), iter([False, False, True])
    cc.learning.train(
        cc.read_dataset(run.spec.dataset),
        run.spec.method,
        seeds=run.spec.seeds,
        device="cpu",
        checkpoint=workspace.run_folder(run.id) / "checkpoint",
        should_stop=lambda: next(answers),
        **run.spec.settings,
    )
    workspace.request_cancel(run.id)
    assert train(run) == CANCELLED
    record = get_run(run.id)
    assert (record.state, record.has_result) == ("cancelled", True)
    assert "after epoch 3." in record.message
    np.testing.assert_array_equal(result(run.id).curves["loss"], expected.curves["loss"][:3])
    goes_on(run, train, workspace, expected)


def test_cancelled_before_it_began(make: Make, train: Train, workspace: Workspace) -> None:
    run = make()
    workspace.request_cancel(run.id)
    assert train(run) == CANCELLED
    assert (get_run(run.id).state, get_run(run.id).has_result) == ("cancelled", False)


def test_a_signal_to_end_is_a_cancel(make: Make, train: Train, at_epoch) -> None:
    run = make(epochs=50)
    at_epoch(1, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert train(run) == CANCELLED
    assert get_run(run.id).epoch == 1


def test_without_its_supervisor_a_run_stops_and_waits(make: Make, train: Train, monkeypatch) -> None:
    run = make(epochs=6)
    listen = Recorder.listen

    def listen_and_wait(self: Recorder, event: Event) -> None:
        listen(self, event)
        if isinstance(event, EpochEvent) and event.epoch == 3:
            deadline = time.monotonic() + 60
            while not self.orphaned and time.monotonic() < deadline:
                time.sleep(0.05)

    monkeypatch.setattr(Recorder, "listen", listen_and_wait)
    expected = uninterrupted(run)
    monkeypatch.setattr(recorder.forkserver, "caller_is_gone", lambda: True)
    assert train(run) == ORPHANED
    assert (get_run(run.id).state, get_run(run.id).epoch) == ("running", 3)
    assert not get_run(run.id).has_result
    monkeypatch.setattr(recorder.forkserver, "caller_is_gone", lambda: False)
    monkeypatch.setattr(Recorder, "listen", listen)
    assert train(run) == FINISHED
    assert_same(result(run.id), expected)


def test_a_run_has_one_process(make: Make, workspace: Workspace) -> None:
    run = make()
    with leased(workspace.run_folder(run.id)):
        assert main(run.id) == TAKEN
    assert get_run(run.id).state == "queued"


def test_killed_and_resumed_equals_uninterrupted(make, train, workspace, tmp_path):
    secret = "tok-0123456789abcdef"
    run = make("conal", epochs=40, embedding=4, batch_size=4)
    started = subprocess.Popen(
        [sys.executable, "-m", "crowdcore.runs.train_process", run.id],
        env={**os.environ, **workspace.environment, "SERVICE_TOKEN": secret},
    )
    state = workspace.run_folder(run.id) / "checkpoint"
    deadline = time.monotonic() + 120
    while not list(state.glob("*/*.safetensors")) and time.monotonic() < deadline:
        assert started.poll() is None, log_lines(run.id)
        time.sleep(0.02)
    assert is_leased(workspace.run_folder(run.id))
    started.kill()
    assert started.wait() == -signal.SIGKILL
    assert not is_leased(workspace.run_folder(run.id))
    assert get_run(run.id).state == "running"
    with pytest.raises(DataError, match=r"is running \((first stage, epoch \d+ of 10|(before )?epoch \d+ of 40)\)"):
        result(run.id)
    assert train(run) == FINISHED
    expected = uninterrupted(run)
    assert_same(result(run.id), expected)
    assert not workspace.has_checkpoint(run.id), "a finished run needs none"
    loss = curves(run.id).query("metric == 'loss'")
    assert loss["epoch"].tolist() == list(range(1, 41))
    np.testing.assert_allclose(loss["mean"], expected.curves["loss"].mean(1))
    assert "log.txt" in {a.path for a in client_of(workspace).list_artifacts(run.id)}
    assert log_lines(run.id)[0].startswith("conal on ")
    kept = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert not [p for p in kept if secret.encode() in p.read_bytes()]


def test_a_full_disk_keeps_the_last_good_checkpoint(make: Make, train: Train, workspace: Workspace, at_epoch) -> None:
    run = make(seeds=(0,), epochs=8, backbone_settings={"hidden": 60_000})
    expected = uninterrupted(run)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    at_epoch(6, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_300_000, hard)))
    try:
        assert train(run) == FAILED
        record = get_run(run.id)
        assert (record.state, record.epoch, record.has_result) == ("failed", 8, False)
        assert "disk is full" in record.message and "resume" in record.message
        kept = (workspace.run_folder(run.id) / "checkpoint").glob("*/epoch-*")
        assert [p.name for p in kept] == ["epoch-000004.safetensors"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    goes_on(run, train, workspace, expected)
