from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crowdcore.learning.training.events import EpochEvent
from crowdcore.runs import RunSpec, Workspace, curves, get_run, record, store
from crowdcore.runs.record import client_of
from crowdcore.runs.recorder import Recorder, spread


def epoch(number: int, seeds: tuple[int, ...], **metrics: list[float]) -> EpochEvent:
    values = {name: np.array(v) for name, v in metrics.items()}
    return EpochEvent("conal", seeds, number, 9, values, 0.1, 100.0, number / 9, 9.0 - number)


@pytest.fixture
def run_id(workspace: Workspace) -> str:
    return store.create(RunSpec(dataset="demo", method="conal", seeds=(0, 1, 2))).id


def rows(run_id: str) -> list[tuple[int, str, float, float]]:
    return [tuple(r) for r in curves(run_id).round(6).itertuples(index=False)]


def test_means_and_standard_deviations_over_seeds(workspace: Workspace, run_id: str) -> None:
    with Recorder(workspace, run_id) as recorder:
        recorder.listen(epoch(1, (0, 1, 2), loss=[1.0, 2.0, 3.0], accuracy=[0.5, np.nan, np.nan]))
        recorder.listen(epoch(2, (0, 1, 2), loss=[np.nan, 2.0, 4.0], accuracy=[np.nan] * 3))
    recorded = curves(run_id)
    np.testing.assert_allclose(recorded[["mean", "std"]], [[0.5, np.nan], [2.0, 1.0], [3.0, 2**0.5]])
    assert recorded["metric"].tolist() == ["accuracy", "loss", "loss"]
    run = get_run(run_id)
    assert (run.epoch, run.epochs, run.done) == (2, 9, pytest.approx(2 / 9, abs=1e-5))
    assert run.scores["loss"] == 3.0


def test_a_first_stage_is_told_though_it_has_no_numbers(workspace: Workspace, run_id: str) -> None:
    assert get_run(run_id).at == "starting"
    with Recorder(workspace, run_id) as recorder:
        recorder.listen(replace(epoch(0, (0, 1, 2)), first_stage=(3, 10), done=0.25))
    run = get_run(run_id)
    assert (run.at, run.epoch, run.done) == ("first stage, epoch 3 of 10", 0, 0.25)
    with Recorder(workspace, run_id) as recorder:
        recorder.listen(epoch(2, (0, 1, 2), loss=[1.0, 2.0, 3.0]))
    assert get_run(run_id).at == "epoch 2 of 9"


def test_seeds_that_come_one_after_another_meet_in_the_mean(workspace: Workspace, run_id: str) -> None:
    with Recorder(workspace, run_id) as recorder:
        for seed in range(3):
            for number in (1, 2):
                recorder.listen(epoch(number, (seed,), loss=[float(number + seed)]))
            time.sleep(0.005)  # the record tells equal steps apart by milliseconds
    assert rows(run_id) == [(1, "loss", 2.0, 1.0), (2, "loss", 3.0, 1.0)]


def test_epochs_of_a_checkpoint_are_not_doubled(workspace: Workspace, run_id: str) -> None:
    with Recorder(workspace, run_id) as recorder:
        recorder.listen(epoch(1, (0, 1), loss=[1.0, 3.0]))
    with Recorder(workspace, run_id) as recorder:
        recorder.restore((0, 1), {"loss": np.array([[1.0, 3.0], [2.0, 4.0]]), "seconds": np.ones((2, 2))})
        recorder.listen(epoch(3, (0, 1), loss=[5.0, 7.0]))
    assert [(r[0], r[2]) for r in rows(run_id)] == [(1, 2.0), (2, 3.0), (3, 6.0)]


def test_a_database_locked_for_longer_than_writers_wait_loses_nothing(workspace, run_id, monkeypatch):
    monkeypatch.setattr(record, "WAIT", 0.3)
    event = threading.Event()

    def hold() -> None:
        database = sqlite3.connect(workspace.database, isolation_level=None)  # type: ignore[arg-type]
        database.execute("BEGIN EXCLUSIVE")
        event.set()
        time.sleep(3)
        database.execute("COMMIT")
        database.close()

    holder = threading.Thread(target=hold)
    began = time.monotonic()
    with Recorder(workspace, run_id) as recorder:
        recorder.listen(epoch(1, (0, 1), loss=[1.0, 3.0]))
        holder.start()
        event.wait()
        for number in range(2, 31):
            recorder.listen(epoch(number, (0, 1), loss=[number, number + 2.0], accuracy=[0.1, 0.3]))
        written = time.monotonic() - began
        assert written < 1, "training waits for the record"
    holder.join()
    assert time.monotonic() - began > 3
    means = curves(run_id).pivot(index="epoch", columns="metric", values="mean")
    assert means["loss"].tolist() == [number + 1.0 for number in means.index]
    assert means.index.tolist() == list(range(1, 31))
    assert means["accuracy"].iloc[1:].round(9).tolist() == [0.2] * 29
    assert get_run(run_id).epoch == 30


def test_a_record_that_does_not_answer_is_tried_again(workspace, run_id, monkeypatch, capsys):
    client, failures = client_of(workspace), iter(range(3))
    log_batch = client.log_batch

    def unreliable(*arguments: Any, **more: Any) -> None:
        if next(failures, None) is not None:
            raise OSError("no route to the database")
        log_batch(*arguments, **more)

    monkeypatch.setattr(client, "log_batch", unreliable)
    with Recorder(workspace, run_id) as recorder:
        for number in (1, 2):
            recorder.listen(epoch(number, (0, 1), loss=[1.0, 3.0]))
    assert next(failures, None) is None
    assert [(r[0], r[2]) for r in rows(run_id)] == [(1, 2.0), (2, 2.0)]
    out = capsys.readouterr().out
    assert out.count("is tried again: no route") == 1
    assert out.count("nothing was lost") == 1


def test_a_deleted_run_ends_its_recorder(workspace: Workspace, run_id: str) -> None:
    client_of(workspace).delete_run(run_id)
    began = time.monotonic()
    with Recorder(workspace, run_id) as recorder:
        recorder.listen(epoch(1, (0,), loss=[1.0]))
    assert recorder.deleted
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("values", "found"), [([], {}), ([np.nan], {}), ([2.0], {"x": 2.0}), ([1.0, 3.0], {"x": 2.0, "x_std": 2**0.5})]
)
def test_spread(values: list[float], found: dict[str, float]) -> None:
    assert spread("x", values) == pytest.approx(found)


def test_a_run_beside_busy_programs_says_so(workspace: Workspace, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.runs.recorder._LOOK", 0.0)
    monkeypatch.setattr("crowdcore.core.processes.ProcessorShare.measure", lambda self: 0.4)
    store.set_state(run_id, "running", "Resumed after epoch 3.")
    with Recorder(workspace, run_id) as recorder:
        recorder.listen(epoch(1, (0,), loss=[1.0]))
    assert get_run(run_id).message.startswith("Resumed after epoch 3. Slow: ")
    store.set_state(run_id, "finished", "")
    assert get_run(run_id).message == ""
